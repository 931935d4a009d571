#pragma once

#include <algorithm>
#include <concepts>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gated/core/count.hpp"
#include "gated/core/unset.hpp"
#include "gated/io/checkpoint.hpp"
#include "gated/io/config_json.hpp"
#include "gated/io/nearest_name.hpp"
#include "gated/io/origin.hpp"
#include "gated/io/timm.hpp"
#include "gated/io/timm_config.hpp"

/// @file
/// A model and its configuration in one safetensors file.

namespace gated {

/// How to read a model file: the configuration in its metadata and the names of its tensors.
template <class Config>
struct ModelFile {
  Config config;
  NameMap names;
};

/// What the metadata of `file` say that it holds: the "architecture" that save_model() writes, or that of the configuration;
/// empty if they do not say it.
/// Errors: FileError for a configuration that is no JSON.
std::string architecture_of(const SafetensorsFile& file);

namespace detail {

/// Raises FileError for a `file` whose metadata say `found`, where `expected` is asked for.
[[noreturn]] void refuse_architecture(const SafetensorsFile& file, std::string_view found, std::string_view expected);

}  // namespace detail

/// Reads the configuration from the metadata of `file`: ours as save_model() and examples/convert write it, whose tensors may
/// have the names of a known origin; or that of an origin which writes models of this kind: for image classifiers
/// `{"config": "{\"architecture\": \"timm.gmlp\", …}"}`.
/// Errors: FileError if there is none or it is of another architecture; ArgumentError if it makes no sense.
template <ConfiguredModel Model>
ModelFile<typename Model::Config> describe_model(const SafetensorsFile& file) {
  const auto config = file.metadata().find("config");
  require<FileError>(
      config != file.metadata().end(), file.name(),
      ": no configuration in the metadata. Build the model from a preset or a Config and use load_parameters().");
  const std::string where = file.name() + ": configuration";
  const std::string found = architecture_of(file);
  if (found == Model::architecture) {
    const Origin* const origin = origin_of(file);  // examples/convert keeps the names of the origin
    return {from_json<typename Model::Config>(config->second, where), origin == nullptr ? NameMap() : names_of(file, *origin)};
  }
  if constexpr (std::same_as<typename Model::Config, GmlpImageClassifierConfig>) {
    if (found == "timm.gmlp") {
      return {timm_config(config->second, where), timm_names()};
    }
  }
  detail::refuse_architecture(file, found, Model::architecture);
}

/// While it lives, a model that is so much larger than `file` that it is not worth building is refused: a configuration in a
/// file is untrusted, and it must not take more memory than a file of that size can account for. Smaller differences are left
/// to load_parameters(), which says where they are; among them are constants, which a file need not store.
ParameterBudget budget_of(const SafetensorsFile& file);

/// The model in `file`, built from the configuration in its metadata.
///
/// Errors: FileError and ArgumentError as describe_model() and load_parameters() say. FileError also, before its memory is
/// touched, for a model that is far larger than the file.
/// Cost: one pass over the file. Memory for the model and, while it loads, for one tensor of the mapped file.
template <ConfiguredModel Model>
Model load_model(const SafetensorsFile& file) {
  const auto description = describe_model<Model>(file);
  Model model = [&] {
    const ParameterBudget budget = budget_of(file);
    return Model(description.config);
  }();
  load_parameters(model, file, description.names);
  return model;
}

/// The model in the file at `path`.
///
///     const auto model = load_model<GmlpImageClassifier<float>>("digits.safetensors");
template <ConfiguredModel Model>
Model load_model(const std::filesystem::path& path) {
  return load_model<Model>(SafetensorsFile(path));
}

/// The configuration from which load_model() will build `model` again: its member `config`, or what its function `config()`
/// gives if the configuration moves on as the model is used, as that of a Training does.
template <class Model>
decltype(auto) configuration_of(const Model& model) {
  if constexpr (requires { model.config(); }) {
    return model.config();
  } else {
    return (model.config);
  }
}

namespace detail {

/// The paths and shapes of a model's parameters.
template <class Model>
std::vector<std::string> parameter_shapes(const Model& model) {
  std::vector<std::string> shapes;
  for_each_parameter([&](const ParameterInfo& info, auto) { shapes.push_back(info.path() + " " + info.shape.describe()); },
                     model);
  return shapes;
}

/// Raises ArgumentError unless `model` has the parameters of `config`: one that was moved from does not.
/// Cost: a model of `config` whose weights are not touched.
template <class Model>
void expect_whole(const Model& model, const typename Model::Config& config) {
  if constexpr (requires { model.model; }) {  // a training, whose moments are as its model
    return expect_whole(model.model, config.model);
  }
  const HollowWeights hollow;
  const auto wanted = parameter_shapes(Model(config)), found = parameter_shapes(model);
  const auto [want, have] = std::mismatch(wanted.begin(), wanted.end(), found.begin(), found.end());
  require<ArgumentError>(want == wanted.end() && have == found.end(), "save_model: the model has ", found.size(),
                         " tensors, its configuration asks for ", wanted.size(), ": ", have == found.end() ? "none" : *have,
                         " in the place of ", want == wanted.end() ? "none" : *want,
                         ". A model that was moved from has lost its weights: save the one that it was moved to.");
}

}  // namespace detail

/// Writes `model` with its configuration, so that load_model() finds everything in one file. `metadata` may add texts.
/// Errors: as save_parameters(); ArgumentError for a model without the parameters of its configuration, such as one that was
/// moved from, and if `metadata` have "architecture" or "config", which are the model's. The file is written completely or not
/// at all.
template <ConfiguredModel Model>
void save_model(const Model& model, const std::filesystem::path& path, std::map<std::string, std::string> metadata = {},
                WeightFormat weights = WeightFormat::float32) {
  decltype(auto) config = configuration_of(model);
  detail::expect_whole(model, config);
  const auto add = [&](const char* key, std::string value) {
    require<ArgumentError>(metadata.emplace(key, std::move(value)).second, "save_model: the metadata have \"", key,
                           "\", which save_model() writes itself. Give your text another key.");
  };
  add("architecture", Model::architecture);
  add("config", to_json(config));
  save_parameters(model, path, metadata, {}, std::nullopt, weights);
}

/// The same with the matrices of projections and the embeddings in a small format: a half or a quarter of the bytes.
///
///     save_model(model, "model.int8.safetensors", WeightFormat::int8);
///
/// load_model() then gives the float model that round_weights() makes of this one, and load_prepared() keeps them small.
template <ConfiguredModel Model>
void save_model(const Model& model, const std::filesystem::path& path, WeightFormat weights) {
  save_model(model, path, {}, weights);
}

}  // namespace gated

#if defined(GATED_COMPILED)
#include "gated/compiled/files.inl"
#else
#include "gated/io/model_file.inl"
#endif
