#pragma once

#include <algorithm>
#include <numeric>

#include "gated/audio/resample.hpp"
#include "gated/io/wav_file.hpp"

/// A recording at the rate of a model, read in parts.

namespace denoise {

using gated::Index, gated::Matrix;

/// A WAV file at another rate. Any part has the samples of gated::resample() on the whole file.
class Recording {
 public:
  Recording(const std::filesystem::path& path, Index rate) : file_(path), rate_(rate) {}

  Index rate() const { return rate_; }
  Index rate_of_file() const { return file_.rate(); }
  Index channels() const { return file_.channels(); }
  /// Frames at the model's rate.
  Index frames() const {
    return static_cast<Index>(
        std::ceil(static_cast<double>(file_.frames()) * static_cast<double>(up()) / static_cast<double>(down())));
  }
  double seconds() const { return static_cast<double>(file_.frames()) / static_cast<double>(file_.rate()); }

  /// Frames first … first + count - 1, as frames × channels.
  Matrix<float> read(Index first, Index count) const {
    // Blocks of `up` frames here are as long as `down` frames of the file, so that a part may begin with any block.
    const Index reach = gated::detail::ResamplingFilter(static_cast<double>(up()) / static_cast<double>(down())).taps();
    const Index before = std::max<Index>(first / up() - reach / down() - 1, 0);
    const Index after = std::min((first + count) / up() + reach / down() + 2, (file_.frames() + down() - 1) / down());
    const Index begin = before * down(), end = std::min(after * down(), file_.frames());
    return gated::resample<float>(file_.read(begin, end - begin), file_.rate(), rate_).middleRows(first - before * up(), count);
  }

 private:
  Index divisor() const { return std::gcd(file_.rate(), rate_); }
  Index up() const { return rate_ / divisor(); }
  Index down() const { return file_.rate() / divisor(); }

  gated::WavFile file_;
  Index rate_;
};

}  // namespace denoise
