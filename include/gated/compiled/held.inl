// What the library gated::compiled holds is declared `extern template` where a program links it, and in the library's own units
// too, each of which instantiates a part (cmake/compiled) and takes the rest from the others. No header of its own: gated.hpp and
// io/model_file.hpp end with it.

#if !defined(GATED_HELD)
#define GATED_HELD extern template
#endif

/// A layer or a model, with what its base gives it.
#define GATED_HELD_LAYER(Base, T, ...)    \
  GATED_HELD struct Base<__VA_ARGS__, T>; \
  GATED_HELD struct __VA_ARGS__;
