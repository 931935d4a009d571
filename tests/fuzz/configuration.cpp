#include <algorithm>
#include <optional>
#include <string>

#include "tests/fuzz/file_of.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/models.hpp"

// The first line of the input is the architecture of a model, the rest its configuration as JSON. An accepted configuration
// round-trips through JSON. Its model stays within the budget, runs, and round-trips through a file. If the model exceeds the
// budget, a file with this configuration and no tensors is refused.

namespace gated::fuzz {
namespace {

constexpr Index most_values = 20000, most_products = 10'000'000;

/// Sequences that a trunk with this configuration accepts.
Sequences sequences_for(const GmlpConfig& c) { return Sequences::single(c.causal ? std::min<Index>(c.length, 5) : c.length); }
template <class Block>
Sequences sequences_for(const StackConfig<Block>& c) {
  Index length = 0;
  gated::detail::for_each_length(c, [&](Index own) { length = own; });
  return length == 0 ? Sequences::of_lengths({3, 2}) : Sequences::single(length);
}

/// True if a model with this configuration is fast and its stream state is small.
bool is_quick(const GmlpConfig& c) { return (Count(c.length) * c.length * c.hidden * c.depth).value() <= most_products; }
bool is_quick(const FlashConfig& c) { return c.block.chunk <= 1000; }
bool is_quick(const StackConfig<GatedAttentionUnitConfig>&) { return true; }
template <class TokenMixer, class ChannelMixer>
bool is_quick(const StackConfig<MixerBlockConfig<TokenMixer, ChannelMixer>>& c) {
  return c.block.channels <= most_products / most_values;  // a token mixer multiplies each weight by every channel
}

const std::vector<Index>& zeros(Index length) {
  static std::vector<Index> ids;
  ids.assign(static_cast<std::size_t>(length), 0);
  return ids;
}

template <class Trunk>
void run(const LanguageModel<Trunk>& model) {
  if (!is_quick(model.config.trunk)) {
    return;
  }
  Workspace<typename Trunk::Scalar> workspace;
  const Sequences sequences = sequences_for(model.config.trunk);
  model.forward(zeros(sequences.total()), sequences, workspace);
  auto state = model.start(1);  // refused unless causal
  Matrix<typename Trunk::Scalar> output(1, model.out());
  model.step(0, state, output, workspace);
}

template <class Trunk>
void run(const ImageClassifier<Trunk>& model) {
  if (!is_quick(model.config.trunk) || model.in() > most_values) {
    return;
  }
  Workspace<typename Trunk::Scalar> workspace;
  model.forward(Matrix<typename Trunk::Scalar>::Ones(1, model.in()), workspace);
}

void run(const PoseHead<float>& head) {
  const PoseHeadConfig& c = head.config;
  if (c.key_points > 1000 || (Count(head.in()) * c.kernel * c.kernel).value() > most_values) {
    return;
  }
  Workspace<float> workspace;
  head.decode(head.forward(Matrix<float>::Ones(1, head.in()), workspace));
}

/// Runs a layer on two sequences and, if it can stream, on one token of a stream.
template <class L>
void run_layer(const L& layer) {
  if (layer.in() > most_values) {
    return;
  }
  Workspace<float> workspace;
  layer.forward(Matrix<float>::Ones(5, layer.in()), Sequences::of_lengths({3, 2}), workspace);
  auto state = layer.start(1);  // refused unless causal
  Matrix<float> output(1, layer.out());
  layer.extend(Matrix<float>::Ones(1, layer.in()), state, output, workspace);
}
void run(const MaskNetwork<float>& network) { run_layer(network); }
void run(const SpeechDenoiser<float>& denoiser) { run_layer(denoiser); }
void run(const Branchformer<float>& encoder) { run_layer(encoder); }
void run(const LightConvBlock<float>& block) { run_layer(block); }
void run(const Roformer<float>& layers) { run_layer(layers); }

void run(const SpeechSeparator<float>& separator) {
  const Index samples = separator.config.window + 9;
  if (samples <= most_values) {
    Workspace<float> workspace;
    separator.forward(Matrix<float>::Ones(1, samples), workspace);
  }
}

template <class Model>
void run(const Training<Model>& training) {
  run(training.model);
}

template <class Model>
void check(std::string_view json) {
  const auto config = from_json<typename Model::Config>(json);
  const std::string canonical = to_json(config);
  promise(to_json(from_json<typename Model::Config>(canonical)) == canonical, "a configuration round-trips through JSON");
  std::optional<Model> model;
  const bool is_built = accepted([&] {
    const ParameterBudget budget(most_values, "too many values");
    model.emplace(config);
  });
  if (!is_built) {
    const auto empty = file_of<Model>(nullptr, canonical);
    promise(!accepted([&] { load_model<Model>(SafetensorsFile::parse(empty)); }), "a file without tensors is refused");
    return;
  }
  Count built = 0;
  for_each_parameter([&](const ParameterInfo&, auto values) { built += static_cast<Index>(values.size()); },
                     std::as_const(*model));
  promise(built.value() <= 16 * most_values,
          "a budget bounds the size of a model");  // 16: the budget counts neither biases nor a training run's copies
  for_each_parameter(
      [](const ParameterInfo&, auto values) {
        for (std::size_t i = 0; i < values.size(); ++i) {
          values[i] = (is_unset(values[i]) ? 0 : values[i]) + static_cast<typename decltype(values)::value_type>(i % 7) / 8;
        }
      },
      *model);
  const auto file = file_of(&*model, canonical);
  const auto loaded = load_model<Model>(SafetensorsFile::parse(file));
  for_each_parameter(
      [](const ParameterInfo&, auto a, auto b) {
        promise(std::memcmp(a.data(), b.data(), a.size_bytes()) == 0, "a model round-trips through its file");
      },
      std::as_const(*model), loaded);
  accepted([&] { run(loaded); });  // may be refused, for example if a sequence is too long for a position table
}

}  // namespace
}  // namespace gated::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gated;
  const std::string_view input = fuzz::text_of(data, size);
  const std::size_t newline = std::min(input.find('\n'), input.size());
  const std::string_view json = input.substr(std::min(newline + 1, input.size()));
  fuzz::with_model(input.substr(0, newline), fuzz::EveryModel{},
                   [&]<class Model>() { fuzz::accepted([&] { fuzz::check<Model>(json); }); });
  return 0;
}
