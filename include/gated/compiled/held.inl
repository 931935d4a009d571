// What the library gated::compiled holds is declared `extern template` where a program links it, and instantiated in its own
// units. No header of its own: gated.hpp and io/model_file.hpp end with it.

#if defined(GATED_IS_COMPILING)  // a unit of the library: see cmake/compiled
#define GATED_HELD template
#else
#define GATED_HELD extern template
#endif

/// A layer or a model, with what its base gives it.
#define GATED_HELD_LAYER(Base, T, ...)    \
  GATED_HELD struct Base<__VA_ARGS__, T>; \
  GATED_HELD struct __VA_ARGS__;
