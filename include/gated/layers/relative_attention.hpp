#pragma once

#include <cmath>
#include <optional>

#include "gated/core/settings.hpp"
#include "gated/layers/linear.hpp"
#include "gated/ops/elementwise.hpp"
#include "gated/ops/position_bias.hpp"
#include "gated/ops/positioned_attention.hpp"
#include "gated/ops/rotary.hpp"

/// @file
/// Multi-head attention with Transformer-XL's position scores: the attention of Conformer and E-Branchformer.

namespace gated {

/// Which kind of position attention scores depend on.
enum class ScorePosition {
  none,    ///< no position: ESPnet's selfattn
  offset,  ///< the signed distance i - j of query and key: Transformer-XL, ESPnet's rel_selfattn ("latest")
  key      ///< the position j of the key: WeNet's rel_selfattn, which omits the relative shift
};

constexpr auto names_of(ScorePosition) { return words_for<ScorePosition>("none", "offset", "key"); }

/// The options of attention with position scores.
struct RelativeAttentionConfig {
  Index channels = 0;                              ///< C
  Index heads = 8;                                 ///< h, attention heads of C / h channels each
  ScorePosition position = ScorePosition::offset;  ///< the kind of position in the scores
  bool causal = false;                             ///< no token sees a later one

  Index width() const { return heads > 0 ? channels / heads : 0; }

  template <class C = RelativeAttentionConfig>
  static constexpr auto fields() {
    return Fields(setting("channels", &C::channels), setting("heads", &C::heads), setting("position", &C::position),
                  setting("causal", &C::causal));
  }
};

/// y = W_o [concatenated outputs of all heads] + b_o. A head has w = C / h channels and outputs softmax(S) · values, with
///
///     S_ij = ((q_i + u) · k_j + (q_i + v) · P(i - j)) / √w                  P(r) = W_pos s(r)
///     s(r) = [sin(r f_0), cos(r f_0), sin(r f_1), …]                        f_k = 10000^(-2k/C)
///
/// (Transformer-XL, arXiv:1901.02860, §3.3). With ScorePosition::key, P(j) replaces P(i - j), so W_pos and v score
/// absolute positions. With ScorePosition::none, S_ij = q_i · k_j / √w.
///
/// b_k, the bias of keys, adds the same value to all scores of a query: it has no effect, and its gradient is only rounding
/// error. Masked tokens are not attended to.
/// Shapes: x and y are rows × C.
/// Errors: ArgumentError for invalid options, or if streamed without `causal` or a capacity; ShapeError for wrong sizes.
/// Cost: 8·rows·C² flops, plus 4·N²·C per sequence of N tokens. Position scores add 2·N²·C per sequence (see
/// attend_by_position()), and 2·R·C² for the R rows of P, once per group of sequences (see for_each_group()). R = 2·L - 1 for
/// ScorePosition::offset without `causal`, otherwise R = L, where L is the length of the longest sequence. Scratch: 256 rows of
/// scores; 512 with position scores. A stream's state has capacity × 2C elements, or capacity × 3C with position scores.
template <class T>
struct RelativeAttention : Layer<RelativeAttention<T>> {
  using Config = RelativeAttentionConfig;
  static constexpr const char* name = "RelativeAttention";
  static constexpr const char* architecture = "gated.RelativeAttention";

  Config config;
  Linear<T> query, key, value;        ///< C × C
  std::optional<Linear<T>> position;  ///< W_pos: C × C, without a bias
  Matrix<T> content_bias;             ///< u: h × w, or empty
  Matrix<T> position_bias;            ///< v: h × w, or empty
  Linear<T> proj_out;                 ///< W_o: C × C

  RelativeAttention() = default;
  explicit RelativeAttention(const Config& c) : config(c) {
    require<ArgumentError>(c.channels > 0 && c.heads > 0, name, ": channels = ", c.channels, " and heads = ", c.heads,
                           " must be positive.");
    require<ArgumentError>(c.channels % c.heads == 0, name, ": heads = ", c.heads, " does not divide channels = ", c.channels,
                           ".");
    for (Linear<T>* const linear : {&query, &key, &value, &proj_out}) {
      *linear = Linear<T>(c.channels, c.channels);
    }
    if (has_positions()) {
      require<ArgumentError>(c.channels % 2 == 0, name, ": channels = ", c.channels,
                             ", expected an even number for pairs of sine and cosine. Or set position = none.");
      position.emplace(c.channels, c.channels, false);
      content_bias = filled_matrix<T>(T{0}, c.heads, c.width(), name);
      position_bias = filled_matrix<T>(T{0}, c.heads, c.width(), name);
      frequencies_ = rotary_frequencies<double>(c.channels);
    }
  }
  RelativeAttention(const Config& c, Random& random) : RelativeAttention(c) { initialize(random); }

  static constexpr auto fields() {
    using A = RelativeAttention;
    return Fields(field("query", &A::query), field("key", &A::key), field("value", &A::value), field("position", &A::position),
                  field("content_bias", &A::content_bias, Role::position),
                  field("position_bias", &A::position_bias, Role::position), field("proj_out", &A::proj_out));
  }

  /// Initializes the projections, and draws u and v as Xavier-uniform matrices.
  void initialize(Random& random) {
    initialize_sublayers(*this, random);
    const double bound = std::sqrt(6.0 / static_cast<double>(config.heads + config.width()));
    fill_uniform(content_bias, bound, random);
    fill_uniform(position_bias, bound, random);
  }

  Contract contract() const {
    return {.in = config.channels,
            .out = config.channels,
            .sees = config.causal ? Sees::past : Sees::all,
            .takes_mask = true,
            .mask = {.softmax = true}};
  }

  template <class Run>
  auto apply(Run& run, MatrixOf<Run> x, Epilogue<Run> then) const {
    auto q = run(query, x), k = run(key, x), v = run(value, std::move(x));                            // N × C
    return run(proj_out, attend_to(run, std::move(q), std::move(k), std::move(v)), std::move(then));  // N × C
  }

 private:
  bool has_positions() const { return config.position != ScorePosition::none; }

  /// The concatenated outputs of the heads, N × C.
  template <class Run>
  auto attend_to(Run& run, MatrixOf<Run> q, MatrixOf<Run> k, MatrixOf<Run> v) const {
    const T* const visible = mask_values<T>(run.mask(), run);
    const T scale = T{1} / std::sqrt(static_cast<T>(config.width()));
    const auto scoring_of = [scale, visible, causal = config.causal](const Sequences& sequences, Index b) {
      return Scoring<T>{.kernel = ScoreKernel::softmax,
                        .scale = scale,
                        .causal = causal,
                        .visible_keys = visible == nullptr ? nullptr : visible + sequences.offset(b)};
    };
    if (!has_positions()) {
      return attend(run, AttentionInputs<Run>{.q = q, .k = k, .v = v, .heads = config.heads}, scoring_of, Epilogue<Run>());
    }
    auto p = add_bias(run, q, position_bias.data());
    const PositionedInputs<Run> inputs{.q = add_bias(run, std::move(q), content_bias.data()),
                                       .k = std::move(k),
                                       .v = std::move(v),
                                       .p = std::move(p),
                                       .positions = run(*position, sinusoids(run)),
                                       .by_offset = config.position == ScorePosition::offset,
                                       .heads = config.heads};
    return attend_by_position(run, inputs, config.causal, scoring_of, Epilogue<Run>());
  }

  /// s(r) for all offsets or positions r of the run; in a stream, only for those added by the next tokens.
  template <class Run>
  MatrixOf<Run> sinusoids(Run& run) const {
    const Index first = run.position();
    const Index tokens = run.sequences().longest();
    const bool by_offset = config.position == ScorePosition::offset;
    const Index rows = by_offset && !config.causal ? std::max<Index>(2 * tokens - 1, 0) : tokens;
    const auto fill = [&](View<T> table) {
      if (by_offset) {
        offset_sinusoids<T>(frequencies_, 1 - first - tokens, table);
      } else {
        table.setZero();
        add_interleaved_sinusoid<T>(frequencies_, first, table);
      }
    };
    if constexpr (Run::records) {
      const auto frame = run.workspace().frame();
      MatrixMap<T> table = run.workspace().matrix(rows, config.channels);
      fill(table);
      return run.tape().constant(table);
    } else {
      auto table = run.make(rows, config.channels);
      fill(run[table]);
      return table;
    }
  }

  Vector<double> frequencies_;
};

}  // namespace gated
