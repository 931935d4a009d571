/// Runs one workload in gated. Usage: echo RUNS | compare_peers WORK.safetensors THREADS [FORMAT]
///
/// WORK.safetensors is written by peers/make_work.py. FORMAT is the format of the prepared weights (default: float32);
/// int8-products and int8-rows-products also multiply in int8. When ready, prints a line of JSON with the flops per run and the
/// relative error. For a batch, the line also says whether the outputs of the first and last sequences, run one by one, are
/// bit-equal to those in the batch. Then reads run counts from standard input. For each count, does a warm-up run and that many
/// timed runs, and prints a line of JSON: the milliseconds of each timed run, and the machine's peak flops per second (the
/// higher of two measurements, before and after the runs).

#include <cmath>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <span>

#include "gated/io/clear_voice.hpp"
#include "gated/io/lucidrains.hpp"
#include "gated/io/lucidrains_flash.hpp"
#include "gated/io/text_names.hpp"
#include "gated/io/timm.hpp"
#include "gated/io/tiny_time_mixer.hpp"
#include "gated/models/gau_presets.hpp"
#include "gated/models/prepare.hpp"
#include "gated/models/text_presets.hpp"
#include "gated/ops/int8_products.hpp"
#include "training_step.hpp"
#include "work_file.hpp"

namespace {

using bench::Index;
using gated::Matrix;
using gated::Sequences;
using gated::Threads;

/// A workload to time.
struct Work {
  std::function<void()> run;
  double error = 0;
  double flops = 0;
  std::optional<bool> same_alone = {};  // is_same_alone(); set for batches only
};

/// The settings of a forward pass.
struct Setup {
  Threads threads;
  gated::WeightFormat format = gated::WeightFormat::float32;
  const gated::ProductEngine<float>* products = nullptr;
};

/// True if the outputs of the first and last sequences of a batch, run one by one, are bit-equal to the same rows of `y`, the
/// batch's output.
template <class Model>
bool is_same_alone(const Model& model, const Sequences& sequences, const Matrix<float>& x, const Matrix<float>& y,
                   gated::Workspace<float>& workspace) {
  bool same = true;
  const Index outputs = y.rows() / sequences.count();  // per sequence
  for (const Index b : {Index{0}, sequences.count() - 1}) {
    Matrix<float> alone(outputs, y.cols());
    model.forward(Matrix<float>(x.middleRows(sequences.offset(b), sequences.length(b))), Sequences::single(sequences.length(b)),
                  alone, workspace);
    same = same &&
           std::memcmp(alone.data(), y.data() + b * alone.size(), sizeof(float) * static_cast<std::size_t>(alone.size())) == 0;
  }
  return same;
}

/// The forward pass of a model loaded from the file.
template <class Model>
Work forward(const bench::WorkFile& file, const typename Model::Config& config, const gated::NameMap& names,
             const Setup& setup) {
  struct Run {
    Model model;
    Sequences sequences;
    Matrix<float> x, y;
    gated::Workspace<float> workspace;
    gated::PreparedWeights<float> prepared = {};  // packed outside the timed runs, as for the peers

    void operator()() { model.forward(x, sequences, y, workspace); }
  };
  const Sequences sequences = file.sequences();
  const Index rows = sequences.total(), channels = file.config.at("channels");
  const std::shared_ptr<Run> run(
      new Run{Model(config), sequences, Matrix<float>(rows, channels), {}, gated::Workspace<float>(setup.threads)});
  run->y.resize(rows, run->model.out());
  file.load(run->model, names);
  run->prepared = gated::prepare(run->model, setup.format);
  run->workspace.use(run->prepared);
  run->workspace.use(setup.products);
  file.read_input(std::span(run->x.data(), static_cast<std::size_t>(run->x.size())));
  (*run)();
  return {[run] { (*run)(); }, file.error_of(std::span(run->y.data(), static_cast<std::size_t>(run->y.size()))),
          bench::flops_of(run->model, sequences.count(), sequences.length(0)),
          sequences.count() == 1 ? std::nullopt
                                 : std::optional(is_same_alone(run->model, sequences, run->x, run->y, run->workspace))};
}

/// A text transformer and its input texts, loaded from the file. The peers run the same texts, padded to the longest.
struct TextRun {
  gated::TextTransformer<float> model;
  gated::Sequences sequences;
  std::vector<Index> tokens;
  gated::Workspace<float> workspace;
  gated::PreparedWeights<float> prepared = {};
  Matrix<float> y = {};

  TextRun(const bench::WorkFile& file, const gated::TextTransformerConfig& config, const gated::NameMap& names,
          const Setup& setup)
      : model(config), sequences(file.sequences()), tokens(file.texts()), workspace(setup.threads) {
    file.load(model, names);
    prepared = gated::prepare(model, setup.format);
    workspace.use(prepared);
    workspace.use(setup.products);
  }

  /// A workload that runs `f(*run)`, where `f` computes `logits` rows of logits.
  static Work of(const std::shared_ptr<TextRun>& run, const bench::WorkFile& file, Index logits,
                 const std::function<void(TextRun&)>& f) {
    f(*run);
    return {[run, f] { f(*run); }, file.error_of(std::span(run->y.data(), static_cast<std::size_t>(run->y.size()))),
            bench::flops_of(run->model, run->sequences, logits)};
  }
};

/// A workload that computes one embedding vector per text.
Work encoding(const bench::WorkFile& file, const Setup& setup) {
  const auto run = std::make_shared<TextRun>(file, gated::encoder_presets::granite_embedding_small_r2(),
                                             gated::modernbert_names(), setup);
  run->y.resize(run->sequences.count(), run->model.trunk.out());
  Work work = TextRun::of(run, file, 0, [](TextRun& r) { r.model.pooled(r.tokens, r.sequences, r.y, r.workspace); });
  work.same_alone = true;
  for (const Index b : {Index{0}, run->sequences.count() - 1}) {
    const Index length = run->sequences.length(b);
    const std::span text(run->tokens.data() + run->sequences.offset(b), static_cast<std::size_t>(length));
    const Matrix<float> alone = run->model.pooled(text, Sequences::single(length), run->workspace);
    *work.same_alone &= alone == run->y.row(b);
  }
  return work;
}

/// Reads a prompt, keeps its keys and values, and computes the logits of its last token.
Work prefill(const bench::WorkFile& file, const Setup& setup) {
  const auto config = gated::decoder_presets::smollm2_135m();
  const auto run = std::make_shared<TextRun>(file, config, gated::llama_names(config), setup);
  run->y.resize(1, run->model.out());
  return TextRun::of(run, file, 1, [state = run->model.start(run->sequences.total())](TextRun& r) mutable {
    state.rewind(0);
    r.model.extend(r.tokens, state, r.y, r.workspace);
  });
}

/// Each run opens the file, builds the model and its workspace, and computes one forward pass.
Work opening(const std::string& path, Threads threads) {
  const auto start = [path, threads] {
    const bench::WorkFile file(path);
    gated::Gmlp<float> model(file.gmlp());
    file.load(model, gated::lucidrains_trunk_names());
    Matrix<float> x(file.sequences().total(), model.in());
    file.read_input(std::span(x.data(), static_cast<std::size_t>(x.size())));
    gated::Workspace<float> workspace(threads);
    return model.forward(x, file.sequences(), workspace);
  };
  const Matrix<float> y = start();
  return {[start] { start(); }, bench::WorkFile(path).error_of(std::span(y.data(), static_cast<std::size_t>(y.size())))};
}

/// A training step. The error is the largest relative difference between the losses of the first steps and those in the file.
Work training(const bench::WorkFile& file, Threads threads) {
  using Model = gated::GmlpLanguageModel<float>;
  const gated::GmlpLanguageModelConfig config{.vocabulary = file.config.at("vocabulary"),
                                              .head = {.form = gated::HeadForm::untied, .bias = true},
                                              .trunk = file.gmlp()};
  Model model(config);
  file.load(model, gated::lucidrains_language_model_names());
  const auto& given = file.config.at("training");
  const gated::AdamWConfig optimizer{.learning_rate = given.at("rate"), .weight_decay = given.at("weight_decay")};
  const auto step = std::make_shared<bench::TrainingStep<Model>>(
      gated::TrainingConfig<Model>{.model = config, .optimizer = optimizer}, std::move(model), file.sequences(), threads);
  step->tokens = file.tensors.read<Index>("tokens");
  step->targets = file.tensors.read<Index>("targets");

  Work work{[step] { (*step)(); }, 0, step->flops()};
  for (const double expected : file.tensors.read<double>("losses")) {
    work.error = file.worse(work.error, std::abs((*step)() - expected) / expected);
  }
  return work;
}

/// The parameter names of FLASHTransformer's layers, without its embedding and head.
gated::NameMap flash_trunk_names() {
  gated::NameMap names{.origin = "FLASH-pytorch"};
  gated::detail::add_lucidrains_flash(names, "blocks.*.", "layers.*.");
  return names;
}

/// The parameter names of one layer of MossFormer2: attention and FSMN.
gated::NameMap mossformer_block_names() {
  gated::NameMap names{.origin = "ClearerVoice-Studio"};
  gated::detail::add_shared_chunk_attention(names, "attention.", "attention.");
  gated::detail::add_gated_fsmn_block(names, "fsmn.", "fsmn.");
  return names;
}

/// Turns the names of a classifier into names of its trunk: removes the prefix "trunk." from our parameter paths.
gated::NameMap blocks_of(gated::NameMap names) {
  for (gated::NameMap::Rule& rule : names.rules) {
    constexpr std::string_view trunk = "trunk.";
    rule.ours.erase(0, rule.ours.starts_with(trunk) ? trunk.size() : 0);
  }
  return names;
}

/// The blocks of an MLP-Mixer or ResMLP; the work file gives the depth and width.
template <class Trunk, class Preset>
Work mixer(const bench::WorkFile& file, const Preset& preset, const Setup& setup) {
  const auto model = preset({.depth = file.config.at("depth"), .channels = file.config.at("channels")}, 0);
  return forward<Trunk>(file, model.sized_trunk(), blocks_of(gated::timm_names_for(model)), setup);
}

Work make_work(const bench::WorkFile& file, const Setup& setup) {
  const std::string kind = file.config.at("kind");
  const Index channels = file.config.at("channels");
  if (kind == "gmlp") {
    return forward<gated::Gmlp<float>>(file, file.gmlp(), gated::lucidrains_trunk_names(), setup);
  }
  if (kind == "flash") {
    const gated::FlashConfig config{
        .depth = file.config.at("depth"),
        .block = gated::flash_presets::lucidrains({.channels = channels, .causal = file.config.at("causal")})};
    return forward<gated::Flash<float>>(file, config, flash_trunk_names(), setup);
  }
  if (kind == "gau") {
    return forward<gated::GatedAttentionUnit<float>>(file, gated::gau_presets::lucidrains({.channels = channels}),
                                                     gated::lucidrains_gau_names(), setup);
  }
  if (kind == "mossformer_block") {
    return forward<gated::MossFormerBlock<float>>(file, {.channels = channels}, mossformer_block_names(), setup);
  }
  if (kind == "mossformer2_se") {
    return forward<gated::MaskNetwork<float>>(file, gated::mossformer2_se_48k(), gated::mossformer2_se_names(0), setup);
  }
  if (kind == "kw_mlp") {
    return forward<gated::GmlpImageClassifier<float>>(file, gated::kw_mlp(), gated::kw_mlp_names(), setup);
  }
  if (kind == "mixer") {
    return mixer<gated::MlpMixer<float>>(file, gated::timm_mixer, setup);
  }
  if (kind == "resmlp") {
    return mixer<gated::ResMlp<float>>(file, gated::timm_resmlp, setup);
  }
  if (kind == "ttm") {
    const auto config = gated::ttm_config(file.config.at("model").dump());
    return forward<gated::TinyTimeMixer<float>>(file, config, gated::ttm_names(config), setup);
  }
  if (kind == "text_encoder") {
    return encoding(file, setup);
  }
  if (kind == "text_decoder") {
    return prefill(file, setup);
  }
  gated::require<gated::ArgumentError>(kind == "train_gmlp", "unknown kind of workload ", kind,
                                       ". Write the file with this version's peers/make_work.py.");
  return training(file, setup.threads);
}

Setup setup_named(Threads threads, std::string_view word) {
  constexpr std::string_view suffix = "-products";
  const bool in_integers = word.ends_with(suffix);
  word.remove_suffix(in_integers ? suffix.size() : 0);
  const auto format = gated::value_named<gated::WeightFormat>(word);
  gated::require<gated::ArgumentError>(format.has_value(), "unknown FORMAT ", word, ". Give one of ",
                                       gated::list_of_names<gated::WeightFormat>(), ", int8-products, int8-rows-products.");
  gated::require<gated::ArgumentError>(!in_integers || gated::scales_per_row(*format, 1) > 0,
                                       "int8 products need int8 weights, not ", gated::name_of(*format),
                                       ". Use int8-products or int8-rows-products.");
  return {threads, *format, in_integers ? gated::int8_products() : nullptr};
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3 && count != 4) {
    std::cerr << "usage: echo RUNS | compare_peers WORK.safetensors THREADS [FORMAT]\n";
    return 2;
  }
  try {
    const Threads threads = bench::usable_threads(arguments[2]);
    const Setup setup = count == 4 ? setup_named(threads, arguments[3]) : Setup{threads};
    const bench::WorkFile file(arguments[1]);
    const bool opens = file.config.value("opens", false), trains = file.config.contains("training");
    gated::require<gated::ArgumentError>(setup.format == gated::WeightFormat::float32 || !(opens || trains), "FORMAT ",
                                         gated::name_of(setup.format),
                                         ": expected float32 for a workload that opens or trains a model. Leave FORMAT out.");
    const Work work = opens ? opening(arguments[1], threads) : make_work(file, setup);
    nlohmann::json ready{{"runtime", "gated"}, {"flops", work.flops}};
    if (work.same_alone.has_value()) {
      ready["same_alone"] = *work.same_alone;
    }
    bench::take_turns(std::move(ready), work.error, work.run, [&](const auto& turn) {
      const double before = bench::measure_peak(threads);
      turn();
      return nlohmann::json{{"peak", std::max(before, bench::measure_peak(threads))}};
    });
  } catch (const std::exception& error) {
    std::cerr << "compare_peers: " << error.what() << '\n';
    return 1;
  }
}
