#pragma once

#include <filesystem>

#include "common/recording.hpp"

namespace denoise {

/// Draws the spectrograms of the first channel of both recordings, which have the same rate.
void draw(const std::filesystem::path& path, const examples::Recording& before, const examples::Recording& after);

}  // namespace denoise
