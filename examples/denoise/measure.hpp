#pragma once

#include <filesystem>

namespace denoise {

/// Prints the SI-SDR of speech in each noise at 0 dB: of the mixture, of a Wiener filter, and of the model.
void measure(const std::filesystem::path& model, const std::filesystem::path& folder);

}  // namespace denoise
