#pragma once

// Tests a layer that a README shows.

#include "gated/io/model_file.hpp"
#include "gated/train.hpp"

namespace readme {

/// Returns 0 if the layer can be trained, its stream is bit-equal to a batch and, if it has an architecture, so is a loaded
/// copy.
template <class L>
int try_layer() {
  using Matrix = gated::Matrix<typename L::Scalar>;
  gated::Random random(1);
  L layer;
  layer.initialize(random);
  const Matrix x = Matrix::Random(5, layer.in());
  const Matrix y = layer.forward(x);

  gated::Workspace<typename L::Scalar> workspace;
  Matrix streamed(5, layer.out());
  auto state = layer.start();
  for (gated::Index t = 0; t < 5; ++t) {
    layer.extend(x.row(t), state, streamed.row(t), workspace);
  }

  if constexpr (requires { L::architecture; }) {
    gated::save_model(layer, "layer.safetensors");
    if (gated::load_model<L>("layer.safetensors").forward(x) != y) {
      return 1;
    }
  }

  L gradient = gated::zeros_like(layer);
  gated::Tape<typename L::Scalar> tape;
  tape.begin(layer, gradient);
  tape.backward(gated::regression_loss(tape, record(tape, layer, tape.constant(x)), Matrix::Zero(5, layer.out())));
  return streamed == y && gated::gradient_norm(gradient) > 0 ? 0 : 1;
}

}  // namespace readme
