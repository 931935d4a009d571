#pragma once

#include "gated/audio/log_mel.hpp"
#include "gated/audio/spectrum.hpp"

/// @file
/// Applies a mask to a spectrum, as networks do to remove noise.

namespace gated {

/// The spectrum that MossFormer2_SE_48K masks: 961 bins, from 40 ms frames at 48 kHz. Frame i corresponds to row i of the
/// features.
inline SpectrumOptions mossformer2_spectrum() {
  const LogMelOptions features = mossformer2_features();
  return {.window = features.window, .length = features.length, .hop = features.hop};
}

/// istft(mask ⊙ stft(samples)): the mask scales the real and imaginary parts of each bin, as in ClearerVoice-Studio's
/// MossFormer2_SE_48K. Of n samples, the last (n - options.span()) mod options.hop, which no frame covers, are 0 in the result.
///
/// Near both ends, only the edge of one window covers a sample. With a Hann window, the division by its tiny weights can make
/// these samples very loud. To prevent that, append span - hop zeros to both ends and cut them off again, as denoise() does.
/// Shapes: for n samples, `mask` is options.frames(n) × options.bins(), and the result has n elements.
/// Errors: ArgumentError for invalid options; ShapeError for a mask of another shape, or a sound shorter than a frame.
/// Cost: twice that of stft(). Memory: a few frames, and two doubles per sample.
template <class T>
Vector<T> apply_mask(const ConstSignal<T>& samples, const ConstView<T>& mask, const SpectrumOptions& options) {
  detail::expect_spectrum("apply_mask", "mask", mask.rows(), mask.cols(), samples.size(), options);
  detail::OverlapAdd sum(options, samples.size());
  detail::for_each_spectrum<T>(samples, options, [&](Index first, Index count, detail::RealFourier& fourier) {
    for (Index r = 0; r < count; ++r) {
      for (Index k = 0; k < mask.cols(); ++k) {
        const auto factor = static_cast<double>(mask(first + r, k));
        fourier.real(r, k) *= factor;
        fourier.imaginary(r, k) *= factor;
      }
    }
    fourier.inverse(count);
    for (Index r = 0; r < count; ++r) {
      sum.add(first + r, &fourier.rows(r, 0));
    }
  });
  return sum.result<T>();
}

}  // namespace gated
