#include <gated/io/model_file.hpp>
#include <gated/io/prepared_model.hpp>
#include <gated/train.hpp>

// Models in use, compiled and never run: no warning of contract/CMakeLists.txt may appear. With optimization and without
// exceptions, GCC tracks sizes up to the allocation and warns about impossible ones.

using namespace gated;

namespace {

constexpr Index tokens = 16;

/// Trains, saves, reads, prepares, runs and streams a model with the input x.
template <class Model, class In>
void use(const typename Model::Config& config, const In& x) {
  using T = typename Model::Scalar;
  const Sequences sequences = Sequences::single(tokens);
  Training<Model> training({.model = config}, Random(1));
  training.step([&](auto& run) { return cross_entropy(run(training.model, x, sequences), std::vector<Index>(tokens)); });
  save_model(training, "training.safetensors");
  save_model(training.model, "model.safetensors", WeightFormat::int8);

  const auto opened = load_prepared<Model>("model.safetensors");
  const auto model = load_model<Model>("model.safetensors");
  const PreparedWeights<T> prepared = prepare(model);
  Workspace<T> workspace;
  workspace.use(prepared);
  const Matrix<T> y = model.forward(x, sequences, workspace);
  State<T> state = model.start(tokens), branch = state;
  Matrix<T> last(1, y.cols());
  if constexpr (requires { model.step(x[0], state, last, workspace); }) {
    model.step(x[0], state, last, workspace);
  } else {
    model.extend(x.topRows(1), state, last, workspace);
  }
  branch.rewind(0);
}

}  // namespace

RelativeBias<float> bias_of(RelativeBiasForm form, Index positions);
RelativeBias<float> bias_of(RelativeBiasForm form, Index positions) { return {form, false, 1.0f, positions}; }

void use_models();
void use_models() {
  const GmlpConfig gmlp{.length = tokens, .channels = 8, .hidden = 16, .causal = true};
  const auto block = flash_presets::lucidrains({.channels = 8});
  use<Gmlp<float>>(gmlp, Matrix<float>(Matrix<float>::Ones(tokens, 8)));
  use<Flash<float>>({.depth = 2, .block = block}, Matrix<float>(Matrix<float>::Ones(tokens, 8)));
  use<GmlpLanguageModel<float>>({.vocabulary = 11, .trunk = gmlp}, std::vector<Index>(tokens));
}
