#include "denoisers.hpp"

#include <cstdio>
#include <deque>
#include <vector>

#include "common/raw_samples.hpp"
#include "gated/io/model_file.hpp"
#include "gated/models/denoise_stream.hpp"
#include "gated/models/speech_enhancement.hpp"

namespace denoise {
namespace {

using gated::require, gated::FileError, gated::SafetensorsFile;
using Denoiser = gated::SpeechDenoiser<float>;
using Network = gated::MaskNetwork<float>;

bool is_mossformer(const SafetensorsFile& file) {
  const std::string architecture = gated::architecture_of(file);
  require<FileError>(architecture == Denoiser::architecture || architecture == Network::architecture, file.name(),
                     ": its architecture is ", architecture.empty() ? "unknown" : architecture, ", expected ",
                     Denoiser::architecture, " from denoise --train, or MossFormer2_SE_48K from examples/convert/convert.py.");
  return architecture == Network::architecture;
}

/// Streams the channels in blocks of one second, then flushes the streams with silence as long as their latency.
void denoise(const Denoiser& model, const Recording& recording, const Take& take) {
  std::deque<gated::DenoiseStream<float>> streams;  // a deque, because a stream cannot move
  for (Index c = 0; c < recording.channels(); ++c) {
    streams.emplace_back(model);
  }
  const Index frames = recording.frames(), late = streams.front().latency();
  for (Index done = 0, more = true; more && done < frames + late;) {
    const Index count = std::min(recording.rate(), frames + late - done), known = std::clamp<Index>(frames - done, 0, count);
    Matrix<float> block = Matrix<float>::Zero(count, recording.channels());
    block.topRows(known) = recording.read(std::min(done, frames), known);
    for (Index c = 0; c < block.cols(); ++c) {
      gated::Vector<float> samples = block.col(c);
      const std::span all(samples.data(), static_cast<std::size_t>(count));
      streams[static_cast<std::size_t>(c)].process(all, all);
      block.col(c) = samples;
    }
    const Index early = std::clamp<Index>(late - done, 0, count);  // output samples that precede the recording
    more = take(block.bottomRows(count - early));
    done += count;
  }
}

/// Thrown to leave enhance_in_windows() early.
struct Stopped {};

void denoise(const Network& network, const Recording& recording, int threads, const Take& take) {
  const gated::SpeechEnhancement options = gated::mossformer2_enhancement();
  gated::Workspace<float> workspace{gated::Threads(threads)};
  require<FileError>(recording.frames() >= options.spectrum.length, recording.name(), ": has ", recording.frames(),
                     " samples at ", recording.rate(), " Hz, but MossFormer2 needs at least ", options.spectrum.length, ".");
  gated::SpeechEnhancement whole = options;
  whole.windows.one_pass_length = recording.frames();  // enhance_in_windows() has already cut the windows
  try {
    gated::enhance_in_windows<float>(
        recording.frames(), options.windows, [&](Index first, Index count) { return recording.read(first, count); },
        [&](const Matrix<float>& segment) -> Matrix<float> {
          Matrix<float> clean(segment.rows(), segment.cols());
          for (Index c = 0; c < segment.cols(); ++c) {
            clean.col(c) = gated::enhance<float>(network, segment.col(c), whole, workspace);
          }
          return clean;
        },
        [&](gated::ConstView<float> next) {
          if (!take(next)) {
            throw Stopped();
          }
        });
  } catch (const Stopped&) {
  }
}

}  // namespace

Index rate_of(const std::filesystem::path& model) {
  const SafetensorsFile file(model);
  return is_mossformer(file) ? gated::mossformer2_enhancement().features.rate
                             : gated::describe_model<Denoiser>(file).config.rate;
}

void denoise(const std::filesystem::path& model, const Recording& recording, int threads, const Take& take) {
  const SafetensorsFile file(model);
  if (is_mossformer(file)) {
    denoise(gated::load_model<Network>(file), recording, threads, take);
  } else {
    denoise(gated::load_model<Denoiser>(file), recording, take);
  }
}

void denoise_stream(const std::filesystem::path& path) {
  examples::use_binary_mode(stdout);
  const SafetensorsFile file(path);
  require<gated::ArgumentError>(!is_mossformer(file), path.string(),
                                ": MossFormer2 needs whole windows and cannot stream. Leave out --model, or give two files.");
  const auto model = gated::load_model<Denoiser>(file);
  gated::DenoiseStream<float> stream(model);
  std::fprintf(stderr, "%td samples a second, latency %td samples\n", model.config.rate, stream.latency());
  std::vector<std::byte> out;
  Index early = stream.latency();  // output samples that precede the first input
  const auto pass = [&](std::span<float> block) {
    stream.process(block, block);
    out.clear();
    for (const float sample : block.subspan(static_cast<std::size_t>(std::min(early, std::ssize(block))))) {
      gated::detail::append_little_endian(out, gated::detail::wav_bits(gated::WavFormat::pcm16, sample), 2);
    }
    early -= std::min(early, std::ssize(block));
    const bool written = std::fwrite(out.data(), 1, out.size(), stdout) == out.size() && std::fflush(stdout) == 0;
    require<FileError>(written || examples::stop_signal != 0,  // Ctrl-C also ends a write that waits
                       "stdout is closed or the disk is full: the rest of the sound is lost.");
  };
  examples::for_each_raw_block(static_cast<std::size_t>(model.config.hop), pass, [&] {
    std::vector<float> silence(static_cast<std::size_t>(stream.latency()));
    pass(silence);
  });
}

}  // namespace denoise
