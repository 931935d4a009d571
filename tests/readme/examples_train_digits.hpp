#pragma once

// Declares the names that code fragments in examples/train_digits/README.md use.

#include "gated/train.hpp"

namespace readme {

inline constexpr std::uint64_t seed = 1;
inline const gated::GmlpImageClassifierConfig config{};
inline const gated::AdamWConfig optimizer{};
inline const gated::ScheduleConfig schedule{};
inline const gated::Matrix<float> inputs{};
inline const std::vector<gated::Index> labels{};

}  // namespace readme
