#include "gated/io/wav.hpp"

#include "tests/fuzz/fuzz.hpp"

// The input is a WAV file. The samples of an accepted file are finite. Written as floats, they round-trip exactly; written in a
// PCM format, they are rounded once and then round-trip.

namespace gated::fuzz {
namespace {

void read(std::span<const std::byte> file) {
  const Sound sound = parse_wav(file, "input");
  const Matrix<float>& x = sound.samples;
  promise(x.rows() > 0 && (x.cols() == 1 || x.cols() == 2), "accepted sound has frames of one or two samples");
  promise(static_cast<std::size_t>(x.size()) <= file.size() / 2, "the samples are inside the file");
  promise(x.allFinite(), "accepted samples are finite");
  for (const WavFormat format : {WavFormat::pcm16, WavFormat::pcm24, WavFormat::pcm32, WavFormat::float32}) {
    const Sound again = parse_wav(encode_wav(sound, format), "output");
    promise(again.rate == sound.rate && again.samples.rows() == x.rows() && again.samples.cols() == x.cols(),
            "a written file has the same shape and rate");
    promise(format != WavFormat::float32 || again.samples == x, "floats round-trip");
    promise(parse_wav(encode_wav(again, format), "output").samples == again.samples, "writing again changes nothing");
  }
}

}  // namespace
}  // namespace gated::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gated::fuzz::accepted([&] { gated::fuzz::read(std::as_bytes(std::span(data, size))); });
  return 0;
}
