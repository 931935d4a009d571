#pragma once

#include <filesystem>

namespace denoise {

/// Prints the mean SI-SDR for each kind of noise at 0 dB: without denoising, with a Wiener filter, and with the model.
void measure(const std::filesystem::path& model, const std::filesystem::path& folder);

}  // namespace denoise
