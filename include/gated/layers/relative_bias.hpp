#pragma once

#include <algorithm>

#include "gated/core/contract.hpp"
#include "gated/core/fields.hpp"
#include "gated/core/random.hpp"
#include "gated/core/settings.hpp"
#include "gated/core/stream.hpp"
#include "gated/core/unset.hpp"
#include "gated/ops/position_bias.hpp"
#include "gated/ops/scoring.hpp"

/// @file
/// A learned bias on attention scores that depends on the offset between query and key.

namespace gated {

/// The form of a relative bias.
enum class RelativeBiasForm {
  none,
  t5,       ///< 32 buckets; distances ≥ 128 in one direction share a bucket (T5, arXiv:1910.10683); used by FLASH-pytorch
  toeplitz  ///< one value per offset, w[L-1 + (j-i)], for up to L positions; used by the FLASH paper, JunnYu and mmpose
};

constexpr auto names_of(RelativeBiasForm) { return words_for<RelativeBiasForm>("none", "t5", "toeplitz"); }

/// A relative bias indexed by offset j - i. Both pointers refer to offset 0 of the first head.
template <class T>
struct RelativeBiasTerms {
  const T* values = nullptr;  ///< nullptr for no bias
  T* gradient = nullptr;      ///< accumulates the gradient of `values`; nullptr if not trained
  Index stride = 0;           ///< distance from one head to the next in elements, for both pointers
};

/// B_ij = table[bucket(i - j)] · scale (T5), or w[L-1 + (j-i)] (Toeplitz), learned separately for each head.
///
/// Errors: ShapeError if a sequence is longer than the Toeplitz bias.
/// Cost: O(N) per head for N × N scores.
template <class T>
struct RelativeBias {
  static constexpr const char* name = "RelativeBias";
  static constexpr const char* remedy =
      " Build the Toeplitz bias with a larger max_length, or choose relative_bias = t5 or none.";
  static constexpr Index buckets = 32, max_distance = 128;  ///< T5's settings, used by all published variants

  RelativeBiasForm form = RelativeBiasForm::none;
  bool causal = false;
  T scale = T{1};
  Index heads = 1;
  Vector<T> weight;  ///< 32 (T5) or 2L-1 (Toeplitz) values per head, head by head

  RelativeBias() = default;
  RelativeBias(RelativeBiasForm form_, bool causal_, T scale_, Index max_length, Index heads_ = 1)
      : form(form_), causal(causal_), scale(scale_), heads(heads_) {
    require<ArgumentError>(form != RelativeBiasForm::toeplitz || max_length > 0, "RelativeBias: max_length = ", max_length,
                           ", expected the number of positions of the Toeplitz bias, at least 1.");
    const Count positions = max_length;
    const Count numbers = form == RelativeBiasForm::toeplitz ? positions + (max_length - 1)
                          : form == RelativeBiasForm::t5     ? Count(buckets)
                                                             : Count(0);
    weight = filled_vector<T>(T{0}, heads * numbers, name);
  }

  static constexpr auto fields() { return Fields(field("weight", &RelativeBias::weight, Role::position)); }

  /// Draws the values from N(0, 0.02²).
  void initialize(Random& random) { fill_normal(weight, 0.02, random); }

  /// The maximum sequence length.
  Index longest() const { return form == RelativeBiasForm::toeplitz ? (numbers() + 1) / 2 : Contract::unlimited; }

  /// Raises ShapeError if `length` exceeds longest().
  void expect_length(Where where, Index length) const {
    require<ShapeError>(length <= longest(), where, ": a sequence has ", length, " tokens, but the Toeplitz bias holds ",
                        longest(), " positions.", remedy);
  }

  /// A pointer to the first head's bias at offset j - i = 0, valid for offsets up to ±(length - 1); nullptr if there is no
  /// bias. The next head's bias starts stride(length, room) elements later. A T5 bias is computed in scratch taken from
  /// `memory`, for example a run. The scratch has room for max(length, room) positions, so its size is constant while a
  /// sequence grows up to `room`.
  template <class Memory>
  const T* for_length(Index length, Memory& memory, Index room = 0) const {
    if (form == RelativeBiasForm::none || length == 0) {
      return nullptr;
    }
    if (form == RelativeBiasForm::toeplitz) {
      return weight.data() + (numbers() - 1) / 2;
    }
    const Index step = stride(length, room);
    T* const relative = memory.take(heads * step);
    for (Index head = 0; head < heads; ++head) {
      t5_bias<T>(weight.data() + head * buckets, t5_buckets(), scale, length, relative + head * step);
    }
    return relative + length - 1;
  }

  /// Distance in elements between the biases of adjacent heads in for_length(length, …, room).
  Index stride(Index length, Index room = 0) const {
    return form == RelativeBiasForm::toeplitz ? numbers() : 2 * std::max(length, room) - 1;
  }

  /// The bias for all sequences of a run: see terms(). In a stream, only offsets within `reach` are needed.
  template <class Run>
  RelativeBiasTerms<T> terms_within(Run& run, Index reach) const {
    if constexpr (Run::streams) {
      if (form == RelativeBiasForm::none) {
        return {};
      }
      const Index room = reach < unlimited_reach ? run.room(rows_in_reach(reach)) : run.capacity();
      return terms(run, std::min(run.position() + run.sequences().total(), room), room);
    } else {
      return terms(run, run.sequences().longest());
    }
  }

  /// The bias for sequences of up to `length` tokens; see for_length() for `room`. The gradient of a Toeplitz bias is added to
  /// that of the weight. For T5, ∂table[bucket(-o)] += scale · ∂bias[o] for each offset o = j - i, in ascending order.
  template <class Run>
  RelativeBiasTerms<T> terms(Run& run, Index length, Index room = 0) const {
    RelativeBiasTerms<T> terms{.values = for_length(length, run, room), .stride = stride(length, room)};
    if constexpr (Run::records) {
      T* const to = run.gradient_of(weight.data());
      if (terms.values == nullptr || to == nullptr) {
        return terms;
      }
      if (form == RelativeBiasForm::toeplitz) {
        terms.gradient = to + (terms.values - weight.data());
        return terms;
      }
      T* const sums = run.take(heads * terms.stride);
      std::fill_n(sums, heads * terms.stride, T{0});
      run.push([this, length, step = terms.stride, to, sums](auto&) {
        for (Index head = 0; head < heads; ++head) {
          t5_bias_backward<T>(t5_buckets(), scale, length, sums + head * step, to + head * buckets);
        }
      });
      terms.gradient = sums + length - 1;
    }
    return terms;
  }

 private:
  /// Values per head.
  Index numbers() const { return weight.size() / heads; }
  T5Buckets t5_buckets() const { return {.causal = causal, .buckets = buckets, .max_distance = max_distance}; }
};

}  // namespace gated
