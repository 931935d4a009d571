// The real-time contract: on one thread, a warm step(), extend(), forward() or process() allocates nothing and makes no system
// call, so it never waits for a lock. Child processes run a million of these calls under a filter that kills a process at its
// first system call or, in the leg rtsan, under RealtimeSanitizer.

#include <gtest/gtest.h>

#include <filesystem>

#include "gated/audio/in_place_mfcc.hpp"
#include "gated/io/in_place_kw_mlp.hpp"
#include "gated/io/model_file.hpp"
#include "gated/models/denoise_stream.hpp"
#include "gated/models/flash.hpp"
#include "gated/models/gmlp.hpp"
#include "gated/models/language_model.hpp"
#include "gated/models/prepare.hpp"
#include "gated/models/presets.hpp"
#include "gated/models/text_transformer.hpp"
#include "gated/ops/int8_products.hpp"
#include "tests/core/allocations.hpp"
#include "tests/io/files.hpp"

#define GATED_TEST_HAS_RTSAN 0
#if defined(__has_feature)
#if __has_feature(realtime_sanitizer)
#undef GATED_TEST_HAS_RTSAN
#define GATED_TEST_HAS_RTSAN 1
#endif
#endif

#if defined(__linux__) && __has_include(<linux/seccomp.h>)
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#define GATED_TEST_HAS_SECCOMP 1
#endif

namespace gated::real_time_test {
namespace {

#if defined(GATED_TEST_HAS_SECCOMP)

constexpr int refused = 3;

/// Installs a filter: any later system call except exit_group() kills the process. Returns false if filters are unsupported.
bool forbid_system_calls() {
  sock_filter program[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                           BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
  const sock_fprog filter{static_cast<unsigned short>(std::size(program)), program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0;
}

/// Calls `f` as a real-time function: RealtimeSanitizer ends the process if it calls one that may wait.
template <class F>
void call_in_real_time(const F& f) GATED_NONBLOCKING {
  f();
}

/// The call of `f` that may allocate and make system calls.
enum class WarmUp { first_call, none };

/// In a child process, runs `f` once unrestricted unless it needs no warm-up, then `count` times with system calls forbidden
/// and allocations counted. Returns the child's wait status.
template <class F>
int status_of(Index count, const F& f, WarmUp warm_up = WarmUp::first_call) {
  const pid_t child = fork();
  if (child == 0) {
    if (warm_up == WarmUp::first_call) {
      f();
    }
    if (!GATED_TEST_HAS_RTSAN && !forbid_system_calls()) {
      _exit(refused);
    }
    const Index allocations = test::allocations_during([&] {
      for (Index i = 0; i < count; ++i) {
        call_in_real_time(f);
      }
    });
    _exit(allocations == 0 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

bool has_filters() {
  const int status = status_of(0, [] {});
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

template <class F>
void expect_real_time(Index count, const F& f, WarmUp warm_up = WarmUp::first_call) {
  const int status = status_of(count, f, warm_up);
  EXPECT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status) << ": it made a system call";
  EXPECT_TRUE(!WIFEXITED(status) || WEXITSTATUS(status) == 0) << "it allocated memory";
}

class RealTime : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_filters()) {
      GTEST_SKIP() << "this system, or the tool that runs the test, does not support system call filters";
    }
  }
  Random random{1};
  Workspace<float> workspace{Threads(1)};
};

TEST_F(RealTime, HarnessDetectsSystemCallsAndAllocations) {
  const int called = status_of(1, [] { usleep(1); });
  EXPECT_TRUE(WIFSIGNALED(called) || WEXITSTATUS(called) != 0);
  const int allocated = status_of(1, [] { Matrix<float>(3, 3).setZero(); });
  EXPECT_TRUE(WIFSIGNALED(allocated) || WEXITSTATUS(allocated) != 0);
}

TEST_F(RealTime, StepsALanguageModel) {
  const GmlpLanguageModel<float> model(
      {.vocabulary = 16, .trunk = {.length = 64, .channels = 16, .hidden = 32, .depth = 2, .causal = true}}, random);
  auto state = model.start();
  Matrix<float> logits(1, 16);
  expect_real_time(400'000, [&] {
    if (state.position() == 64) {
      state.rewind(0);
    }
    model.step(state.position() % 16, state, logits.row(0), workspace);
  });
}

TEST_F(RealTime, ExtendsAFlashStream) {
  const Flash<float> model({.depth = 2, .block = {.channels = 16, .value = 32, .query_key = 8, .chunk = 4, .causal = true}},
                           random);
  auto state = model.start(500'000);
  Matrix<float> x = Matrix<float>::Random(1, 16), y(1, 16);
  expect_real_time(400'000, [&] { model.extend(x, state, y, workspace); });
}

TEST_F(RealTime, RunsForwardPasses) {
  const Gmlp<float> model({.length = 8, .channels = 16, .hidden = 32, .depth = 2}, random);
  Matrix<float> x = Matrix<float>::Random(8, 16), y(8, 16);
  expect_real_time(100'000, [&] { model.forward(x, y, workspace); });
}

TEST_F(RealTime, DenoisesBlocksOfSpeech) {
  const auto expect = [&](Index count, const SpeechDenoiserConfig& config) {
    const SpeechDenoiser<float> model(config, random);
    DenoiseStream<float> stream(model);
    std::vector<float> block(static_cast<std::size_t>(config.hop), 0.5f);
    expect_real_time(
        count, [&] { stream.process(block, block); }, WarmUp::none);
  };
  expect(100'000,
         {.rate = 8000, .length = 16, .hop = 8, .blocks = {.depth = 1, .block = {.channels = 8, .inner = 8, .causal = true}}});
  expect(300, {.blocks = {.depth = 6, .block = {.channels = 128, .inner = 96, .causal = true}}});  // as in examples/denoise
}

DecoderSizes small_decoder() {
  return {.vocabulary = 16, .channels = 16, .hidden = 24, .depth = 2, .heads = 4, .key_value_heads = 2, .window = 9};
}

TEST_F(RealTime, StepsAWindowedTransformer) {
  const TextTransformer<float> model(transformer_decoder(small_decoder()), random);
  auto state = model.start();  // without a capacity: the window moves on
  Matrix<float> logits(1, 16);
  expect_real_time(100'000, [&] { model.step(state.position() % 16, state, logits.row(0), workspace); });
}

TEST_F(RealTime, StepsWithInt8Products) {
  const TextTransformer<float> model(transformer_decoder(small_decoder()), random);
  const auto weights = prepare(model, WeightFormat::int8_rows);
  workspace.use(weights);
  workspace.use(int8_products());
  auto state = model.start();
  Matrix<float> logits(1, 16);
  expect_real_time(100'000, [&] { model.step(state.position() % 16, state, logits.row(0), workspace); });
}

TEST_F(RealTime, ComputesMfccsInPlace) {
  const MfccOptions options = keyword_mlp_mfcc();
  std::vector<std::byte> memory(InPlaceMfcc::required_bytes(options));
  InPlaceMfcc mfcc(options, memory);
  const std::vector<float> samples(static_cast<std::size_t>(options.samples), 0.25F);
  Matrix<float> coefficients(options.spectrum.frames(options.samples), options.coefficients);
  expect_real_time(
      100, [&] { mfcc(std::span<const float>(samples), coefficients); }, WarmUp::none);
}

TEST_F(RealTime, SpotsWordsInPlace) {
  GmlpImageClassifierConfig config = kw_mlp(5);
  config.image = {19, 11};
  config.patch = {1, 11};
  config.trunk.channels = 24;
  config.trunk.hidden = 34;
  config.trunk.depth = 3;
  const auto path = test::temporary("words.safetensors");
  save_model(GmlpImageClassifier<float>(config, random), path, WeightFormat::int8);
  const MappedFile file(path);
  std::vector<std::byte> memory(InPlaceKwMlp::required_bytes(config));
  InPlaceKwMlp model(file.bytes(), config, memory);
  const Matrix<float> image = Matrix<float>::Random(19, 11);
  Matrix<float> scores(1, 5);
  expect_real_time(
      10'000, [&] { model.forward(image, scores); }, WarmUp::none);
}

#endif

}  // namespace
}  // namespace gated::real_time_test
