// Kernel tables that gated::compiled instantiates. If compiler flags fix the form (instruction set), each program compiles its
// own tables.

#include "gated/compiled/held.inl"

#if GATED_CHOOSES_FORM

#define GATED_HELD_TABLE(...) GATED_HELD const __VA_ARGS__& kernels<__VA_ARGS__>();
#define GATED_HELD_ASSIGNED(T, ...) GATED_HELD_TABLE(AssignKernels<T, decltype(__VA_ARGS__)>)
#define GATED_HELD_SUMMED(T, ...) GATED_HELD_TABLE(SumKernels<T, decltype(__VA_ARGS__)>)

/// The ASSIGNED and SUMMED entries are kernels for the element-wise expressions that forward passes assign or sum.
#define GATED_HELD_KERNELS(T)                                                                           \
  GATED_HELD const Bf16Kernels* bf16_kernels<T>();                                                      \
  GATED_HELD const Int8Kernels& int8_kernels<T>();                                                      \
  GATED_HELD_TABLE(ProductKernels<T>)                                                                   \
  GATED_HELD_TABLE(RowKernels<T>)                                                                       \
  GATED_HELD_TABLE(DepthwiseKernels<T>)                                                                 \
  GATED_HELD_TABLE(DynamicConvolutionKernels<T>)                                                        \
  GATED_HELD_TABLE(DynamicConvolutionDerivatives<T>)                                                    \
  GATED_HELD_TABLE(AttentionKernels<T>)                                                                 \
  GATED_HELD_TABLE(SoftmaxGateKernels<T>)                                                               \
  GATED_HELD_TABLE(SoftmaxGateDerivatives<T>)                                                           \
  GATED_HELD_TABLE(FourierKernels<T>)                                                                   \
  GATED_HELD_TABLE(FourierMixingKernels<T>)                                                             \
  GATED_HELD_TABLE(FourierDerivatives<T>)                                                               \
  GATED_HELD_TABLE(DerivativeKernels<T>)                                                                \
  GATED_HELD_TABLE(LossKernels<T>)                                                                      \
  GATED_HELD_TABLE(OptimizerKernels<T>)                                                                 \
  GATED_HELD_ASSIGNED(T, held::x<T>())                                                                  \
  GATED_HELD_ASSIGNED(T, held::x<T>() * held::x<T>())                                                   \
  GATED_HELD_ASSIGNED(T, held::x<T>() * held::per_row<T>())                                             \
  GATED_HELD_ASSIGNED(T, held::x<T>() * held::number<T>())                                              \
  GATED_HELD_ASSIGNED(T, held::x<T>() * held::mask<T>())                                                \
  GATED_HELD_ASSIGNED(T, held::x<T>() + held::x<T>())                                                   \
  GATED_HELD_ASSIGNED(T, held::x<T>() + held::x<T>() * held::x<T>())                                    \
  GATED_HELD_ASSIGNED(T, held::x<T>() * held::x<T>() + held::x<T>())                                    \
  GATED_HELD_ASSIGNED(T, held::x<T>() * held::per_row<T>() + held::per_row<T>())                        \
  GATED_HELD_ASSIGNED(T, held::normed<T>() * held::x<T>() + held::x<T>())                               \
  GATED_HELD_ASSIGNED(T, held::normed<T>() * held::per_row<T>() + held::per_row<T>())                   \
  GATED_HELD_ASSIGNED(T, where_positive(held::x<T>(), held::x<T>(), held::x<T>() * held::x<T>()))       \
  GATED_HELD_ASSIGNED(T, where_positive(held::x<T>(), held::x<T>(), held::x<T>() * held::per_row<T>())) \
  GATED_HELD_SUMMED(T, held::x<T>())                                                                    \
  GATED_HELD_SUMMED(T, held::centred<T>() * held::centred<T>())

namespace gated {

namespace held {  // operands for decltype, never defined

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
#endif
