#include "denoisers.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>

#include "gated/io/model_file.hpp"
#include "gated/models/denoise_stream.hpp"
#include "gated/models/speech_denoiser.hpp"
#include "gated/models/speech_enhancement.hpp"
#include "tests/core/allocations.hpp"
#include "tests/io/files.hpp"

#if defined(__linux__)
#include <sys/resource.h>
#endif

namespace denoise {
namespace {

using Network = gated::MaskNetwork<float>;

/// MossFormer2_SE_48K with one narrow block and random weights.
Network small_network() {
  auto config = gated::mossformer2_se_48k();
  config.trunk.depth = 1;
  config.trunk.block.channels = 8;
  config.trunk.block.attention.query_key = 8;
  config.trunk.block.fsmn.inner = config.trunk.block.fsmn.hidden = 4;
  gated::Random random(1);
  return Network(config, random);
}

/// Writes noise with `frames` frames at 48 kHz.
std::filesystem::path noise(const char* name, Index frames, Index channels) {
  gated::Random random(2);
  gated::Sound sound{Matrix<float>(frames, channels), 48000};
  for (Index i = 0; i < sound.samples.size(); ++i) {
    sound.samples.data()[i] = static_cast<float>(random.normal()) / 16;
  }
  const auto path = gated::test::temporary(name);
  gated::write_wav(path, sound, gated::WavFormat::float32);
  return path;
}

/// Writes `seconds` of silence at 8 kHz as a sparse file.
std::filesystem::path silence(const char* name, Index seconds) {
  const auto path = gated::test::temporary(name);
  gated::write_wav(path, {Matrix<float>::Zero(1, 1), 8000}, gated::WavFormat::pcm16);
  const auto bytes = static_cast<std::uint32_t>(2 * 8000 * seconds);
  std::filesystem::resize_file(path, 44 + bytes);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  for (const auto& [at, size] : {std::pair{4, 36 + bytes}, std::pair{40, bytes}}) {
    file.seekp(at);
    for (int shift = 0; shift < 32; shift += 8) {
      file.put(static_cast<char>(size >> shift & 255U));
    }
  }
  return path;
}

TEST(SpeechDenoiser, TheShippedModelIsSmall) {
  const auto model = gated::load_model<gated::SpeechDenoiser<float>>(DENOISE_FOLDER "denoise.safetensors");
  EXPECT_EQ(gated::parameter_count(model), 449'191);  // README.md
  EXPECT_LE(gated::parameter_count(model), 500'000);
}

/// A denoiser for sound at 8 kHz with random weights.
gated::SpeechDenoiser<float> small_denoiser() {
  gated::Random random(1);
  return gated::SpeechDenoiser<float>(
      {.rate = 8000, .length = 1600, .hop = 800, .blocks = {.depth = 1, .block = {.channels = 4, .inner = 4, .causal = true}}},
      random);
}

TEST(SpeechDenoiser, CleansEachChannelByItself) {
  const auto model = small_denoiser();
  const auto path = gated::test::temporary("denoiser.safetensors");
  gated::save_model(model, path);
  gated::Sound sound{Matrix<float>::Random(8000, 2), 8000};
  const auto in = gated::test::temporary("stereo.wav");
  gated::write_wav(in, sound, gated::WavFormat::float32);
  Matrix<float> clean(0, 2);
  denoise(path, Recording(in, 8000), 1, [&](gated::ConstView<float> next) {
    clean.conservativeResize(clean.rows() + next.rows(), 2);
    clean.bottomRows(next.rows()) = next;
    return true;
  });
  gated::Workspace<float> workspace;
  for (Index c = 0; c < 2; ++c) {
    const gated::Vector<float> channel = sound.samples.col(c);
    EXPECT_EQ(gated::Vector<float>(clean.col(c)), gated::denoise<float>(model, channel, workspace)) << c;
  }
}

#if defined(__linux__) && GATED_TEST_COUNTS_MALLOC  // sanitizers keep freed memory
/// The process's peak memory, in KiB, after cleaning `seconds` of silence.
long peak_after(const std::filesystem::path& model, Index seconds) {
  const Index rate = rate_of(model);
  const Recording recording(silence("silence.wav", seconds), rate);
  Index done = 0;
  denoise(model, recording, 1, [&](gated::ConstView<float> next) {
    done += next.rows();
    return true;
  });
  EXPECT_EQ(done, seconds * rate);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(SpeechDenoiser, MemoryDoesNotGrowWithTheLength) {
  const auto model = gated::test::temporary("denoiser.safetensors");
  gated::save_model(small_denoiser(), model);
  const auto before = peak_after(model, 10);
  EXPECT_LE(peak_after(model, 900) - before, 8192);  // 15 minutes: 28 MB as floats, 14 MB in the file
}

TEST(MossFormer2, MemoryDoesNotGrowWithTheLength) {
  const auto model = gated::test::temporary("se.safetensors");
  gated::save_model(small_network(), model);
  const auto before = peak_after(model, 30);
  EXPECT_LE(peak_after(model, 150) - before, 8192);  // two minutes more: 23 MB as floats
}
#endif

TEST(MossFormer2, DoesNotStream) {
  const auto model = gated::test::temporary("se.safetensors");
  gated::save_model(small_network(), model);
  gated::test::expect_error<gated::ArgumentError>([&] { denoise_stream(model); }, {"MossFormer2 needs whole windows"});
}

TEST(MossFormer2, CleansAFileAsEnhanceDoes) {
  const Network network = small_network();
  const auto model = gated::test::temporary("se.safetensors");
  gated::save_model(network, model);
  ASSERT_EQ(rate_of(model), 48000);
  for (const double seconds : {1.0, 21.0}) {  // one window, and several
    const auto in = noise("noise.wav", static_cast<Index>(seconds * 48000), 2);
    const Recording recording(in, 48000);
    Matrix<float> clean(recording.frames(), 2);
    Index done = 0;
    denoise(model, recording, 1, [&](gated::ConstView<float> next) {
      clean.middleRows(done, next.rows()) = next;
      done += next.rows();
      return true;
    });
    ASSERT_EQ(done, recording.frames());
    const gated::Sound sound = gated::read_wav(in);
    gated::Workspace<float> workspace;
    for (Index c = 0; c < 2; ++c) {
      const gated::Vector<float> channel = sound.samples.col(c);
      EXPECT_EQ(gated::Vector<float>(clean.col(c)),
                gated::enhance<float>(network, channel, gated::mossformer2_enhancement(), workspace))
          << "channel " << c << " of " << seconds << " s";
    }
  }
}

TEST(MossFormer2, StopsWhenAsked) {
  const auto model = gated::test::temporary("se.safetensors");
  gated::save_model(small_network(), model);
  int parts = 0;
  denoise(model, Recording(noise("long.wav", 25 * 48000, 1), 48000), 1, [&](gated::ConstView<float>) { return ++parts < 2; });
  EXPECT_EQ(parts, 2);
}

TEST(MossFormer2, RefusesARecordingShorterThanAFrame) {
  const auto model = gated::test::temporary("se.safetensors");
  gated::save_model(small_network(), model);
  const Recording recording(noise("short.wav", 1919, 1), 48000);
  gated::test::expect_error<gated::FileError>(
      [&] { denoise(model, recording, 1, [](gated::ConstView<float>) { return true; }); },
      {"short.wav: has 1919 samples at 48000 Hz, but MossFormer2 needs at least 1920."});
}

TEST(Recordings, RefuseLoudnessWhosePowerOverflows) {
  const auto path = gated::test::temporary("loud.wav");
  gated::write_wav(path, {Matrix<float>::Constant(100, 1, 3e38f), 48000}, gated::WavFormat::float32);
  gated::test::expect_error<gated::FileError>([&] { (void)Recording(path, 48000).read(0, 100); },
                                              {"loud.wav: a sample is 3e+38, expected -1 to 1."});
}

}  // namespace
}  // namespace denoise
