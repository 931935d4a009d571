#pragma once

#include <filesystem>
#include <string>

#include "gated/core/parallel.hpp"

namespace denoise {

/// Prints the mean SI-SDR for each kind of noise at 0 dB: without denoising, with a Wiener filter, with the model, and with the
/// program `compare` unless that is empty. It is called as `compare IN.wav OUT.wav`, with mono files at 48 kHz.
/// Errors: those of read_speech(); FileError if `compare` fails or writes another number of samples.
void measure(const std::filesystem::path& model, const std::filesystem::path& folder, const std::string& compare,
             gated::Threads threads);

}  // namespace denoise
