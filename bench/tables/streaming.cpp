#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "gated/models/prepare.hpp"
#include "tables.hpp"

namespace bench {

namespace {

using gated::Matrix;
using State = gated::State<float>;

constexpr Index channels = 512, chunk = 256;

/// Measures one series of the table at one position. `measure` returns the mean seconds per token. `steps` contains each
/// step's shortest time over all calls of `measure`, in seconds.
struct Stream {
  const char* series;
  Index position;
  std::size_t state_bytes;
  Measurement measure;
  std::shared_ptr<std::vector<double>> steps = std::make_shared<std::vector<double>>();
};

using Streams = std::vector<Stream>;

/// A workspace with the packed weights of one model.
struct PreparedWorkspace {
  gated::PreparedWeights<float> weights;
  gated::Workspace<float> workspace;

  template <class Model>
  PreparedWorkspace(const Model& model, const TableOptions& options)
      : weights(gated::prepare(model)), workspace(options.threads) {
    workspace.use(weights);
  }
};

/// The steps to time: `restart()` returns to the first position, `step(x, y)` processes one token.
struct Steps {
  Index tokens, columns;
  std::function<void()> restart;
  std::function<void(const Matrix<float>& x, Matrix<float>& y)> step;
  bool goes_on = false;  // the timed tokens continue after the warm-up, without a restart
};

/// Measures the mean time of `steps.tokens` steps, after equally many warm-up steps, which evict other streams from the caches.
Stream stream(const char* series, const TableOptions& options, Index position, std::size_t state_bytes, Steps steps) {
  Stream made{series, position, state_bytes, {}};
  steps.tokens = options.quick ? std::min<Index>(steps.tokens, 4) : steps.tokens;
  made.steps->assign(static_cast<std::size_t>(steps.tokens), std::numeric_limits<double>::infinity());
  made.measure = [steps, best = made.steps] {
    const Matrix<float> x = Matrix<float>::Random(1, steps.columns);
    Matrix<float> y = x;
    double time = 0;
    for (int pass = 0; pass < 2; ++pass) {
      if (pass == 0 || !steps.goes_on) {
        steps.restart();
      }
      time = 0;
      for (Index i = 0; i < steps.tokens; ++i) {
        const double start = seconds();
        steps.step(x, y);
        const double taken = seconds() - start;
        time += taken;
        double& least = (*best)[static_cast<std::size_t>(i)];
        least = pass == 0 ? least : std::min(least, taken);
      }
    }
    return time / static_cast<double>(steps.tokens);
  };
  return made;
}

// The time of a single layer's step depends on its position, not on the values in the state. The next three functions therefore
// set only the position, and leave the state zero.

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
    streams.push_back(stream("FLASH layer", options, position, reached.bytes(),
                             {chunk, channels, [state, reached] { *state = reached; },
                              [=](const auto& x, auto& y) { layer->extend(x, *state, y, prepared->workspace); }}));
  }
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
    state->skip(position - 1);
    streams.push_back(stream("GAU", options, position, state->bytes(),
                             {16, channels, [=] { state->rewind(position - 1); },
                              [=](const auto& x, auto& y) { layer->extend(x, *state, y, prepared->workspace); }}));
  }
}

/// The steps of a gMLP block differ in duration, so up to 1,024 consecutive steps are timed, after equally many warm-up steps.
/// The last step reaches the position.
void add_gmlp_block(const char* series, Index width, const TableOptions& options, const std::vector<Index>& positions,
                    gated::Random& random, Streams& streams) {
  for (const Index position : positions) {
    const auto block =
        std::make_shared<gated::GmlpBlock<float>>(gated::GmlpConfig{.length = position + chunk,
                                                                    .channels = width,
                                                                    .hidden = width == channels ? 6 * width : 4 * width,
                                                                    .spatial = gated::SpatialForm::toeplitz,
                                                                    .causal = true});
    block->initialize(random);
    const auto prepared = std::make_shared<PreparedWorkspace>(*block, options);
    const auto state = std::make_shared<State>();
    const Index many = std::min<Index>(1024, (position - 1) / 2);
    const bool are_many = many >= 16 && !options.quick;
    const auto restart = [=] {
      *state = State();  // also discards the precomputed sums
      *state = block->start();
      state->skip(are_many ? position - 2 * many : position - 1);
    };
    streams.push_back(stream(series, options, position, block->start().bytes(),
                             {are_many ? many : 16, width, restart,
                              [=](const auto& x, auto& y) { block->extend(x, *state, y, prepared->workspace); }, are_many}));
  }
}

/// A whole FLASH model. Prefill advances the state to each position, up to 4,096 tokens at a time.
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
    streams.push_back(stream("FLASH 12 layers", options, position, state->bytes(),
                             {chunk, channels, [state, reached = *state] { *state = reached; },
                              [=](const auto& x, auto& y) { model->extend(x, *state, y, prepared->workspace); }}));
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
  add_gmlp_block("gMLP block (Toeplitz)", channels, options, positions, random, streams);
  add_gmlp_block("gMLP block d 128 (Toeplitz)", 128, options,
                 options.quick ? positions : std::vector<Index>{1, 4096, 65536, 1 << 20}, random, streams);
  add_flash_model(options, positions, random, streams);

  std::vector<Measurement> measurements;
  for (Stream& stream : streams) {
    measurements.push_back(std::move(stream.measure));  // moved, because some functions own a state
  }
  const auto times = by_turns(options.turns(), measurements);
  for (std::size_t i = 0; i < streams.size(); ++i) {
    print_row("streaming", streams[i].series, streams[i].position, "tokens/s", 1 / median(times[i]));
    const std::vector<double>& steps = *streams[i].steps;  // the shortest time of each step
    const double slowest = *std::max_element(steps.begin(), steps.end());
    print_row("streaming", streams[i].series, streams[i].position, "slowest ms", 1e3 * slowest);
    print_row("streaming", streams[i].series, streams[i].position, "slowest of median", slowest / median(steps));
    print_row("streaming", streams[i].series, streams[i].position, "state MB", megabytes(streams[i].state_bytes));
  }
}

}  // namespace bench
