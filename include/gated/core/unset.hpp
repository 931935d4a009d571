#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "gated/core/matrix.hpp"

/// @file
/// Weights that nobody has set yet.
///
/// A model that is built without a Random waits for a checkpoint. Its weights then hold a NaN of their own, so that a model
/// which was never loaded or initialised is refused when it runs, and a weight that is set in part is seen in the results. What
/// a caller assigns, zeros included, is a weight like any other; copies, files and conversions between float and double keep
/// the NaN.

namespace gated {

namespace detail {

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

/// A quiet NaN that no arithmetic makes: the same in float and, widened, in double.
template <class T>
inline constexpr BitsOf<T> unset_bits = sizeof(T) == 4 ? BitsOf<T>{0x7FEDA7ED} : static_cast<BitsOf<T>>(0x7FFDB4FDA0000000);

}  // namespace detail

/// True for a number that nobody has set.
template <class T>
bool is_unset(const T& value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  return Eigen::numext::bit_cast<detail::BitsOf<T>>(value) == detail::unset_bits<T>;
}

/// Numbers that nobody has set.
template <class T>
Matrix<T> unset_weight(Index rows, Index columns) {
  return Matrix<T>::Constant(rows, columns, Eigen::numext::bit_cast<T>(detail::unset_bits<T>));
}

/// Raises ArgumentError in the body of a layer that runs with a weight which nobody has set: the layer's member `member`.
/// Cost: reads one number.
template <class Run, class T>
void expect_set(const Run& run, const char* member, const Matrix<T>& weight) {
  if (weight.size() > 0 && is_unset(*weight.data())) [[unlikely]] {
    if constexpr (requires { run.starts(); }) {
      if (run.starts()) {
        return;  // a state may be made before the weights are there
      }
    }
    const std::string path = run.path();
    raise<ArgumentError>(run.outermost(), ": the parameter ", path, path.empty() ? "" : ".", member,
                         " was never set. Load a checkpoint (load_model(), load_parameters()), start a training with the "
                         "constructor that takes a Random or with initialize(), or assign to it.");
  }
}

}  // namespace gated
