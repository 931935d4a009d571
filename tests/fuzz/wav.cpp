#include "gated/io/wav.hpp"

#include "tests/fuzz/fuzz.hpp"

// The input is a WAV file. The samples of an accepted file are finite. Samples written as floats round-trip exactly. Samples
// written in a PCM format are rounded once, and then round-trip.

namespace gated::fuzz {
namespace {

void read(std::span<const std::byte> file) {
  const Sound sound = parse_wav(file, "input");
  const Matrix<float>& x = sound.samples;
  promise(x.rows() > 0 && (x.cols() == 1 || x.cols() == 2), "an accepted sound is not empty and has one or two channels");
  promise(static_cast<std::size_t>(x.size()) <= file.size() / 2, "each sample has at least two bytes in the file");
  promise(x.allFinite(), "accepted samples are finite");
  for (const WavFormat format : {WavFormat::pcm16, WavFormat::pcm24, WavFormat::pcm32, WavFormat::float32}) {
    const Sound again = parse_wav(encode_wav(sound, format), "output");
    promise(again.rate == sound.rate && again.samples.rows() == x.rows() && again.samples.cols() == x.cols(),
            "writing keeps the size and the rate");
    promise(format != WavFormat::float32 || again.samples == x, "floats round-trip");
    promise(parse_wav(encode_wav(again, format), "output").samples == again.samples, "written samples round-trip");
  }
}

}  // namespace
}  // namespace gated::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gated::fuzz::accepted([&] { gated::fuzz::read(std::as_bytes(std::span(data, size))); });
  return 0;
}
