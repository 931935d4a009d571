// In a build without optimisation GCC optimises the kernels nevertheless, which would take a hundred times as long. Clang has
// no such pragma.
#if EIGEN_COMP_GNUC_STRICT
#pragma GCC push_options
#if !defined(__OPTIMIZE__)
#pragma GCC optimize("O2")
#endif
#endif
