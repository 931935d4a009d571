#pragma once

#include <array>

#include "tests/bare_metal/decision.hpp"

/// What examples/spot_words/ten_words.safetensors decides about three_words.wav in portable arithmetic: see
/// ops/portable_test.cpp.

namespace gated::test {

/// One for each of window_starts: yes, stop, left, and silence.
inline constexpr std::array<Decision, 4> desk_decisions{{{9, 0x90BD59EA}, {7, 0xE6FB7B30}, {2, 0xB02BDF7D}, {11, 0xB0CB777F}}};

}  // namespace gated::test
