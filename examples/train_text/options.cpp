#include "options.hpp"

#include "common/command_line.hpp"

namespace text {

using examples::add_name, examples::add_number, examples::UsageError, gated::Index, gated::require;

Options parse_options(int count, char** arguments) {
  constexpr Index large = 1 << 20;
  Options options;
  CLI::App app(
      "Trains a language model over bytes on texts; without any on gated's own and, where they are, on the licences of "
      "Debian.\n"
      "The last tenth of every file is held out. Ctrl-C saves and stops.",
      "train_text");
  add_name(app, "texts", options.texts, "FILE|FOLDER", "what to learn from");

  const CLI::Option* const described[] = {
      app.add_option("--model", options.model, "its architecture")
          ->check(CLI::IsMember({"gmlp", "amlp", "flash"}))
          ->capture_default_str(),
      add_number(app, "--parameters", options.parameters, Index{1}, Index{2000000000},
                 "how many it has, about: the inner width of its layers follows\nfrom that"),
      add_number(app, "--channels", options.channels, Index{1}, large, "the width between its layers"),
      add_number(app, "--depth", options.depth, Index{1}, large, "layers"),
      add_number(app, "--length", options.length, Index{2}, large, "bytes of a sequence"),
      add_number(app, "--batch", options.batch, Index{1}, large, "sequences of a step"),
      add_number(app, "--rate", options.rate, 1e-9, 1.0, "the highest learning rate"),
      add_number(app, "--seed", options.seed, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max(),
                 "of the first parameters and the batches"),
  };
  for (const CLI::Option* option : described) {
    app.get_option(option->get_name())->group("A new training");
  }

  CLI::Option* const resume = add_name(app, "--resume", options.resume, "MODEL.training.safetensors",
                                       "with all settings of that training; give the same texts");
  CLI::Option* const steps =
      add_number(app, "--steps", options.steps, Index{1}, Index{1} << 40, "steps of the whole training")->default_str("2000");
  add_number(app, "--minutes", options.minutes, 0.01, 1e6, "instead: as many more as fit into this time")
      ->default_str("")
      ->excludes(steps);
  add_number(app, "--stop-after", options.stop_after, Index{1}, Index{1} << 40, "stop after this step, as Ctrl-C does")
      ->default_str("");
  examples::add_threads(app, options.threads);
  CLI::Option* const out = add_name(app, "--out", options.out, "FILE",
                                    "where the model goes (text.safetensors, or beside the file\nthat is resumed)");
  add_number(app, "--sample-every", options.sample_every, 0.1, 1e9, "measure, save and show a sample after so many seconds");
  add_number(app, "--sample", options.sample, Index{0}, Index{1} << 30, "bytes of a sample, 0 for none");
  examples::parse(app, count, arguments);

  if (resume->empty()) {
    options.steps = options.steps == 0 && options.minutes == 0 ? 2000 : options.steps;
    return options;
  }
  for (const CLI::Option* option : described) {
    require<UsageError>(option->empty(), option->get_name(),
                        " describes a new training; the one to resume has settings of its own.");
  }
  if (out->empty()) {
    const auto stem = options.resume.stem();  // text.training
    require<UsageError>(stem.extension() == ".training",
                        "--out FILE is needed, because the file to resume is not called MODEL.training.safetensors.");
    options.out = options.resume.parent_path() / stem.stem();
    options.out += options.resume.extension();
  }
  return options;
}

std::filesystem::path training_file(const std::filesystem::path& out) {
  auto path = out;
  path.replace_extension(".training");
  path += out.extension();
  return path;
}

}  // namespace text
