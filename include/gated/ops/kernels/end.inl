// Ends what begin.inl begins.
#if EIGEN_COMP_GNUC_STRICT
#pragma GCC pop_options
#endif
