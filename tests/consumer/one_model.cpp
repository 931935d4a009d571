#include <cstdio>
#include <vector>

#include "gmlp.hpp"

int main() {
  gated::Random random(1);
  const gated::GmlpLanguageModel<float> model(
      {.vocabulary = 7, .trunk = {.length = 4, .channels = 8, .hidden = 16, .depth = 2}}, random);
  const std::vector<gated::Index> text{3, 1, 4, 1};
  gated::Workspace<float> workspace;
  const gated::Matrix<float> logits = model.forward(text, gated::Sequences::single(4), workspace);
  std::printf("%td x %td logits of a model with %td parameters\n", logits.rows(), logits.cols(), gated::parameter_count(model));
}
