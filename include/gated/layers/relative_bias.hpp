#pragma once

#include "gated/core/parameters.hpp"
#include "gated/core/random.hpp"
#include "gated/core/settings.hpp"
#include "gated/ops/position_bias.hpp"

/// @file
/// A learned bias on scores that depends on the distance between key and query.

namespace gated {

/// How a bias follows from the distance of two tokens.
enum class RelativeBiasForm {
  none,
  t5,       ///< 32 buckets of distance, shared beyond 128 (arXiv:1910.10683): lucidrains
  toeplitz  ///< one number per offset, w[L-1 + (j-i)], for up to L positions: the FLASH paper, JunnYu, mmpose
};

constexpr auto names_of(RelativeBiasForm) {
  return std::array{std::pair{RelativeBiasForm::none, std::string_view("none")},
                    std::pair{RelativeBiasForm::t5, std::string_view("t5")},
                    std::pair{RelativeBiasForm::toeplitz, std::string_view("toeplitz")}};
}

/// B_ij = table[bucket(i - j)] · scale (T5), or w[L-1 + (j-i)] (Toeplitz).
///
/// Errors: ShapeError where more positions are asked for than a Toeplitz bias holds. Cost: O(N) for N × N scores.
template <class T>
struct RelativeBias {
  using Scalar = T;
  static constexpr Index buckets = 32, max_distance = 128;  ///< T5's, which no original changes

  RelativeBiasForm form = RelativeBiasForm::none;
  bool causal = false;
  T scale = T{1};
  Vector<T> weight;  ///< T5: 32; Toeplitz: 2L-1

  RelativeBias() = default;
  RelativeBias(RelativeBiasForm form_, bool causal_, T scale_, Index max_length) : form(form_), causal(causal_), scale(scale_) {
    require<ArgumentError>(form != RelativeBiasForm::toeplitz || max_length > 0, "RelativeBias: max_length = ", max_length,
                           ", expected the number of positions that the Toeplitz bias is to hold.");
    weight = Vector<T>::Zero(form == RelativeBiasForm::t5         ? buckets
                             : form == RelativeBiasForm::toeplitz ? 2 * max_length - 1
                                                                  : 0);
  }

  static constexpr auto fields() { return std::tuple{field("weight", &RelativeBias::weight, Role::position)}; }

  /// N(0, 0.02²).
  void initialize(Random& random) { fill_normal(weight, 0.02, random); }

  /// Raises ShapeError if `length` positions are more than the bias holds.
  void expect_length(const char* where, Index length) const {
    require<ShapeError>(form != RelativeBiasForm::toeplitz || length <= (weight.size() + 1) / 2, where, ": a sequence has ",
                        length, " tokens, but the Toeplitz bias holds ", (weight.size() + 1) / 2,
                        " positions. Build it with a larger max_length, or choose relative_bias = t5 or none.");
  }

  /// The bias by offset j - i, a pointer to offset 0 that is valid up to ±(length - 1); nullptr without a bias. What is not
  /// stored is computed into memory that `memory.take()` gives, such as a workspace's.
  template <class Memory>
  const T* for_length(Index length, Memory& memory) const {
    if (form == RelativeBiasForm::none || length == 0) {
      return nullptr;
    }
    if (form == RelativeBiasForm::toeplitz) {
      return weight.data() + (weight.size() - 1) / 2;
    }
    T* const relative = memory.take(2 * length - 1);
    t5_bias<T>(weight, scale, causal, max_distance, length, relative);
    return relative + length - 1;
  }
};

}  // namespace gated
