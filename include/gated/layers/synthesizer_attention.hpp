#pragma once

#include <array>
#include <cmath>
#include <optional>

#include "gated/core/settings.hpp"
#include "gated/core/unset.hpp"
#include "gated/layers/linear.hpp"
#include "gated/ops/synthesizer.hpp"

/// @file
/// The Synthesizer's token mixer: attention whose scores need no products of queries and keys.

namespace gated {

/// How a Synthesizer parameterizes its scores S. q_i is the query of token i; R, R₁, R₂, Π, A and B are learned. For L, a, k, c
/// and b, see SynthesizerAttentionConfig.
enum class SynthesizerForm {
  random,             ///< S_ij = R_ij, learned: L² values per head
  factorized_random,  ///< S = R₁ R₂ᵀ: 2·L·k values per head
  dense,              ///< S_ij = relu(q_i) · Π_j: L·a values for all heads
  factorized_dense  ///< S_ij = (relu(q_i) · A_⌊j/b⌋) (relu(q_i) · B_{j mod b}): (c + b)·a values for all heads, c·b = L
};

constexpr auto names_of(SynthesizerForm) {
  return words_for<SynthesizerForm>("random", "factorized_random", "dense", "factorized_dense");
}

/// How the dot products q_i · k_j are combined with S.
enum class SynthesizerMixture {
  none,    ///< S alone, no dot products
  sum,     ///< S + q kᵀ
  learned  ///< σ(α) S + (1 - σ(α)) q kᵀ with one learned α
};

constexpr auto names_of(SynthesizerMixture) { return words_for<SynthesizerMixture>("none", "sum", "learned"); }

/// The options of a Synthesizer's attention.
struct SynthesizerAttentionConfig {
  Index channels = 0;                                     ///< C
  Index heads = 1;                                        ///< h
  Index head_width = 0;                                   ///< a, channels per head; 0 for C / h
  Index max_length = 0;                                   ///< L, the maximum length of a sequence
  SynthesizerForm form = SynthesizerForm::random;         ///< form of the scores S
  SynthesizerMixture mixture = SynthesizerMixture::none;  ///< how dot products are combined with S
  Index rank = 8;                                         ///< k, rank of the factorized random form
  std::array<Index, 2> factors{};                         ///< {c, b} of the factorized dense form, c·b = L
  bool causal = false;                                    ///< no token sees a later one

  Index width() const { return head_width > 0 ? head_width : heads > 0 ? channels / heads : 0; }
  bool is_dense() const { return form == SynthesizerForm::dense || form == SynthesizerForm::factorized_dense; }

  template <class C = SynthesizerAttentionConfig>
  static constexpr auto fields() {
    return Fields(setting("channels", &C::channels), setting("heads", &C::heads), setting("head_width", &C::head_width),
                  setting("max_length", &C::max_length), setting("form", &C::form), setting("mixture", &C::mixture),
                  setting("rank", &C::rank), setting("factors", &C::factors), setting("causal", &C::causal));
  }
};

/// y = Σ_heads softmax(S) V W_o with the scores S of a SynthesizerForm (arXiv:2005.00743). Shorter sequences use the leading
/// rows and columns of S.
///
/// There are no biases. The factor 1/√a is part of the initialization of W_q. The paper does not say how factorized dense
/// scores are tiled. Here column j of S uses rows ⌊j/b⌋ of A and j mod b of B, so every column uses a different pair of rows.
/// Without the softmax, the random form would be a spatial projection.
/// Shapes: x and y are rows × C.
/// Errors: ArgumentError for invalid options, or if streamed without `causal`; ShapeError for sequences of more than L
/// tokens.
/// Cost: 2·rows·C·h·a flops for each projection (values, output, and queries and keys if used), plus those of synthesize(). A
/// stream's state has h·a elements for each of its min(capacity, L) tokens, or twice as many with dot products.
template <class T>
struct SynthesizerAttention : Layer<SynthesizerAttention<T>> {
  using Config = SynthesizerAttentionConfig;
  static constexpr const char* name = "SynthesizerAttention";
  static constexpr const char* architecture = "gated.SynthesizerAttention";

  SynthesizerAttentionConfig config;
  std::optional<Linear<T>> query;  ///< h·a × C; only for dense forms and mixtures
  std::optional<Linear<T>> key;    ///< h·a × C; only for mixtures
  Linear<T> value;                 ///< h·a × C
  Linear<T> proj_out;              ///< C × h·a
  Matrix<T> random;                ///< (h·L) × L: R
  Matrix<T> left, right;           ///< (h·L) × k: R₁, R₂
  Matrix<T> dense;                 ///< L × a: Π
  Matrix<T> outer, inner;          ///< c × a, b × a: A, B
  Vector<T> share;                 ///< α: 1 element, or empty

  SynthesizerAttention() = default;
  /// Uninitialized projections, to be loaded from a checkpoint; the parameters of the scores are 0.
  explicit SynthesizerAttention(const SynthesizerAttentionConfig& c) : config(c) {
    require<ArgumentError>(c.channels > 0 && c.heads > 0 && c.max_length > 0 && c.head_width >= 0, name,
                           ": channels = ", c.channels, ", heads = ", c.heads, " and max_length = ", c.max_length,
                           " must be positive, and head_width = ", c.head_width, " must not be negative.");
    require<ArgumentError>(c.head_width > 0 || c.channels % c.heads == 0, name, ": heads = ", c.heads,
                           " does not divide channels = ", c.channels, ". Set head_width.");
    const Index a = c.width(), all = (Count(c.heads) * a).value(), rows = (Count(c.heads) * c.max_length).value();
    if (c.is_dense() || c.mixture != SynthesizerMixture::none) {
      query.emplace(c.channels, all, false);
    }
    if (c.mixture != SynthesizerMixture::none) {
      key.emplace(c.channels, all, false);
    }
    value = Linear<T>(c.channels, all, false);
    proj_out = Linear<T>(all, c.channels, false);
    switch (c.form) {
      case SynthesizerForm::random:
        random = filled_matrix<T>(T{0}, rows, c.max_length, name);
        break;
      case SynthesizerForm::factorized_random:
        require<ArgumentError>(c.rank > 0, name, ": rank = ", c.rank, " must be positive.");
        left = filled_matrix<T>(T{0}, rows, c.rank, name);
        right = filled_matrix<T>(T{0}, rows, c.rank, name);
        break;
      case SynthesizerForm::dense:
        dense = filled_matrix<T>(T{0}, c.max_length, a, name);
        break;
      case SynthesizerForm::factorized_dense:
        require<ArgumentError>(c.factors[0] > 0 && c.factors[1] > 0 && c.factors[0] <= c.max_length &&
                                   Count(c.factors[0]) * c.factors[1] == c.max_length,
                               name, ": factors = ", c.factors[0], " and ", c.factors[1],
                               ", expected factors with a product of max_length = ", c.max_length, ".");
        outer = filled_matrix<T>(T{0}, c.factors[0], a, name);
        inner = filled_matrix<T>(T{0}, c.factors[1], a, name);
        break;
    }
    share = filled_vector<T>(T{0}, c.mixture == SynthesizerMixture::learned ? 1 : 0, name);
  }
  SynthesizerAttention(const SynthesizerAttentionConfig& c, Random& rng) : SynthesizerAttention(c) { this->initialize(rng); }

  static constexpr auto fields() {
    using S = SynthesizerAttention;
    return Fields(field("query", &S::query), field("key", &S::key), field("value", &S::value), field("proj_out", &S::proj_out),
                  field("random", &S::random, Role::spatial, &S::random_shape),
                  field("left", &S::left, Role::spatial, &S::factor_shape),
                  field("right", &S::right, Role::spatial, &S::factor_shape), field("dense", &S::dense, Role::spatial),
                  field("outer", &S::outer, Role::spatial), field("inner", &S::inner, Role::spatial),
                  field("share", &S::share, Role::spatial));
  }
  Shape random_shape() const { return {config.heads, config.max_length, config.max_length}; }
  Shape factor_shape() const { return {config.heads, config.max_length, config.rank}; }

  /// The authors' initialization: N(0, 1/(C·a)) for queries, N(0, 1/C) for keys and values, N(0, 1/(h·a)) for the output,
  /// Glorot-uniform values for the scores, α = 0.
  void initialize(Random& rng) {
    const double channels = static_cast<double>(config.channels), a = static_cast<double>(config.width());
    const auto normal = [&rng](Matrix<T>& m, double variance) { fill_normal(m, std::sqrt(variance), rng); };
    if (query) {
      normal(query->weight, 1 / (channels * a));
    }
    if (key) {
      normal(key->weight, 1 / channels);
    }
    normal(value.weight, 1 / channels);
    normal(proj_out.weight, 1 / (static_cast<double>(config.heads) * a));
    for (Matrix<T>* m : {&random, &left, &right, &dense, &outer, &inner}) {
      if (m->size() > 0) {
        const Index rows = m == &random || m == &left || m == &right ? config.max_length : m->rows();
        fill_uniform(*m, std::sqrt(6.0 / static_cast<double>(rows + m->cols())), rng);
      }
    }
  }

  /// The scores, as an argument of synthesize().
  SynthesizedScores<T> scores() const {
    const auto given = [](const Matrix<T>& m) { return m.size() > 0 ? &m : nullptr; };
    return {config.heads, config.max_length, config.causal, given(random), given(left),
            given(right), given(dense),      given(outer),  given(inner),  &share};
  }

  Contract contract() const {
    return {.in = config.channels,
            .out = config.channels,
            .sees = config.causal ? Sees::past : Sees::all,
            .longest = config.max_length,
            .remedy = " Build it with a larger max_length."};
  }

  template <class Run>
  auto apply(Run& run, MatrixOf<Run> x, Epilogue<Run> then) const {
    SynthesizerInputs<Run> in{.v = run(value, x)};  // N × h·a
    if (key) {
      in.k = run(*key, x);
    }
    if (query) {
      auto q = run(*query, std::move(x));  // N × h·a
      if (config.is_dense()) {
        in.h = activate(run, key ? q : std::move(q), Activation::relu);
      }
      if (key) {
        in.q = std::move(q);
      }
    }
    return run(proj_out, synthesize(run, scores(), in), std::move(then));  // N × C
  }
};

}  // namespace gated
