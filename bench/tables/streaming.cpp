#include <vector>

#include "gated/models/prepare.hpp"
#include "tables.hpp"

namespace bench {

namespace {

constexpr Index channels = 512, chunk = 256;

/// The seconds of a token in `step(x, y, i)`, called for i = 0 … tokens - 1.
template <class Step>
double seconds_per_token(Index tokens, const Step& step) {
  const gated::Matrix<float> x = gated::Matrix<float>::Random(1, channels);
  gated::Matrix<float> y = x;
  const double start = seconds();
  for (Index i = 0; i < tokens; ++i) {
    step(x, y, i);
  }
  return (seconds() - start) / static_cast<double>(tokens);
}

void print(const char* series, Index position, const std::vector<double>& times, std::size_t state_bytes) {
  print_row("streaming", series, position, "tokens/s", 1 / median(times));
  print_row("streaming", series, position, "state MB", megabytes(state_bytes));
}

/// A workspace that takes the packed weights of one model.
struct PreparedWorkspace {
  gated::PreparedWeights<float> weights;
  gated::Workspace<float> workspace;

  template <class Model>
  PreparedWorkspace(const Model& model, const TableOptions& options)
      : weights(gated::prepare(model)), workspace(options.threads) {
    workspace.use(weights);
  }
};

/// Prints the speed of `step`, as seconds_per_token() calls it, after `restart()`.
template <class State, class Restart, class Step>
void measure(const TableOptions& options, const char* series, Index position, Index tokens, const State& state,
             const Restart& restart, const Step& step) {
  std::vector<double> times;
  for (int run = -1; run < options.runs(); ++run) {
    restart();
    const double time = seconds_per_token(tokens, step);
    if (run >= 0) {  // the first warms up
      times.push_back(time);
    }
  }
  print(series, position, times, state.bytes());
}

/// What the layers are asked for does not depend on what the tokens were, so positions are set rather than reached.
void single_layers(const TableOptions& options, const std::vector<Index>& positions) {
  const Index capacity = positions.back() + chunk;
  gated::Random random(1);
  const auto tokens = [&](Index wanted) { return options.quick ? std::min<Index>(wanted, 4) : wanted; };

  const gated::MixedChunkAttention<float> flash(gated::flash_presets::lucidrains(channels, chunk), random);
  PreparedWorkspace prepared_flash(flash, options);
  for (const Index position : positions) {
    auto state = flash.start();
    const auto restart = [&] {
      state.finished = (position - 1) / chunk;
      state.filled = (position - 1) % chunk;
    };
    measure(options, "FLASH layer", position, tokens(chunk), state, restart,
            [&](const auto& x, auto& y, Index) { flash.extend(x, state, y, prepared_flash.workspace); });
  }

  auto gau_config = gated::gau_presets::paper(channels, capacity);
  gau_config.score_scale = gated::ScoreScale::max_length;
  gau_config.causal = true;
  const gated::GatedAttentionUnit<float> gau(gau_config, random);
  PreparedWorkspace prepared_gau(gau, options);
  for (const Index position : positions) {
    auto state = gau.start(position + chunk);
    measure(
        options, "GAU", position, tokens(16), state, [] {},
        [&](const auto& x, auto& y, Index i) { gau.extend(x, position - 1 + i, state, y, prepared_gau.workspace); });
  }

  for (const Index position : positions) {
    gated::GmlpBlock<float> block({.length = position + chunk,
                                   .channels = channels,
                                   .hidden = 6 * channels,
                                   .spatial = gated::SpatialForm::toeplitz,
                                   .causal = true});
    block.initialize(random);
    PreparedWorkspace prepared_block(block, options);
    auto state = block.start();
    measure(
        options, "gMLP block (Toeplitz)", position, tokens(16), state, [] {},
        [&](const auto& x, auto& y, Index i) { block.extend(x, position - 1 + i, state, y, prepared_block.workspace); });
  }
}

/// A whole model, whose positions are reached, thousands of tokens at a time. They are measured by turns: how they compare is
/// what is asked for.
void flash_model(const TableOptions& options, const std::vector<Index>& positions) {
  gated::Random random(1);
  const gated::Flash<float> model({.depth = 12, .layer = gated::flash_presets::lucidrains(channels, chunk)}, random);
  PreparedWorkspace prepared_model(model, options);
  std::vector<gated::FlashState<float>> states;
  auto state = model.start();
  for (const Index position : positions) {
    while (state.position() < position - 1) {
      const Index rows = std::min<Index>(4096, position - 1 - state.position());
      const gated::Matrix<float> x = gated::Matrix<float>::Random(rows, channels);
      gated::Matrix<float> y = x;
      model.extend(x, state, y, prepared_model.workspace);
    }
    states.push_back(state);
  }
  std::vector<std::vector<double>> times(positions.size());
  for (int run = -1; run < options.runs(); ++run) {
    for (std::size_t i = 0; i < positions.size(); ++i) {
      state = states[i];
      const double time = seconds_per_token(options.quick ? 4 : chunk, [&](const auto& x, auto& y, Index) {
        model.extend(x, state, y, prepared_model.workspace);
      });
      if (run >= 0) {
        times[i].push_back(time);
      }
    }
  }
  for (std::size_t i = 0; i < positions.size(); ++i) {
    print("FLASH 12 layers", positions[i], times[i], state.bytes());
  }
}

}  // namespace

void table_of_streaming(const TableOptions& options) {
  const std::vector<Index> positions =
      options.quick ? std::vector<Index>{1, 300} : std::vector<Index>{1, 16, 256, 1000, 4096, 16384, 65536};
  single_layers(options, positions);
  flash_model(options, positions);
}

}  // namespace bench
