// The kernels that gated::compiled holds, in each form. Where flags of the compiler name the only form, each program has its
// own.

#include "gated/compiled/held.inl"
#include "gated/ops/kernel_form.hpp"

#if GATED_CHOOSES_FORM

#include <optional>

#include "gated/ops/epilogue.hpp"
#include "gated/ops/fourier_factor.hpp"
#include "gated/ops/kernel_types.hpp"
#include "gated/ops/norm_form.hpp"
#include "gated/ops/scoring.hpp"
#include "gated/ops/terms.hpp"

// clang-format off
/// Calls `each(T, name, parameters…)` for all that give nothing back.
#define GATED_KERNELS(T, each)                                                                                                 \
  each(T, softmax_rows, T* data, Index stride, Index rows, Index columns, Index first, bool causal, const T* keys)             \
  each(T, softmax_columns, T* data, Index stride, Index rows, Index columns)                                                   \
  each(T, softmax_columns_backward, const T* weights, Index weights_stride, Index rows, Index columns, T* gradient,            \
       Index gradient_stride)                                                                                                  \
  each(T, softmax_gate_rows, Index rows, Index columns, T* z, Index z_stride, const T* x, Index x_stride, const T* residual,   \
       Index residual_stride, T* to, Index to_stride)                                                                          \
  each(T, softmax_gate_columns, Index rows, Index columns, T* z, Index z_stride, const T* x, Index x_stride,                   \
       const T* residual, Index residual_stride, T* to, Index to_stride)                                                       \
  each(T, score_tile, const Scoring<T>& scoring, const std::optional<Activation>& activation, Index row, Index column,         \
       Index rows, Index columns, T* tile, T* to, Index to_stride)                                                             \
  each(T, scores_backward_rows, const Scoring<T>& scoring, const std::optional<Activation>& kernel, Index first, Index rows,   \
       Index columns, T* weights, Index weights_stride, T* gradient, Index gradient_stride)                                    \
  each(T, finish_tile, const Epilogue<T>& e, Index row, Index column, Index rows, Index columns, T* tile, T* to,               \
       Index to_stride)                                                                                                        \
  each(T, activate_rows, Activation activation, Index rows, Index columns, const T* x, Index x_stride, T* y, Index y_stride)   \
  each(T, activate_and_keep_slope, Activation activation, const T* tile, Index stride, const T* bias, Index rows,              \
       Index columns, T* to, Index to_stride, T* slope, Index slope_stride)                                                    \
  each(T, activation_backward_rows, const ActivationBackward<T>& b, Index first, Index rows)                                   \
  each(T, mean_of_rows, const T* x, Index stride, Index rows, Index columns, T* y)                                             \
  each(T, normalise_rows, const T* from, Index from_stride, Index rows, Index channels, const NormParameters<T>& norm,         \
       T* to, Index to_stride, RowMoments<T>* kept)                                                                            \
  each(T, normalise_backward_rows, const T* x, Index x_stride, const T* dy, Index dy_stride, Index rows, Index channels,       \
       const NormParameters<T>& norm, const RowMoments<T>* moments, T* dots, T* dx, Index dx_stride, bool adds, T* sums)       \
  each(T, rotate_rows, T* x, Index stride, Index rows, const T* table, Index table_stride, Index pairs, bool interleaved)      \
  each(T, fourier_pass, Index radix, T* x, Index groups, Index m, Index count, bool inverse, const FourierFactor<T>* roots,    \
       const FourierFactor<T>* turns)                                                                                          \
  each(T, fourier_load, const Rows<const T>& real, const Rows<const T>& imaginary, const T* scales, T* x)                      \
  each(T, fourier_load_transposed, const Rows<const T>& real, const Rows<const T>& imaginary, T* x)                            \
  each(T, fourier_store, const T* x, const Index* order, const T* scales, bool adds, const Rows<T>& real,                      \
       const Rows<T>& imaginary)                                                                                               \
  each(T, fourier_multiply, const FourierFactor<T>* factors, bool conjugate, Index rows, const T* x, T* to, bool adds)         \
  each(T, fourier_add_product, const FourierFactor<T>* factors, Index rows, const T* x, T* sum)                                \
  each(T, fourier_add_correlation, const T* a, const T* b, Index rows, T* sum)                                                 \
  each(T, fourier_add_dots, const Rows<const T>& real, const Rows<const T>& imaginary, const T* x, T* to)                      \
  each(T, fourier_sum_lanes, const T* x, Index rows, T* to)                                                                    \
  each(T, fourier_split, const T* x, const Index* order, Index n, T* real, Index real_stride, T* imaginary,                    \
       Index imaginary_stride, Index columns)                                                                                  \
  each(T, fourier_finish, const T* x, const Index* order, bool mirrored, Index first, Index low, Index high,                   \
       const Epilogue<T>& e, const Rows<T>& y)                                                                                 \
  each(T, log_sum_exp_of_row, const T* row, Index count, T* largest, T* rest)                                                  \
  each(T, softmax_difference, const T* row, Index count, T largest, T rest, T everywhere, Index target, T more, T scale,       \
       T* to, bool adds)                                                                                                       \
  each(T, adamw_step, const AdamWFactors<T>& f, Index count, T* p, const T* g, T* m, T* v)

/// Calls `each(T, term)` for the terms that layers and models assign, other than in backward passes.
#define GATED_ASSIGNED_TERMS(T, each)                                                                                          \
  each(T, held::x<T>())                                                                                                        \
  each(T, held::x<T>() * held::x<T>())                                                                                         \
  each(T, held::x<T>() * held::per_row<T>())                                                                                   \
  each(T, held::x<T>() * held::number<T>())                                                                                    \
  each(T, held::x<T>() * held::mask<T>())                                                                                      \
  each(T, held::x<T>() + held::x<T>())                                                                                         \
  each(T, held::x<T>() + held::x<T>() * held::x<T>())                                                                          \
  each(T, held::x<T>() * held::x<T>() + held::x<T>())                                                                          \
  each(T, held::x<T>() * held::per_row<T>() + held::per_row<T>())                                                              \
  each(T, held::normed<T>() * held::x<T>() + held::x<T>())                                                                     \
  each(T, held::normed<T>() * held::per_row<T>() + held::per_row<T>())

/// And those of which they sum the columns.
#define GATED_SUMMED_TERMS(T, each)                                                                                            \
  each(T, held::x<T>())                                                                                                        \
  each(T, held::centred<T>() * held::centred<T>())

// clang-format on

#define GATED_DECLARED_KERNEL(T, name, ...) \
  template <class T>                        \
  void name(__VA_ARGS__);
#define GATED_HELD_KERNEL(T, name, ...) GATED_HELD void name<T>(__VA_ARGS__);

/// The kernels of one form.
#define GATED_DECLARED_FORM                                                                               \
  GATED_KERNELS(T, GATED_DECLARED_KERNEL)                                                                 \
  template <class T, class A>                                                                             \
  void assign_rows(const A& term, Index first, Index rows, Index columns, T* y, Index stride, bool adds); \
  template <class T, class A>                                                                             \
  void sum_columns(const A& term, Index rows, Index first, Index columns, T* to);                         \
  template <class T, class A>                                                                             \
  void assign_and_sum_columns(const A& term, Index rows, Index first, Index columns, T* y, Index stride, T* to);

#define GATED_HELD_ASSIGNED(T, ...) \
  GATED_HELD void assign_rows<T>(const decltype(__VA_ARGS__)&, Index, Index, Index, T*, Index, bool);
#define GATED_HELD_SUMMED(T, ...) GATED_HELD void sum_columns<T>(const decltype(__VA_ARGS__)&, Index, Index, Index, T*);

#define GATED_HELD_FORM(T)                     \
  GATED_KERNELS(T, GATED_HELD_KERNEL)          \
  GATED_ASSIGNED_TERMS(T, GATED_HELD_ASSIGNED) \
  GATED_SUMMED_TERMS(T, GATED_HELD_SUMMED)

#define GATED_HELD_KERNELS(T)                               \
  namespace sse2 {                                          \
  GATED_HELD_FORM(T)                                        \
  }                                                         \
  namespace avx2 {                                          \
  GATED_HELD_FORM(T)                                        \
  }                                                         \
  namespace avx512 {                                        \
  GATED_HELD_FORM(T)                                        \
  }                                                         \
  GATED_HELD const ProductKernels<T>& product_kernels<T>(); \
  GATED_HELD const Bf16Kernels* bf16_kernels<T>();

// clang-format off
#include "gated/ops/kernels/begin.inl"
namespace gated::sse2 {
GATED_DECLARED_FORM
}  // namespace gated::sse2
#include "gated/ops/kernels/begin_avx2.inl"
namespace gated::avx2 {
GATED_DECLARED_FORM
}  // namespace gated::avx2
#include "gated/ops/kernels/end_form.inl"
#include "gated/ops/kernels/begin_avx512.inl"
namespace gated::avx512 {
GATED_DECLARED_FORM
}  // namespace gated::avx512
#include "gated/ops/kernels/end_form.inl"
#include "gated/ops/kernels/end.inl"
// clang-format on

namespace gated {

namespace held {  // the parts of terms, for their types

template <class T>
terms::Read<T> x();
template <class T>
terms::PerRow<T> per_row();
template <class T>
terms::Number<T> number();
template <class T>
terms::Mask<T> mask();
template <class T>
decltype(x<T>() - x<T>()) centred();
template <class T>
decltype(centred<T>() * x<T>()) normed();

}  // namespace held

GATED_HELD_KERNELS(float)
GATED_HELD_KERNELS(double)

}  // namespace gated

#else
#define GATED_HELD_KERNELS(T)
#include "gated/ops/kernels.hpp"
#endif
