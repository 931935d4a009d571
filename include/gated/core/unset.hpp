#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "gated/core/aligned_memory.hpp"
#include "gated/core/parameter_budget.hpp"

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

/// Another, with which a weight begins that stands nowhere but in PreparedWeights.
template <class T>
inline constexpr BitsOf<T> elsewhere_bits = sizeof(T) == 4 ? BitsOf<T>{0x7FEDA7EE} : static_cast<BitsOf<T>>(0x7FFDB4FDC0000000);

}  // namespace detail

/// True for a number that nobody has set.
template <class T>
bool is_unset(const T& value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  return Eigen::numext::bit_cast<detail::BitsOf<T>>(value) == detail::unset_bits<T>;
}

namespace detail {

/// While one of these is alive, of the weights of models that this thread builds only a few numbers are written: where the
/// system gives memory when it is first touched, as usual, the others take none. For models whose weights are elsewhere.
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

/// True for the first number of a weight that stands nowhere but in PreparedWeights: see load_prepared(), load_mapped().
template <class T>
bool is_elsewhere(const T& value) {
  return Eigen::numext::bit_cast<detail::BitsOf<T>>(value) == detail::elsewhere_bits<T>;
}

/// An uninitialised weight of `layer`.
/// Errors: MemoryError.
template <class T>
Matrix<T> unset_weight(Count rows, Count columns, const char* layer = "unset_weight") {
  expect_memory<T>(layer, rows, columns);
  const T unset = Eigen::numext::bit_cast<T>(detail::unset_bits<T>);
  if (detail::HollowWeights::wanted() && rows * columns != 0) {
    Matrix<T> hollow(rows.value(), columns.value());
    const Index size = hollow.size();
    hollow.data()[size / 2] = hollow.data()[size - 1] = T{0};  // by which PreparedWeights knows it again
    hollow.data()[0] = Eigen::numext::bit_cast<T>(detail::elsewhere_bits<T>);
    return hollow;
  }
  return Matrix<T>::Constant(rows.value(), columns.value(), unset);
}

/// Raises ArgumentError in the body of a layer that runs with a weight which nobody has set, or which is elsewhere: the layer's
/// member `member`.
/// Cost: reads one number.
template <class Run, class T>
void expect_set(const Run& run, const char* member, const Matrix<T>& weight) {
  if (weight.size() == 0 || (!is_unset(*weight.data()) && !is_elsewhere(*weight.data()))) [[likely]] {
    if constexpr (Run::records) {
      const auto* const prepared = run.workspace().prepared();
      require<ArgumentError>(prepared == nullptr || !prepared->is_quantized(), run.outermost(),
                             ": the workspace uses weights in a small format, which are not trained. Record with a workspace "
                             "of its own.");
    }
    return;
  }
  if constexpr (requires { run.starts(); }) {
    if (run.starts()) {
      return;  // a state may be made before the weights are there
    }
  }
  const auto raise_for = [&](const char* what) {
    const std::string path = run.path();
    raise<ArgumentError>(run.outermost(), ": the parameter ", path, path.empty() ? "" : ".", member, what);
  };
  if (!is_elsewhere(*weight.data())) {
    raise_for(
        " was never set. Load a checkpoint (load_model(), load_parameters()), start a training with the constructor that takes "
        "a Random or with initialize(), or assign to it.");
  }
  if constexpr (Run::records) {
    raise_for(" is kept apart from the model, and cannot be trained. Open the file by load_model().");
  } else if (const auto* const prepared = run.workspace().prepared(); prepared == nullptr || !prepared->holds(weight.data())) {
    raise_for(
        " is kept apart from the model. Give the weights that load_prepared() or load_mapped() made with it to "
        "Workspace::use().");
  }
}

}  // namespace gated
