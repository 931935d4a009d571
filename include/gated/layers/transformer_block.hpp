#pragma once

#include "gated/core/sequences.hpp"
#include "gated/core/settings.hpp"
#include "gated/layers/layer_norm.hpp"
#include "gated/layers/linear.hpp"
#include "gated/layers/offset_scale.hpp"
#include "gated/ops/mixed_chunk.hpp"

/// @file
/// The standard Transformer block, with softmax or mixed-chunk attention: what the gated models are compared with.

namespace gated {

/// What mixes the tokens of a Transformer block.
enum class TransformerAttention {
  softmax,     ///< softmax(q kᵀ / √w) v (arXiv:1706.03762): the Transformer baseline
  mixed_chunk  ///< local relu² plus global linear attention in each head: the FLASH paper's MC-TFM
};

constexpr auto names_of(TransformerAttention) {
  return std::array{std::pair{TransformerAttention::softmax, std::string_view("softmax")},
                    std::pair{TransformerAttention::mixed_chunk, std::string_view("mixed_chunk")}};
}

/// The options of a Transformer block.
struct TransformerBlockConfig {
  Index channels = 0;                                              ///< C
  Index heads = 12;                                                ///< each C / heads wide
  Index feed_forward = 0;                                          ///< F; 0 for 4·C
  TransformerAttention attention = TransformerAttention::softmax;  ///< what mixes tokens
  Index chunk = 256;                                               ///< c, of mixed-chunk attention
  LinearReduction reduction = LinearReduction::sum;                ///< how mixed-chunk attention sums over chunks
  bool causal = false;                                             ///< tokens see no later ones
  Activation activation = Activation::gelu;                        ///< between the two projections
  double norm_eps = 1e-5;                                          ///< ε of both norms

  template <class C = TransformerBlockConfig>
  static constexpr auto fields() {
    return std::tuple{
        setting("channels", &C::channels),   setting("heads", &C::heads),           setting("feed_forward", &C::feed_forward),
        setting("attention", &C::attention), setting("chunk", &C::chunk),           setting("reduction", &C::reduction),
        setting("causal", &C::causal),       setting("activation", &C::activation), setting("norm_eps", &C::norm_eps)};
  }
};

/// h = x + attention(LN(x)) W_o; y = h + act(LN(h) W₁) W₂, pre-norm, several heads.
///
/// With mixed-chunk attention each head of width w computes A v + Q M of ops/mixed_chunk.hpp, with A = relu²(q kᵀ / c) within a
/// chunk; the queries and keys of the global part are scaled and shifted copies of the local ones (arXiv:2202.10447, §4; the
/// paper gives no code for this baseline). Shapes: x and y are rows × C; y may be x. Errors: ArgumentError when built,
/// ShapeError when run. Cost: 2·rows·(4·C² + 2·C·F) + 4·N²·C flops a sequence, the last term 2·N·C·(2c + 4w) with mixed-chunk
/// attention.
template <class T>
struct TransformerBlock {
  using Scalar = T;
  using Config = TransformerBlockConfig;
  static constexpr const char* architecture = "gated.TransformerBlock";

  TransformerBlockConfig config;
  LayerNorm<T> attention_norm;
  Linear<T> qkv;             ///< 3C × C: the rows of q, then k, then v, each head by head
  OffsetScale<T> global_qk;  ///< rows q, k; mixed-chunk only
  Linear<T> proj_out;
  LayerNorm<T> feed_forward_norm;
  Linear<T> feed_forward_in, feed_forward_out;

  TransformerBlock() = default;
  /// Projections of zero, for a checkpoint to be loaded into.
  explicit TransformerBlock(const TransformerBlockConfig& c) : config(c) {
    require<ArgumentError>(c.channels > 0 && c.heads > 0 && c.channels % c.heads == 0, "TransformerBlock: heads = ", c.heads,
                           " does not divide channels = ", c.channels, ".");
    require<ArgumentError>(c.chunk > 0 && !(c.causal && c.reduction == LinearReduction::own_chunk),
                           "TransformerBlock: chunk = ", c.chunk,
                           " must be positive, and reduction = own_chunk needs causal = false.");
    const Index hidden = config.feed_forward = c.feed_forward > 0 ? c.feed_forward : 4 * c.channels;
    attention_norm = feed_forward_norm = LayerNorm<T>(c.channels, c.norm_eps);
    qkv = Linear<T>(c.channels, 3 * c.channels);
    if (c.attention == TransformerAttention::mixed_chunk) {
      global_qk = OffsetScale<T>(2, c.channels, true);
      global_qk.weight.setOnes();
    }
    proj_out = Linear<T>(c.channels, c.channels);
    feed_forward_in = Linear<T>(c.channels, hidden);
    feed_forward_out = Linear<T>(hidden, c.channels);
  }
  /// The starting values of a training.
  TransformerBlock(const TransformerBlockConfig& c, Random& random) : TransformerBlock(c) { initialize(random); }

  static constexpr auto fields() {
    using B = TransformerBlock;
    return std::tuple{field("attention_norm", &B::attention_norm),
                      field("qkv", &B::qkv),
                      field("global_qk", &B::global_qk),
                      field("proj_out", &B::proj_out),
                      field("feed_forward_norm", &B::feed_forward_norm),
                      field("feed_forward_in", &B::feed_forward_in),
                      field("feed_forward_out", &B::feed_forward_out)};
  }

  /// The starting values of a training.
  void initialize(Random& random) {
    for (Linear<T>* linear : {&qkv, &proj_out, &feed_forward_in, &feed_forward_out}) {
      linear->initialize(random);
    }
  }

  /// y for all sequences at once.
  void forward(ConstView<T> x, const Sequences& sequences, View<T> y, Workspace<T>& workspace) const {
    check(x, sequences);
    expect_shape<T>("TransformerBlock::forward", "y", y, x.rows(), config.channels);
    {
      const auto frame = workspace.frame();
      MatrixMap<T> normalised = workspace.matrix(x.rows(), x.cols()), attended = workspace.matrix(x.rows(), x.cols());
      attention_norm.forward(x, normalised, workspace.at("attention_norm"));
      mix(normalised, sequences, attended, workspace);
      proj_out.forward(attended, y, workspace.at("proj_out"), Add<T>(x));
    }
    const auto frame = workspace.frame();
    MatrixMap<T> normalised = workspace.matrix(x.rows(), x.cols());
    MatrixMap<T> hidden = workspace.matrix(x.rows(), config.feed_forward);
    feed_forward_norm.forward(y, normalised, workspace.at("feed_forward_norm"));
    feed_forward_in.forward(normalised, hidden, workspace.at("feed_forward_in"), Activate{config.activation});
    feed_forward_out.forward(hidden, y, workspace.at("feed_forward_out"), Add<T>(y));
    workspace.show(y);
  }

  /// The same, into a new matrix.
  Matrix<T> forward(ConstView<T> x, const Sequences& sequences, Workspace<T>& workspace) const {
    Matrix<T> y(x.rows(), x.cols());
    forward(x, sequences, y, workspace);
    return y;
  }

  /// Raises ShapeError unless forward() takes x with these sequences.
  void check(const ConstView<T>& x, const Sequences& sequences) const {
    expect_columns<T>("TransformerBlock::forward", "x", x, "channels", config.channels);
    sequences.expect_total("TransformerBlock::forward", x.rows());
  }

  /// How a head scores a sequence with TransformerAttention::softmax.
  Scoring<T> scoring() const {
    const T width = static_cast<T>(config.channels / config.heads);
    return {.kernel = ScoreKernel::softmax, .scale = T{1} / std::sqrt(width), .causal = config.causal};
  }

  /// How a head mixes a sequence with TransformerAttention::mixed_chunk.
  ChunkMixing<T> mixing() const {
    return {.chunk = config.chunk,
            .reduction = config.reduction,
            .local = {.kernel = ScoreKernel::relu2, .scale = T{1} / static_cast<T>(config.chunk), .causal = config.causal}};
  }

 private:
  void mix(const ConstView<T>& z, const Sequences& sequences, View<T> attended, Workspace<T>& workspace) const {
    const auto frame = workspace.frame();
    const Index channels = config.channels, width = channels / config.heads;
    const bool chunked = config.attention == TransformerAttention::mixed_chunk;
    MatrixMap<T> local = workspace.matrix(z.rows(), 3 * channels);
    MatrixMap<T> global = workspace.matrix(chunked ? z.rows() : 0, 2 * channels);
    qkv.forward(z, local, workspace.at("qkv"));
    if (chunked) {
      global_qk.forward(0, local.leftCols(channels), global.leftCols(channels), workspace);
      global_qk.forward(1, local.middleCols(channels, channels), global.rightCols(channels), workspace);
    }
    for (Index b = 0; b < sequences.count(); ++b) {
      const Index offset = sequences.offset(b), length = sequences.length(b);
      for (Index head = 0; head < config.heads; ++head) {
        const Index column = head * width;
        const auto part = [&](MatrixMap<T>& from, Index first) {
          return View<T>(from.block(offset, first + column, length, width));
        };
        View<T> to = attended.block(offset, column, length, width);
        const View<T> q = part(local, 0), k = part(local, channels), v = part(local, 2 * channels);
        if (chunked) {
          mix_sequence<T>({q, k, part(global, 0), part(global, channels), v}, mixing(), to, workspace.at("weights", b));
        } else {
          attend<T>(q, k, v, 0, scoring(), to, workspace.at("weights", b));
        }
      }
    }
  }
};

}  // namespace gated
