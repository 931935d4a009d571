#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "gated/core/elementary.hpp"
#include "gated/core/matrix.hpp"
#include "gated/core/parameter_budget.hpp"
#include "gated/core/random.hpp"
#include "gated/core/settings.hpp"

/// @file
/// Sampling of the next token from logits.

namespace gated {

/// How a token is sampled. The defaults draw from the model's own distribution.
struct Sampling {
  double temperature = 1.0;  ///< divides the logits: below 1 sharpens, above 1 flattens; 0 picks the most probable token
  Index top_k = 0;           ///< keep only the k most probable tokens; 0 keeps all tokens
  double top_p = 1.0;        ///< then keep only the most probable tokens that together reach this probability; 1 keeps all

  template <class C = Sampling>
  static constexpr auto fields() {
    return Fields(setting("temperature", &C::temperature), setting("top_k", &C::top_k), setting("top_p", &C::top_p));
  }
};

/// Draws the next token from a row of logits. Its only state is the random generator.
///
///     Sampler<float> sampler(256, {.temperature = 0.8, .top_p = 0.95}, Random(seed));
///     model.extend(prompt, state, logits, workspace);   // logits: 1 × 256
///     for (;;) {
///       const Index token = sampler(logits);
///       model.step(token, state, logits, workspace);
///     }
///
/// p_i ∝ exp(l_i / temperature) over the top_k largest logits l_i. The token is drawn from the nucleus V', the smallest
/// non-empty set of most probable tokens with Σ p_i ≥ top_p (Holtzman et al., arXiv:1904.09751, §3.1). Equal logits rank in
/// index order. A logit of -∞ has probability 0; logits of +∞ share the probability equally. Temperature 0 picks the first of
/// the largest logits and draws no random number; otherwise each token consumes one Random::uniform(). Equal seeds and logits
/// produce equal tokens on every platform.
///
/// Shapes: logits is 1 × V.
/// Errors: from the constructor, ArgumentError for options out of range and MemoryError for a huge vocabulary; from a call,
/// ArgumentError if a logit is NaN or all logits are -∞, and ShapeError for wrong sizes. After an error, the random generator
/// is unchanged.
/// Cost: V exponentials in double. If top_k or top_p is set, also a heap: V + m·log V comparisons to find the m most probable
/// tokens. No allocation after construction. Use one sampler per thread.
template <class T>
class Sampler {
 public:
  explicit Sampler(Index vocabulary, const Sampling& sampling = {}, Random random = Random())
      : vocabulary_(vocabulary), sampling_(sampling), random_(random) {
    require<ArgumentError>(vocabulary > 0, "Sampler: vocabulary = ", vocabulary, " must be positive.");
    require<ArgumentError>(sampling.temperature >= 0 && std::isfinite(sampling.temperature),
                           "Sampler: temperature = ", sampling.temperature,
                           ", expected a finite number ≥ 0; 0 picks the most probable token.");
    require<ArgumentError>(sampling.top_k >= 0, "Sampler: top_k = ", sampling.top_k, ", expected ≥ 0; 0 keeps all tokens.");
    require<ArgumentError>(sampling.top_p > 0 && sampling.top_p <= 1, "Sampler: top_p = ", sampling.top_p,
                           ", expected 0 < top_p ≤ 1; 1 keeps all tokens.");
    if (sampling.temperature > 0) {
      expect_memory<double>("Sampler", vocabulary);
      expect_memory<Index>("Sampler", filters() ? vocabulary : 0);
      weights_.resize(static_cast<std::size_t>(vocabulary));
      order_.resize(filters() ? weights_.size() : 0);
    }
  }

  Index vocabulary() const { return vocabulary_; }
  const Sampling& sampling() const { return sampling_; }
  /// The random generator. Save its state() to continue a text in another process.
  const Random& random() const { return random_; }

  /// The next token.
  Index operator()(ConstView<T> logits) {
    require<ShapeError>(logits.rows() == 1 && logits.cols() == vocabulary_, "Sampler: logits is ", logits.rows(), " × ",
                        logits.cols(), ", expected 1 × vocabulary = ", vocabulary_, ": the last token's row.");
    const T* const row = logits.data();
    const Index best = first_largest(row);
    if (sampling_.temperature == 0) {
      return best;
    }
    for (Index i = 0; i < vocabulary_; ++i) {
      weight(i) = std::isinf(row[best])
                      ? (row[i] == row[best] ? 1.0 : 0.0)
                      : elementary::exp((static_cast<double>(row[i]) - static_cast<double>(row[best])) / sampling_.temperature);
    }
    if (!filters()) {
      return draw(vocabulary_, std::accumulate(weights_.begin(), weights_.end(), 0.0), [](Index i) { return i; });
    }
    return draw_filtered(row);
  }

 private:
  bool filters() const { return (sampling_.top_k > 0 && sampling_.top_k < vocabulary_) || sampling_.top_p < 1; }

  double& weight(Index token) { return weights_[static_cast<std::size_t>(token)]; }

  Index first_largest(const T* row) const {
    Index best = 0;
    for (Index i = 0; i < vocabulary_; ++i) {
      require<ArgumentError>(!std::isnan(row[i]), "Sampler: logit ", i, " is NaN. Look for an overflow in the model.");
      best = row[i] > row[best] ? i : best;
    }
    require<ArgumentError>(row[best] > -std::numeric_limits<T>::infinity(), "Sampler: all ", vocabulary_,
                           " logits are -inf, expected at least one possible token.");
    return best;
  }

  /// Draws from the nucleus of the top_k tokens.
  Index draw_filtered(const T* row) {
    // A heap with the most probable token on top. Popped tokens collect at the end of order_, in reverse order. Ids break ties,
    // so the order is total and does not depend on the standard library.
    const auto less_probable = [row](Index a, Index b) { return row[a] != row[b] ? row[a] < row[b] : a > b; };
    std::iota(order_.begin(), order_.end(), Index{0});
    std::make_heap(order_.begin(), order_.end(), less_probable);
    Index taken = 0;
    const auto most_probable = [&](Index n) {
      for (; taken <= n; ++taken) {
        std::pop_heap(order_.begin(), order_.end() - taken, less_probable);
      }
      return *(order_.end() - 1 - n);
    };

    Index candidates = vocabulary_;
    double mass = 0;
    if (sampling_.top_k > 0 && sampling_.top_k < vocabulary_) {
      candidates = sampling_.top_k;
      for (Index n = 0; n < candidates; ++n) {
        mass += weight(most_probable(n));
      }
    } else {
      mass = std::accumulate(weights_.begin(), weights_.end(), 0.0);
    }
    Index kept = 0;
    double kept_mass = 0;  // 0 < top_p · mass, so at least one token is kept
    while (kept < candidates && kept_mass < sampling_.top_p * mass) {
      kept_mass += weight(most_probable(kept++));
    }
    return draw(kept, kept_mass, most_probable);
  }

  /// Draws one of `count` tokens by inversion: the first whose cumulative weight exceeds uniform() · mass.
  template <class TokenAt>
  Index draw(Index count, double mass, const TokenAt& token_at) {
    const double target = random_.uniform() * mass;
    double cumulative = 0;
    for (Index n = 0; n < count; ++n) {
      cumulative += weight(token_at(n));
      if (cumulative > target) {
        return token_at(n);
      }
    }
    return token_at(0);  // unreachable: target < mass, and mass was summed in this order
  }

  Index vocabulary_;
  Sampling sampling_;
  Random random_;
  std::vector<double> weights_;  // V: exp((l - max l) / temperature)
  std::vector<Index> order_;     // V: the heap of tokens
};

}  // namespace gated
