#pragma once

#include <array>

#include "tests/bare_metal/decision.hpp"

/// The decisions of examples/spot_words/ten_words.safetensors on three_words.wav in portable arithmetic.
/// ops/portable_test.cpp checks them.

namespace gated::test {

/// One decision for each of window_starts: yes, stop, left, and silence.
inline constexpr std::array<Decision, 4> desk_decisions{{{9, 0xA47938DA}, {7, 0x62F4AE09}, {2, 0x0EE0EDD8}, {11, 0x9A798477}}};

}  // namespace gated::test
