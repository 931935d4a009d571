#pragma once

#include <span>
#include <vector>

#include "gated/core/sequences.hpp"
#include "gated/ops/embedding.hpp"
#include "gated/train/loss.hpp"

/// @file
/// Next-token targets.

namespace gated {

/// Next-token targets for cross_entropy(): each token's target is the next token of its sequence. The last token of a sequence
/// has no target, and padding (the model's pad_token) is never a target.
///
///     const std::vector<Index> targets = next_token_targets(model, tokens, sequences);
///     tape.begin(model, gradient);
///     tape.backward(cross_entropy(tape, record(tape, model, tokens, sequences), targets));
///
/// Shapes: tokens and targets have one entry per token.
/// Errors: ArgumentError if the model is not causal: it would see the target and learn to copy it. ShapeError if
/// the sequences or `targets` do not match the tokens.
template <class Model>
void next_token_targets(const Model& model, Tokens tokens, const Sequences& sequences, std::span<Index> targets) {
  constexpr const char* where = "next_token_targets";
  require<ArgumentError>(model.is_causal(), where, ": this ", Model::name,
                         " is not causal: it would see the next token and learn to copy it. Build it with causal = true.");
  sequences.expect_total(where, static_cast<Index>(tokens.size()));
  require<ShapeError>(targets.size() == tokens.size(), where, ": targets has ", targets.size(), " entries, expected ",
                      tokens.size(), ", one per token.");
  constexpr Index ignored = CrossEntropyOptions{}.ignored;
  for (Index b = 0; b < sequences.count(); ++b) {
    const auto first = static_cast<std::size_t>(sequences.offset(b)), length = static_cast<std::size_t>(sequences.length(b));
    for (std::size_t i = first; i < first + length; ++i) {
      targets[i] = i + 1 == first + length || tokens[i + 1] == model.config.pad_token ? ignored : tokens[i + 1];
    }
  }
}

/// Returns next-token targets in a new vector.
template <class Model>
std::vector<Index> next_token_targets(const Model& model, Tokens tokens, const Sequences& sequences) {
  std::vector<Index> targets(tokens.size());
  next_token_targets(model, tokens, sequences, targets);
  return targets;
}

}  // namespace gated
