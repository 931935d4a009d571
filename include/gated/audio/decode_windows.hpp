#pragma once

#include <algorithm>

#include "gated/audio/signal.hpp"

/// @file
/// Cuts long recordings into overlapping windows of equal length, for networks whose norms and attention see the whole input.

namespace gated {

/// How sound is cut into windows, which start at samples 0, stride, 2 · stride, … The results of adjacent windows overlap by
/// window - stride samples, and each drops half of the overlap.
struct DecodeWindows {
  Index window = 192000;           ///< samples of a window
  Index stride = 144000;           ///< samples from one window to the next
  Index one_pass_length = 960000;  ///< sound of at most this many samples is processed in one piece
  bool pads_one_pass = false;      ///< whether sound processed in one piece is also padded to padded_length()

  /// Number of samples that a result drops where it overlaps its neighbour.
  Index dropped() const { return (window - stride) / 2; }
  /// Whether sound of this length is processed in one piece.
  bool is_one_pass(Index samples) const { return samples <= one_pass_length; }

  /// The zero-padded length, as in ClearerVoice-Studio: `window` if samples < window, else window + stride if samples is less
  /// than that. Longer sound gets window + r zeros with r = (samples - window) mod stride, or none if r = 0.
  Index padded_length(Index samples) const {
    if (samples < window) {
      return window;
    }
    if (samples < window + stride) {
      return window + stride;
    }
    const Index rest = (samples - window) % stride;
    return rest == 0 ? samples : samples + window + rest;
  }
};

/// A plan with windows of `seconds` seconds and a stride of three quarters of a window.
/// Errors: ArgumentError if a window has fewer than 4 samples.
inline DecodeWindows decode_windows(Index rate, double seconds, double one_pass_seconds) {
  const auto window = static_cast<Index>(static_cast<double>(rate) * seconds);
  require<ArgumentError>(window >= 4, "decode_windows: a window of ", seconds, " seconds at ", rate, " Hz has ", window,
                         " samples, expected at least 4.");
  return {.window = window,
          .stride = window * 3 / 4,
          .one_pass_length = static_cast<Index>(static_cast<double>(rate) * one_pass_seconds)};
}

/// The windows of MossFormer2_SE_48K: sound longer than 20 seconds is cut into windows of 4 seconds.
inline DecodeWindows mossformer2_enhancement_windows() { return decode_windows(48000, 4, 20); }

/// The windows of MossFormer2_SS_16K: sound longer than 2 seconds is cut into windows of 2 seconds; other sound is padded and
/// processed in one piece.
inline DecodeWindows mossformer2_separation_windows(Index rate = 16000) {
  DecodeWindows plan = decode_windows(rate, 2, 2);
  plan.pads_one_pass = true;
  return plan;
}

namespace detail {

/// Raises ArgumentError unless the windows cover the sound without gaps.
inline void expect_plan(Where where, const DecodeWindows& plan) {
  require<ArgumentError>(plan.stride >= 1 && plan.stride <= plan.window, where, ": window is ", plan.window, " and stride is ",
                         plan.stride, ", expected 1 ≤ stride ≤ window.");
}

/// Returns `f(segment)`; raises ShapeError unless it has one row per sample and `columns` columns (any number if negative).
template <class T, class F>
Matrix<T> checked_segment(Where where, const Matrix<T>& segment, Index columns, F& f) {
  Matrix<T> result = f(segment);
  require<ShapeError>(result.rows() == segment.rows() && (columns < 0 || result.cols() == columns), where,
                      ": the function returned ", result.rows(), " × ", result.cols(), " for a segment of ", segment.rows(),
                      " samples, expected one row per sample and the same number of columns each time.");
  return result;
}

}  // namespace detail

/// Runs `f` over a recording of `length` samples, in one piece or in windows, with one piece or window in memory at a time:
///
///     enhance_in_windows<float>(file.frames(), mossformer2_enhancement_windows(),
///                               [&](Index first, Index count) { return file.read(first, count); },  // samples × channels
///                               [&](const Matrix<float>& segment) -> Matrix<float> { return … ; },
///                               [&](ConstView<float> next) { out.write(next); });                     // in order
///
/// `f(segment)` returns one row per sample, with one column per channel or speaker. It is called for each window in order, up
/// to the last that contributes samples.
/// With g = plan.dropped(), each result contributes its samples [g, stride + g), except that the first starts at 0 and the last
/// ends at window - g. If length - window is a positive multiple of stride, no zeros are appended; the last g output samples
/// are then 0, as in ClearerVoice-Studio.
/// Errors: ArgumentError unless 1 ≤ stride ≤ window; ShapeError if `f` returns another length or its number of columns changes,
/// or if there are no samples.
/// Cost: `f` processes each sample window / stride times on average.
template <class T, class Read, class F, class Write>
void enhance_in_windows(Index length, const DecodeWindows& plan, Read&& read, F&& f, Write&& write) {
  constexpr Where where = "enhance_in_windows";
  detail::expect_plan(where, plan);
  require<ShapeError>(length >= 1, where, ": there are no samples.");
  const auto padded_part = [&](Index first, Index count) {
    Matrix<T> part = read(first, std::min(count, length - first));
    const Index known = part.rows();
    part.conservativeResize(count, Eigen::NoChange);
    part.bottomRows(count - known).setZero();
    return part;
  };
  const bool one_pass = plan.is_one_pass(length);
  const Index padded = one_pass && !plan.pads_one_pass ? length : plan.padded_length(length);
  if (one_pass) {
    write(detail::checked_segment<T>(where, padded_part(0, padded), -1, f).topRows(length));
    return;
  }
  Index done = 0, columns = -1;
  for (Index start = 0; start + plan.window <= padded && done < length; start += plan.stride) {
    const Matrix<T> part = detail::checked_segment<T>(where, padded_part(start, plan.window), columns, f);
    const bool is_last = start + plan.stride + plan.window > padded;
    const Index end = start + (is_last ? plan.window - plan.dropped() : plan.stride + plan.dropped());
    const Index count = std::min(end, length) - done;
    write(part.middleRows(done - start, count));
    done += count;
    columns = part.cols();
  }
  if (done < length) {
    write(Matrix<T>::Zero(length - done, columns));
  }
}

/// The same for a channel in memory.
///
///     const Matrix<float> clean = enhance_in_windows<float>(noisy, mossformer2_enhancement_windows(),
///                                                           [&](const ConstSignal<float>& segment) { return … ; });
///
/// Shapes: the result is samples.size() × (columns of f's results).
template <class T, class F>
Matrix<T> enhance_in_windows(const ConstSignal<T>& samples, const DecodeWindows& plan, F&& f) {
  Matrix<T> result;
  Index done = 0;
  enhance_in_windows<T>(
      samples.size(), plan, [&](Index first, Index count) -> Matrix<T> { return samples.segment(first, count); },
      [&](const Matrix<T>& segment) -> Matrix<T> { return f(ConstSignal<T>(segment.col(0))); },
      [&](const ConstView<T>& next) {
        result.resize(samples.size(), next.cols());
        result.middleRows(done, next.rows()) = next;
        done += next.rows();
      });
  return result;
}

}  // namespace gated
