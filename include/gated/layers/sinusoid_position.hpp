#pragma once

#include "gated/core/ordered_sum.hpp"
#include "gated/core/settings.hpp"
#include "gated/core/unset.hpp"
#include "gated/layers/layer.hpp"
#include "gated/ops/gradients.hpp"
#include "gated/ops/position_bias.hpp"
#include "gated/ops/rotary.hpp"

/// @file
/// The scaled sinusoidal position embedding.

namespace gated {

/// The type of a model's position embedding.
enum class PositionForm {
  none,
  sinusoid,        ///< computed for each position, with no length limit: FLASH-pytorch
  sinusoid_table,  ///< a stored table of max_length rows: JunnYu's FLASH-Quad
  learned          ///< a learned table of max_length rows: BERT, FNet (layers/learned_position.hpp)
};

constexpr auto names_of(PositionForm) { return words_for<PositionForm>("none", "sinusoid", "sinusoid_table", "learned"); }

/// True for the sinusoidal forms.
constexpr bool is_sinusoid(PositionForm form) { return form == PositionForm::sinusoid || form == PositionForm::sinusoid_table; }

/// x_t += scale · [sin(t f_0) … sin(t f_{C/2-1}), cos(t f_0) …] with f_k = 10000^(-2k/C) and one learned scale.
///
/// Sines and cosines are not interleaved.
/// Errors: ArgumentError for an odd C; ShapeError for wrong sizes, and for positions past the end of the table.
/// Cost: N·C sines, or one pass over N rows of the table.
template <class T>
struct SinusoidPosition : Layer<SinusoidPosition<T>> {
  static constexpr const char* name = "SinusoidPosition";

  PositionForm form = PositionForm::none;
  Index channels = 0;
  Vector<T> scale;        ///< 1 element
  Vector<T> frequencies;  ///< C/2 constants; only for `sinusoid`
  Matrix<T> table;        ///< L × C constants; only for `sinusoid_table`

  SinusoidPosition() = default;
  /// If `form_` is none or learned, the layer adds nothing.
  SinusoidPosition(PositionForm form_, Index channels_, Index max_length, T initial_scale)
      : form(is_sinusoid(form_) ? form_ : PositionForm::none), channels(channels_) {
    if (form == PositionForm::none) {
      return;
    }
    require<ArgumentError>(channels % 2 == 0, name, ": channels = ", channels,
                           ", expected an even number, for pairs of sine and cosine. Or use another PositionForm.");
    scale = filled_vector<T>(initial_scale, 1, name);
    frequencies = rotary_frequencies<T>(channels);
    if (form == PositionForm::sinusoid_table) {
      require<ArgumentError>(max_length > 0, "SinusoidPosition: max_length = ", max_length,
                             ", expected the number of rows of the table.");
      table = filled_matrix<T>(T{0}, max_length, channels, name);
      add_sinusoid<T>(frequencies, 0, T{1}, table);
      frequencies.resize(0);
    }
  }

  static constexpr auto fields() {
    using P = SinusoidPosition;
    return Fields(field("scale", &P::scale, Role::position), field("frequencies", &P::frequencies, Role::constant),
                  field("table", &P::table, Role::constant));
  }

  /// Raises ShapeError if the table has fewer than `length` positions.
  void expect_length(Where where, Index length) const {
    require<ShapeError>(length <= contract().longest, where, ": a sequence has ", length,
                        " tokens, but the position table has ", table.rows(),
                        " positions. Build the model with a larger max_length, or with position = sinusoid.");
  }

  /// Adds `factor` times the embedding of position `first` + i to row i. The rows are tokens of one sequence.
  void add_to(View<T> rows, Index first, T factor) const {
    if (form == PositionForm::none) {
      return;
    }
    expect_columns<T>(name, "x", rows, "channels", channels);
    expect_length(name, first + rows.rows());
    if (form == PositionForm::sinusoid) {
      add_sinusoid<T>(frequencies, first, factor, rows);
    } else {
      const auto added = reader<T>(table.middleRows(first, rows.rows())) * number(factor);
      kernels<AssignKernels<T, std::remove_const_t<decltype(added)>>>().assign_rows(added, 0, rows.rows(), rows.cols(),
                                                                                    rows.data(), rows.outerStride(), true);
    }
  }

  Contract contract() const {
    return {.in = form == PositionForm::none ? Contract::any : channels,
            .out = form == PositionForm::none ? Contract::any : channels,
            .sees = Sees::itself,
            .longest = form == PositionForm::sinusoid_table ? table.rows() : Contract::unlimited,
            .remedy = " Build the model with a larger max_length, or with position = sinusoid."};
  }

  /// y_t = x_t + scale · p_t with the sinusoid p_t, or x for PositionForm::none. Backward: ∂x = ∂y, ∂scale = Σ_t ∂y_t · p_t.
  template <class Run>
  MatrixOf<Run> apply(Run& run, MatrixOf<Run> x) const {
    if (form == PositionForm::none) {
      return x;
    }
    const Index first = run.position();
    const Sequences& sequences = run.sequences();
    sequences.expect_total(name, run.rows(x));
    expect_length(name, first + sequences.longest());
    const auto y = run.reuse(x);
    View<T> sum = run[y];
    if (const ConstView<T> from = run[x]; from.data() != sum.data()) {
      sum = from;
    }
    for (Index b = 0; b < sequences.count(); ++b) {
      add_to(sum.middleRows(sequences.offset(b), sequences.length(b)), first, scale[0]);
    }
    if constexpr (Run::records) {
      run.push([this, x, y, kept = run.kept_sequences()](auto& back) {
        const ConstView<T> dy = back.gradient(y);
        add_gradient(back, x, dy);
        T* const gradient = back.gradient_of(scale.data());
        if (gradient == nullptr) {
          return;
        }
        const Sequences all = back.sequences(kept);
        const auto frame = back.workspace().frame();
        MatrixMap<T> positions = back.workspace().matrix(all.longest(), dy.cols());
        positions.setZero();
        add_to(positions, 0, T{1});
        for (Index b = 0; b < all.count(); ++b) {
          for (Index t = 0; t < all.length(b); ++t) {
            *gradient += ordered_dot(dy.row(all.offset(b) + t), positions.row(t));
          }
        }
      });
    }
    return y;
  }
};

}  // namespace gated
