#include <gtest/gtest.h>

#include "gated/models/flash.hpp"
#include "gated/models/gau_presets.hpp"

namespace gated::flash_memory_test {
namespace {

/// Scratch bytes after `repeats` forward passes over one sequence of `length` tokens.
double scratch_bytes(const Flash<float>& model, Index length, int threads, int repeats = 1) {
  Workspace<float> workspace(Threads{threads});
  Matrix<float> x = Matrix<float>::Random(length, model.config.block.channels);
  for (int i = 0; i < repeats; ++i) {
    model.forward(x, Sequences::single(length), x, workspace);
  }
  return static_cast<double>(workspace.bytes());
}

Flash<float> small_flash(bool causal) {
  Random random(1);
  return Flash<float>(
      {.depth = 1, .block = flash_presets::lucidrains({.channels = 64, .query_key = 32, .chunk = 64, .causal = causal})},
      random);
}

TEST(FlashMemory, GrowsAtMostLinearlyWithTheLength) {
  const double c = 64, e = 128, s = 32, chunk = 64;
  for (const bool causal : {true, false}) {
    const auto model = small_flash(causal);
    for (const Index length : {1024, 8192}) {
      const auto n = static_cast<double>(length);
      const double formula = 4 * (n * (2 * c + 2 * e + 5 * s) + chunk * (chunk + e) + s * e);
      EXPECT_LT(scratch_bytes(model, length, 1), 1.25 * formula) << length;  // the arena rounds up
      EXPECT_LT(scratch_bytes(model, length, 2), 1.25 * (formula + 4 * n * e * s / chunk) + 1e6) << length;
    }
  }
}

TEST(FlashMemory, DoesNotGrowWithRepeatedPasses) {
  for (const bool causal : {true, false}) {
    const auto model = small_flash(causal);
    EXPECT_EQ(scratch_bytes(model, 1000, 3, 1), scratch_bytes(model, 1000, 3, 20));
  }
}

}  // namespace
}  // namespace gated::flash_memory_test
