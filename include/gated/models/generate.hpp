#pragma once

#include <algorithm>
#include <iterator>

#include "gated/core/stream.hpp"
#include "gated/models/prepare.hpp"
#include "gated/models/sampling.hpp"
#include "gated/ops/embedding.hpp"

/// @file
/// Text generation as a range of tokens.

namespace gated {

/// The single-pass range that generate() returns. Each increment of its iterator runs the model once.
template <class Model>
class Generation {
 public:
  using T = typename Model::Scalar;
  static constexpr Index unlimited = State<T>::unlimited;

  /// Runs in `workspace` or, with nullptr, in a workspace of its own with packed weights.
  Generation(const Model& model, Tokens prompt, Workspace<T>* workspace, const Sampling& sampling, Index tokens,
             const Random& random)
      : model_(model),
        prepared_(workspace == nullptr ? prepare(model) : PreparedWeights<T>()),
        workspace_(workspace == nullptr ? own_ : *workspace),
        state_(model.start(capacity(static_cast<Index>(prompt.size()), tokens))),
        logits_(1, model.out()),
        sampler_(model.out(), sampling, random),
        left_(tokens) {
    require<ArgumentError>(!prompt.empty(), "generate: the prompt is empty. Start it with a beginning-of-text token.");
    if constexpr (requires { model.head.has_value(); }) {
      require<ArgumentError>(model.head.has_value(),
                             "generate: head = none, so the model returns hidden states, not logits. "
                             "Build it with head.form = tied or untied.");
    }
    own_.use(prepared_);
    model_.extend(prompt, state_, logits_, workspace_);
  }
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  /// A single-pass iterator over the tokens.
  class Iterator {
   public:
    using value_type = Index;
    using difference_type = std::ptrdiff_t;

    Iterator() = default;
    explicit Iterator(Generation& text) : text_(&text) {}
    Index operator*() const { return text_->token_; }
    Iterator& operator++() {
      text_->advance();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return text_->left_ == 0; }

   private:
    Generation* text_ = nullptr;
  };

  Iterator begin() {
    if (left_ > 0) {
      token_ = sampler_(logits_);
    }
    return Iterator(*this);
  }
  static std::default_sentinel_t end() { return {}; }

  /// The model's state after the prompt and all generated tokens except the last.
  const State<T>& state() const { return state_; }

 private:
  static Index capacity(Index prompt, Index tokens) {
    require<ArgumentError>(tokens >= 0, "generate: tokens = ", tokens, " must not be negative.");
    const Index read = std::max<Index>(tokens - 1, 0);  // the last token is not read again
    return tokens == unlimited || read > unlimited - prompt ? unlimited : prompt + read;
  }

  void advance() {
    left_ = state_.position() == state_.capacity() ? 0 : left_ == unlimited ? unlimited : left_ - 1;
    if (left_ > 0) {
      model_.step(token_, state_, logits_, workspace_);
      token_ = sampler_(logits_);
    }
  }

  const Model& model_;
  PreparedWeights<T> prepared_;
  Workspace<T> own_;
  Workspace<T>& workspace_;
  State<T> state_;
  Matrix<T> logits_;
  Sampler<T> sampler_;
  Index left_;
  Index token_ = 0;
};

/// A range of tokens that continue `prompt`:
///
///     for (const Index token : generate(model, prompt, {.temperature = 0.8})) {
///       std::putchar(static_cast<int>(token));
///     }
///
/// The range ends after `tokens` tokens or, if `tokens` is omitted, at the model's maximum length; without either limit, it
/// continues until you leave the loop. It computes in the model's scalar type, on one thread. For an engine, quantized weights
/// or threads, give it a workspace; to control the state, use Sampler and extend().
/// Errors: ArgumentError for an empty prompt, negative `tokens`, invalid sampling options, a model that cannot stream, or
/// weights stored outside the model (load_prepared()). ArgumentError if `tokens` is omitted and the model remembers every token
/// (GAU; Transformer, unless all its layers have windows), and for a model without a head. ShapeError if the prompt and all
/// `tokens` but the last exceed the model's maximum length.
/// Cost: packing the model's weights once, and a step per token.
template <class Model>
Generation<Model> generate(const Model& model, Tokens prompt, const Sampling& sampling = {},
                           Index tokens = State<typename Model::Scalar>::unlimited, const Random& random = Random()) {
  return Generation<Model>(model, prompt, nullptr, sampling, tokens, random);
}
/// Overload: runs in `workspace`, with its threads, prepared weights and engine. The workspace must outlive the range.
///
///     const auto opened = load_prepared<FlashLanguageModel<float>>("text.safetensors", WeightFormat::int8_rows);
///     Workspace<float> workspace;
///     workspace.use(opened.weights);
///     workspace.use(int8_products());
///     for (const Index token : generate(opened.model, prompt, workspace)) {
///
/// Errors: as above; weights stored outside the model are allowed if `workspace` uses them.
/// Cost: a step per token. Weights that are not prepared are packed in each step.
template <class Model>
Generation<Model> generate(const Model& model, Tokens prompt, Workspace<typename Model::Scalar>& workspace,
                           const Sampling& sampling = {}, Index tokens = State<typename Model::Scalar>::unlimited,
                           const Random& random = Random()) {
  return Generation<Model>(model, prompt, &workspace, sampling, tokens, random);
}
/// Deleted for temporary models: the model must outlive the range.
template <class Model>
void generate(const Model&& model, Tokens prompt, const Sampling& sampling = {},
              Index tokens = State<typename Model::Scalar>::unlimited, const Random& random = Random()) = delete;
template <class Model>
void generate(const Model&& model, Tokens prompt, Workspace<typename Model::Scalar>& workspace, const Sampling& sampling = {},
              Index tokens = State<typename Model::Scalar>::unlimited, const Random& random = Random()) = delete;

}  // namespace gated
