// Ends what begin_avx2.inl and begin_avx512.inl begin; with GCC, end.inl does.
#if EIGEN_COMP_CLANG
#pragma clang attribute pop
#endif
