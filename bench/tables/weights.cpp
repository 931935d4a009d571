#include <algorithm>
#include <list>

#include "gated/models/gau_presets.hpp"
#include "gated/models/prepare.hpp"
#include "gated/models/stack.hpp"
#include "gated/models/text_presets.hpp"
#include "gated/ops/int8_products.hpp"
#include "tables.hpp"

namespace bench {

namespace {

using gated::Matrix, gated::WeightFormat;

constexpr Index channels = 512;
constexpr Index most_tokens = 32;  // length of the longest timed text

/// How weights are stored and multiplied.
struct Precision {
  const char* name;
  WeightFormat format;
  const gated::ProductEngine<float>* products = nullptr;
};

std::vector<Precision> precisions() {
  return {{"float32", WeightFormat::float32},
          {"bf16", WeightFormat::bf16},
          {"int8", WeightFormat::int8},
          {"int8-rows", WeightFormat::int8_rows},
          {"int8 products", WeightFormat::int8, gated::int8_products()},
          {"int8-rows products", WeightFormat::int8_rows, gated::int8_products()}};
}

/// Decodes at one precision. Each step reads every weight once.
template <class Model>
struct Steps {
  const Model& model;
  gated::PreparedWeights<float> weights;
  gated::Workspace<float> workspace;
  gated::State<float> state, start;
  Matrix<float> x = Matrix<float>::Random(1, channels), y{1, model.out()};

  Steps(const Model& m, const Precision& precision, int threads)
      : model(m),
        weights(gated::prepare(m, precision.format)),
        workspace(Threads{threads}),
        state(m.start(most_tokens)),
        start(state) {
    workspace.use(weights);
    workspace.use(precision.products);
  }

  /// The mean seconds per step over `tokens` steps from the start of a text, after an identical warm-up.
  double operator()(Index tokens) {
    double time = 0;
    for (int pass = 0; pass < 2; ++pass) {
      state = start;
      const double begin = seconds();
      for (Index i = 0; i < tokens; ++i) {
        if constexpr (requires { model.embedding; }) {
          model.step(17 * i, state, y, workspace);
        } else {
          model.extend(x, state, y, workspace);
        }
      }
      time = seconds() - begin;
    }
    return time / static_cast<double>(tokens);
  }
};

/// Reads an array as large as the weights, in tasks of 256 KiB. A memory-bound step cannot be faster.
class Read {
 public:
  Read(std::size_t bytes, int threads)
      : numbers_(std::max(bytes / (task_size * sizeof(float)), std::size_t{1}) * task_size),
        sums_(numbers_.count() / task_size),
        threads_(threads) {
    std::fill_n(numbers_.data(), numbers_.count(), 1.0f);
  }

  /// The mean seconds of `times` passes, after a warm-up pass.
  double operator()(Index times) {
    pass();
    const double begin = seconds();
    for (Index i = 0; i < times; ++i) {
      pass();
    }
    return (seconds() - begin) / static_cast<double>(times);
  }

 private:
  static constexpr std::size_t task_size = std::size_t{1} << 16;

  void pass() {
    gated::parallel_for(threads_, static_cast<Index>(sums_.size()), [&](Index task, Index) {
      using V = gated::Simd<float>;
      V parts[4] = {V(0.0f), V(0.0f), V(0.0f), V(0.0f)};
      const float* const x = numbers_.data() + static_cast<std::size_t>(task) * task_size;
      for (std::size_t i = 0; i < task_size; i += 4 * V::lane_count) {
        GATED_UNROLL
        for (unsigned k = 0; k < 4; ++k) {
          parts[k] = parts[k] + V::load(x + i + k * V::lane_count);
        }
      }
      sums_[static_cast<std::size_t>(task)] = (parts[0] + parts[1] + (parts[2] + parts[3])).sum();
    });
  }

  gated::AlignedMemory<float> numbers_;
  std::vector<float> sums_;
  Threads threads_;
};

template <class Model>
void measure(const TableOptions& options, const char* name, const typename Model::Config& config) {
  gated::Random random(1);
  const Model model(config, random);
  const Index tokens = options.quick ? 2 : most_tokens;
  const std::vector<Precision> all = precisions();
  for (const auto threads : thread_counts()) {
    std::list<Steps<Model>> steps;
    std::list<Read> reads;
    std::vector<Measurement> measurements;
    for (const Precision& precision : all) {
      auto& one = steps.emplace_back(model, precision, static_cast<int>(threads));
      auto& read = reads.emplace_back(one.weights.bytes(), static_cast<int>(threads));
      measurements.push_back([&one, tokens] { return one(tokens); });
      measurements.push_back([&read, tokens] { return read(tokens); });
    }
    const auto times = by_turns(options.quick ? 1 : 15, measurements);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto of_format = [&](const char* what) { return std::string(what) + ' ' + all[i].name; };
      print_row("weights", name, threads, of_format("tokens/s"), 1 / median(times[2 * i]));
      print_row("weights", name, threads, of_format("x"), median(times[0]) / median(times[2 * i]));
      print_row("weights", name, threads, of_format("of-a-read"), median(times[2 * i + 1]) / median(times[2 * i]));
      print_row("weights", name, threads, of_format("MB"),
                megabytes(std::next(steps.begin(), static_cast<int>(i))->weights.bytes()));
    }
  }
}

}  // namespace

void table_of_weights(const TableOptions& options) {
  auto flash = flash_trunk(true);
  gated::GmlpConfig gmlp{.length = 512,
                         .channels = channels,
                         .hidden = 6 * channels,
                         .depth = 12,
                         .spatial = gated::SpatialForm::toeplitz,
                         .causal = true};
  using Gau = gated::Stack<gated::GatedAttentionUnit<float>>;
  Gau::Config gau{.depth = 12, .block = gated::gau_presets::paper({.channels = channels})};
  gau.block.score_scale = gated::ScoreScale::max_length;
  gau.block.causal = true;
  if (options.quick) {
    flash.depth = gmlp.depth = gau.depth = 1;
  }
  measure<gated::Flash<float>>(options, "FLASH 12 layers", flash);
  measure<Gau>(options, "GAU 12 layers", gau);
  measure<gated::Gmlp<float>>(options, "gMLP 12 layers", gmlp);
  auto smollm = gated::decoder_presets::smollm2_135m();
  if (options.quick) {
    smollm.trunk.depth = 1;
  }
  measure<gated::TextTransformer<float>>(options, "SmolLM2-135M", smollm);
}

}  // namespace bench
