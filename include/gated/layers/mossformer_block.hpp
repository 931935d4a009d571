#pragma once

#include "gated/layers/gated_fsmn.hpp"
#include "gated/layers/shared_chunk_attention.hpp"

/// @file
/// The block of MossFormer2: shared chunk attention, then a gated FSMN.

namespace gated {

/// The options of a MossFormer2 block. Leave `channels` of both parts at 0: the block sets them.
struct MossFormerBlockConfig {
  Index channels = 512;                    ///< C
  SharedChunkAttentionConfig attention{};  ///< options of the attention, which runs first
  GatedFsmnConfig fsmn{};                  ///< options of the gated FSMN, which runs second

  SharedChunkAttentionConfig sized_attention() const {
    auto sized = attention;
    sized.channels = channels;
    return sized;
  }
  GatedFsmnConfig sized_fsmn() const {
    auto sized = fsmn;
    sized.channels = channels;
    return sized;
  }

  template <class C = MossFormerBlockConfig>
  static constexpr auto fields() {
    return Fields(setting("channels", &C::channels), setting("attention", &C::attention), setting("fsmn", &C::fsmn));
  }
};

/// y = fsmn(attention(x)); both parts include their residual connection (MossFormer2, arXiv:2312.11825, Figure 2).
///
/// Shapes: x and y are rows × C.
/// Errors: ArgumentError for invalid options, or if streamed with a part that is not `causal`; ShapeError for wrong sizes.
/// Cost: that of the attention plus that of the FSMN block.
template <class T>
struct MossFormerBlock : Layer<MossFormerBlock<T>> {
  using Config = MossFormerBlockConfig;
  static constexpr const char* name = "MossFormerBlock";
  static constexpr const char* architecture = "gated.MossFormerBlock";

  Config config;
  SharedChunkAttention<T> attention;
  GatedFsmnBlock<T> fsmn;

  MossFormerBlock() = default;
  explicit MossFormerBlock(const Config& c) : config(c) {
    expect_channels_of_block(name, "attention", c.attention.channels, c.channels);
    expect_channels_of_block(name, "fsmn", c.fsmn.channels, c.channels);
    attention = SharedChunkAttention<T>(c.sized_attention());
    fsmn = GatedFsmnBlock<T>(c.sized_fsmn());
  }
  MossFormerBlock(const Config& c, Random& random) : MossFormerBlock(c) { this->initialize(random); }

  static constexpr auto fields() {
    return Fields(field("attention", &MossFormerBlock::attention), field("fsmn", &MossFormerBlock::fsmn));
  }

  Contract contract() const { return attention.contract().then(fsmn.contract()); }

  auto apply(auto& run, auto x) const { return run(fsmn, run(attention, std::move(x))); }
};

}  // namespace gated
