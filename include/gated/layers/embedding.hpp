#pragma once

#include "gated/core/count.hpp"
#include "gated/core/random.hpp"
#include "gated/layers/layer.hpp"
#include "gated/ops/embedding.hpp"

/// @file
/// Token embedding: ids to vectors.

namespace gated {

/// Optional inputs of a text model, in addition to the token ids.
struct TextInputs {
  Tokens types = {};    ///< segment ids, one per token; if empty, all are 0
  Tokens rows = {};     ///< rows of the batch to compute outputs for; if empty, all rows
  Index outputs = 0;    ///< in a stream: computes outputs only for this many last rows
  bool pooled = false;  ///< one vector per sequence, not per token; set by LanguageModel::apply_pooled()
};

/// y_t = weight[id_t]: a learned vector per token id.
///
/// Shapes: tokens has N ids, y is N × C.
/// Errors: ArgumentError for an id outside the vocabulary, before anything is written.
template <class T>
struct Embedding : Layer<Embedding<T>> {
  static constexpr const char* name = "Embedding";
  static constexpr double initial_deviation = 0.02;

  Matrix<T> weight;  ///< V × C

  Embedding() = default;
  /// Uninitialized vectors, to be loaded from a checkpoint.
  Embedding(Index vocabulary, Index channels) {
    require<ArgumentError>(vocabulary > 0 && channels > 0, "Embedding: vocabulary = ", vocabulary, " and channels = ", channels,
                           " must be positive.");
    weight = unset_weight<T>(vocabulary, channels, name);
  }

  static constexpr auto fields() { return Fields(field("weight", &Embedding::weight, Role::embedding)); }

  Index vocabulary() const { return weight.rows(); }

  /// Draws the vectors from N(0, 0.02²).
  void initialize(Random& random) { fill_normal(weight, initial_deviation, random); }

  /// Raises ArgumentError unless every id is in the vocabulary.
  void expect_known(Where where, Tokens tokens) const {
    expect_whole(where, weight.size() > 0);
    expect_tokens(where, tokens, vocabulary());
  }

  /// y = the vectors of `tokens`, one row per token.
  void forward(Tokens tokens, View<T> y, Workspace<T>& workspace) const {
    expect_shape<T>("Embedding::forward", "y", y, static_cast<Index>(tokens.size()), weight.cols());
    const auto frame = workspace.frame();
    Batch<T> run(workspace, Sequences::single(y.rows()));
    run.into(MatrixView<T>(y), *this, tokens);
  }

  Contract contract() const { return {.out = weight.cols(), .sees = Sees::itself}; }

  auto apply(auto& run, Tokens tokens) const {
    expect_known(name, tokens);
    expect_set(run, "weight", weight);
    return embed(run, weight, tokens);
  }
};

}  // namespace gated
