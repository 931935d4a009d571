#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "gated/core/mask.hpp"
#include "gated/layers/gated_projection.hpp"
#include "gated/layers/norm.hpp"
#include "gated/layers/offset_scale.hpp"
#include "gated/layers/relative_bias.hpp"
#include "gated/layers/rotary_embedding.hpp"
#include "gated/ops/mixed_chunk.hpp"
#include "gated/ops/token_shift.hpp"

/// @file
/// The FLASH layer: local quadratic attention in chunks plus global linear attention (Hua et al., arXiv:2202.10447, §3).

namespace gated {

/// Which rows of the offset-scale make which query or key. The originals disagree.
enum class OffsetScaleOrder {
  lucidrains,  ///< local query, global query, local key, global key
  paper        ///< local query, local key, global query, global key
};

constexpr auto names_of(OffsetScaleOrder) {
  return std::array{std::pair{OffsetScaleOrder::lucidrains, std::string_view("lucidrains")},
                    std::pair{OffsetScaleOrder::paper, std::string_view("paper")}};
}

/// The options of a FLASH layer. The defaults are lucidrains' FLASH, the most used; presets set the others by origin.
struct MixedChunkAttentionConfig {
  Index channels = 0;     ///< C (d in the paper)
  Index value = 0;        ///< E (e), usually 2·C
  Index query_key = 128;  ///< S (s)
  Index chunk = 256;      ///< c, tokens per chunk
  ProjectionLayout projection =
      ProjectionLayout::separate;                         ///< one matrix for u, v and z, or several, as the checkpoint has them
  Activation activation = Activation::silu;               ///< of u, v and z
  NormForm norm = NormForm::layer_norm;                   ///< of the input
  double norm_eps = 1e-5;                                 ///< ε of the norm
  ScoreKernel kernel = ScoreKernel::relu2;                ///< of the local part: relu2 or Laplace
  RelativeBiasForm relative_bias = RelativeBiasForm::t5;  ///< B, within a chunk
  OffsetScaleOrder offset_scale_order = OffsetScaleOrder::lucidrains;  ///< which row makes which query or key
  LinearReduction reduction = LinearReduction::sum;                    ///< how M is summed over the chunks
  Rotary rotary = Rotary::none;                                        ///< the positions of queries and keys, as angles
  Index rotary_dimensions = 0;                                         ///< r; 0 for all S
  double rotary_base = 10000.0;                                        ///< the longest wave is about 2π times this
  bool token_shift = false;  ///< the first half of the channels comes from the token before
  bool causal = false;       ///< tokens see no later ones

  template <class C = MixedChunkAttentionConfig>
  static constexpr auto fields() {
    return std::tuple{setting("channels", &C::channels),
                      setting("value", &C::value),
                      setting("query_key", &C::query_key),
                      setting("chunk", &C::chunk),
                      setting("projection", &C::projection),
                      setting("activation", &C::activation),
                      setting("norm", &C::norm),
                      setting("norm_eps", &C::norm_eps),
                      setting("kernel", &C::kernel),
                      setting("relative_bias", &C::relative_bias),
                      setting("offset_scale_order", &C::offset_scale_order),
                      setting("reduction", &C::reduction),
                      setting("rotary", &C::rotary),
                      setting("rotary_dimensions", &C::rotary_dimensions),
                      setting("rotary_base", &C::rotary_base),
                      setting("token_shift", &C::token_shift),
                      setting("causal", &C::causal)};
  }
};

/// What streaming keeps of one causal sequence in one layer. Its size does not depend on how long the sequence is.
template <class T>
struct MixedChunkAttentionState {
  Matrix<T> memory;                ///< S × E: Σ KᵀV / c over the finished chunks
  Matrix<T> local_keys;            ///< c × S, of the open chunk
  Matrix<T> global_keys;           ///< c × S, of the open chunk
  Matrix<T> values;                ///< c × E, of the open chunk
  Matrix<T> previous;              ///< 1 × C, with token shift: the last token behind the norm
  Index finished = 0, filled = 0;  ///< chunks; tokens of the open chunk

  Index position(Index chunk) const { return finished * chunk + filled; }
  std::size_t bytes() const {
    return sizeof(T) *
           static_cast<std::size_t>(memory.size() + local_keys.size() + global_keys.size() + values.size() + previous.size());
  }
};

/// y = x + (u ⊙ (A v + Q M)) W_o: within a chunk A = relu²(q kᵀ / c + B), across chunks M = Σ KᵀV (arXiv:2202.10447, eq. 7).
///
/// Shapes: x and y are rows × C; `mask` holds a 0 or 1 per row, or nothing; masked tokens are not attended to and n still
/// counts them. The last chunk may be short. Errors: ArgumentError when built; ShapeError for sizes and masks. Cost:
/// 2·rows·(3·C·E + C·S + c·(S + E) + 2·S·E) flops, linear in the sequence; scratch rows × (2C + 2E + 5S) + c·(c + E) + S·E.
template <class T>
struct MixedChunkAttention {
  using Scalar = T;
  using Config = MixedChunkAttentionConfig;
  static constexpr const char* architecture = "gated.MixedChunkAttention";
  using State = MixedChunkAttentionState<T>;

  MixedChunkAttentionConfig config;
  Norm<T> norm;
  GatedProjection<T> projection;
  OffsetScale<T> offset_scale;  ///< four rows, see OffsetScaleOrder
  RotaryEmbedding<T> rotary;
  RelativeBias<T> relative_bias;  ///< scaled by √S in the T5 form
  Linear<T> proj_out;

  MixedChunkAttention() = default;
  /// Projections of zero, for a checkpoint to be loaded into.
  explicit MixedChunkAttention(const MixedChunkAttentionConfig& c) : config(c) {
    require<ArgumentError>(c.channels > 0 && c.value > 0 && c.query_key > 0 && c.chunk > 0,
                           "MixedChunkAttention: channels = ", c.channels, ", value = ", c.value, ", query_key = ", c.query_key,
                           ", chunk = ", c.chunk, " must be positive.");
    constexpr auto longest = std::min<std::int64_t>(std::int64_t{1} << 32, std::numeric_limits<Index>::max() / 2);
    require<ArgumentError>(c.chunk <= longest, "MixedChunkAttention: chunk = ", c.chunk, " is longer than any text.");
    require<ArgumentError>(c.kernel != ScoreKernel::softmax && c.kernel != ScoreKernel::softmax_plus,
                           "MixedChunkAttention: kernel = ", name_of(c.kernel),
                           ", expected relu2 or laplace: its local and global parts are sums without a softmax.");
    require<ArgumentError>(
        !c.causal || c.reduction != LinearReduction::own_chunk,
        "MixedChunkAttention: reduction = own_chunk would let tokens see later ones of their chunk. Set reduction "
        "= sum or mean, or causal = false.");
    const Index rotated = c.rotary_dimensions > 0 ? c.rotary_dimensions : c.query_key;
    require<ArgumentError>(c.rotary == Rotary::none || rotated <= c.query_key,
                           "MixedChunkAttention: rotary_dimensions = ", c.rotary_dimensions,
                           ", expected at most query_key = ", c.query_key, ".");
    norm = Norm<T>(c.norm, c.channels, c.norm_eps);
    projection = GatedProjection<T>(c.channels, c.value, c.query_key, c.projection, true, c.activation);
    offset_scale = OffsetScale<T>(4, c.query_key, true);
    rotary = RotaryEmbedding<T>(c.rotary, rotated, c.rotary_base);
    relative_bias = RelativeBias<T>(c.relative_bias, c.causal, std::sqrt(static_cast<T>(c.query_key)), c.chunk);
    proj_out = Linear<T>(c.value, c.channels);
  }
  /// The starting values of a training.
  MixedChunkAttention(const MixedChunkAttentionConfig& c, Random& random) : MixedChunkAttention(c) { initialize(random); }

  static constexpr auto fields() {
    using M = MixedChunkAttention;
    return std::tuple{
        field("norm", &M::norm),     field("projection", &M::projection),       field("offset_scale", &M::offset_scale),
        field("rotary", &M::rotary), field("relative_bias", &M::relative_bias), field("proj_out", &M::proj_out)};
  }

  /// The starting values of a training.
  void initialize(Random& random) {
    projection.initialize(random);
    offset_scale.initialize(random);
    relative_bias.initialize(random);
    proj_out.initialize(random);
  }

  /// y for all sequences at once.
  void forward(ConstView<T> x, const Sequences& sequences, View<T> y, Workspace<T>& workspace, Mask mask = {}) const {
    check(x, sequences, mask);
    expect_shape<T>("MixedChunkAttention::forward", "y", y, x.rows(), config.channels);

    const auto frame = workspace.frame();
    auto [u, parts] = prepare(normalise(x, sequences, nullptr, workspace), sequences, 0, workspace);
    const T* const visible = mask_values(mask, workspace);
    if (visible != nullptr) {
      for (Index i = 0; i < x.rows(); ++i) {
        parts.global_k.row(i) *= visible[i];
      }
    }
    ChunkMixing<T> mix = mixing(relative_bias.for_length(std::min(config.chunk, sequences.longest()), workspace));
    for (Index b = 0; b < sequences.count(); ++b) {
      const Index offset = sequences.offset(b), length = sequences.length(b);
      mix.local.keys = visible == nullptr ? nullptr : visible + offset;
      View<T> gated = u.middleRows(offset, length);  // in place
      mix_sequence<T>(parts.rows(offset, length), mix, gated, workspace.at("weights", b), Multiply<T>(gated));
    }
    proj_out.forward(u, y, workspace.at("proj_out"), Add<T>(x));
    workspace.show(y);
  }

  /// The same, into a new matrix.
  Matrix<T> forward(ConstView<T> x, const Sequences& sequences, Workspace<T>& workspace, Mask mask = {}) const {
    Matrix<T> y(x.rows(), x.cols());
    forward(x, sequences, y, workspace, mask);
    return y;
  }

  /// The memory of an empty sequence. Errors: ArgumentError unless the layer is causal.
  State start() const {
    require<ArgumentError>(config.causal,
                           "MixedChunkAttention::start: the layer is not causal, so a token's output depends on later "
                           "tokens. Build it with causal = true to stream.");
    const Index c = config.chunk, s = config.query_key;
    return {.memory = Matrix<T>::Zero(s, config.value),
            .local_keys = Matrix<T>::Zero(c, s),
            .global_keys = Matrix<T>::Zero(c, s),
            .values = Matrix<T>::Zero(c, config.value),
            .previous = Matrix<T>::Zero(config.token_shift ? 1 : 0, config.channels)};
  }

  /// forward() for the next tokens of the one sequence that `state` remembers; they join it. Cost: independent of the position.
  void extend(ConstView<T> x, State& state, View<T> y, Workspace<T>& workspace) const {
    expect_columns<T>("MixedChunkAttention::extend", "x", x, "channels", config.channels);
    expect_shape<T>("MixedChunkAttention::extend", "y", y, x.rows(), config.channels);
    expect_state("MixedChunkAttention::extend", state);
    if (x.rows() == 0) {
      return;
    }
    const auto frame = workspace.frame();
    take_for_later_steps<T>(config.chunk - state.filled, workspace);
    const Sequences sequences = Sequences::single(x.rows());
    const MatrixMap<T> z = normalise(x, sequences, &state.previous, workspace);
    auto [u, parts] = prepare(z, sequences, state.position(config.chunk), workspace);
    const ChunkMixing<T> mix = mixing(relative_bias.for_length(config.chunk, workspace));
    for (Index done = 0; done < x.rows();) {
      const Index rows = std::min(x.rows() - done, config.chunk - state.filled), seen = state.filled + rows;
      const ChunkParts<T> part = parts.rows(done, rows);
      View<T> gated = u.middleRows(done, rows);  // in place
      state.local_keys.middleRows(state.filled, rows) = part.local_k;
      state.global_keys.middleRows(state.filled, rows) = part.global_k;
      state.values.middleRows(state.filled, rows) = part.values;
      mix_chunk<T>(part.local_q, part.global_q, state.local_keys.topRows(seen), state.values.topRows(seen), state.filled,
                   mix.local, state.memory, memory_scale<T>(config.reduction, state.finished), gated,
                   workspace.at("weights", 0), Multiply<T>(gated));
      state.filled = seen;
      done += rows;
      if (state.filled == config.chunk) {
        const View<T> memory = state.memory;
        remember<T>(state.global_keys, state.values, T{1} / static_cast<T>(config.chunk),
                    state.finished == 0 ? nullptr : &memory, state.memory, workspace);
        state.filled = 0;
        ++state.finished;
      }
    }
    proj_out.forward(u, y, workspace.at("proj_out"), Add<T>(x));
    workspace.show(y);
  }

  /// Raises ArgumentError unless `state` belongs to a layer of these sizes.
  void expect_state(const char* where, const State& state) const {
    const bool suits = state.memory.rows() == config.query_key && state.memory.cols() == config.value &&
                       state.local_keys.rows() == config.chunk && state.previous.rows() == (config.token_shift ? 1 : 0) &&
                       state.previous.cols() == config.channels;
    require<ArgumentError>(config.causal && suits, where,
                           ": the state belongs to a layer of other sizes. Make it with start() of this model.");
  }

  /// Raises ShapeError unless forward() takes x with these sequences and this mask.
  void check(const ConstView<T>& x, const Sequences& sequences, Mask mask) const {
    expect_columns<T>("MixedChunkAttention::forward", "x", x, "channels", config.channels);
    sequences.expect_total("MixedChunkAttention::forward", x.rows());
    expect_mask("MixedChunkAttention::forward", mask, sequences);
  }

  /// The rows of the offset-scale that make local queries and keys, global queries and keys.
  std::array<Index, 4> offset_scale_rows() const {
    const bool paper = config.offset_scale_order == OffsetScaleOrder::paper;
    return {0, paper ? 1 : 2, paper ? 2 : 1, 3};
  }

  /// How a sequence is mixed, but for its mask; `relative` is the relative bias by offset.
  ChunkMixing<T> mixing(const T* relative) const {
    return {.chunk = config.chunk,
            .reduction = config.reduction,
            .local = {.kernel = config.kernel,
                      .scale = T{1} / static_cast<T>(config.chunk),
                      .causal = config.causal,
                      .relative = relative}};
  }

 private:
  /// norm(x), shifted if the layer shifts; `previous` is the token before the first one and becomes the last, in streaming.
  MatrixMap<T> normalise(const ConstView<T>& x, const Sequences& sequences, Matrix<T>* previous,
                         Workspace<T>& workspace) const {
    MatrixMap<T> z = workspace.matrix(x.rows(), x.cols());
    norm.forward(x, z, workspace.at("norm"));
    if (!config.token_shift) {
      return z;
    }
    MatrixMap<T> shifted = workspace.matrix(x.rows(), x.cols());
    shift_first_half<T>(z, sequences, shifted);
    if (previous != nullptr) {
      const Index half = (x.cols() + 1) / 2;
      shifted.row(0).head(half) = previous->row(0).head(half);
      previous->row(0) = z.bottomRows(1);
    }
    return shifted;
  }

  /// What the projections make of some tokens, in scratch of the caller's frame.
  struct Prepared {
    View<T> u;  // the gate
    ChunkParts<T> parts;
  };

  Prepared prepare(const ConstView<T>& z, const Sequences& sequences, Index first, Workspace<T>& workspace) const {
    const auto gated = projection.forward(z, workspace.at("projection"));
    const auto made = [&](Index row) {
      MatrixMap<T> part = workspace.matrix(z.rows(), config.query_key);
      offset_scale.forward(row, gated.z, part, workspace);
      return View<T>(part);
    };
    const auto [local_q, local_k, global_q, global_k] = offset_scale_rows();
    ChunkParts<T> parts{made(local_q), made(local_k), made(global_q), made(global_k), gated.v};
    rotary.forward(sequences, first, workspace, parts.local_q, parts.local_k, parts.global_q, parts.global_k);
    return {gated.u, parts};
  }
};

}  // namespace gated
