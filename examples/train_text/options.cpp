#include "options.hpp"

#include "common/command_line.hpp"

namespace text {

using examples::add_name, examples::add_number, examples::UsageError, gated::Index, gated::require;

namespace {

/// Adds an option whose value is an enumerator's name.
template <class E>
CLI::Option* add_word(CLI::App& app, const std::string& name, E& value, const std::string& description) {
  std::vector<std::string> words;
  for (const auto& [listed, word] : gated::names_of(value)) {
    words.emplace_back(word);
  }
  return app
      .add_option_function<std::string>(
          name, [&value](const std::string& word) { value = gated::value_named<E>(word).value(); }, description)
      ->check(CLI::IsMember(words))
      ->default_str(std::string(gated::name_of(value)));
}

/// Adds the options that describe a new training run, and returns them.
std::vector<CLI::Option*> add_new_run(CLI::App& app, Options& options) {
  constexpr Index large = 1 << 20;
  std::vector<CLI::Option*> added{
      app.add_option("--model,--mixer", options.model, "the architecture")
          ->check(CLI::IsMember({"gmlp", "amlp", "flash", "gau", "transformer"}))
          ->capture_default_str(),
      app.add_flag("--mlm", options.mlm,
                   "masked language modelling: 15 % of the bytes are masked, and\nthe model predicts them from both sides"),
      add_word(app, "--gate", options.gate, "gmlp and amlp: how a block mixes tokens"),
      add_word(app, "--spatial", options.spatial, "gmlp and amlp: the form of the spatial weight"),
      add_number(app, "--attention", options.attention, Index{1}, large,
                 "gmlp and amlp: width of the tiny attention (64; gmlp: none)")
          ->default_str(""),
      add_number(app, "--heads", options.heads, Index{1}, large,
                 "number of spatial weights (gmlp and amlp: 1) or attention\nheads (transformer: 4)")
          ->default_str(""),
      add_number(app, "--parameters", options.parameters, Index{1}, Index{2000000000},
                 "approximate number of parameters; sets the layers' inner width"),
      add_number(app, "--channels", options.channels, Index{1}, large, "number of channels"),
      add_number(app, "--depth", options.depth, Index{1}, large, "number of layers"),
      add_number(app, "--length", options.length, Index{2}, large, "bytes per sequence"),
      add_number(app, "--batch", options.batch, Index{1}, large, "sequences per step"),
      add_number(app, "--rate", options.rate, 1e-9, 1.0, "the peak learning rate"),
      add_number(app, "--seed", options.seed, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max(),
                 "seed of initial parameters and batches"),
  };
  for (CLI::Option* option : added) {
    option->group("A new training run");
  }
  return added;
}

/// Raises UsageError for options that the model does not have, and sets the model's defaults.
void fit_to_model(const CLI::App& app, Options& options) {
  constexpr Index amlp_width = 64;  // as in the gMLP paper
  const bool gmlp = options.model == "gmlp" || options.model == "amlp", transformer = options.model == "transformer";
  const auto given = [&](const char* name) { return !app.get_option(name)->empty(); };
  for (const char* const name : {"--gate", "--spatial", "--attention"}) {
    require<UsageError>(gmlp || !given(name), name, " is an option of gmlp and amlp; leave it out with --model ", options.model,
                        ".");
  }
  require<UsageError>(gmlp || transformer || !given("--heads"), "--heads: --model ", options.model,
                      " has one head; leave the option out, or use gmlp, amlp or transformer.");
  require<UsageError>(options.gate != gated::GateForm::identity || !(given("--spatial") || given("--heads")),
                      "--gate identity mixes no tokens, so it has no spatial weight: leave out --spatial and --heads.");
  require<UsageError>(!options.mlm || options.spatial != gated::SpatialForm::scaled_toeplitz,
                      "--spatial scaled_toeplitz sees earlier bytes only, but --mlm needs both sides: use toeplitz or dense.");
  options.attention = options.model == "amlp" && !given("--attention") ? amlp_width : options.attention;
  options.heads = given("--heads") ? options.heads : transformer ? 4 : 1;
}

/// Raises UsageError for the options of a new training run, and sets the output beside the resumed file unless --out is given.
void fit_to_resumed(const CLI::App& app, const std::vector<CLI::Option*>& new_run, Options& options) {
  for (const CLI::Option* option : new_run) {
    require<UsageError>(option->empty(), option->get_name(),
                        " is for new training runs only; a resumed run keeps its settings. Leave it out.");
  }
  if (app.get_option("--out")->empty()) {
    const auto stem = options.resume.stem();  // text.training
    require<UsageError>(stem.extension() == ".training",
                        "the file to resume is not called MODEL.training.safetensors. Name the output with --out FILE.");
    options.out = options.resume.parent_path() / stem.stem();
    options.out += options.resume.extension();
  }
}

}  // namespace

Options parse_options(int count, char** arguments) {
  Options options;
  CLI::App app(
      "Trains a byte-level language model on texts, by default gated's own and, if present, Debian's licences.\n"
      "The last tenth of every file is held out. Ctrl-C saves and stops.",
      "train_text");
  add_name(app, "texts", options.texts, "FILE|FOLDER", "training texts");
  const auto new_run = add_new_run(app, options);

  CLI::Option* const resume = add_name(app, "--resume", options.resume, "MODEL.training.safetensors",
                                       "continue this training run; pass the same texts");
  CLI::Option* const steps =
      add_number(app, "--steps", options.steps, Index{1}, Index{1} << 40, "steps of the whole training run")
          ->default_str("2000");
  add_number(app, "--minutes", options.minutes, 0.01, 1e6, "train for as many more steps as fit into this time")
      ->default_str("")
      ->excludes(steps);
  add_number(app, "--stop-after", options.stop_after, Index{1}, Index{1} << 40, "stop after this step, as Ctrl-C does")
      ->default_str("");
  examples::add_threads(app, options.threads);
  app.add_flag("--bf16", options.bf16, "faster bf16 matmuls (needs AVX512-BF16); results differ slightly");
  add_name(app, "--out", options.out, "FILE",
           "where to write the model (text.safetensors; with --resume,\nMODEL.safetensors beside the resumed file)");
  add_name(app, "--metrics", options.metrics, "FILE.csv", "write step, loss, gradient norm and learning rate of each step");
  add_number(app, "--sample-every", options.sample_every, 0.1, 1e9,
             "seconds between measurements, each with a save and a sample");
  add_number(app, "--sample", options.sample, Index{0}, Index{1} << 30, "length of a sample in bytes; 0: no samples");
  examples::parse(app, count, arguments);

  if (resume->empty()) {
    options.steps = options.steps == 0 && options.minutes == 0 ? 2000 : options.steps;
    fit_to_model(app, options);
  } else {
    fit_to_resumed(app, new_run, options);
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
