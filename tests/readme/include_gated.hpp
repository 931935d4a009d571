#pragma once

// What the fragments of include/gated/README.md take for granted.

#include <cstdint>
#include <cstdio>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "gated/gated.hpp"
#include "gated/io/classifier.hpp"
#include "gated/io/model_file.hpp"
#include "gated/io/npy.hpp"
#include "gated/io/npz.hpp"
#include "gated/io/tiny_time_mixer.hpp"
#include "gated/train.hpp"

namespace readme {

inline const std::vector<gated::Index> text(1000, 'a');  // the bytes of a text

inline constexpr gated::Index stride = 3 * 1280;  // a camera's frame
inline const std::vector<std::uint8_t> frame(stride * 720);
inline const std::uint8_t* const bytes = frame.data();

/// A pool of threads, with none.
struct Pool {
  template <class F>
  void parallel_for(int count, const F& f) {
    for (int i = 0; i < count; ++i) {
      f(i);
    }
  }
};
inline Pool pool;

}  // namespace readme
