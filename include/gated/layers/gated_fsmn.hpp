#pragma once

#include "gated/layers/convolutional_projection.hpp"
#include "gated/layers/fsmn.hpp"

/// @file
/// The gated FSMN of MossFormer2, and the block that contains it.

namespace gated {

/// The options of a gated FSMN block. The defaults are MossFormer2's for speech enhancement; for separation, set `dilated`.
struct GatedFsmnConfig {
  Index channels = 0;    ///< C, channels of the block
  Index inner = 256;     ///< c, channels of the gated FSMN
  Index hidden = 0;      ///< hidden width of the FSMN's feed-forward part; 0 for c
  Index order = 20;      ///< l, order of the FSMN: see FsmnConfig
  Index kernel = 17;     ///< K, number of taps of the projections' convolutions; odd unless causal
  bool dilated = false;  ///< form of the FSMN: see FsmnConfig
  bool causal = false;   ///< no token sees a later one; cannot be combined with `dilated`

  const GatedFsmnConfig& checked() const {
    require<ArgumentError>(channels > 0 && inner > 0, "GatedFsmnBlock: channels = ", channels, " and inner = ", inner,
                           " must be positive.");
    return *this;
  }
  FsmnConfig fsmn() const {
    return {.channels = inner, .hidden = hidden, .order = order, .dilated = dilated, .causal = causal};
  }
  ConvolutionalProjectionConfig projection() const {
    return {.channels = inner, .out = inner, .norm = NormForm::layer_norm, .kernel = kernel, .causal = causal};
  }

  template <class C = GatedFsmnConfig>
  static constexpr auto fields() {
    return Fields(setting("channels", &C::channels), setting("inner", &C::inner), setting("hidden", &C::hidden),
                  setting("order", &C::order), setting("kernel", &C::kernel), setting("dilated", &C::dilated),
                  setting("causal", &C::causal));
  }
};

/// y = v(x) ⊙ fsmn(u(x)) + x with convolutional projections u and v (MossFormer2, arXiv:2312.11825, §2.3).
///
/// Shapes: x and y are N × c.
/// Errors: ArgumentError for invalid options, or if streamed without `causal`; ShapeError for wrong sizes.
/// Cost: 4·N·c·(c + K) flops, plus the FSMN's: see Fsmn.
template <class T>
struct GatedFsmn : Layer<GatedFsmn<T>> {
  using Config = GatedFsmnConfig;
  static constexpr const char* name = "GatedFsmn";

  ConvolutionalProjection<T> to_u, to_v;
  Fsmn<T> fsmn;

  GatedFsmn() = default;
  explicit GatedFsmn(const Config& c) : to_u(c.projection()), to_v(c.projection()), fsmn(c.fsmn()) {}

  static constexpr auto fields() {
    return Fields(field("to_u", &GatedFsmn::to_u), field("to_v", &GatedFsmn::to_v), field("fsmn", &GatedFsmn::fsmn));
  }

  Contract contract() const { return to_u.contract().then(fsmn.contract()); }

  auto apply(auto& run, auto x) const {
    auto remembered = run(fsmn, run(to_u, x));  // N × c
    return run(to_v, x, {.gate = std::move(remembered), .residual = x});
  }
};

/// y = x + W′ norm(gated(norm(prelu(W x + b)))) + b′: a gated FSMN on c channels (arXiv:2312.11825, §2.3).
///
/// Shapes: x and y are N × C.
/// Errors: ArgumentError for invalid options, or if streamed without `causal`; ShapeError for wrong sizes.
/// Cost: 4·N·C·c flops, plus the gated FSMN's.
template <class T>
struct GatedFsmnBlock : Layer<GatedFsmnBlock<T>> {
  using Config = GatedFsmnConfig;
  static constexpr const char* name = "GatedFsmnBlock";
  static constexpr const char* architecture = "gated.GatedFsmnBlock";

  Config config;
  Linear<T> proj_in;  ///< W: C → c
  Prelu<T> prelu;
  Norm<T> norm_in;
  GatedFsmn<T> gated_fsmn;
  Norm<T> norm_out;
  Linear<T> proj_out;  ///< W′: c → C

  GatedFsmnBlock() = default;
  explicit GatedFsmnBlock(const Config& c)
      : config(c.checked()),
        proj_in(c.channels, c.inner),
        prelu(c.inner),
        norm_in(c.inner),
        gated_fsmn(c),
        norm_out(c.inner),
        proj_out(c.inner, c.channels) {}
  GatedFsmnBlock(const Config& c, Random& random) : GatedFsmnBlock(c) { this->initialize(random); }

  static constexpr auto fields() {
    using B = GatedFsmnBlock;
    return Fields(field("proj_in", &B::proj_in), field("prelu", &B::prelu), field("norm_in", &B::norm_in),
                  field("gated_fsmn", &B::gated_fsmn), field("norm_out", &B::norm_out), field("proj_out", &B::proj_out));
  }

  Contract contract() const { return proj_in.contract().then(gated_fsmn.contract()).then(proj_out.contract()); }

  auto apply(auto& run, auto x) const {
    auto h = run(norm_in, run(prelu, run(proj_in, x)));  // N × c
    h = run(norm_out, run(gated_fsmn, std::move(h)));    // N × c
    return run(proj_out, std::move(h), {.residual = std::move(x)});
  }
};

}  // namespace gated
