#include "gated/io/wav.hpp"

#include <gtest/gtest.h>

#include "files.hpp"
#include "tests/core/numbers.hpp"

namespace gated::wav_test {
namespace {

using test::expect_error;
using test::temporary;

constexpr WavFormat all_formats[] = {WavFormat::pcm16, WavFormat::pcm24, WavFormat::pcm32, WavFormat::float32};

std::string little(std::uint32_t value, std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) {
    bytes += static_cast<char>(value >> 8 * i);
  }
  return bytes;
}

/// A chunk with this name and content, padded to an even size.
std::string chunk(const std::string& name, const std::string& content) {
  return name + little(static_cast<std::uint32_t>(content.size()), 4) + content + std::string(content.size() % 2, '\0');
}

/// A RIFF file of these chunks.
std::string riff(const std::string& chunks) {
  return "RIFF" + little(static_cast<std::uint32_t>(chunks.size() + 4), 4) + "WAVE" + chunks;
}

/// The fields of a "fmt " chunk.
struct Format {
  std::uint32_t tag = 1, channels = 1, rate = 8000, bits = 16, frame_bytes = 0, second_bytes = 0;
};

std::string format_chunk(Format f, const std::string& extension = "") {
  f.frame_bytes = f.frame_bytes != 0 ? f.frame_bytes : f.channels * f.bits / 8;
  f.second_bytes = f.second_bytes != 0 ? f.second_bytes : f.rate * f.frame_bytes;
  return chunk("fmt ", little(f.tag, 2) + little(f.channels, 2) + little(f.rate, 4) + little(f.second_bytes, 4) +
                           little(f.frame_bytes, 2) + little(f.bits, 2) + extension);
}

/// The extension of a "fmt " chunk with WAVE_FORMAT_EXTENSIBLE.
std::string extension(std::uint32_t valid_bits, std::uint32_t tag) {
  return little(22, 2) + little(valid_bits, 2) + little(0, 4) + little(tag, 2) +
         std::string("\0\0\0\0\x10\0\x80\0\0\xAA\0\x38\x9B\x71", 14);
}

Sound parse(const std::string& file) { return parse_wav(std::as_bytes(std::span(file)), "x.wav"); }

void expect_refused(const std::string& file, std::string_view why) {
  const std::string what = test::error_of<FileError>([&] { parse(file); });
  EXPECT_TRUE(what.starts_with("x.wav: ")) << what;
  EXPECT_NE(what.find(why), std::string::npos) << "missing: " << why << "\nin: " << what;
}

const std::string two_samples = chunk("data", std::string("\x00\x40\x00\x80", 4));  // 0.5 and -1

TEST(Wav, ReadsEachEncoding) {
  const Sound pcm16 = parse(riff(format_chunk({.channels = 2}) + two_samples));
  EXPECT_EQ(pcm16.rate, 8000);
  ASSERT_EQ(pcm16.samples.rows(), 1);
  ASSERT_EQ(pcm16.samples.cols(), 2);
  EXPECT_EQ(pcm16.samples(0, 0), 0.5f);
  EXPECT_EQ(pcm16.samples(0, 1), -1);
  const Sound pcm24 = parse(riff(format_chunk({.bits = 24}) + chunk("data", std::string("\x01\0\0\0\0\x80", 6))));
  EXPECT_EQ(pcm24.samples(0, 0), 0x1p-23f);
  EXPECT_EQ(pcm24.samples(1, 0), -1);
  const Sound pcm32 = parse(riff(format_chunk({.bits = 32}) + chunk("data", std::string("\x01\0\0\0\0\0\0\xC0", 8))));
  EXPECT_EQ(pcm32.samples(0, 0), 0x1p-31f);
  EXPECT_EQ(pcm32.samples(1, 0), -0.5f);
  const Sound floats = parse(riff(format_chunk({.tag = 3, .bits = 32}) + chunk("data", std::string("\0\0\0\x40", 4))));
  EXPECT_EQ(floats.samples(0, 0), 2);
}

TEST(Wav, ReadsTheExtensibleHeader) {
  for (const std::uint32_t tag : {1u, 3u}) {
    const std::string file = riff(format_chunk({.tag = 0xFFFE, .bits = 32}, extension(tag == 1 ? 24 : 32, tag)) +
                                  chunk("data", std::string(8, '\0')));
    EXPECT_EQ(parse(file).samples.rows(), 2);
  }
}

TEST(Wav, SkipsUnknownChunks) {
  const std::string odd = chunk("LIST", "INFOx"), format = format_chunk({});
  EXPECT_EQ(parse(riff(odd + format + chunk("junk", "") + two_samples + odd)).samples.rows(), 2);
  // Python's module `wave` does not pad the last chunk of a file.
  std::string unpadded = riff(format_chunk({.bits = 24}) + chunk("data", "123"));
  unpadded = "RIFF" + little(static_cast<std::uint32_t>(unpadded.size() - 9), 4) + unpadded.substr(8, unpadded.size() - 9);
  EXPECT_EQ(parse(unpadded).samples.rows(), 1);
}

TEST(Wav, RoundTrips) {
  const auto path = temporary("x.wav");
  for (const WavFormat format : all_formats) {
    for (const Index channels : {1, 2}) {
      for (const Index frames : {1, 2, 1001}) {
        const Sound sound{.samples = test::random_matrix<float>(frames, channels, 1, 0.2), .rate = 44100};
        write_wav(path, sound, format);
        EXPECT_EQ(test::files_beside(path), 1u);
        const Sound again = read_wav(path);
        EXPECT_EQ(again.rate, 44100);
        ASSERT_EQ(again.samples.rows(), frames);
        ASSERT_EQ(again.samples.cols(), channels);
        const float step = format == WavFormat::pcm16   ? 0x1p-15f
                           : format == WavFormat::pcm24 ? 0x1p-23f
                           : format == WavFormat::pcm32 ? 0x1p-31f
                                                        : 0;
        EXPECT_LE((again.samples - sound.samples).cwiseAbs().maxCoeff(), step / 2);
        EXPECT_EQ(encode_wav(again, format), encode_wav(sound, format)) << "writing again changes nothing";
      }
    }
  }
}

TEST(Wav, WritesTheSpecifiedBytes) {
  const auto bytes = [](const Sound& sound, WavFormat format) {
    const auto file = encode_wav(sound, format);
    return std::string(reinterpret_cast<const char*>(file.data()), file.size());
  };
  Sound sound{.samples = Matrix<float>(2, 1), .rate = 8000};
  sound.samples << 0.5f, -1;
  EXPECT_EQ(bytes(sound, WavFormat::pcm16), riff(format_chunk({}) + two_samples));
  sound.samples = Matrix<float>::Zero(1, 1);
  EXPECT_EQ(bytes(sound, WavFormat::pcm24), riff(format_chunk({.bits = 24}) + chunk("data", std::string(3, '\0'))));
  EXPECT_EQ(bytes(sound, WavFormat::float32), riff(format_chunk({.tag = 3, .bits = 32}, little(0, 2)) +
                                                   chunk("fact", little(1, 4)) + chunk("data", std::string(4, '\0'))));
}

TEST(Wav, RoundsToTheNearestStepAndClips) {
  Sound sound{.samples = Matrix<float>(8, 1)};
  sound.samples << 0.49f, 0.5f, 0.51f, -0.5f, 1.5f, 40000, -40000, 0;
  sound.samples *= 0x1p-15f;
  const Sound again = parse_wav(encode_wav(sound, WavFormat::pcm16));
  Matrix<float> expected(8, 1);
  expected << 0, 1, 1, -1, 2, 32767, -32768, 0;  // halves round away from 0
  EXPECT_EQ(again.samples, expected * 0x1p-15f);
  sound.samples << 1, 2, -2, 1, 1, 1, 1, 1;
  EXPECT_EQ(parse_wav(encode_wav(sound, WavFormat::pcm32)).samples(2, 0), -1);
  EXPECT_EQ(parse_wav(encode_wav(sound, WavFormat::pcm32)).samples(1, 0), 1) << "1 - 2⁻³¹, rounded to float";
  EXPECT_EQ(parse_wav(encode_wav(sound, WavFormat::pcm24)).samples(1, 0), 1 - 0x1p-23f);
  EXPECT_EQ(parse_wav(encode_wav(sound, WavFormat::float32)).samples, sound.samples) << "floats are not clipped";
}

TEST(Wav, RefusesBrokenContainers) {
  const std::string good = riff(format_chunk({}) + two_samples);
  EXPECT_EQ(parse(good).samples.rows(), 2);
  expect_refused("", "not a WAV file");
  expect_refused("RIFX" + good.substr(4), "not a WAV file");
  expect_refused(good.substr(0, 8) + "AVI " + good.substr(12), "not a WAV file");
  for (std::size_t size = 12; size < good.size(); ++size) {
    expect_refused(good.substr(0, size), "the RIFF size at byte 4 is 40, expected " + std::to_string(size - 8));
  }
  expect_refused(good + "x", "expected 41, since the file has 49 bytes");
  expect_refused("RIFF" + little(0xFFFFFFFF, 4) + good.substr(8), "the RIFF size at byte 4 is 4294967295");
  expect_refused(riff(format_chunk({}) + two_samples + "LIST"), "at byte 48 there are 4 bytes, expected the 8");
  expect_refused(riff(format_chunk({}) + "data" + little(5, 4) + "1234"), "\"data\" at byte 36 claims 5 bytes, but 4 follow");
  expect_refused(riff("\x1b[2J" + little(9, 4)), "the chunk \"?[2J\" at byte 12 claims 9 bytes");
  expect_refused(riff(""), "\"fmt \" is missing");
  expect_refused(riff(format_chunk({})), "\"data\" is missing, expected after");
  expect_refused(riff(two_samples + format_chunk({})), "\"data\" at byte 12 comes before \"fmt \"");
  expect_refused(riff(format_chunk({}) + format_chunk({}) + two_samples), "at byte 36 there is a second chunk \"fmt \"");
  expect_refused(riff(format_chunk({}) + two_samples + two_samples), "at byte 48 there is a second chunk \"data\"");
  EXPECT_TRUE(test::error_of<FileError>([] { read_wav("/no/such/file.wav"); }).starts_with("/no/such/file.wav: "));
}

TEST(Wav, RefusesUnsupportedFormats) {
  const auto refuse = [](const Format& format, std::string_view why, const std::string& extra = "") {
    expect_refused(riff(format_chunk(format, extra) + chunk("data", std::string(24, '\0'))), why);
  };
  expect_refused(riff(chunk("fmt ", std::string(14, '\0'))), "has 14 bytes, expected at least 16");
  refuse({.tag = 2}, "the encoding at byte 20 is 2 with 16 bits, expected 1 (PCM)");
  refuse({.bits = 8}, "is 1 with 8 bits");
  refuse({.tag = 3, .bits = 64}, "is 3 with 64 bits");
  refuse({.channels = 0}, "there are 0 channels at byte 22, expected 1 or 2");
  refuse({.channels = 6}, "there are 6 channels");
  refuse({.rate = 7999}, "the rate at byte 24 is 7999, expected 8000 to 96000");
  refuse({.rate = 96001}, "the rate at byte 24 is 96001");
  refuse({.channels = 2, .frame_bytes = 2}, "the bytes per frame at byte 32 are 2, expected 4 for 2 channels of 16 bits");
  refuse({.second_bytes = 8000}, "the bytes per second at byte 28 are 8000, expected 16000");
  refuse({.tag = 0xFFFE, .bits = 32}, "the extensible chunk \"fmt \" at byte 12 has 16 bytes, expected at least 40");
  refuse({.tag = 0xFFFE, .bits = 32}, "at byte 38 there are 33 valid bits, expected 1 to 32", extension(33, 1));
  refuse({.tag = 0xFFFE, .bits = 32}, "is 2 with 32 bits", extension(32, 2));
  refuse({.tag = 0xFFFE, .bits = 32}, "the subformat at byte 44 is unknown", extension(32, 1).substr(0, 23) + "x");
}

TEST(Wav, RefusesBrokenSamples) {
  expect_refused(riff(format_chunk({}) + chunk("data", "")), "\"data\" at byte 36 has no samples");
  expect_refused(riff(format_chunk({.channels = 2}) + chunk("data", "123456")),
                 "has 6 bytes, expected a multiple of the 4 bytes of a frame");
  const std::string nan("\0\0\0\0\0\0\xC0\x7F", 8), infinite("\0\0\x80\xFF", 4);
  expect_refused(riff(format_chunk({.tag = 3, .bits = 32}) + chunk("data", nan)), "the sample at byte 48 is NaN or infinite");
  expect_refused(riff(format_chunk({.tag = 3, .bits = 32}) + chunk("data", infinite)), "the sample at byte 44");
}

TEST(Wav, RefusesToWriteWhatItWouldNotRead) {
  const Matrix<float> x = Matrix<float>::Zero(3, 2);
  expect_error<ShapeError>([] { encode_wav({.samples = Matrix<float>(0, 1)}); },
                           {"the samples are 0 × 1, expected at least one"});
  expect_error<ShapeError>([] { encode_wav({.samples = Matrix<float>::Zero(2, 3)}); }, {"2 × 3", "1 or 2 channels"});
  expect_error<ArgumentError>([&] { encode_wav({.samples = x, .rate = 1000}); }, {"the rate is 1000, expected 8000 to 96000"});
  Sound sound{.samples = x};
  sound.samples(2, 1) = std::numeric_limits<float>::quiet_NaN();
  for (const WavFormat format : all_formats) {
    expect_error<ArgumentError>([&] { encode_wav(sound, format); }, {"the sample of frame 2, channel 1 is nan"});
  }
  const auto path = temporary("x.wav");
  test::write_text(path, "before");
  EXPECT_THROW(write_wav(path, sound), ArgumentError);
  EXPECT_EQ(test::read_text(path), "before");
}

}  // namespace
}  // namespace gated::wav_test
