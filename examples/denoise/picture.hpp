#pragma once

#include <filesystem>

#include "common/recording.hpp"

namespace denoise {

/// Draws the spectrograms of the first channels of `before` and `after`, which have the same sampling rate.
void draw(const std::filesystem::path& path, const examples::Recording& before, const examples::Recording& after);

}  // namespace denoise
