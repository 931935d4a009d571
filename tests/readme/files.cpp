// Writes small stand-ins for files that READMEs name but the repository does not contain.

#include <filesystem>
#include <limits>
#include <string_view>

#include "gated/io/npy.hpp"
#include "gated/io/tiny_time_mixer.hpp"
#include "gated/io/wav.hpp"

int main() {
  constexpr std::string_view folder = "granite-timeseries-ttm-r2";
  constexpr std::string_view json = R"({"model_type": "tinytimemixer", "context_length": 512, "patch_length": 64,
    "patch_stride": 64, "prediction_length": 96, "d_model": 16, "num_layers": 1, "decoder_d_model": 8, "decoder_num_layers": 1})";
  std::filesystem::create_directories(folder);
  gated::write_file_atomically(std::filesystem::path(folder) / "config.json", std::as_bytes(std::span(json)));
  gated::Random random(1);
  const gated::TinyTimeMixerConfig config = gated::ttm_config(json);
  const gated::TinyTimeMixer<float> model(config, random);
  gated::save_parameters(model, std::filesystem::path(folder) / "model.safetensors", {}, gated::ttm_names(config));

  gated::Matrix<float> past = gated::Matrix<float>::Random(3, 600);
  past(1, 590) = std::numeric_limits<float>::quiet_NaN();
  gated::write_npy("past.npy", past);

  gated::write_wav("noisy.wav", {.samples = gated::Matrix<float>::Random(8000, 2), .rate = 16000});
}
