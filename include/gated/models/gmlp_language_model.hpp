#pragma once

#include "gated/layers/embedding.hpp"
#include "gated/layers/language_model_head.hpp"
#include "gated/models/gmlp.hpp"

/// @file
/// gMLP and aMLP for text.

namespace gated {

/// The options of a gMLP language model.
struct GmlpLanguageModelConfig {
  Index vocabulary = 0;    ///< V
  bool final_norm = true;  ///< a LayerNorm before the logits
  bool tied = true;        ///< logits = x Eᵀ with the embedding E; otherwise a projection of its own, with bias
  double norm_eps = 1e-5;  ///< of the final norm
  GmlpConfig trunk{};      ///< of the blocks; its channels are the model's

  template <class C = GmlpLanguageModelConfig>
  static constexpr auto fields() {
    return std::tuple{setting("vocabulary", &C::vocabulary), setting("final_norm", &C::final_norm), setting("tied", &C::tied),
                      setting("norm_eps", &C::norm_eps), setting("trunk", &C::trunk)};
  }
};

/// Embedding → gMLP blocks → LayerNorm → logits over the vocabulary (arXiv:2105.08050, §4). No position embedding.
///
///     GmlpLanguageModel<float> model({.vocabulary = 256, .trunk = {.length = 512, .channels = 256, .hidden = 1536, .depth = 8,
///                                                                  .causal = true}}, random);
///     Matrix<float> logits = model.forward(tokens, Sequences::single(512), workspace);   // N × 256
///
/// A causal model also streams: start(), prefill(), step(). Each equals the same rows of forward().
/// Shapes: tokens holds the ids of all sequences one after the other, logits is tokens × V. Errors: ArgumentError for an
/// unknown id, ShapeError for lengths; nothing is written then. Cost: see Gmlp, and 2·C·V flops a token for the logits.
template <class T>
struct GmlpLanguageModel {
  using Scalar = T;
  using Config = GmlpLanguageModelConfig;
  using State = GmlpState<T>;
  static constexpr const char* architecture = "gated.GmlpLanguageModel";

  GmlpLanguageModelConfig config;
  Embedding<T> embedding;
  Gmlp<T> trunk;
  LanguageModelHead<T> head;

  GmlpLanguageModel() = default;
  /// Projections of zero, for a checkpoint to be loaded into.
  explicit GmlpLanguageModel(const GmlpLanguageModelConfig& c)
      : config(c),
        embedding(c.vocabulary, c.trunk.channels),
        trunk(c.trunk),
        head({.norm = c.final_norm ? NormForm::layer_norm : NormForm::none,
              .norm_eps = c.norm_eps,
              .tied = c.tied,
              .bias = !c.tied},
             c.trunk.channels, c.vocabulary) {}
  /// The starting values of a training.
  GmlpLanguageModel(const GmlpLanguageModelConfig& c, Random& random) : GmlpLanguageModel(c) { initialize(random); }

  static constexpr auto fields() {
    using M = GmlpLanguageModel;
    return std::tuple{field("embedding", &M::embedding), field("trunk", &M::trunk), field("head", &M::head)};
  }

  /// The starting values of a training.
  void initialize(Random& random) {
    embedding.initialize(random);
    trunk.initialize(random);
    head.initialize(random);
  }

  /// The logits of every token of all sequences at once.
  void forward(Tokens tokens, const Sequences& sequences, View<T> logits, Workspace<T>& workspace) const {
    const auto count = static_cast<Index>(tokens.size());
    expect_shape<T>("GmlpLanguageModel::forward", "logits", logits, count, config.vocabulary);
    const auto frame = workspace.frame();
    MatrixMap<T> x = workspace.matrix(count, config.trunk.channels);
    embedding.forward(tokens, x, workspace.at("embedding"));
    trunk.forward(x, sequences, x, workspace.at("trunk"));
    head.forward(x, embedding.weight, logits, workspace.at("head"));
    workspace.show(logits);
  }

  /// The same, into a new matrix.
  Matrix<T> forward(Tokens tokens, const Sequences& sequences, Workspace<T>& workspace) const {
    Matrix<T> logits(static_cast<Index>(tokens.size()), config.vocabulary);
    forward(tokens, sequences, logits, workspace);
    return logits;
  }

  /// The state before the first token. Errors: ArgumentError unless the model is causal.
  State start() const { return trunk.start(); }

  /// Adds `tokens` to a streamed sequence. `logits` has one row a token, or one row in all for the prediction after the last.
  /// Errors: as forward(), and ShapeError past the trained length; the state is unchanged then. Cost: no allocation when warm.
  void prefill(Tokens tokens, State& state, View<T> logits, Workspace<T>& workspace) const {
    const auto count = static_cast<Index>(tokens.size());
    require<ShapeError>(logits.rows() == count || (logits.rows() == 1 && count > 0), "GmlpLanguageModel::prefill: logits has ",
                        logits.rows(), " rows, expected ", count, ", one a token, or 1 for the last.");
    expect_shape<T>("GmlpLanguageModel::prefill", "logits", logits, logits.rows(), config.vocabulary);
    trunk.expect_room("GmlpLanguageModel::prefill", state, count);
    const auto frame = workspace.frame();
    MatrixMap<T> x = workspace.matrix(count, config.trunk.channels);
    embedding.forward(tokens, x, workspace.at("embedding"));
    trunk.extend(x, state, x, workspace.at("trunk"));
    head.forward(x.bottomRows(logits.rows()), embedding.weight, logits, workspace.at("head"));
    workspace.show(logits);
  }

  /// Adds one token; `logits` is 1 × V. The same as prefill() of one token.
  void step(Index token, State& state, View<T> logits, Workspace<T>& workspace) const {
    prefill(Tokens(&token, 1), state, logits, workspace);
  }
};

}  // namespace gated
