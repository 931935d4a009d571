#pragma once

// Declares the names that code fragments in include/gated/README.md use.

#include <cstdint>
#include <cstdio>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "gated/audio.hpp"
#include "gated/gated.hpp"
#include "gated/io/classifier.hpp"
#include "gated/io/in_place_kw_mlp.hpp"
#include "gated/io/model_file.hpp"
#include "gated/io/npy.hpp"
#include "gated/io/npz.hpp"
#include "gated/io/tiny_time_mixer.hpp"
#include "gated/io/wav.hpp"
#include "gated/train.hpp"

namespace readme {

inline const std::vector<gated::Index> text(1000, 'a');  // bytes of a text as token ids

inline constexpr gated::Index stride = 3 * 1280;  // bytes per row of a camera frame
inline const std::vector<std::uint8_t> frame(stride * 720);
inline const std::uint8_t* const bytes = frame.data();

/// Stands in for a thread pool, but has no threads.
struct Pool {
  template <class F>
  void parallel_for(int count, const F& f) {
    for (int i = 0; i < count; ++i) {
      f(i);
    }
  }
};
inline Pool pool;

/// A MossFormer2_SE_48K of one narrow block, with random weights.
inline gated::MaskNetwork<float> small_mask_network() {
  gated::MaskNetworkConfig config = gated::mossformer2_se_48k();
  config.trunk.depth = 1;
  config.trunk.block.channels = 8;
  gated::Random random(1);
  return gated::MaskNetwork<float>(config, random);
}
inline const gated::MaskNetwork<float> network = small_mask_network();

/// A narrow denoiser with random weights.
inline gated::SpeechDenoiser<float> small_denoiser() {
  gated::Random random(1);
  return {{.blocks = {.depth = 1, .block = {.channels = 8, .inner = 8, .causal = true}}}, random};
}
inline const gated::SpeechDenoiser<float> denoiser = small_denoiser();
inline std::vector<float> block(480);  // samples passed to an audio callback

}  // namespace readme
