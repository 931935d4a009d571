/// compare_forms [--quick] [--threads N] [--seeds N] [--steps N] [--table NAME]... [--form NAME]... [texts...]: trains the
/// forms that the papers compare, on masked bytes, and prints tables as CSV. --table and --form select tables and forms (all by
/// default). Without texts, it trains on the project's own.

#include <algorithm>
#include <stdexcept>

#include "gated/models/gau_presets.hpp"
#include "training.hpp"

namespace papers {

namespace {

using gated::GateForm, gated::SpatialForm;
using text::FlashModel, text::GauModel, text::GmlpModel, text::TransformerModel;

constexpr Index vocabulary = text::mask_token + 1;

/// The sizes of a model, small in a quick run.
struct Sizes {
  Index channels, depth, length;
  explicit Sizes(const Setup& setup, Index depth_ = 6, Index length_ = 128)
      : channels(setup.quick ? 16 : 128), depth(setup.quick ? 1 : depth_), length(setup.quick ? 16 : length_) {}
};

/// The paper's models have F = 6·C if the gate splits, and 4·C otherwise.
gated::GmlpLanguageModelConfig gmlp(const Sizes& sizes, GateForm gate, Index hidden,
                                    SpatialForm spatial = SpatialForm::toeplitz, Index attention = 0) {
  return {.vocabulary = vocabulary,
          .trunk = {.length = sizes.length,
                    .channels = sizes.channels,
                    .hidden = hidden,
                    .depth = sizes.depth,
                    .gate = gate,
                    .spatial = spatial,
                    .length_policy = gated::LengthPolicy::slice,
                    .attention_width = attention}};
}

gated::GauEncoderConfig gau(const Sizes& sizes, gated::ScoreKernel kernel) {
  auto unit = gated::gau_presets::paper({.channels = sizes.channels, .max_length = sizes.length, .query_key = 64});
  unit.kernel = kernel;
  if (kernel == gated::ScoreKernel::softmax) {
    unit.score_scale = gated::ScoreScale::sqrt_width;
  }
  return {.vocabulary = vocabulary, .trunk = {.depth = sizes.depth, .block = unit}};
}

gated::FlashLanguageModelConfig flash(const Sizes& sizes) {
  return {.vocabulary = vocabulary,
          .trunk = {
              .depth = sizes.depth,
              .block = gated::flash_presets::lucidrains(
                  {.channels = sizes.channels, .query_key = 64, .chunk = std::min<Index>(sizes.length, 64), .causal = false})}};
}

/// Half as many layers: a Transformer layer has as many parameters as two gated attention units.
TransformerModel::Config transformer(const Sizes& sizes, gated::RelativeBiasForm bias = gated::RelativeBiasForm::none) {
  return {.vocabulary = vocabulary,
          .trunk = {.depth = std::max<Index>(sizes.depth / 2, 1),
                    .block = {.channels = sizes.channels,
                              .token_mixer = {.heads = 4, .rotary = gated::Rotary::half, .relative_bias = bias},
                              .channel_mixer = {.hidden = 4 * sizes.channels}}}};
}

/// The paper's model, which is a row in three tables. It is trained for the first of them; the others repeat its rows.
void print_split(const Setup& setup, const char* table, const char* form) {
  static std::vector<Row> rows;
  if (rows.empty()) {
    const Sizes sizes(setup);
    rows = train<GmlpModel>(setup, table, form, gmlp(sizes, GateForm::split, 6 * sizes.channels), sizes.length);
  } else if (setup.wants(form)) {
    for (const Row& row : rows) {
      print_row(table, form, row);
    }
  }
}

/// gMLP, Table 3: the forms of s(Z).
void table_of_gates(const Setup& setup) {
  const Sizes sizes(setup);
  const Index unsplit = 4 * sizes.channels;
  const auto run = [&](const char* form, GateForm gate, Index hidden) {
    train<GmlpModel>(setup, "gates", form, gmlp(sizes, gate, hidden), sizes.length);
  };
  run("no mixing", GateForm::identity, unsplit);
  run("linear", GateForm::linear, unsplit);
  run("additive", GateForm::additive, unsplit);
  run("multiplicative", GateForm::multiplicative, unsplit);
  print_split(setup, "gates", "split");
  run("split at their parameters", GateForm::split, 2 * (2 * unsplit / 3));  // 1.5·C·F weights per block, not 2·C·F
}

/// gMLP, §2.1: W starts near zero, so a block starts as a feed-forward layer.
void table_of_starts(const Setup& setup) {
  const Sizes sizes(setup);
  print_split(setup, "starts", "near zero");
  const auto config = gmlp(sizes, GateForm::split, 6 * sizes.channels);
  train<GmlpModel>(setup, "starts", "deviation 0.02", config, sizes.length, [](GmlpModel& model, gated::Random& random) {
    for (auto& block : model.trunk.blocks) {
      gated::fill_normal(block.gate.proj.weight, 0.02, random);
    }
  });
}

/// gMLP, §4: a Toeplitz W against a dense one.
void table_of_weights(const Setup& setup) {
  const Sizes sizes(setup);
  print_split(setup, "weights", "toeplitz");
  train<GmlpModel>(setup, "weights", "dense", gmlp(sizes, GateForm::split, 6 * sizes.channels, SpatialForm::dense),
                   sizes.length);
}

/// FLASH, §3 and §4: score kernels, and token mixers.
void table_of_attention(const Setup& setup) {
  const Sizes sizes(setup, 6, 256);
  train<GauModel>(setup, "attention", "GAU relu²", gau(sizes, gated::ScoreKernel::relu2), sizes.length);
  train<GauModel>(setup, "attention", "GAU softmax", gau(sizes, gated::ScoreKernel::softmax), sizes.length);
  train<FlashModel>(setup, "attention", "FLASH", flash(sizes), sizes.length);
  train<TransformerModel>(setup, "attention", "Transformer rotary", transformer(sizes), sizes.length);
  train<TransformerModel>(setup, "attention", "Transformer rotary and T5", transformer(sizes, gated::RelativeBiasForm::t5),
                          sizes.length);
}

/// FLASH, §4: the time of a step by length, with the same number of bytes per step.
void table_of_times(const Setup& setup) {
  for (Index length = setup.quick ? 64 : 256; length <= (setup.quick ? 128 : 8192); length *= 2) {
    Sizes sizes(setup, 6);
    sizes.length = length;
    time_steps<FlashModel>(setup, "FLASH", flash(sizes), length);
    time_steps<GauModel>(setup, "FLASH-Quad", gau(sizes, gated::ScoreKernel::relu2), length);
    time_steps<TransformerModel>(setup, "Transformer", transformer(sizes), length);
  }
}

/// gMLP, §4.3: tiny attention beside the gate, three blocks in place of four.
void table_of_tiny_attention(const Setup& setup) {
  const Sizes eight(setup, 8), six(setup, 6);
  train<GmlpModel>(setup, "amlp", "gMLP", gmlp(eight, GateForm::split, 6 * eight.channels), eight.length);
  train<GmlpModel>(setup, "amlp", "aMLP", gmlp(six, GateForm::split, 6 * six.channels, SpatialForm::toeplitz, 64), six.length);
}

struct Table {
  const char* name;
  void (*print)(const Setup&);
};

constexpr Table tables[] = {{"gates", table_of_gates},         {"starts", table_of_starts}, {"weights", table_of_weights},
                            {"attention", table_of_attention}, {"time", table_of_times},    {"amlp", table_of_tiny_attention}};

constexpr const char* usage =
    "usage: compare_forms [--quick] [--threads N] [--seeds N] [--steps N]\n"
    "                     [--table gates | starts | weights | attention | time | amlp]... [--form NAME]... [texts...]\n";

/// The positive number after an option.
int number_in(const std::string& option, const char* given) {
  std::size_t read = 0;
  int number = 0;
  try {
    number = std::stoi(given, &read);
  } catch (const std::logic_error&) {
  }
  gated::require<gated::ArgumentError>(number > 0 && given[read] == '\0', option, " ", given, ": expected a positive number.");
  return number;
}

int run(int count, char** arguments) {
  Setup setup;
  std::vector<std::string> names;
  std::vector<std::filesystem::path> texts;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    const char* const next = i + 1 < count ? arguments[i + 1] : "";
    if (argument == "--quick") {
      setup.quick = true;
      setup.seeds = 1;
      setup.steps = 6;
    } else if (argument == "--threads") {
      setup.threads = number_in(argument, next), ++i;
    } else if (argument == "--seeds") {
      setup.seeds = number_in(argument, next), ++i;
    } else if (argument == "--steps") {
      setup.steps = std::max(number_in(argument, next), 20), ++i;
    } else if (argument == "--table" &&
               std::any_of(std::begin(tables), std::end(tables), [&](const Table& t) { return t.name == std::string(next); })) {
      names.push_back(next), ++i;
    } else if (argument == "--form" && *next != '\0') {
      setup.forms.emplace_back(next), ++i;
    } else if (argument.starts_with("--")) {
      std::cerr << usage;
      return 2;
    } else {
      texts.emplace_back(argument);
    }
  }
  const text::Corpus corpus(texts.empty() ? text::default_texts() : text::text_files(texts));
  setup.corpus = &corpus;
  std::cout << "table,form,seed,x,quantity,value\n";
  for (const Table& table : tables) {
    if (names.empty() || std::find(names.begin(), names.end(), table.name) != names.end()) {
      table.print(setup);
    }
  }
  return 0;
}

}  // namespace

}  // namespace papers

int main(int count, char** arguments) try { return papers::run(count, arguments); } catch (const std::exception& error) {
  std::cerr << "compare_forms: " << error.what() << '\n';
  return 1;
}
