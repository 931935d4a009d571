#pragma once

#include "gated/core/matrix.hpp"

/// @file
/// One channel of sound, and the supported sampling rates.

namespace gated {

/// A read-only view of one channel: a column vector of samples. Binds to a `Vector`, an `Eigen::Map`, or a column of a Matrix
/// of frames × channels. A column of a Matrix with several channels is copied.
template <class T>
using ConstSignal = Eigen::Ref<const Vector<T>>;

/// The lowest supported sampling rate, in samples per second.
inline constexpr Index least_rate = 8000;
/// The highest supported sampling rate, in samples per second.
inline constexpr Index greatest_rate = 96000;

}  // namespace gated
