#pragma once

#include <algorithm>

#include "gated/audio/signal.hpp"

/// @file
/// Cuts long recordings into overlapping windows of equal length, for networks whose norms and attention see the whole input.

namespace gated {

/// The windows of a long recording. They start at samples 0, stride, 2 · stride, … Adjacent windows overlap by window - stride
/// samples, and each window's result drops half of the overlap.
struct DecodeWindows {
  Index window = 192000;           ///< samples per window
  Index stride = 144000;           ///< samples from one window to the next
  Index one_pass_length = 960000;  ///< sound of up to this many samples is processed in one piece
  bool pads_one_pass = false;      ///< true to pad sound to padded_length() even if it is processed in one piece

  /// Samples that a window's result drops at each end that overlaps another window.
  Index dropped() const { return (window - stride) / 2; }
  /// True if `samples` samples are processed in one piece.
  bool is_one_pass(Index samples) const { return samples <= one_pass_length; }

  /// The zero-padded length, as in ClearerVoice-Studio: `window` if samples < window; else window + stride if samples is below
  /// that; else samples + window + r with r = (samples - window) mod stride, or samples if r = 0.
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

/// Windows of `seconds` seconds, with a stride of three quarters of a window.
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

/// The windows of MossFormer2_SS_16K: sound longer than 2 seconds is cut into windows of 2 seconds; other sound is padded
/// and processed in one piece.
inline DecodeWindows mossformer2_separation_windows(Index rate = 16000) {
  DecodeWindows plan = decode_windows(rate, 2, 2);
  plan.pads_one_pass = true;
  return plan;
}

namespace detail {

/// Raises ArgumentError unless 1 ≤ stride ≤ window: a larger stride would leave gaps.
inline void expect_plan(Where where, const DecodeWindows& plan) {
  require<ArgumentError>(plan.stride >= 1 && plan.stride <= plan.window, where, ": window is ", plan.window, " and stride is ",
                         plan.stride, ", expected 1 ≤ stride ≤ window.");
}

/// Returns `f(segment)`.
/// Errors: ShapeError unless the result has one row per sample and `columns` columns; -1 allows any number of columns.
template <class T, class F>
Matrix<T> checked_segment(Where where, const Matrix<T>& segment, Index columns, F& f) {
  Matrix<T> result = f(segment);
  require<ShapeError>(result.rows() == segment.rows() && (columns < 0 || result.cols() == columns), where,
                      ": the function returned ", result.rows(), " × ", result.cols(), " for a segment of ", segment.rows(),
                      " samples, expected one row per sample and the same number of columns each time.");
  return result;
}

}  // namespace detail

/// Runs `f` on a recording of `length` samples: in one piece if it is short, else window by window. Example:
///
///     enhance_in_windows<float>(file.frames(), mossformer2_enhancement_windows(),
///                               [&](Index first, Index count) { return file.read(first, count); },  // samples × channels
///                               [&](const Matrix<float>& segment) -> Matrix<float> { return … ; },
///                               [&](ConstView<float> next) { out.write(next); });                     // in order
///
/// `f(segment)` returns one row per sample, with one column per channel or speaker. It is called for each window in order, up
/// to the last one that contributes to the output. Only one window is in memory at a time.
/// With g = plan.dropped(), the output consists of samples [g, stride + g) of each result. The first result also keeps its
/// samples before g; the last one ends at window - g. Samples after that are 0, as in ClearerVoice-Studio, which pads too few
/// zeros for some lengths: for example, the last g samples are 0 if length - window is a positive multiple of stride.
/// Errors: ArgumentError unless 1 ≤ stride ≤ window; ShapeError if length < 1, if `f` returns a different number of rows than
/// its segment has, or if its number of columns changes between windows.
/// Cost: on average, `f` processes each sample in window / stride windows.
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

/// Overload of enhance_in_windows() for a recording of one channel in memory.
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
