// From here to end_form.inl, functions have the instructions of AVX2 and FMA.
#if EIGEN_COMP_CLANG
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif
