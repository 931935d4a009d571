#pragma once

#include <algorithm>
#include <numeric>

#include "gated/audio/resample.hpp"
#include "gated/io/wav_file.hpp"

/// A recording, resampled to a model's rate and read in parts.

namespace examples {

using gated::Index, gated::Matrix;

/// A WAV file resampled to another rate; if `mono`, the mean of its channels. Parts equal those of the whole file
/// converted by gated::resample().
class Recording {
 public:
  Recording(const std::filesystem::path& path, Index rate, bool mono = false)
      : name_(path.string()), file_(path), rate_(rate), mono_(mono) {}

  const std::string& name() const { return name_; }
  Index rate() const { return rate_; }
  Index rate_of_file() const { return file_.rate(); }
  Index channels() const { return mono_ ? 1 : file_.channels(); }
  /// The number of frames after resampling.
  Index frames() const {
    return static_cast<Index>(
        std::ceil(static_cast<double>(file_.frames()) * static_cast<double>(up()) / static_cast<double>(down())));
  }
  double seconds() const { return static_cast<double>(file_.frames()) / static_cast<double>(file_.rate()); }

  /// Frames first … first + count - 1, as frames × channels.
  /// Errors: FileError for a sample beyond ±2⁴⁰, whose power could overflow.
  Matrix<float> read(Index first, Index count) const {
    // Resampling turns each block of `down` frames into `up` frames. Reading starts at a block boundary of the file.
    const Index reach = gated::detail::ResamplingFilter(static_cast<double>(up()) / static_cast<double>(down())).taps();
    const Index before = std::max<Index>(first / up() - reach / down() - 1, 0);
    const Index after = std::min((first + count) / up() + reach / down() + 2, (file_.frames() + down() - 1) / down());
    const Index begin = before * down(), end = std::min(after * down(), file_.frames());
    Matrix<float> part = file_.read(begin, end - begin);
    const float loudest = part.size() == 0 ? 0 : part.cwiseAbs().maxCoeff();
    gated::require<gated::FileError>(loudest <= 0x1p40f, name_, ": a sample is ", loudest, ", expected -1 to 1.");
    if (mono_) {
      part = part.rowwise().mean().eval();
    }
    return gated::detail::resampled_frames<float>(part, file_.rate(), rate_, first - before * up(), count);
  }

 private:
  Index divisor() const { return std::gcd(file_.rate(), rate_); }
  Index up() const { return rate_ / divisor(); }
  Index down() const { return file_.rate() / divisor(); }

  std::string name_;
  gated::WavFile file_;
  Index rate_;
  bool mono_;
};

}  // namespace examples
