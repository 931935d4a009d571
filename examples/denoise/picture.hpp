#pragma once

#include <filesystem>

#include "recording.hpp"

namespace denoise {

/// Draws the spectrograms of the first channel of both recordings, which have one rate.
void draw(const std::filesystem::path& path, const Recording& before, const Recording& after);

}  // namespace denoise
