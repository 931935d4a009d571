// Model I/O that gated::compiled instantiates.

#include "gated/compiled/held.inl"
#include "gated/gated.hpp"

/// Declares the functions that load and save one model type.
#define GATED_HELD_FILES_OF(...)                                                                                   \
  GATED_HELD __VA_ARGS__ load_model<__VA_ARGS__>(const std::filesystem::path&);                                    \
  GATED_HELD __VA_ARGS__ load_model<__VA_ARGS__>(const SafetensorsFile&);                                          \
  GATED_HELD void load_parameters(__VA_ARGS__&, const SafetensorsFile&, const NameMap&);                           \
  GATED_HELD void save_model(const __VA_ARGS__&, const std::filesystem::path&, std::map<std::string, std::string>, \
                             WeightFormat);

#define GATED_HELD_FILES(T)                     \
  GATED_HELD_FILES_OF(GmlpImageClassifier<T>)   \
  GATED_HELD_FILES_OF(GmlpLanguageModel<T>)     \
  GATED_HELD_FILES_OF(FlashLanguageModel<T>)    \
  GATED_HELD_FILES_OF(GauEncoder<T>)            \
  GATED_HELD_FILES_OF(Fnet<T>)                  \
  GATED_HELD_FILES_OF(TextTransformer<T>)       \
  GATED_HELD_FILES_OF(MixerImageClassifier<T>)  \
  GATED_HELD_FILES_OF(GmixerImageClassifier<T>) \
  GATED_HELD_FILES_OF(ResmlpImageClassifier<T>) \
  GATED_HELD_FILES_OF(TinyTimeMixer<T>)         \
  GATED_HELD_FILES_OF(PoseHead<T>)

namespace gated {

GATED_HELD_FILES(float)
GATED_HELD_FILES(double)

}  // namespace gated
