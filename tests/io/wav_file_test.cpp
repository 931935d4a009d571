#include "gated/io/wav_file.hpp"

#include <gtest/gtest.h>

#include <csignal>

#include "files.hpp"
#include "tests/core/numbers.hpp"

#if defined(__linux__)
#include <sys/resource.h>
#endif

namespace gated::wav_file_test {
namespace {

using test::message_of;
using test::temporary;

constexpr WavFormat all_formats[] = {WavFormat::pcm16, WavFormat::pcm24, WavFormat::pcm32, WavFormat::float32};

Matrix<float> sound(Index frames, Index channels) {
  return Matrix<float>::NullaryExpr(frames, channels,
                                    [](Index t, Index c) { return static_cast<float>((t * 7 + c * 3) % 64 - 32) / 32; });
}

TEST(WavFile, ReadsPartsOfAFile) {
  const Matrix<float> x = sound(21, 2);
  for (const WavFormat format : all_formats) {
    const auto path = temporary("parts.wav");
    write_wav(path, {x, 44100}, format);
    const WavFile file(path);
    EXPECT_EQ(file.frames(), 21);
    EXPECT_EQ(file.channels(), 2);
    EXPECT_EQ(file.rate(), 44100);
    for (const auto& [first, count] : {std::pair<Index, Index>{0, 21}, {0, 1}, {20, 1}, {5, 9}, {21, 0}}) {
      EXPECT_EQ(file.read(first, count), x.middleRows(first, count)) << first;
    }
  }
}

TEST(WavFile, RefusesFramesBeyondTheEndAndNonFiniteValues) {
  const auto path = temporary("nan.wav");
  write_wav(path, {sound(21, 1), 8000}, WavFormat::float32);
  const WavFile file(path);
  for (const auto& [first, count] : {std::pair<Index, Index>{0, 22}, {21, 1}, {22, 0}, {-1, 1}, {3, -1}}) {
    EXPECT_THROW(file.read(first, count), ArgumentError) << first;
  }
  std::string bytes = test::read_text(path);
  bytes.replace(bytes.size() - 4, 4, std::string("\0\0\xC0\x7F", 4));
  test::write_text(path, bytes);
  const WavFile broken(path);
  EXPECT_EQ(broken.read(0, 20), sound(21, 1).topRows(20));
  EXPECT_NE(message_of<FileError>([&] { broken.read(20, 1); }).find("is NaN or infinite"), std::string::npos);
}

TEST(WavWriter, WritesACompleteFileAfterEachBlock) {
  for (const WavFormat format : all_formats) {
    for (const Index channels : {1, 2}) {
      const Matrix<float> x = sound(40, channels);
      const auto path = temporary("grows.wav"), whole = temporary("whole.wav");
      WavWriter file(path, channels, 16000, format);
      Index frames = 0;
      for (const Index block : {1, 0, 2, 1, 0, 7, 29}) {
        file.write(x.middleRows(frames, block));
        frames += block;
        EXPECT_EQ(file.frames(), frames);
        write_wav(whole, {x.topRows(frames), 16000}, format);
        EXPECT_EQ(test::read_text(path), test::read_text(whole)) << frames;
      }
    }
  }
}

TEST(WavWriter, RefusesInvalidInputAndKeepsTheFile) {
  EXPECT_EQ(message_of<ArgumentError>([] { WavWriter("x.wav", 3, 8000); }),
            "WavWriter: 3 channels at 8000 frames per second, expected 1 or 2 channels at 8000 to 96000.");
  EXPECT_THROW(WavWriter("x.wav", 1, 7999), ArgumentError);
  const auto missing = temporary("no folder") / "x.wav";
  EXPECT_NE(message_of<FileError>([&] { WavWriter(missing, 1, 8000); }).find("x.wav: cannot be written: "), std::string::npos);
  const auto path = temporary("kept.wav");
  WavWriter file(path, 1, 8000);
  file.write(sound(5, 1));
  const std::string before = test::read_text(path);
  Matrix<float> x = sound(4, 1);
  x(2, 0) = std::numeric_limits<float>::infinity();
  EXPECT_EQ(message_of<ArgumentError>([&] { file.write(x); }),
            "WavWriter::write: the sample of frame 2, channel 0 is inf, expected a finite number.");
  EXPECT_EQ(message_of<ShapeError>([&] { file.write(sound(4, 2)); }),
            "WavWriter::write: the samples have 2 channels, expected 1.");
  EXPECT_EQ(test::read_text(path), before);
}

#if defined(__linux__)
TEST(WavWriter, KeepsTheFramesBelowTheFileSizeLimit) {
  const auto path = temporary("full.wav");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto signal = std::signal(SIGXFSZ, SIG_IGN);
  const Matrix<float> x = sound(100, 1);
  for (const WavFormat format : {WavFormat::pcm16, WavFormat::pcm24, WavFormat::float32}) {
    WavWriter file(path, 1, 8000, format);
    file.write(x.topRows(10));
    const auto bytes = static_cast<rlim_t>(detail::bytes_of(format));
    const rlimit limit{std::filesystem::file_size(path) + 20 * bytes + 1, before.rlim_max};  // room for 20 frames and a byte
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::string message = message_of<FileError>([&] { file.write(x.middleRows(10, 90)); });
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_NE(message.find("full.wav: cannot be written: File too large."), std::string::npos) << message;
    EXPECT_EQ(file.frames(), 30);
    EXPECT_EQ(read_wav(path).samples, x.topRows(30));
  }
  {
    WavWriter file(path, 1, 8000, WavFormat::pcm24);
    const rlimit limit{std::filesystem::file_size(path) + 303, before.rlim_max};  // room for 101 frames, but not for padding
    setrlimit(RLIMIT_FSIZE, &limit);
    EXPECT_THROW(file.write(sound(101, 1)), FileError);
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_EQ(file.frames(), 100);
    EXPECT_EQ(read_wav(path).samples, sound(100, 1));
    file.write(sound(1, 1));
    EXPECT_EQ(read_wav(path).samples.rows(), 101);
  }
  std::filesystem::remove(path);
  const rlimit none{20, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &none);
  const std::string message = message_of<FileError>([&] { WavWriter(path, 1, 8000); });
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_NE(message.find("File too large"), std::string::npos) << message;
  EXPECT_FALSE(std::filesystem::exists(path)) << "there is no room for a header";
  std::signal(SIGXFSZ, signal);
}
#endif

}  // namespace
}  // namespace gated::wav_file_test
