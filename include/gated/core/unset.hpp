#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "gated/core/aligned_memory.hpp"
#include "gated/core/parameter_budget.hpp"

/// @file
/// The weights of new layers: uninitialized, or filled with one value.
///
/// A model built without a Random is uninitialized until a checkpoint is loaded: its weights hold a special NaN. Running an
/// uninitialized model raises ArgumentError. Only the first element of a weight is checked: if others are unset, the results
/// contain NaN. Any value that you assign counts as set, zero included. Copies, files and conversions between float and double
/// keep the NaN.

namespace gated {

namespace detail {

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

/// A quiet NaN that no arithmetic produces. Converting the float NaN to double produces the double NaN.
template <class T>
inline constexpr BitsOf<T> unset_bits = sizeof(T) == 4 ? BitsOf<T>{0x7FEDA7ED} : static_cast<BitsOf<T>>(0x7FFDB4FDA0000000);

/// A second NaN that no arithmetic produces. As a weight's first element, it marks a weight stored only in PreparedWeights.
template <class T>
inline constexpr BitsOf<T> elsewhere_bits = sizeof(T) == 4 ? BitsOf<T>{0x7FEDA7EE} : static_cast<BitsOf<T>>(0x7FFDB4FDC0000000);

}  // namespace detail

/// True for an element that was never set.
template <class T>
bool is_unset(const T& value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  return Eigen::numext::bit_cast<detail::BitsOf<T>>(value) == detail::unset_bits<T>;
}

namespace detail {

/// While a HollowWeights is alive, models built on this thread write only a few elements of each weight. If the system
/// allocates on first touch, as usual, the other elements take no memory. For models whose weights are stored elsewhere.
class HollowWeights {
 public:
  HollowWeights() { ++depth(); }
  ~HollowWeights() { --depth(); }
  HollowWeights(const HollowWeights&) = delete;
  HollowWeights& operator=(const HollowWeights&) = delete;

  static bool wanted() { return depth() > 0; }

 private:
  static int& depth() {
#if GATED_HAS_THREADS
    static constinit thread_local int value = 0;
#else
    static constinit int value = 0;
#endif
    return value;
  }
};

}  // namespace detail

/// True for the first element of a weight that is stored only in PreparedWeights: see load_prepared(), load_mapped().
template <class T>
bool is_elsewhere(const T& value) {
  return Eigen::numext::bit_cast<detail::BitsOf<T>>(value) == detail::elsewhere_bits<T>;
}

/// An uninitialized weight of `layer`.
/// Errors: MemoryError.
template <class T>
Matrix<T> unset_weight(Count rows, Count columns, const char* layer = "unset_weight") {
  expect_memory<T>(layer, rows, columns);
  const T unset = Eigen::numext::bit_cast<T>(detail::unset_bits<T>);
  if (detail::HollowWeights::wanted() && rows * columns != 0) {
    Matrix<T> hollow(rows.value(), columns.value());
    const Index size = hollow.size();
    ask_for_small_pages(hollow.data(), static_cast<std::size_t>(size) * sizeof(T));
    hollow.data()[size / 2] = hollow.data()[size - 1] = T{0};  // PreparedWeights samples these elements
    hollow.data()[0] = Eigen::numext::bit_cast<T>(detail::elsewhere_bits<T>);
    return hollow;
  }
  return Matrix<T>::Constant(rows.value(), columns.value(), unset);
}

/// A matrix of `layer` whose elements are all `value`.
/// Errors: MemoryError.
template <class T>
Matrix<T> filled_matrix(T value, Count rows, Count columns, const char* layer) {
  expect_memory<T>(layer, rows, columns);
  return Matrix<T>::Constant(rows.value(), columns.value(), value);
}
/// A vector of `layer` whose elements are all `value`.
/// Errors: MemoryError.
template <class T>
Vector<T> filled_vector(T value, Count size, const char* layer) {
  return Vector<T>::Constant(expect_memory<T>(layer, size), value);
}

/// Called by a layer's body to check its weight `member`.
/// Errors: ArgumentError if the weight was never set; if it is stored outside the model and this run cannot use it there; or if
/// a tape records with quantized weights.
/// Cost: reads one element.
template <class Run, class T>
void expect_set(const Run& run, const char* member, const Matrix<T>& weight) {
  if (weight.size() == 0 || (!is_unset(*weight.data()) && !is_elsewhere(*weight.data()))) [[likely]] {
    if constexpr (Run::records) {
      const auto* const prepared = run.workspace().prepared();
      require<ArgumentError>(
          prepared == nullptr || !prepared->is_quantized(), run.outermost(),
          ": the workspace uses quantized weights, which cannot be trained. Record on a tape without quantized weights.");
    }
    return;
  }
  if constexpr (requires { run.starts(); }) {
    if (run.starts()) {
      return;  // a state can be created before the weights are set
    }
  }
  const auto raise_for = [&](const char* what) {
    const std::string path = run.path();
    raise<ArgumentError>(run.outermost(), ": the parameter ", path, path.empty() ? "" : ".", member, what);
  };
  if (!is_elsewhere(*weight.data())) {
    raise_for(
        " was never set. Load a checkpoint (load_model(), load_parameters()), construct the model with a Random, call "
        "initialize(), or assign to it.");
  }
  if constexpr (Run::records) {
    raise_for(" is stored outside the model and cannot be trained. Open the file with load_model().");
  } else if (const auto* const prepared = run.workspace().prepared(); prepared == nullptr || !prepared->holds(weight.data())) {
    raise_for(
        " is stored outside the model. Pass the PreparedWeights of load_prepared() or load_mapped() to Workspace::use().");
  }
}

/// Called by a layer's body; `whole` says that the weights have their sizes.
/// Errors: ArgumentError if they do not, because a moved-from layer has lost them.
inline void expect_whole(Where layer, bool whole) {
  require<ArgumentError>(whole, layer, ": the weights are empty, perhaps moved from. Use the model they were moved to.");
}

}  // namespace gated
