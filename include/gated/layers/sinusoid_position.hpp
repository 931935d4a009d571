#pragma once

#include <algorithm>
#include <cmath>

#include "gated/core/parameters.hpp"
#include "gated/core/sequences.hpp"
#include "gated/core/settings.hpp"
#include "gated/ops/position_bias.hpp"
#include "gated/ops/rotary.hpp"

/// @file
/// The scaled sinusoidal position embedding.

namespace gated {

/// How the positions of tokens are told to a model at its input.
enum class PositionForm {
  none,
  sinusoid,       ///< computed from frequencies at any position: lucidrains
  sinusoid_table  ///< a stored table of max_length rows: JunnYu's FLASH-Quad
};

constexpr auto names_of(PositionForm) {
  return std::array{std::pair{PositionForm::none, std::string_view("none")},
                    std::pair{PositionForm::sinusoid, std::string_view("sinusoid")},
                    std::pair{PositionForm::sinusoid_table, std::string_view("sinusoid_table")}};
}

/// x_t += scale · [sin(t f_0) … sin(t f_{C/2-1}), cos(t f_0) …] with f_k = 10000^(-2k/C) and one learned scale.
///
/// The halves stand side by side, not interleaved. Errors: ArgumentError for an odd C; ShapeError for other rows or channels,
/// and past the end of a table. Cost: N·C sines, or a copy from the table.
template <class T>
struct SinusoidPosition {
  using Scalar = T;

  PositionForm form = PositionForm::none;
  Vector<T> scale;        ///< 1
  Vector<T> frequencies;  ///< C/2, a constant; sinusoid only
  Matrix<T> table;        ///< L × C, a constant; sinusoid_table only

  SinusoidPosition() = default;
  SinusoidPosition(PositionForm form_, Index channels, Index max_length, T initial_scale) : form(form_) {
    if (form == PositionForm::none) {
      return;
    }
    scale = Vector<T>::Constant(1, initial_scale);
    frequencies = rotary_frequencies<T>(channels);
    if (form == PositionForm::sinusoid_table) {
      require<ArgumentError>(max_length > 0, "SinusoidPosition: max_length = ", max_length,
                             ", expected the number of rows of the table.");
      table = Matrix<T>::Zero(max_length, channels);
      add_sinusoid<T>(frequencies, 0, T{1}, table);
      frequencies.resize(0);
    }
  }

  static constexpr auto fields() {
    using P = SinusoidPosition;
    return std::tuple{field("scale", &P::scale, Role::position), field("frequencies", &P::frequencies, Role::constant),
                      field("table", &P::table, Role::constant)};
  }

  /// Raises ShapeError if the table ends before `length` positions.
  void expect_length(const char* where, Index length) const {
    require<ShapeError>(form != PositionForm::sinusoid_table || length <= table.rows(), where, ": a sequence has ", length,
                        " tokens, but the position table holds ", table.rows(),
                        ". Build the model with a larger max_length, or with position = sinusoid.");
  }

  /// Adds the positions `first`, `first` + 1, … to the rows of each sequence.
  void add_to(View<T> x, const Sequences& sequences, Index first = 0) const {
    constexpr const char* where = "SinusoidPosition::add_to";
    sequences.expect_total(where, x.rows());
    expect_length(where, first + sequences.longest());
    for (Index b = 0; form != PositionForm::none && b < sequences.count(); ++b) {
      add_to(x.middleRows(sequences.offset(b), sequences.length(b)), first, scale[0]);
    }
  }

  /// The same for one sequence, with `factor` in place of the scale.
  void add_to(View<T> rows, Index first, T factor) const {
    if (form == PositionForm::none) {
      return;
    }
    constexpr const char* where = "SinusoidPosition::add_to";
    expect_columns<T>(where, "x", rows, "channels", std::max(2 * frequencies.size(), table.cols()));
    expect_length(where, first + rows.rows());
    if (form == PositionForm::sinusoid) {
      add_sinusoid<T>(frequencies, first, factor, rows);
    } else if (form == PositionForm::sinusoid_table) {
      rows += table.middleRows(first, rows.rows()) * factor;
    }
  }
};

}  // namespace gated
