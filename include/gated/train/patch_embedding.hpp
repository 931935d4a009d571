#pragma once

#include "gated/layers/patch_embedding.hpp"
#include "gated/train/accumulate.hpp"

/// @file
/// Training of the patch embedding.

namespace gated {

/// tokens = patches Wᵀ + b. Cost: twice the forward's products, or once where the images need no gradient; a copy of the
/// images is kept.
template <class T>
Variable record(Tape<T>& tape, const PatchEmbedding<T>& layer, Variable images) {
  layer.check(tape[images]);
  const Variable tokens = tape.make(tape.rows(images) * layer.grid().area(), layer.out());
  Eigen::Map<Matrix<T>> patches(tape.take(tape.rows(tokens) * layer.weight.cols()), tape.rows(tokens), layer.weight.cols());
  layer.cut(tape[images], patches, tape.workspace());
  matmul<T>(ConstView<T>(patches), transposed<T>(layer.weight), tape[tokens], tape.workspace(), AddBias<T>(layer.bias));
  tape.push([&tape, &layer, images, tokens, cut = patches.data()] {
    Workspace<T>& workspace = tape.workspace();
    const ConstView<T> dy = tape.gradient(tokens);
    const ConstView<T> seen = Eigen::Map<const Matrix<T>>(cut, dy.rows(), layer.weight.cols());
    add_parameter_product(tape, layer.weight, transposed<T>(dy), seen);
    if (T* const to = tape.gradient_of(layer.bias.data())) {
      add_column_sums<T>(dy, to, workspace);
    }
    if (tape.wants_gradient(images)) {
      const auto frame = workspace.frame();
      MatrixMap<T> pixels = workspace.matrix(dy.rows(), layer.weight.cols());
      matmul<T>(dy, layer.weight, pixels, workspace);
      auto [target, is_fresh] = tape.target(images);
      layer.for_each_line(target.rows(), workspace,
                          [&, &to = target, fresh = is_fresh](Index b, Index pixel, Index row, Index column) {
                            for (Index k = 0; k < layer.patch.width; ++k) {
                              to(b, pixel + k) = (fresh ? T{0} : to(b, pixel + k)) + pixels(row, column + k);
                            }
                          });
    }
  });
  return tokens;
}

}  // namespace gated
