#include <cstdio>
#include <gated/gated.hpp>
#include <gated/io/csv.hpp>
#include <gated/io/model_file.hpp>

int main(int, char** files) {
  const auto model = gated::load_model<gated::GmlpImageClassifier<float>>(files[1]);  // made by examples/train_digits
  const auto digits = gated::read_csv<float>(files[2]);                               // 1797 × (64 pixels, label)
  const gated::Matrix<float> images = digits.leftCols(64).array() / 8 - 1;            // as in training: 0…16 → -1…1

  gated::Workspace<float> workspace;  // activations live here: one const model serves any number of threads
  const gated::Matrix<float> logits = model.forward(images, workspace);  // 1797 × 10

  gated::Index digit;
  logits.row(4).maxCoeff(&digit);
  std::printf("%td parameters; row 4 shows a %td, and its label is %g\n", gated::parameter_count(model), digit, digits(4, 64));
}
