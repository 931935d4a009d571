#include "case_file.hpp"

#include <algorithm>
#include <cmath>

#include "gated/io/parse_number.hpp"

namespace parity {

namespace {

std::string metadata(const gated::SafetensorsFile& file, std::string_view key) {
  const auto found = file.metadata().find(key);
  return found == file.metadata().end() ? std::string() : found->second;
}

nlohmann::json object_or_empty(const nlohmann::json& parent, const char* key) {
  const auto found = parent.find(key);
  return found != parent.end() && found->is_object() ? *found : nlohmann::json::object();
}

}  // namespace

CaseFile::CaseFile(const std::string& path) : file_(path) {
  const std::string text = metadata(file_, "config");
  gated::require<gated::FileError>(!text.empty(), path, ": not a case file: its metadata has no config.");
  const auto config = nlohmann::json::parse(text, nullptr, false);
  gated::require<gated::FileError>(config.is_object(), path, ": the config in the metadata is not a JSON object.");

  explicit_arguments_ = object_or_empty(config, "config");
  arguments_ = object_or_empty(config, "config_full");
  arguments_.update(explicit_arguments_);
  call_ = object_or_empty(config, "call");
  name_ = metadata(file_, "case");
  family_ = metadata(file_, "family");
  class_name_ = metadata(file_, "class");
  if (name_.empty()) {
    name_ = std::filesystem::path(path).stem().string();
  }
  if (family_.empty() && config.contains("family") && config["family"].is_string()) {
    family_ = config["family"];
  }
  if (class_name_.empty() && config.contains("class") && config["class"].is_string()) {
    class_name_ = config["class"];
  }
  if (config.contains("variant") && config["variant"].is_string()) {
    variant_ = config["variant"];
  }
  if (const std::string names = metadata(file_, "no_effect_params"); !names.empty()) {
    const auto list = nlohmann::json::parse(names, nullptr, false);
    gated::require<gated::FileError>(list.is_array(), path, ": no_effect_params in the metadata is not a JSON list.");
    for (const auto& name : list) {
      no_effect_.insert(name.get<std::string>());
    }
  }
  gated::parse_number(metadata(file_, "max_abs_err_f32_vs_f64"), recorded_float_error_);
}

double CaseFile::largest_gradient() const {
  double largest = 0;
  for (const auto& [name, entry] : file_.tensors()) {
    if (name.starts_with("grad.")) {
      for (const double value : file_.read<double>(name)) {
        largest = std::max(largest, std::abs(value));
      }
    }
  }
  return largest;
}

void CaseFile::ignore(gated::NameMap& names, const std::string& tensor) { names.ignored.push_back(tensor); }

}  // namespace parity
