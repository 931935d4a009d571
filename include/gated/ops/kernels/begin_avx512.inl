// From here to end_form.inl, functions have the instructions of AVX-512's form too.
#if EIGEN_COMP_CLANG
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")
#endif
