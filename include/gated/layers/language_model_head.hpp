#pragma once

#include <optional>

#include "gated/layers/linear.hpp"
#include "gated/layers/norm.hpp"

/// @file
/// From the last hidden states to scores over the vocabulary.

namespace gated {

/// The options of a language model's head.
struct LanguageModelHeadConfig {
  bool dense = false;                        ///< a C → C projection with activation before the norm: BERT's transform
  Activation activation = Activation::silu;  ///< of the dense projection
  NormForm norm = NormForm::layer_norm;      ///< before the logits
  double norm_eps = 1e-5;                    ///< ε of that norm
  bool tied = true;                          ///< logits = x Eᵀ with the embedding E; otherwise a projection of its own
  bool bias = true;                          ///< added to the logits

  template <class C = LanguageModelHeadConfig>
  static constexpr auto fields() {
    return std::tuple{setting("dense", &C::dense), setting("activation", &C::activation),
                      setting("norm", &C::norm),   setting("norm_eps", &C::norm_eps),
                      setting("tied", &C::tied),   setting("bias", &C::bias)};
  }
};

/// logits = norm(act(x W + b)) Eᵀ + c, its parts by configuration.
///
/// Shapes: x is N × C, logits is N × V. Errors: ShapeError. Cost: 2·N·C·V flops, and 2·N·C² with the dense projection.
template <class T>
struct LanguageModelHead {
  using Scalar = T;

  LanguageModelHeadConfig config;
  Index vocabulary = 0;
  std::optional<Linear<T>> dense;
  Norm<T> norm;
  std::optional<Linear<T>> output;  ///< unless tied
  Vector<T> bias;                   ///< V, of a tied output

  LanguageModelHead() = default;
  /// Projections of zero, for a checkpoint to be loaded into.
  LanguageModelHead(const LanguageModelHeadConfig& c, Index channels, Index vocabulary_)
      : config(c), vocabulary(vocabulary_), norm(c.norm, channels, c.norm_eps) {
    require<ArgumentError>(vocabulary >= 0, "LanguageModelHead: vocabulary = ", vocabulary, " must not be negative.");
    if (c.dense) {
      dense.emplace(channels, channels);
    }
    if (!c.tied) {
      output.emplace(channels, vocabulary, c.bias);
    }
    bias = Vector<T>::Zero(c.tied && c.bias ? vocabulary : 0);
  }

  static constexpr auto fields() {
    using H = LanguageModelHead;
    return std::tuple{field("dense", &H::dense), field("norm", &H::norm), field("output", &H::output),
                      field("bias", &H::bias, Role::bias)};
  }

  /// The starting values of a training.
  void initialize(Random& random) {
    if (dense) {
      dense->initialize(random);
    }
    if (output) {
      output->initialize(random);
    }
  }

  /// `embedding` is the model's own, V × C.
  void forward(ConstView<T> x, const Matrix<T>& embedding, View<T> logits, Workspace<T>& workspace) const {
    expect_shape<T>("LanguageModelHead::forward", "logits", logits, x.rows(), vocabulary);
    const auto frame = workspace.frame();
    MatrixMap<T> hidden = workspace.matrix(x.rows(), x.cols());
    if (dense) {
      dense->forward(x, hidden, workspace.at("dense"), Activate{config.activation});
      norm.forward(hidden, hidden, workspace.at("norm"));
    } else {
      norm.forward(x, hidden, workspace.at("norm"));
    }
    if (output) {
      output->forward(hidden, logits, workspace.at("output"));
    } else {
      matmul<T>(hidden, transposed<T>(embedding), logits, workspace, AddBias<T>(bias));
    }
    workspace.show(logits);
  }
};

}  // namespace gated
