#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "gated/layers/embedding.hpp"
#include "gated/layers/language_model_head.hpp"
#include "gated/layers/learned_position.hpp"
#include "gated/layers/sinusoid_position.hpp"
#include "gated/models/language_model_config.hpp"
#include "gated/models/stack.hpp"
#include "gated/models/text_model.hpp"
#include "gated/ops/gather.hpp"
#include "gated/ops/pool.hpp"

/// @file
/// Language models around any trunk.

namespace gated {

namespace detail {

inline constexpr const char* language_model_word = "gated.LanguageModel";

}  // namespace detail

/// Embeddings (words, segments, positions) → norm → trunk → norm → hidden states, or logits over the vocabulary.
///
///     GmlpLanguageModel<float> model({.vocabulary = 256, .trunk = {.length = 512, .channels = 256, .hidden = 1536, .depth = 8,
///                                                                  .causal = true}}, random);
///     Matrix<float> logits = model.forward(tokens, Sequences::single(512), workspace);   // N × 256
///
/// A causal model learns to predict the next token (train/next_token.hpp) and can stream. The logits of a step equal the
/// corresponding row of forward():
///
///     auto state = model.start();
///     model.extend(prompt, state, logits, workspace);
///     model.step(token, state, logits, workspace);
///
/// Shapes: `tokens` and the optional `types` hold the ids of all sequences, concatenated; without `types`, every type is 0. The
/// output is tokens × V, or tokens × C without a head.
/// Errors: ArgumentError for an unknown id, ShapeError for wrong sizes, lengths and masks; on error nothing is written.
/// Cost: that of the trunk, and 2·C·V flops per token for the logits.
template <class Trunk>
struct LanguageModel : TextModel<LanguageModel<Trunk>, typename Trunk::Scalar> {
  using T = typename Trunk::Scalar;
  using Config = LanguageModelConfig<typename Trunk::Config>;
  static constexpr const char* name = "LanguageModel";
  static constexpr const char* architecture = detail::joined_name<detail::language_model_word, Trunk::architecture>.data();

  Config config;
  Embedding<T> embedding;
  std::optional<Embedding<T>> type_embedding;
  SinusoidPosition<T> position;
  std::optional<LearnedPosition<T>> position_table;
  Norm<T> embedding_norm;
  std::optional<Linear<T>> embedding_projection;
  Trunk trunk;
  Norm<T> final_norm;
  std::optional<LanguageModelHead<T>> head;
  std::optional<Linear<T>> pooler;  ///< C → C
  std::optional<Norm<T>> pooler_norm;
  std::optional<Linear<T>> classifier;  ///< C → classes

  LanguageModel() = default;
  explicit LanguageModel(const Config& c) : config(c), trunk(c.trunk) {
    const Index channels = trunk.in();
    require<ArgumentError>(
        c.pad_token < 0 || trunk.contract().takes_mask, name, ": pad_token = ", c.pad_token,
        ", but the trunk takes no mask. Set pad_token = -1 and leave the padding out: sequences of a batch may "
        "differ in length.");
    require<ArgumentError>(c.token_types >= 0, name, ": token_types = ", c.token_types, " must not be negative.");
    require<ArgumentError>(c.classes >= 0, name, ": classes = ", c.classes, " must not be negative.");
    embedding = Embedding<T>(c.vocabulary, channels);
    if (c.token_types > 0) {
      type_embedding.emplace(c.token_types, channels);
    }
    position = SinusoidPosition<T>(c.position, channels, c.max_length, T{1});
    if (c.position == PositionForm::learned) {
      position_table.emplace(c.max_length, channels);
    }
    embedding_norm = Norm<T>(channels, c.embedding_norm_eps, c.embedding_norm);
    if (c.embedding_projection) {
      embedding_projection.emplace(channels, channels);
    }
    final_norm = Norm<T>(channels, c.final_norm_eps, c.final_norm);
    unit_gain_ = T{1} / std::sqrt(static_cast<T>(channels));
    if (c.pooler) {
      pooler.emplace(channels, channels, c.pooler_bias);
    }
    if (c.pooler && c.pooler_norm != NormForm::none) {
      pooler_norm.emplace(channels, c.pooler_norm_eps, c.pooler_norm);
    }
    if (c.classes > 0) {
      classifier.emplace(channels, c.classes);
    }
    if (c.head.form != HeadForm::none) {
      head.emplace(c.head, channels, c.vocabulary);
    }
    const Contract of_text = contract();
    require<ArgumentError>(of_text.shortest <= of_text.longest, name, ": max_length = ", c.max_length,
                           ", but the trunk takes only texts of ", of_text.shortest, " tokens. Set max_length to that number.");
  }
  LanguageModel(const Config& c, Random& random) : LanguageModel(c) { this->initialize(random); }

  static constexpr auto fields() {
    using M = LanguageModel;
    return Fields(field("embedding", &M::embedding), field("type_embedding", &M::type_embedding),
                  field("position", &M::position), field("position_table", &M::position_table),
                  field("embedding_norm", &M::embedding_norm), field("embedding_projection", &M::embedding_projection),
                  field("trunk", &M::trunk), field("final_norm", &M::final_norm), field("head", &M::head),
                  field("pooler", &M::pooler), field("pooler_norm", &M::pooler_norm), field("classifier", &M::classifier));
  }

  /// Initializes the layers, and scales sinusoids to the magnitude of the embeddings: unscaled, they would hamper learning.
  void initialize(Random& random) {
    initialize_sublayers(*this, random);
    position.scale.setConstant(static_cast<T>(Embedding<T>::initial_deviation));
  }

  Contract contract() const {
    Contract contract = trunk.contract().with(position.contract());
    if (position_table) {
      contract = contract.with(position_table->contract());
    }
    contract.in = 0;
    contract.out = head ? config.vocabulary : trunk.out();
    return contract;
  }

  /// One vector per sequence: the hidden state of its first token, or the mean of its hidden states. The mean includes padding
  /// (pad_token): leave padding out of the sequences. A pooler maps the vector, for instance to tanh(P h + p); a classifier
  /// turns it into class scores. A sequence has the same result, bit for bit, alone and in a batch.
  /// Shapes: output is sequences × classes, or × C without a classifier.
  /// Errors: those of forward(), and ShapeError for an empty sequence.
  void pooled(Tokens tokens, const Sequences& sequences, View<T> output, Workspace<T>& workspace, Tokens types = {}) const;
  /// Overload that returns a new matrix.
  Matrix<T> pooled(Tokens tokens, const Sequences& sequences, Workspace<T>& workspace, Tokens types = {}) const {
    Matrix<T> output(sequences.count(), classifier ? classifier->out() : trunk.out());
    pooled(tokens, sequences, output, workspace, types);
    return output;
  }

  /// Raises the errors of forward() for ids, sizes and masks.
  void expect_input(Where where, Tokens tokens, const Sequences& sequences, Mask mask, Tokens types) const {
    gated::expect_input(where, contract(), static_cast<Index>(tokens.size()), 0, sequences, mask);
    embedding.expect_known(where, tokens);
    require<ShapeError>(types.empty() || (type_embedding && types.size() == tokens.size()), where, ": types has ", types.size(),
                        " ids, expected ", type_embedding ? tokens.size() : 0,
                        type_embedding ? ", one per token." : ": the model has token_types = 0. Omit the types.");
    if (type_embedding) {
      type_embedding->expect_known(where, types);
    }
    if (mask.empty() && has_padding(tokens) && trunk.contract().mask.softmax) {
      expect_visible_tokens(where, sequences, [&](Index offset, Index length) {
        const auto text = tokens.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(length));
        return length - std::count(text.begin(), text.end(), config.pad_token);
      });
    }
  }

  /// Raises ArgumentError for ids that a stream does not accept: unknown ids and padding.
  void expect_streamed(Where where, Tokens tokens) const {
    embedding.expect_known(where, tokens);
    require<ArgumentError>(!has_padding(tokens), where, ": token ", config.pad_token, " is padding. Leave it out of a stream.");
  }

  template <class Run>
  MatrixOf<Run> apply(Run& run, Tokens tokens, const TextInputs& inputs = {}) const {
    auto x = run(embedding, tokens);  // N × C
    if (type_embedding) {
      x = add_embedding(run, std::move(x), type_embedding->weight, inputs.types);
    }
    x = run(position, std::move(x));
    if (position_table) {
      x = run(*position_table, std::move(x));
    }
    x = run(embedding_norm, std::move(x));
    if (embedding_projection) {
      x = run(*embedding_projection, x);
    }
    x = run.embedding_dropout(std::move(x));
    if constexpr (Run::streams) {
      x = run(final_norm, run(trunk, std::move(x)));
      x = run.last_rows(x, std::min(inputs.outputs, run.rows(x)));  // outputs × C
    } else {
      const Mask padding = padding_mask(run, tokens);
      x = padding.empty() ? run(trunk, std::move(x)) : run.with(padding)(trunk, std::move(x));
      x = run(final_norm, std::move(x));
      if (inputs.pooled) {
        return pool(run, x);  // one row per sequence
      }
      if (!inputs.rows.empty()) {
        x = gather(run, x, inputs.rows);  // one row per requested token
      }
    }
    return head ? run(*head, std::move(x), embedding.weight) : x;  // N × V
  }

  /// The body of pooled(), for training. Returns sequences × classes, or × C without a classifier.
  /// Errors: those of pooled(); ArgumentError in a stream.
  template <class Run>
  MatrixOf<Run> apply_pooled(Run& run, Tokens tokens, TextInputs inputs) const {
    if constexpr (Run::streams) {
      raise<ArgumentError>(
          name, "::apply_pooled: pooling needs all tokens of a sequence, but a stream has only the next. Use pooled().");
    }
    if constexpr (Run::records) {
      expect_pooled({name, "apply_pooled"}, tokens, run.sequences(), run.mask(), inputs.types);
    }
    inputs.pooled = true;
    return apply(run, tokens, inputs);
  }

 private:
  T unit_gain_{1};

  void expect_pooled(Where where, Tokens tokens, const Sequences& sequences, Mask mask, Tokens types) const {
    expect_input(where, tokens, sequences, mask, types);
    for (Index b = 0; b < sequences.count(); ++b) {
      require<ShapeError>(sequences.length(b) > 0, where, ": sequence ", b, " is empty, expected at least one token.");
    }
  }

  /// A mask that hides padding; empty if there is no padding, or if the run has a mask.
  template <class Run>
  Mask padding_mask(Run& run, Tokens tokens) const {
    if (!run.mask().empty() || !has_padding(tokens)) {
      return {};
    }
    const auto scalars = (tokens.size() + sizeof(T) - 1) / sizeof(T);
    auto* const bytes = reinterpret_cast<std::uint8_t*>(run.take(static_cast<Index>(scalars)));
    std::transform(tokens.begin(), tokens.end(), bytes,
                   [&](Index id) { return static_cast<std::uint8_t>(id == config.pad_token ? 0 : 1); });
    return Mask(bytes, tokens.size());
  }

  /// One vector per sequence of hidden states x.
  template <class Run>
  MatrixOf<Run> pool(Run& run, const MatrixOf<Run>& x) const {
    auto vectors = config.pooling == TextPooling::mean ? mean_over_tokens(run, x) : first_tokens(run, x);  // sequences × C
    if (pooler) {
      vectors = run(*pooler, vectors, {.activation = config.pooler_activation});
    }
    if (pooler_norm) {
      vectors = run(*pooler_norm, std::move(vectors));
    }
    if (config.unit_length) {  // ScaleNorm with g = 1 / √C divides a vector by its length
      vectors = normalize<Run, T>(run, std::move(vectors), {.form = NormForm::scale_norm, .eps = 1e-12, .gain = &unit_gain_});
    }
    return classifier ? run(*classifier, std::move(vectors)) : vectors;  // sequences × classes, or × C
  }

  bool has_padding(Tokens tokens) const {
    return config.pad_token >= 0 && std::find(tokens.begin(), tokens.end(), config.pad_token) != tokens.end();
  }
};

// Defined outside the class, so not implicitly `inline`: see layers/layer.hpp.

template <class Trunk>
void LanguageModel<Trunk>::pooled(Tokens tokens, const Sequences& sequences, View<T> output, Workspace<T>& workspace,
                                  Tokens types) const {
  constexpr Where where(name, "pooled");
  expect_pooled(where, tokens, sequences, Mask(), types);
  expect_shape<T>(where, "output", output, sequences.count(), classifier ? classifier->out() : trunk.out());
  const auto frame = workspace.frame();
  const RunningLayer whole(nullptr, *this);
  Batch<T> run(workspace, sequences, {}, &whole);
  MatrixView<T>(output).assign(apply_pooled(run, tokens, {.types = types}));
}

}  // namespace gated
