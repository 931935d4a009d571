#pragma once

#include "gated/layers/embedding.hpp"
#include "gated/layers/language_model_head.hpp"
#include "gated/layers/sinusoid_position.hpp"
#include "gated/models/flash.hpp"

/// @file
/// FLASH for text.

namespace gated {

/// The options of a FLASH language model.
struct FlashLanguageModelConfig {
  Index vocabulary = 0;                            ///< V
  PositionForm position = PositionForm::sinusoid;  ///< what is added to the embeddings
  Index max_length = 0;                            ///< rows of the position table, if it is one
  bool with_head = true;                           ///< without, the output is the hidden states
  LanguageModelHeadConfig head{};                  ///< of the norm and the logits
  FlashConfig trunk{};                             ///< of the layers; its channels are the model's

  template <class C = FlashLanguageModelConfig>
  static constexpr auto fields() {
    return std::tuple{
        setting("vocabulary", &C::vocabulary), setting("position", &C::position), setting("max_length", &C::max_length),
        setting("with_head", &C::with_head),   setting("head", &C::head),         setting("trunk", &C::trunk)};
  }
};

/// Embedding + scaled sinusoid → FLASH layers → norm → logits over the vocabulary (lucidrains' FLASHTransformer).
///
///     FlashLanguageModel<float> model({.vocabulary = 256, .trunk = {.layer = flash_presets::lucidrains(256)}}, random);
///     auto state = model.start();
///     model.prefill(prompt, state, logits, workspace);  // any length
///     model.step(token, state, logits, workspace);      // for as long as you like: state.bytes() does not grow
///
/// Shapes: tokens holds the ids of all sequences one after the other; the output is tokens × V, or tokens × C without head.
/// Errors: ArgumentError for an unknown id, ShapeError for sizes; nothing is written then. Cost: see Flash and
/// LanguageModelHead.
template <class T>
struct FlashLanguageModel {
  using Scalar = T;
  using Config = FlashLanguageModelConfig;
  using State = FlashState<T>;
  static constexpr const char* architecture = "gated.FlashLanguageModel";

  FlashLanguageModelConfig config;
  Embedding<T> embedding;
  SinusoidPosition<T> position;
  Flash<T> trunk;
  std::optional<LanguageModelHead<T>> head;

  FlashLanguageModel() = default;
  /// Projections of zero, for a checkpoint to be loaded into.
  explicit FlashLanguageModel(const FlashLanguageModelConfig& c)
      : config(c),
        embedding(c.vocabulary, c.trunk.layer.channels),
        position(c.position, c.trunk.layer.channels, c.max_length, T{1}),
        trunk(c.trunk) {
    if (c.with_head) {
      head.emplace(c.head, c.trunk.layer.channels, c.vocabulary);
    }
  }
  /// The starting values of a training.
  FlashLanguageModel(const FlashLanguageModelConfig& c, Random& random) : FlashLanguageModel(c) { initialize(random); }

  static constexpr auto fields() {
    using M = FlashLanguageModel;
    return std::tuple{field("embedding", &M::embedding), field("position", &M::position), field("trunk", &M::trunk),
                      field("head", &M::head)};
  }

  /// Positions start as large as the embeddings, which they would otherwise drown: a model with positions of size 1 hardly
  /// learns.
  void initialize(Random& random) {
    embedding.initialize(random);
    position.scale.setConstant(static_cast<T>(Embedding<T>::initial_deviation));
    trunk.initialize(random);
    if (head) {
      head->initialize(random);
    }
  }

  /// Columns of the output.
  Index out() const { return head ? config.vocabulary : config.trunk.layer.channels; }

  /// The logits (or hidden states) of every token of all sequences at once.
  void forward(Tokens tokens, const Sequences& sequences, View<T> output, Workspace<T>& workspace, Mask mask = {}) const {
    const auto count = static_cast<Index>(tokens.size());
    check(tokens, sequences);
    expect_shape<T>("FlashLanguageModel::forward", "output", output, count, out());
    const auto frame = workspace.frame();
    MatrixMap<T> x = workspace.matrix(count, config.trunk.layer.channels);
    embedding.forward(tokens, x, workspace.at("embedding"));
    position.add_to(x, sequences);
    trunk.forward(x, sequences, x, workspace.at("trunk"), mask);
    read_out(x, output, workspace);
  }

  /// The same, into a new matrix.
  Matrix<T> forward(Tokens tokens, const Sequences& sequences, Workspace<T>& workspace, Mask mask = {}) const {
    Matrix<T> output(static_cast<Index>(tokens.size()), out());
    forward(tokens, sequences, output, workspace, mask);
    return output;
  }

  /// The state before the first token. Errors: ArgumentError unless the model is causal.
  State start() const { return trunk.start(); }

  /// Adds `tokens` to a streamed sequence. `output` has one row a token, or one row in all, for the last.
  /// Errors: as forward(); the state is unchanged then. Cost: linear in the tokens, no allocation when warm.
  void prefill(Tokens tokens, State& state, View<T> output, Workspace<T>& workspace) const {
    const auto count = static_cast<Index>(tokens.size());
    require<ShapeError>(output.rows() == count || (output.rows() == 1 && count > 0), "FlashLanguageModel::prefill: output has ",
                        output.rows(), " rows, expected ", count, ", one a token, or 1 for the last.");
    expect_shape<T>("FlashLanguageModel::prefill", "output", output, output.rows(), out());
    trunk.expect_state("FlashLanguageModel::prefill", state);
    position.expect_length("FlashLanguageModel::prefill", state.position() + count);
    const auto frame = workspace.frame();
    MatrixMap<T> x = workspace.matrix(count, config.trunk.layer.channels);
    embedding.forward(tokens, x, workspace.at("embedding"));
    position.add_to(x, Sequences::single(count), state.position());
    trunk.extend(x, state, x, workspace.at("trunk"));
    read_out(x.bottomRows(output.rows()), output, workspace);
  }

  /// Adds one token; `output` is 1 × V. The same as prefill() of one token.
  void step(Index token, State& state, View<T> output, Workspace<T>& workspace) const {
    prefill(Tokens(&token, 1), state, output, workspace);
  }

  /// Raises ShapeError unless forward() takes as many tokens with these sequences.
  void check(Tokens tokens, const Sequences& sequences) const {
    sequences.expect_total("FlashLanguageModel::forward", static_cast<Index>(tokens.size()));
    position.expect_length("FlashLanguageModel::forward", sequences.longest());
  }

 private:
  void read_out(const ConstView<T>& x, View<T> output, Workspace<T>& workspace) const {
    if (head) {
      head->forward(x, embedding.weight, output, workspace.at("head"));
    } else {
      output = x;
    }
    workspace.show(output);
  }
};

}  // namespace gated
