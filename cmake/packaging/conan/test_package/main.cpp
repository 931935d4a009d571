// A saved and reloaded model computes the same logits.

#include <cstdio>
#include <gated/gated.hpp>
#include <gated/io/model_file.hpp>
#include <vector>

int main() {
  using Model = gated::GmlpLanguageModel<float>;
  gated::Random random(1);
  const Model saved({.vocabulary = 7, .trunk = {.length = 4, .channels = 8, .hidden = 16, .depth = 2}}, random);
  gated::save_model(saved, "test_package.safetensors");
  const auto loaded = gated::load_model<Model>("test_package.safetensors");

  const std::vector<gated::Index> text{3, 1, 4, 1};
  const auto whole = gated::Sequences::single(4);
  gated::Workspace<float> workspace;
  const bool same = saved.forward(text, whole, workspace) == loaded.forward(text, whole, workspace);
  std::puts(same ? "the loaded model computes the same logits" : "the loaded model computes different logits");
  return same ? 0 : 1;
}
