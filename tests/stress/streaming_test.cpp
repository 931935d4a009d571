#include <gtest/gtest.h>

#include <cstdio>

#if defined(__linux__)
#include <unistd.h>
#endif

#include "gated/models/flash.hpp"
#include "gated/models/gau_presets.hpp"
#include "gated/models/gmlp.hpp"
#include "tests/core/allocations.hpp"
#include "tests/layers/literal.hpp"
#include "tests/stress/stress.hpp"

// Tests endless streams: no step allocates, and the memory of the process does not grow.

namespace gated {
namespace {

using test::allocations_during;
using test::from_environment;

constexpr Index vocabulary = 17;

long steps() { return from_environment("GATED_STRESS_STEPS", 20000); }

/// Resident bytes of this process. Returns 0 if they are unknown, or under a sanitizer, whose own memory would be included.
long resident_bytes() {
#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  long total = 0, resident = 0;
  if (std::FILE* const file = std::fopen("/proc/self/statm", "r"); file != nullptr) {
    const int fields = std::fscanf(file, "%ld %ld", &total, &resident);
    std::fclose(file);
    return fields == 2 ? resident * ::sysconf(_SC_PAGESIZE) : 0;
  }
#endif
  return 0;
}

/// Expects that `step(i)`, called the configured number of times after a warm-up, allocates nothing.
template <class Step>
void expect_constant(const Step& step) {
  constexpr long warm = 1000;
  for (long i = 0; i < warm; ++i) {
    step(i);
  }
  static_cast<void>(resident_bytes());  // the first call allocates a buffer
  const long before = resident_bytes();
  const long count = steps();
  const long allocations = allocations_during([&] {
    for (long i = 0; i < count; ++i) {
      step(warm + i);
    }
  });
  const long after = resident_bytes();
  EXPECT_EQ(allocations, 0);
  EXPECT_LE(after, before + 65536) << "resident bytes; the system may remove or add a few pages";
  std::printf("%ld steps, %ld bytes resident before and %ld after\n", count, before, after);
}

TEST(EndlessStream, AllocatesNothingForACausalFlash) {
  FlashLanguageModel<float> model(
      {.vocabulary = vocabulary,
       .position = PositionForm::sinusoid,
       .trunk = {.depth = 2, .block = flash_presets::lucidrains({.channels = 16, .query_key = 8, .chunk = 8})}});
  test::randomize(model, 1);
  Workspace<float> workspace;
  auto state = model.start();
  Matrix<float> logits(1, vocabulary);
  const std::size_t bytes = state.bytes();
  expect_constant([&](long i) { model.step((i * 7 + i / 3) % vocabulary, state, logits, workspace); });
  EXPECT_EQ(state.bytes(), bytes);
  EXPECT_TRUE(logits.allFinite());
}

/// Rewinds to an earlier token every 37 steps, and whenever the stream is full.
TEST(EndlessStream, AllocatesNothingForARewoundAmlp) {
  constexpr Index length = 64;
  GmlpLanguageModel<float> model({.vocabulary = vocabulary,
                                  .trunk = {.length = length,
                                            .channels = 16,
                                            .hidden = 32,
                                            .depth = 2,
                                            .causal = true,
                                            .attention_width = 8,
                                            .token_shift = 1}});
  test::randomize(model, 1);
  Workspace<float> workspace;
  auto state = model.start();
  Matrix<float> logits(1, vocabulary);
  expect_constant([&](long i) {
    if (state.position() == length || i % 37 == 0) {
      state.rewind(i % (state.position() + 1) * 3 / 4);
    }
    model.step((i * 7 + i / 3) % vocabulary, state, logits, workspace);
  });
  EXPECT_TRUE(logits.allFinite());
}

}  // namespace
}  // namespace gated
