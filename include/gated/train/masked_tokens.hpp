#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "gated/core/random.hpp"
#include "gated/core/sequences.hpp"
#include "gated/ops/embedding.hpp"
#include "gated/train/loss.hpp"

/// @file
/// Masked-LM targets.

namespace gated {

/// The options of masked language modelling. The defaults are BERT's (arXiv:1810.04805, §3.1).
struct MaskingOptions {
  Index mask_token = 0;             ///< the id that replaces masked tokens
  Index vocabulary = 0;             ///< random tokens are 0 … vocabulary - 1
  double share = 0.15;              ///< probability that a token is selected for prediction
  double masked = 0.8;              ///< probability that a selected token becomes mask_token
  double random = 0.1;              ///< probability that a selected token becomes a random one; the rest keep their ids
  std::vector<Index> special = {};  ///< ids never to predict: padding, separators
};

/// A masked batch.
struct MaskedTokens {
  std::vector<Index> tokens;   ///< the model's input
  std::vector<Index> rows;     ///< the positions to predict, ascending
  std::vector<Index> targets;  ///< the original tokens at these positions
};

namespace detail {

/// Checks the arguments of mask_tokens().
inline void expect_masking(Tokens tokens, const Sequences& sequences, const MaskingOptions& options) {
  constexpr const char* where = "mask_tokens";
  sequences.expect_total(where, static_cast<Index>(tokens.size()));
  const auto expect_share = [](const char* name, double share) {
    require<ArgumentError>(share >= 0 && share <= 1, "mask_tokens: ", name, " = ", share, ", expected 0 … 1.");
  };
  expect_share("share", options.share);
  expect_share("masked", options.masked);
  expect_share("random", options.random);
  expect_share("masked + random", options.masked + options.random);
  require<ArgumentError>(options.vocabulary > 0, where, ": vocabulary = ", options.vocabulary,
                         " must be positive. Set it to the model's vocabulary.");
  require<ArgumentError>(options.mask_token >= 0 && options.mask_token < options.vocabulary, where,
                         ": mask_token = ", options.mask_token, ", expected 0 … ", options.vocabulary - 1, ".");
  expect_tokens(where, tokens, options.vocabulary);
}

}  // namespace detail

/// Masks a batch: selects each token for prediction with probability `share`, and at least one token per sequence.
///
///     const MaskedTokens masked = mask_tokens(tokens, sequences, {.mask_token = 103, .vocabulary = 30522}, random);
///     const Variable logits = record_rows(tape, model, masked.tokens, sequences, masked.rows);
///     tape.backward(cross_entropy(tape, logits, masked.targets));
///
/// An empty sequence, or one with only special tokens, has nothing to predict. The model should not be causal: a model that
/// sees only earlier tokens learns less.
/// Errors: ShapeError if the sequences do not cover the tokens. ArgumentError if `share`, `masked`, `random` or
/// `masked` + `random` is outside 0 … 1, or an id is outside the vocabulary.
inline MaskedTokens mask_tokens(Tokens tokens, const Sequences& sequences, const MaskingOptions& options, Random& random) {
  detail::expect_masking(tokens, sequences, options);
  MaskedTokens out{{tokens.begin(), tokens.end()}, {}, {}};
  const auto below = [&](Index bound) { return static_cast<Index>(random.uniform() * static_cast<double>(bound)); };
  const auto ask_for = [&](Index i) {
    Index& token = out.tokens[static_cast<std::size_t>(i)];
    out.rows.push_back(i);
    out.targets.push_back(token);
    const double lot = random.uniform();
    if (lot < options.masked) {
      token = options.mask_token;
    } else if (lot < options.masked + options.random) {
      token = below(options.vocabulary);
    }
  };
  std::vector<Index> candidates;  // positions of the non-special tokens of one sequence
  for (Index b = 0; b < sequences.count(); ++b) {
    candidates.clear();
    for (Index i = sequences.offset(b); i < sequences.offset(b) + sequences.length(b); ++i) {
      const auto& special = options.special;
      if (std::find(special.begin(), special.end(), tokens[static_cast<std::size_t>(i)]) == special.end()) {
        candidates.push_back(i);
      }
    }
    const std::size_t before = out.rows.size();
    for (const Index i : candidates) {
      if (random.uniform() < options.share) {
        ask_for(i);
      }
    }
    if (out.rows.size() == before && !candidates.empty()) {
      ask_for(candidates[static_cast<std::size_t>(below(static_cast<Index>(candidates.size())))]);
    }
  }
  return out;
}

}  // namespace gated
