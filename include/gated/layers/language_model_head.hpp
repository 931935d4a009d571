#pragma once

#include <optional>

#include "gated/core/words.hpp"
#include "gated/layers/linear.hpp"
#include "gated/layers/norm.hpp"

/// @file
/// The head of a language model: hidden states to logits over the vocabulary.

namespace gated {

/// The output of a language model.
enum class HeadForm {
  none,   ///< hidden states: no logits
  tied,   ///< logits = x Eᵀ with the embedding E
  untied  ///< logits from a separate projection
};

constexpr auto names_of(HeadForm) { return words_for<HeadForm>("none", "tied", "untied"); }

/// The options of a language model's head.
struct LanguageModelHeadConfig {
  HeadForm form = HeadForm::tied;            ///< what to output: hidden states, or logits from a tied or a separate matrix
  bool dense = false;                        ///< adds a C → C projection and an activation before the norm: BERT's transform
  bool dense_bias = true;                    ///< adds a bias to the dense projection
  Activation activation = Activation::silu;  ///< activation of the dense projection
  NormForm norm = NormForm::layer_norm;      ///< norm before the logits
  double norm_eps = 1e-5;                    ///< ε of the norm
  bool bias = false;                         ///< adds a bias to the logits

  template <class C = LanguageModelHeadConfig>
  static constexpr auto fields() {
    return Fields(setting("form", &C::form), setting("dense", &C::dense), setting("dense_bias", &C::dense_bias),
                  setting("activation", &C::activation), setting("norm", &C::norm), setting("norm_eps", &C::norm_eps),
                  setting("bias", &C::bias));
  }
};

/// logits = norm(act(x W + b)) Eᵀ + c, where E is the embedding (tied) or a separate matrix. The dense projection (act, W, b),
/// the norm and c are optional.
///
/// In a layer's body: run(head, x, model.embedding.weight).
/// Shapes: x is N × C, logits is N × V.
/// Errors: ArgumentError from the constructor for invalid options; ShapeError for wrong sizes.
/// Cost: 2·N·C·V flops, plus 2·N·C² with the dense projection.
template <class T>
struct LanguageModelHead : Layer<LanguageModelHead<T>> {
  static constexpr const char* name = "LanguageModelHead";

  LanguageModelHeadConfig config;
  Index vocabulary = 0;
  std::optional<Linear<T>> dense;
  Norm<T> norm;
  std::optional<Linear<T>> output;  ///< only if untied
  Vector<T> bias;                   ///< c if tied: length V, or empty

  LanguageModelHead() = default;
  LanguageModelHead(const LanguageModelHeadConfig& c, Index channels, Index vocabulary_)
      : config(c), vocabulary(vocabulary_), norm(channels, c.norm_eps, c.norm) {
    require<ArgumentError>(vocabulary >= 0, "LanguageModelHead: vocabulary = ", vocabulary, " must not be negative.");
    if (c.dense) {
      dense.emplace(channels, channels, c.dense_bias);
    }
    if (c.form == HeadForm::untied) {
      output.emplace(channels, vocabulary, c.bias);
    }
    bias = filled_vector<T>(T{0}, c.form == HeadForm::tied && c.bias ? vocabulary : 0, name);
  }

  static constexpr auto fields() {
    using H = LanguageModelHead;
    return Fields(field("dense", &H::dense), field("norm", &H::norm), field("output", &H::output),
                  field("bias", &H::bias, Role::bias));
  }

  Contract contract() const { return {.out = vocabulary, .sees = Sees::itself}; }

  /// `embedding` is the model's embedding matrix, V × C.
  auto apply(auto& run, auto x, const Matrix<T>& embedding) const {
    auto normed = run(norm, dense ? run(*dense, x, {.activation = config.activation}) : x);       // N × C
    return output ? run(*output, std::move(normed)) : product(run, normed, embedding, bias, {});  // N × V
  }
};

}  // namespace gated
