#include "tables.hpp"

#if __has_include(<sys/wait.h>)
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include "gated/io/prepared_model.hpp"
#include "gated/models/presets.hpp"

namespace bench {

namespace {

using Model = gated::GmlpLanguageModel<float>;
using Path = std::filesystem::path;

/// gMLP-large of the gMLP paper, with 128 tokens instead of 512.
gated::GmlpLanguageModelConfig whole() {
  auto config = gated::gmlp_large();
  config.trunk.length = 128;
  return config;
}

/// The value of line `what` in /proc/self/status, in MB; 0 if there is no such line.
double memory(const std::string& what) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(what + ":")) {
      return 1024e-6 * std::stod(line.substr(what.size() + 1));
    }
  }
  return 0;
}

constexpr const char* quantities[] = {"open ms", "first ms", "run ms", "most MB", "own MB", "file MB"};
using Figures = std::array<double, std::size(quantities)>;

/// Runs `job` in a child process and returns its result.
template <class Job>
Figures in_a_process(const Job& job) {
  int ends[2];
  gated::require<gated::Error>(::pipe(ends) == 0, "opening: pipe() failed. Close some files.");
  const auto child = ::fork();
  if (child == 0) {
    const Figures found = job();
    ::_exit(::write(ends[1], &found, sizeof(found)) == sizeof(found) ? 0 : 1);
  }
  ::close(ends[1]);
  Figures found{};
  const bool complete = child > 0 && ::read(ends[0], &found, sizeof(found)) == sizeof(found);
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  gated::require<gated::Error>(complete, "opening: the child process failed. Provide more memory or disk space.");
  return found;
}

/// Measures `open(use)`, which opens a model and passes it to `use`. `use` runs the model twice on one text.
template <class Open>
Figures opened(const Open& open) {
  const double before = memory("VmRSS"), own = memory("RssAnon"), of_files = memory("RssFile"), start = seconds();
  Figures found{};
  open([&](const Model& model, gated::Workspace<float>& workspace) {
    found[0] = 1e3 * (seconds() - start);
    const std::vector<Index> tokens(static_cast<std::size_t>(model.trunk.config.length), 1);
    gated::Matrix<float> logits = model.forward(tokens, gated::Sequences::single(model.trunk.config.length), workspace);
    const double first = seconds();
    found[1] = 1e3 * (first - start);
    model.forward(tokens, gated::Sequences::single(model.trunk.config.length), logits, workspace);
    found[2] = 1e3 * (seconds() - first);
    found[3] = memory("VmHWM") - before;
    found[4] = memory("RssAnon") - own;
    found[5] = memory("RssFile") - of_files;
  });
  return found;
}

/// A way to open the model, and its figures so far.
struct Form {
  const char* name;
  std::function<Figures()> measure;
  std::array<std::vector<double>, std::size(quantities)> figures = {};
};

/// Writes the model in three weight formats.
void write_models(const Path& floats, const Path& codes, const Path& rows, bool quick) {
  gated::Random random(1);
  auto config = whole();
  if (quick) {
    config.vocabulary = 256;
    config.trunk.channels = config.trunk.hidden = 64;
  }
  const Model model(config, random);
  gated::save_model(model, floats);
  gated::save_model(model, codes, gated::WeightFormat::int8);
  gated::save_model(model, rows, gated::WeightFormat::int8_rows);
}

template <class Prepared, class Use>
void use_prepared(const Prepared& prepared, const Use& use) {
  gated::Workspace<float> workspace;
  workspace.use(prepared.weights);
  use(prepared.model, workspace);
}

}  // namespace

void table_of_openings(const TableOptions& options) {
  const Path folder = std::filesystem::temp_directory_path() / ("gated_opening_" + std::to_string(::getpid()));
  const Path floats = folder / "float32.safetensors", codes = folder / "int8.safetensors", rows = folder / "rows.safetensors";
  std::filesystem::create_directories(folder);
  in_a_process([&] {
    write_models(floats, codes, rows, options.quick);
    return Figures{};
  });
  Form forms[] = {
      {"load_model()",
       [&] {
         return opened([&](const auto& use) {
           const auto model = gated::load_model<Model>(floats);
           gated::Workspace<float> workspace;
           use(model, workspace);
         });
       }},
      {"load_prepared()",
       [&] { return opened([&](const auto& use) { use_prepared(gated::load_prepared<Model>(floats), use); }); }},
      {"load_mapped()", [&] { return opened([&](const auto& use) { use_prepared(gated::load_mapped<Model>(floats), use); }); }},
      {"load_prepared() of int8",
       [&] { return opened([&](const auto& use) { use_prepared(gated::load_prepared<Model>(codes), use); }); }},
      {"load_prepared() of int8-rows",
       [&] { return opened([&](const auto& use) { use_prepared(gated::load_prepared<Model>(rows), use); }); }}};
  for (int turn = 0; turn < options.turns(); ++turn) {
    for (Form& form : forms) {
      in_a_process(form.measure);  // warm-up
      const Figures found = in_a_process(form.measure);
      for (std::size_t i = 0; i < found.size(); ++i) {
        form.figures[i].push_back(found[i]);
      }
    }
  }
  std::filesystem::remove_all(folder);
  for (const Form& form : forms) {
    for (std::size_t i = 0; i < form.figures.size(); ++i) {
      print_row("opening", form.name, 1, quantities[i], median(form.figures[i]));
    }
  }
}

}  // namespace bench

#else

void bench::table_of_openings(const TableOptions&) { std::cerr << "Skipping the table \"opening\": it needs fork().\n"; }

#endif
