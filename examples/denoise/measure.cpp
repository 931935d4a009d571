#include "measure.hpp"

#include <cstdio>
#include <cstdlib>

#include "gated/audio/resample.hpp"
#include "gated/io/model_file.hpp"
#include "gated/io/wav.hpp"
#include "gated/models/denoise_stream.hpp"
#include "mixtures.hpp"
#include "wiener.hpp"

namespace denoise {

namespace {

/// Denoises `noisy` by another program: see measure().
Samples by_command(const std::string& command, const Samples& noisy) {
  constexpr Index rate = 48000;
  const std::filesystem::path folder = std::filesystem::temp_directory_path();
  const std::string in = (folder / "denoise_compare_in.wav").string(), out = (folder / "denoise_compare_out.wav").string();
  std::filesystem::remove(out);
  gated::write_wav(in, {gated::resample<float>(noisy, speech_rate, rate), rate});
  const int status = std::system(gated::text(command, " \"", in, "\" \"", out, "\"").c_str());
  gated::require<gated::FileError>(status == 0, "--compare: ", command, " failed with status ", status, ".");
  const gated::Sound sound = gated::read_wav(out);
  const Matrix<float> clean = gated::resample<float>(sound.samples.col(0).eval(), sound.rate, speech_rate);
  gated::require<gated::FileError>(clean.rows() == noisy.size(), "--compare: ", command, " wrote ", clean.rows(),
                                   " samples at 16 kHz, expected ", noisy.size(), ", as many as it read.");
  return clean.col(0);
}

}  // namespace

void measure(const std::filesystem::path& path, const std::filesystem::path& folder, const std::string& compare,
             gated::Threads threads) {
  const auto model = gated::load_model<gated::SpeechDenoiser<float>>(path);
  gated::require<gated::ArgumentError>(model.config.rate == speech_rate, path.string(), ": the model's rate is ",
                                       model.config.rate, ", but the recordings' is ", speech_rate, ".");
  const std::vector<Samples> speech = read_speech(folder);
  const Index columns = compare.empty() ? 3 : 4;
  gated::Workspace<float> workspace(threads);
  Random random(2);
  std::printf("  noise       mixture   Wiener    model%s   (SI-SDR in dB, mean of %zu sentences)\n",
              compare.empty() ? "" : "  compared", speech.size());
  const auto print = [&](const std::string& name, const Eigen::RowVectorXd& means) {
    std::printf("  %-10s", name.c_str());
    for (const double mean : means) {
      std::printf(" %8.1f", mean);
    }
    std::printf("\n");
    std::fflush(stdout);
  };
  const auto rows = [&](std::span<const Noise> kinds, const char* name) {
    Eigen::RowVectorXd of_kinds = Eigen::RowVectorXd::Zero(columns);
    for (const Noise kind : kinds) {
      Eigen::RowVectorXd sum = Eigen::RowVectorXd::Zero(columns);
      for (std::size_t i = 0; i < speech.size(); ++i) {
        const Samples& clean = speech[i];
        std::vector<Samples> others = speech;
        others.erase(others.begin() + std::ptrdiff_t(i));
        const Samples noisy = mixed(clean, kind, 0, others, random).noisy;
        sum[0] += examples::si_sdr(noisy, clean);
        sum[1] += examples::si_sdr(wiener(noisy, model.config.spectrum()), clean);
        sum[2] += examples::si_sdr(gated::denoise<float>(model, noisy, workspace), clean);
        if (!compare.empty()) {
          sum[3] += examples::si_sdr(by_command(compare, noisy), clean);
        }
      }
      const Eigen::RowVectorXd means = sum / static_cast<double>(speech.size());
      print(std::string(gated::name_of(kind)), means);
      of_kinds += means / static_cast<double>(kinds.size());
    }
    print(name, of_kinds);
  };
  rows(known_noises, "known");
  rows(unknown_noises, "unknown");
}

}  // namespace denoise
