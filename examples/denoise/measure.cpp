#include "measure.hpp"

#include <cstdio>

#include "gated/io/model_file.hpp"
#include "gated/models/denoise_stream.hpp"
#include "mixtures.hpp"
#include "wiener.hpp"

namespace denoise {

void measure(const std::filesystem::path& path, const std::filesystem::path& folder) {
  const auto model = gated::load_model<gated::SpeechDenoiser<float>>(path);
  const std::vector<Samples> speech = read_speech(folder);
  gated::Workspace<float> workspace;
  Random random(2);
  std::printf("  noise       mixture   Wiener    model   (SI-SDR in dB, mean of %zu sentences)\n", speech.size());
  const auto row = [&](std::span<const Noise> kinds, const char* name) {
    double sums[3] = {};
    for (const Noise kind : kinds) {
      double means[3] = {};
      for (std::size_t i = 0; i < speech.size(); ++i) {
        const Samples& clean = speech[i];
        std::vector<Samples> others = speech;
        others.erase(others.begin() + std::ptrdiff_t(i));
        const Mixture mixture = mixed(clean, kind, 0, others, random);
        const Samples results[] = {mixture.noisy, wiener(mixture.noisy, model.config.spectrum()),
                                   gated::denoise<float>(model, mixture.noisy, workspace)};
        for (int k = 0; k < 3; ++k) {
          means[k] += examples::si_sdr(results[k], clean) / static_cast<double>(speech.size());
        }
      }
      std::printf("  %-10s %8.1f %8.1f %8.1f\n", std::string(gated::name_of(kind)).c_str(), means[0], means[1], means[2]);
      for (int i = 0; i < 3; ++i) {
        sums[i] += means[i] / static_cast<double>(kinds.size());
      }
    }
    std::printf("  %-10s %8.1f %8.1f %8.1f\n", name, sums[0], sums[1], sums[2]);
  };
  row(known_noises, "known");
  row(unknown_noises, "unknown");
}

}  // namespace denoise
