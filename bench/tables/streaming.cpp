#include <memory>
#include <vector>

#include "gated/models/prepare.hpp"
#include "tables.hpp"

namespace bench {

namespace {

using gated::Matrix;
using State = gated::State<float>;

constexpr Index channels = 512, chunk = 256;

/// A series at one position: the seconds of a token from there on, and the bytes of the state.
struct Stream {
  const char* series;
  Index position;
  std::size_t state_bytes;
  Measurement measure;
};

using Streams = std::vector<Stream>;

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

/// The mean seconds of `tokens` steps: `step(x, y, i)` for i = 0 … tokens - 1, after as many that are not counted, so that what
/// another stream left in the caches is gone. `restart()` goes back to the state before the first.
template <class Restart, class Step>
Measurement mean_of(const TableOptions& options, Index tokens, const Restart& restart, const Step& step) {
  if (options.quick) {
    tokens = std::min<Index>(tokens, 4);
  }
  return [tokens, restart, step] {
    const Matrix<float> x = Matrix<float>::Random(1, channels);
    Matrix<float> y = x;
    double time = 0;
    for (int pass = 0; pass < 2; ++pass) {
      restart();
      const double start = seconds();
      for (Index i = 0; i < tokens; ++i) {
        step(x, y, i);
      }
      time = seconds() - start;
    }
    return time / static_cast<double>(tokens);
  };
}

// How long a step of a single layer takes depends on its position and not on the numbers in the state: in these three series
// the position is set, and the state holds zeros.

void add_flash_layer(const TableOptions& options, const std::vector<Index>& positions, gated::Random& random,
                     Streams& streams) {
  using Layer = gated::MixedChunkAttention<float>;
  const auto layer =
      std::make_shared<const Layer>(gated::flash_presets::lucidrains({.channels = channels, .chunk = chunk}), random);
  const auto prepared = std::make_shared<PreparedWorkspace>(*layer, options);
  const auto state = std::make_shared<State>();
  for (const Index position : positions) {
    State reached = layer->start();
    reached.skip(position - 1);
    const auto restart = [state, reached] { *state = reached; };
    const auto step = [=](const auto& x, auto& y, Index) { layer->extend(x, *state, y, prepared->workspace); };
    streams.push_back({"FLASH layer", position, reached.bytes(), mean_of(options, chunk, restart, step)});
  }
}

/// Steps of a layer that remembers each token: sixteen from `position` on, or, where steps are not alike, the `many` before it.
template <class Layer>
Stream keeping_tokens(const char* series, const TableOptions& options, Index position, const Layer& layer,
                      const std::shared_ptr<State>& state, const std::shared_ptr<PreparedWorkspace>& prepared, Index many = 0) {
  state->skip(position - 1);
  const Index steps = many > 0 && position > many ? many : 16;
  const auto restart = [state, first = steps == many ? position - many : position - 1] { state->rewind(first); };
  const auto step = [=](const auto& x, auto& y, Index) { layer->extend(x, *state, y, prepared->workspace); };
  return {series, position, state->bytes(), mean_of(options, steps, restart, step)};
}

void add_gau(const TableOptions& options, const std::vector<Index>& positions, gated::Random& random, Streams& streams) {
  using Layer = gated::GatedAttentionUnit<float>;
  auto config = gated::gau_presets::paper({.channels = channels, .max_length = positions.back() + chunk});
  config.score_scale = gated::ScoreScale::max_length;
  config.causal = true;
  const auto layer = std::make_shared<const Layer>(config, random);
  const auto prepared = std::make_shared<PreparedWorkspace>(*layer, options);
  for (const Index position : positions) {
    const auto state = std::make_shared<State>(layer->start(position + chunk));
    streams.push_back(keeping_tokens("GAU", options, position, layer, state, prepared));
  }
}

void add_gmlp_block(const TableOptions& options, const std::vector<Index>& positions, gated::Random& random, Streams& streams) {
  for (const Index position : positions) {
    const auto block = std::make_shared<gated::GmlpBlock<float>>(gated::GmlpConfig{.length = position + chunk,
                                                                                   .channels = channels,
                                                                                   .hidden = 6 * channels,
                                                                                   .spatial = gated::SpatialForm::toeplitz,
                                                                                   .causal = true});
    block->initialize(random);
    const auto prepared = std::make_shared<PreparedWorkspace>(*block, options);
    const auto state = std::make_shared<State>(block->start());
    streams.push_back(keeping_tokens("gMLP block (Toeplitz)", options, position, block, state, prepared, 1024));
  }
}

/// A whole model, whose positions are reached, thousands of tokens at a time.
void add_flash_model(const TableOptions& options, const std::vector<Index>& positions, gated::Random& random,
                     Streams& streams) {
  const auto model = std::make_shared<const gated::Flash<float>>(flash_trunk(true), random);
  const auto prepared = std::make_shared<PreparedWorkspace>(*model, options);
  const auto state = std::make_shared<State>(model->start());
  for (const Index position : positions) {
    while (state->position() < position - 1) {
      const Index rows = std::min<Index>(4096, position - 1 - state->position());
      const Matrix<float> x = Matrix<float>::Random(rows, channels);
      Matrix<float> y = x;
      model->extend(x, *state, y, prepared->workspace);
    }
    const auto restart = [state, reached = *state] { *state = reached; };
    const auto step = [=](const auto& x, auto& y, Index) { model->extend(x, *state, y, prepared->workspace); };
    streams.push_back({"FLASH 12 layers", position, state->bytes(), mean_of(options, chunk, restart, step)});
  }
}

}  // namespace

void table_of_streaming(const TableOptions& options) {
  const std::vector<Index> positions =
      options.quick ? std::vector<Index>{1, 300} : std::vector<Index>{1, 16, 256, 1000, 4096, 16384, 65536};
  gated::Random random(1);
  Streams streams;
  add_flash_layer(options, positions, random, streams);
  add_gau(options, positions, random, streams);
  add_gmlp_block(options, positions, random, streams);
  add_flash_model(options, positions, random, streams);

  std::vector<Measurement> measurements;
  for (Stream& stream : streams) {
    measurements.push_back(std::move(stream.measure));  // some hold a whole state
  }
  const auto times = by_turns(options.turns(), measurements);
  for (std::size_t i = 0; i < streams.size(); ++i) {
    print_row("streaming", streams[i].series, streams[i].position, "tokens/s", 1 / median(times[i]));
    print_row("streaming", streams[i].series, streams[i].position, "state MB", megabytes(streams[i].state_bytes));
  }
}

}  // namespace bench
