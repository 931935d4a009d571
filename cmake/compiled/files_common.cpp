// The definitions in io/ that do not depend on the type of the model.

#include "gated/io/atomic_file.inl"
#include "gated/io/checkpoint.inl"
#include "gated/io/config_json.inl"
#include "gated/io/csv.inl"
#include "gated/io/json.inl"
#include "gated/io/json_writer.inl"
#include "gated/io/labels.inl"
#include "gated/io/load_report.inl"
#include "gated/io/mapped_file.inl"
#include "gated/io/model_file.inl"
#include "gated/io/name_map.inl"
#include "gated/io/origin.inl"
#include "gated/io/safetensors.inl"
#include "gated/io/safetensors_header.inl"
#include "gated/io/safetensors_writer.inl"
#include "gated/io/timm.inl"
#include "gated/io/timm_config.inl"

#define GATED_HELD_FILES_FOR(T)                                                                                        \
  template void detail::read_parameter<T>(const SafetensorsFile&, const NameMap&, const ParameterInfo&, std::span<T>); \
  template void detail::ParametersToWrite::add<T>(const ParameterInfo&, std::span<const T>);                           \
  template Matrix<T> parse_csv<T>(std::string_view, std::string_view, const CsvOptions&);                              \
  template Matrix<T> read_csv<T>(const std::filesystem::path&, const CsvOptions&);

namespace gated {

GATED_HELD_FILES_FOR(float)
GATED_HELD_FILES_FOR(double)

template GmlpImageClassifierConfig timm_config(std::string_view, const std::string&);
template MixerImageClassifierConfig timm_config(std::string_view, const std::string&);
template GmixerImageClassifierConfig timm_config(std::string_view, const std::string&);
template ResmlpImageClassifierConfig timm_config(std::string_view, const std::string&);

}  // namespace gated
