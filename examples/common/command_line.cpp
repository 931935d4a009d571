#include "common/command_line.hpp"

#include <vector>

#include "gated/io/nearest_name.hpp"

namespace examples {
namespace {

/// The message for a word that CLI11 did not recognize, such as "unknown option --epoch; the nearest is --epochs."
std::string unknown(const CLI::App& app, const std::string& word) {
  if (!word.starts_with("-")) {
    return gated::text("unexpected argument ", word, ".");
  }
  if (!word.starts_with("--")) {
    return gated::text("unknown option ", word, ".");
  }
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  return gated::text("unknown option ", word, "; the nearest is ", gated::nearest_name(word, names), ".");
}

}  // namespace

void add_timm_model(CLI::App& app, TimmModel& timm) {
  add_name(app, "--config", timm.config, "FILE.json", "the config.json published beside a timm checkpoint");
  add_name(app, "--preset", timm.preset, "NAME",
           "for a checkpoint without a configuration: its timm model, such\n"
           "as resmlp_12_224 or mixer_b16_224.miil_in21k_ft_in1k. The file\n"
           "sets the number of classes. Not used with --config.")
      ->capture_default_str();
}

void parse(CLI::App& app, int count, char** arguments) {
  app.allow_windows_style_options(false);  // "/data/x" is a path, not an option
  app.get_formatter()->column_width(34);
  app.description(app.get_description() + "\n");
  app.set_help_flag("-h,--help", "show this text");
  for (CLI::Option* option : app.get_options()) {
    if (option->get_expected_max() == 1) {
      option->take_last();
    }
  }
  try {
    app.parse(count, arguments);
  } catch (const CLI::CallForHelp&) {
    std::string text = app.help();
    text.erase(text.find_last_not_of('\n') + 2);
    throw Help{text};
  } catch (const CLI::ParseError& error) {
    // A misspelt option is reported first: it may be the reason why another option is missing or an argument is unexpected.
    for (const std::string& word : app.remaining()) {
      if (word.starts_with("-")) {
        throw UsageError(unknown(app, word));
      }
    }
    throw UsageError(app.remaining().empty() ? error.what() : unknown(app, app.remaining().front()));
  }
}

}  // namespace examples
