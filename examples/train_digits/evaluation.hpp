#pragma once

#include <numeric>

#include "common/labelled_images.hpp"
#include "recipe.hpp"

namespace digits {

/// The number of `images` that the model classifies correctly; `inputs` holds these images, prepared by inputs_from().
template <class Model>
gated::Index count_right(const Model& model, const LabelledImages& images, const gated::Matrix<float>& inputs,
                         const gated::Threads& threads) {
  using gated::Index;
  constexpr Index piece = 32;  // images per task
  const Index pieces = (images.count() + piece - 1) / piece;
  std::vector<Index> right(static_cast<std::size_t>(pieces));
  gated::parallel_for(threads, pieces, [&](Index task, Index) {
    const Index first = task * piece;
    gated::Workspace<float> workspace;
    const auto logits = model.forward(inputs.middleRows(first, std::min(piece, images.count() - first)), workspace);
    for (Index i = 0; i < logits.rows(); ++i) {
      Index label = 0;
      logits.row(i).maxCoeff(&label);
      right[static_cast<std::size_t>(task)] += label == images.labels[static_cast<std::size_t>(first + i)] ? 1 : 0;
    }
  });
  return std::accumulate(right.begin(), right.end(), Index{0});
}

}  // namespace digits
