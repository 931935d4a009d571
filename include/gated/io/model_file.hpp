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
#include "gated/io/published_text.hpp"
#include "gated/io/timm.hpp"
#include "gated/io/timm_config.hpp"

/// @file
/// A model and its configuration in one safetensors file.

namespace gated {

/// The configuration in a model file, and the name map for its tensors.
template <class Config>
struct ModelFile {
  Config config;
  NameMap names;
};

/// The architecture in the metadata of `file`: the entry "architecture", as written by save_model(), or else the key
/// "architecture" of the configuration. Empty if there is neither.
/// Errors: FileError if the configuration is not valid JSON.
std::string architecture_of(const SafetensorsFile& file);

namespace detail {

/// Raises FileError: the metadata of `file` names the architecture `found` instead of `expected`.
[[noreturn]] void refuse_architecture(const SafetensorsFile& file, std::string_view found, std::string_view expected);

/// The name map for the text transformer in `file`, which has this configuration: text_names() with the prefix of the file's
/// tensors, or no change of names if gated wrote them.
/// Errors: ArgumentError if the configuration has more key heads than the file's keys have rows.
NameMap text_names_in(const SafetensorsFile& file, const TextTransformerConfig& config);

/// True if `file` has no configuration of gated, but the config.json of a published model.
bool is_packed(const SafetensorsFile& file);

}  // namespace detail

/// Reads the configuration from the metadata of `file`. Files from save_model() and examples/convert have gated's
/// configuration; their tensors have gated's names or the original code's (origin_of()). For gMLP image classifiers, timm's
/// configuration is accepted too: `{"config": "{\"architecture\": \"timm.gmlp\", …}"}`. For text transformers, so are the JSON
/// files of a published folder, each under its path: `{"config.json": "{\"model_type\": \"llama\", …}", "modules.json": …}`.
/// Errors: FileError for a missing configuration or an architecture other than `Model`'s; ArgumentError for invalid settings.
template <ConfiguredModel Model>
ModelFile<typename Model::Config> describe_model(const SafetensorsFile& file) {
  constexpr bool is_text = std::same_as<typename Model::Config, TextTransformerConfig>;
  const std::string found = architecture_of(file);
  if constexpr (is_text) {
    if (found == Model::architecture && detail::is_packed(file)) {
      auto config = detail::published_text_config([&](const std::string& path) { return detail::packed_json(file, path); });
      NameMap names = detail::text_names_in(file, config);
      return {std::move(config), std::move(names)};
    }
  }
  const auto json = file.metadata().find("config");
  require<FileError>(
      json != file.metadata().end(), file.name(),
      ": no configuration in the metadata. Build the model from a preset or a Config and use load_parameters().");
  const std::string where = file.name() + ": configuration";
  if (found == Model::architecture) {
    auto config = from_json<typename Model::Config>(json->second, where);
    NameMap names;
    if constexpr (is_text) {
      names = detail::text_names_in(file, config);
    } else if (const Origin* const origin = origin_of(file)) {  // examples/convert keeps the origin's tensor names
      names = names_of(file, *origin);
    }
    return {std::move(config), std::move(names)};
  }
  if constexpr (std::same_as<typename Model::Config, GmlpImageClassifierConfig>) {
    if (found == "timm.gmlp") {
      return {timm_config(json->second, where), timm_names()};
    }
  }
  detail::refuse_architecture(file, found, Model::architecture);
}

/// While the returned object exists, models far larger than `file` are refused, as an untrusted configuration could otherwise
/// exhaust the memory. The limit leaves room for constants that the file does not store. load_parameters() reports smaller
/// mismatches.
ParameterBudget budget_of(const SafetensorsFile& file);

/// Loads the model in `file`, built from the configuration in its metadata.
///
/// Errors: those of describe_model() and load_parameters(); FileError for a model far larger than the file, raised before the
/// model's memory is touched.
/// Cost: one pass over the file. Memory: the model and, while loading, one tensor of the mapped file.
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

/// Overload: loads the file at `path`.
///
///     const auto model = load_model<GmlpImageClassifier<float>>("digits.safetensors");
template <ConfiguredModel Model>
Model load_model(const std::filesystem::path& path) {
  return load_model<Model>(SafetensorsFile(path));
}

/// The configuration from which load_model() rebuilds `model`: model.config(), or else the member model.config. A Training has
/// the function config(), because its configuration changes over time.
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

/// Raises ArgumentError unless `model` has all parameters of `config`; a moved-from model lacks them.
/// Cost: that of building a model from `config` without touching its weights.
template <class Model>
void expect_parameters_of_config(const Model& model, const typename Model::Config& config) {
  if constexpr (requires { model.model; }) {  // a training run: its moments are not compared
    return expect_parameters_of_config(model.model, config.model);
  }
  const HollowWeights hollow;
  const auto wanted = parameter_shapes(Model(config)), found = parameter_shapes(model);
  const auto [want, have] = std::mismatch(wanted.begin(), wanted.end(), found.begin(), found.end());
  require<ArgumentError>(want == wanted.end() && have == found.end(), "save_model: the model has ", found.size(),
                         " tensors, but its configuration has ", wanted.size(), ": got ", have == found.end() ? "none" : *have,
                         ", expected ", want == wanted.end() ? "none" : *want,
                         ". A moved-from model has lost its weights: save the one it was moved to.");
}

}  // namespace detail

/// Writes `model`, its configuration and `metadata` to one file for load_model(), atomically.
/// Errors: those of save_parameters(); ArgumentError if the model lacks parameters of its configuration, as a moved-from model
/// does, if `metadata` contains "architecture" or "config", or for a training run in another format than float32: its moments
/// need all their bits.
template <ConfiguredModel Model>
void save_model(const Model& model, const std::filesystem::path& path, std::map<std::string, std::string> metadata = {},
                WeightFormat weights = WeightFormat::float32) {
  decltype(auto) config = configuration_of(model);
  detail::expect_parameters_of_config(model, config);
  if constexpr (requires { model.model; }) {
    require<ArgumentError>(weights == WeightFormat::float32, "save_model: a training run cannot be saved in ", name_of(weights),
                           ". Save it in float32, and its result() in ", name_of(weights), ".");
  }
  const auto add = [&](const char* key, std::string value) {
    require<ArgumentError>(metadata.emplace(key, std::move(value)).second, "save_model: metadata contains \"", key,
                           "\", which save_model() writes. Use another key.");
  };
  add("architecture", Model::architecture);
  add("config", to_json(config));
  save_parameters(model, path, metadata, {}, std::nullopt, weights);
}

/// Overload: saves projections and embeddings quantized, in half or a quarter of the bytes.
///
///     save_model(model, "model.int8.safetensors", WeightFormat::int8);
///
/// load_model() reads such a file as a float model, equal to `model` after round_weights(). load_prepared() keeps the weights
/// quantized.
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
