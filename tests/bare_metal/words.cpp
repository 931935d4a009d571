// Recognizes words on a Cortex-M7 without a heap: a KW-MLP, with int8 and bf16 weights in flash, classifies one-second windows
// of sound. The decisions and the bits of the scores equal those on a desktop (decisions.hpp).

#include <cstdint>
#include <cstdlib>
#include <span>

#include "gated/audio/in_place_mfcc.hpp"
#include "gated/io/in_place_kw_mlp.hpp"
#include "gated/models/presets.hpp"
#include "tests/bare_metal/decision.hpp"
#include "tests/bare_metal/decisions.hpp"

// Files of examples/spot_words, embedded by words_flash.S.
extern "C" const std::byte words_begin[], words_end[], sound_begin[], sound_end[];

// Bounds of the stack: see words.ld.
extern "C" std::uint32_t bss_end[], stack_top[];

// Every allocation of the C and C++ libraries calls this function: see -Wl,--wrap.
static int allocations = 0;
extern "C" void* __real__malloc_r(void* state, std::size_t size);
extern "C" void* __wrap__malloc_r(void* state, std::size_t size) {
  ++allocations;
  return __real__malloc_r(state, size);
}

namespace {

using gated::Index;

/// Prints `text` by semihosting; QEMU acts as the debugger.
void say(const char* text) {
  register int operation __asm__("r0") = 4;  // SYS_WRITE0
  register const char* argument __asm__("r1") = text;
  __asm__ volatile("bkpt 0xAB" : "+r"(operation) : "r"(argument) : "memory");
}

void say(std::uint32_t number, std::uint32_t base) {
  char digits[12] = {};
  char* at = digits + 11;
  do {
    *--at = "0123456789abcdef"[number % base];
    number /= base;
  } while (number > 0);
  say(at);
}

/// All the memory that the program uses, except the stack.
alignas(64) std::byte mfcc_memory[66 * 1024], model_memory[160 * 1024];
std::int16_t second[16000];
float image[98 * 40];

constexpr std::uint32_t unused = 0xA5A5A5A5;

/// stack(true) fills the unused stack with a pattern. stack(false) returns the peak stack size since then, in bytes.
__attribute__((noinline)) std::uint32_t stack(bool fill) {
  auto* const here = static_cast<std::uint32_t*>(__builtin_frame_address(0)) - 64;
  std::uint32_t* at = bss_end;
  for (; fill && at < here; ++at) {
    *at = unused;
  }
  for (at = bss_end; !fill && at < stack_top && *at == unused; ++at) {
  }
  return static_cast<std::uint32_t>(stack_top - at) * 4;
}

void expect(bool condition, const char* what) {
  if (!condition) {
    say("FAILED: ");
    say(what);
    say("\n");
    gated::raise<gated::Error>("the test failed.");
  }
}

gated::GmlpImageClassifierConfig config_of_words() {
  auto config = gated::kw_mlp(12);
  config.pixel_deviation = 40;
  config.trunk.depth = 6;
  return config;
}

void decide() {
  const auto config = config_of_words();
  say("memory ");
  say(gated::InPlaceMfcc::required_bytes(gated::keyword_mlp_mfcc()), 10);
  say(" + ");
  say(gated::InPlaceKwMlp::required_bytes(config), 10);
  say(" bytes\n");
  expect(gated::InPlaceMfcc::required_bytes(gated::keyword_mlp_mfcc()) <= sizeof(mfcc_memory), "the MFCCs fit in mfcc_memory");
  expect(gated::InPlaceKwMlp::required_bytes(config) <= sizeof(model_memory), "the model fits in model_memory");
  gated::InPlaceMfcc mfcc(gated::keyword_mlp_mfcc(), mfcc_memory);
  gated::InPlaceKwMlp model({words_begin, words_end}, config, model_memory);
  const auto samples = gated::test::samples_of({sound_begin, sound_end});
  Eigen::Map<gated::Matrix<float>> frames(image, 98, 40), flat(image, 1, 98 * 40);
  float scores[12];
  for (std::size_t i = 0; i < gated::test::window_starts.size(); ++i) {
    const auto window = samples.subspan(gated::test::window_starts[i]);
    std::fill_n(second, 16000, std::int16_t{0});
    std::copy_n(window.begin(), std::min<std::size_t>(window.size(), 16000), second);  // a microphone would write here
    mfcc(std::span<const std::int16_t>(second), frames);
    gated::scale_pixels<float>(flat, config);
    model.forward(frames, Eigen::Map<gated::Matrix<float>>(scores, 1, 12));
    const gated::test::Decision decision = gated::test::decision_of(scores);
    say("window ");
    say(static_cast<std::uint32_t>(i), 10);
    say(": class ");
    say(static_cast<std::uint32_t>(decision.label), 10);
    say(", bits ");
    say(decision.hash, 16);
    say("\n");
    expect(decision == gated::test::desk_decisions[i], "the decision is bit-equal to a desktop's");
  }
}

}  // namespace

int main() {
  gated::use_arithmetic(gated::Arithmetic::portable);
  stack(true);
  void* volatile block = std::malloc(1);
  std::free(block);
  expect(allocations > 0, "allocations are counted");
  const int before = allocations;
  decide();
  expect(allocations == before, "nothing is allocated from construction to destruction");
  say("stack ");
  say(stack(false), 10);
  say(" bytes, 0 allocations\nall is well\n");
}
