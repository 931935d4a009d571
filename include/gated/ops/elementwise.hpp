#pragma once

#include <type_traits>

#include "gated/core/ordered_sum.hpp"
#include "gated/ops/activation.hpp"
#include "gated/ops/dropout.hpp"
#include "gated/ops/gradients.hpp"

/// @file
/// Element-wise ops with derivatives: activations, gating, sums, dropout.
///
/// Projections fuse activations, gates and residuals without an extra pass over memory (ops/epilogue.hpp); these ops are for
/// everything else.

namespace gated {

namespace detail {

template <class Run>
void expect_same_shape(const char* where, Run& run, const MatrixOf<Run>& a, const MatrixOf<Run>& b) {
  require<ShapeError>(run.rows(a) == run.rows(b) && run.columns(a) == run.columns(b), where, ": a is ", run.rows(a), " × ",
                      run.columns(a), " and b is ", run.rows(b), " × ", run.columns(b), ", expected equal shapes.");
}

/// Memory for a result: a's or b's if nothing else needs it, otherwise new memory.
template <class Run>
MatrixOf<Run> reuse_either(Run& run, const MatrixOf<Run>& a, const MatrixOf<Run>& b) {
  if constexpr (!Run::records) {
    return b.is_owned() ? run.reuse(b) : run.reuse(a);
  } else {
    return run.reuse(a);
  }
}

}  // namespace detail

/// y = act(x); returns x for Activation::identity. ∂x = ∂y ⊙ act'(x).
/// Shapes: x and y are N × C; y may be x.
/// Cost: one pass over x, one backward.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> activate(Run& run, MatrixOf<Run> x, Activation activation) {
  if (activation == Activation::identity) {
    return x;
  }
  activation = form_in(run.workspace(), activation);
  const auto y = run.reuse(x);
  const MatrixView<const T> from = run[x];
  const MatrixView<T> result = run[y];
  for_each_block_of_rows(result.rows(), run.workspace(), [&](Index first, Index rows) {
    kernels<RowKernels<T>>().activate_rows(activation, rows, result.columns(), from.data + first * from.stride, from.stride,
                                           result.data + first * result.stride, result.stride);
  });
  if constexpr (Run::records) {
    run.push([activation, x, y](auto& back) {
      if (back.wants_gradient(x)) {
        auto [dx, fresh] = back.target(x);
        activation_backward<T>({.activation = activation, .dy = back.gradient(y), .z = back[x], .dz = dx, .adds_to_dz = !fresh},
                               back.workspace());
      }
    });
  }
  return y;
}

/// y = a ⊙ b, as in gating. ∂a = ∂y ⊙ b, ∂b = ∂y ⊙ a.
/// Shapes: a, b and y are N × C; y may be a or b.
/// Errors: ShapeError if the shapes differ.
/// Cost: one pass over a and b, two backward.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> multiply(Run& run, MatrixOf<Run> a, MatrixOf<Run> b) {
  detail::expect_same_shape("multiply", run, a, b);
  const auto y = detail::reuse_either(run, a, b);
  const auto left = reader<T>(run[a]), right = reader<T>(run[b]);
  assign<T>(run[y], run.workspace(), left * right);
  if constexpr (Run::records) {
    run.push([a, b, y](auto& back) {
      const auto dy = reader<T>(back.gradient(y)), x = reader<T>(back[a]), z = reader<T>(back[b]);
      add_gradient(back, a, dy * z);
      add_gradient(back, b, dy * x);
    });
  }
  return y;
}

/// y = a + b ⊙ scale, with an optional learned scale per channel. ∂a = ∂y, ∂b = ∂y ⊙ scale, ∂scale = Σ ∂y ⊙ b over the tokens.
/// Shapes: a, b and y are N × C, scale has length C; y may be a or b.
/// Errors: ShapeError if the shapes differ.
/// Cost: one pass over a and b, two backward, or three if `scale` is trained.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> add(Run& run, MatrixOf<Run> a, MatrixOf<Run> b, const std::type_identity_t<T>* scale = nullptr) {
  detail::expect_same_shape("add", run, a, b);
  const auto y = detail::reuse_either(run, a, b);
  const auto left = reader<T>(run[a]), right = reader<T>(run[b]);
  if (scale == nullptr) {
    assign<T>(run[y], run.workspace(), left + right);
  } else {
    assign<T>(run[y], run.workspace(), left + right * per_channel<T>(scale));
  }
  if constexpr (Run::records) {
    run.push([a, b, scale, y](auto& back) {
      const ConstView<T> dy = back.gradient(y);
      const auto gradient = reader<T>(dy), x = reader<T>(back[b]);
      add_gradient(back, a, dy);
      if (scale == nullptr) {
        return add_gradient(back, b, dy);
      }
      add_gradient(back, b, gradient * per_channel<T>(scale));
      if (T* const to_scale = back.gradient_of(scale)) {
        add_column_sums<T>(dy.rows(), dy.cols(), to_scale, back.workspace(), gradient * x);
      }
    });
  }
  return y;
}

/// y = x + bias, with a learned value per channel. ∂x = ∂y, ∂bias = Σ ∂y over the tokens.
/// Shapes: x and y are N × C, bias has length C; y may be x.
/// Cost: one pass over x, two backward.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> add_bias(Run& run, MatrixOf<Run> x, const std::type_identity_t<T>* bias) {
  const auto y = run.reuse(x);
  assign<T>(run[y], run.workspace(), reader<T>(run[x]) + per_channel<T>(bias));
  if constexpr (Run::records) {
    run.push([x, y, bias](auto& back) {
      const ConstView<T> dy = back.gradient(y);
      add_gradient(back, x, dy);
      if (T* const to = back.gradient_of(bias)) {
        add_column_sums<T>(dy, to, back.workspace());
      }
    });
  }
  return y;
}

/// y = x where x > 0, else slope ⊙ x: PReLU (arXiv:1502.01852), with one slope or a slope per channel.
///
/// Backward: ∂x = ∂y where x > 0, else ∂y ⊙ slope; ∂slope = Σ ∂y ⊙ x over the elements with x ≤ 0.
/// Shapes: x and y are N × C, slope has length C or 1; y may be x.
/// Cost: one pass over x, two backward.
template <class Run, class T = typename Run::Scalar>
MatrixOf<Run> prelu(Run& run, MatrixOf<Run> x, const Vector<T>& slope) {
  const auto y = run.reuse(x);
  const auto with_slopes = [&slope](const auto& f) {
    return slope.size() == 1 ? f(per_row<T>(slope.data(), 0)) : f(per_channel<T>(slope.data()));
  };
  const auto from = reader<T>(run[x]);
  with_slopes([&](const auto& slopes) { assign<T>(run[y], run.workspace(), where_positive(from, from, from * slopes)); });
  if constexpr (Run::records) {
    run.push([x, y, &slope, with_slopes](auto& back) {
      const ConstView<T> dy = back.gradient(y);
      const auto given = reader<T>(dy), values = reader<T>(back[x]);
      if (T* const to = back.gradient_of(slope.data())) {
        const auto frame = back.workspace().frame();
        MatrixMap<T> sums = back.workspace().matrix(1, dy.cols());
        sums.setZero();
        add_column_sums<T>(dy.rows(), dy.cols(), sums.data(), back.workspace(),
                           where_positive(values, number(T{0}), given * values));
        if (slope.size() == 1) {
          *to += ordered_sum(sums.row(0));
        } else {
          Eigen::Map<Matrix<T>>(to, 1, dy.cols()) += sums;
        }
      }
      with_slopes([&](const auto& slopes) { add_gradient(back, x, where_positive(values, given, given * slopes)); });
    });
  }
  return y;
}

/// y = x ⊙ c for a term c (ops/terms.hpp) without parameters: a constant, a dropout mask, factors per row. ∂x = ∂y ⊙ c. Data
/// that c refers to must outlive the backward pass.
/// Shapes: x and y are N × C; y may be x.
/// Cost: one pass over x, one backward.
template <class Run, Term Factors, class T = typename Run::Scalar>
MatrixOf<Run> scale(Run& run, MatrixOf<Run> x, const Factors& c) {
  const auto y = run.reuse(x);
  assign<T>(run[y], run.workspace(), reader<T>(run[x]) * c);
  if constexpr (Run::records) {
    run.push([x, y, c](auto& back) { add_gradient(back, x, reader<T>(back.gradient(y)) * c); });
  }
  return y;
}

}  // namespace gated
