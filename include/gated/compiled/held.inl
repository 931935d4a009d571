// Declares the instantiations of gated::compiled as `extern template`, for programs that link it. The library's own translation
// units see the same declarations. Each unit instantiates one part (cmake/compiled) and links the other parts. Do not include
// the files of this folder: gated.hpp and io/model_file.hpp do so at their end.

#if !defined(GATED_HELD)
#define GATED_HELD extern template
#endif

/// Declares a layer or model, and its base class.
#define GATED_HELD_LAYER(Base, T, ...)    \
  GATED_HELD struct Base<__VA_ARGS__, T>; \
  GATED_HELD struct __VA_ARGS__;
