#pragma once

#include <algorithm>
#include <string>

#include "case_file.hpp"
#include "gated/layers/patch_embedding.hpp"
#include "gated/ops/activation.hpp"

/// Reads the constructor arguments of an original implementation.

namespace parity {

/// Argument `key`, or `missing` if it is absent or null (Python's None).
template <class T>
T argument(const nlohmann::json& arguments, const char* key, T missing) {
  const auto found = arguments.find(key);
  return found == arguments.end() || found->is_null() ? missing : found->template get<T>();
}

/// The image size in argument `key`: one integer for both sides, or [height, width].
inline gated::ImageSize image_size(const nlohmann::json& arguments, const char* key) {
  const auto& value = arguments.at(key);
  return value.is_array() ? gated::ImageSize{value.at(0), value.at(1)} : gated::ImageSize{value, value};
}

/// The activation named by argument `key`: a PyTorch class or function such as "Tanh", "identity" or "nn.GELU()".
inline gated::Activation activation(const nlohmann::json& arguments, const char* key, const char* missing = "identity") {
  std::string word = argument<std::string>(arguments, key, missing);
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
  word = word.substr(0, word.find('('));
  word = word.substr(word.find_last_of('.') == std::string::npos ? 0 : word.find_last_of('.') + 1);
  if (word == "swish") {
    word = "silu";
  }
  if (word == "gelu_new" || word == "gelu_pytorch_tanh") {  // transformers
    word = "gelu_tanh";
  }
  const auto value = gated::value_named<gated::Activation>(word);
  gated::require<gated::ArgumentError>(value.has_value(), "unknown activation \"", word, "\", expected one of ",
                                       gated::list_of_names<gated::Activation>(), ".");
  return *value;
}

}  // namespace parity
