#include <algorithm>
#include <string>

#include "gated/io/safetensors_writer.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/models.hpp"

// The first line is a model's architecture, the rest its configuration as JSON. What is accepted comes back the same from its
// own JSON; a model of it has the values that were foretold, runs, and comes back from a file that holds it. A model too large
// for that is refused with an empty file.

namespace gated::fuzz {
namespace {

constexpr Index most_values = 20000, most_products = 10'000'000;

/// A file in memory.
template <class Model>
std::vector<std::byte> file_of(const Model* model, const std::string& config) {
  std::vector<TensorToWrite> tensors;
  if (model != nullptr) {
    for_each_parameter(
        [&](const ParameterInfo& info, auto values) {
          tensors.push_back({info.path(), dtype_of<typename decltype(values)::value_type>(),
                             std::vector<Index>(info.shape.begin(), info.shape.end()), std::as_bytes(values)});
        },
        *model);
  }
  const std::string header =
      detail::safetensors_header("file", tensors, {{"architecture", Model::architecture}, {"config", config}});
  const auto start = std::as_bytes(std::span(header));
  std::vector<std::byte> file(start.begin(), start.end());
  for (const TensorToWrite& tensor : tensors) {
    file.insert(file.end(), tensor.bytes.begin(), tensor.bytes.end());
  }
  return file;
}

Index length_for(const GmlpConfig& c) { return c.causal ? std::min<Index>(c.length, 5) : c.length; }
bool is_quick(const GmlpConfig& c) { return (Count(c.length) * c.length * c.hidden * c.depth).value() <= most_products; }

const std::vector<Index>& zeros(Index length) {
  static std::vector<Index> ids;
  ids.assign(static_cast<std::size_t>(length), 0);
  return ids;
}

template <class T>
void run(const GmlpLanguageModel<T>& model) {
  if (!is_quick(model.config.trunk)) {
    return;
  }
  Workspace<T> workspace;
  const Index length = length_for(model.config.trunk);
  model.forward(zeros(length), Sequences::single(length), workspace);
  if (model.config.trunk.causal) {
    auto state = model.start();
    Matrix<T> logits(1, model.config.vocabulary);
    model.step(0, state, logits, workspace);
  }
}

template <class T>
void run(const GmlpImageClassifier<T>& model) {
  if (!is_quick(model.config.trunk) || model.patch_embedding.pixels() > most_values) {
    return;
  }
  Workspace<T> workspace;
  model.forward(Matrix<T>::Ones(1, model.patch_embedding.pixels()), workspace);
}

template <class T>
void run(const FlashLanguageModel<T>& model) {
  Workspace<T> workspace;
  model.forward(zeros(5), Sequences::of_lengths({3, 2}), workspace);
  if (model.config.trunk.layer.causal && model.config.trunk.layer.chunk <= 1000) {
    auto state = model.start();
    Matrix<T> logits(1, model.out());
    model.step(0, state, logits, workspace);
  }
}

template <class T>
void run(const GauEncoder<T>& model) {
  Workspace<T> workspace;
  model.forward(zeros(5), Sequences::of_lengths({3, 2}), workspace);
}

template <class Model>
void run(const Training<Model>& training) {
  run(training.model);
}

template <class Model>
void check(std::string_view json) {
  const auto config = from_json<typename Model::Config>(json);
  const std::string canonical = to_json(config);
  promise(to_json(from_json<typename Model::Config>(canonical)) == canonical, "a configuration comes back from its JSON");
  const Count foretold = value_count(config);
  if (foretold.value() > most_values) {
    const auto empty = file_of<Model>(nullptr, canonical);
    promise(!accepted([&] { load_model<Model>(SafetensorsFile::parse(empty)); }), "an empty file holds no model");
    return;
  }
  Model model(config);
  Count built = 0;
  for_each_parameter([&](const ParameterInfo&, auto values) { built += static_cast<Index>(values.size()); }, model);
  promise(built == foretold, "value_count() foretells what is built");
  for_each_parameter(
      [](const ParameterInfo&, auto values) {
        for (std::size_t i = 0; i < values.size(); ++i) {
          values[i] += static_cast<typename decltype(values)::value_type>(i % 7) / 8;
        }
      },
      model);
  const auto file = file_of(&model, canonical);
  const auto loaded = load_model<Model>(SafetensorsFile::parse(file));
  for_each_parameter(
      [](const ParameterInfo&, auto a, auto b) {
        promise(std::memcmp(a.data(), b.data(), a.size_bytes()) == 0, "a model comes back from its file");
      },
      std::as_const(model), loaded);
  accepted([&] { run(loaded); });  // a length may be one too many for a table
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
