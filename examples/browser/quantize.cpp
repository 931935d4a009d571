// quantize: converts a model from another example to int8, for the web page. Run by node in build.sh.

#include <cstdio>
#include <string_view>

#include "gated/io/model_file.hpp"
#include "gated/models/gmlp.hpp"
#include "gated/models/tiny_time_mixer.hpp"

namespace {

template <class Model>
void quantize(const char* from, const char* to) {
  gated::save_model(gated::load_model<Model>(from), to, gated::WeightFormat::int8);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    std::fputs("usage: quantize FROM.safetensors TO.safetensors\n", stderr);
    return 2;
  }
  try {
    const bool forecasts =
        gated::architecture_of(gated::SafetensorsFile(arguments[1])) == gated::TinyTimeMixer<float>::architecture;
    (forecasts ? quantize<gated::TinyTimeMixer<float>> : quantize<gated::GmlpImageClassifier<float>>)(arguments[1],
                                                                                                      arguments[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "quantize: %s\n", error.what());
    return 1;
  }
  return 0;
}
