#pragma once

#include <filesystem>
#include <functional>

#include "common/recording.hpp"
#include "gated/core/matrix.hpp"

namespace denoise {

using examples::Recording, gated::Index, gated::Matrix;

/// Receives the next part of a result, frames × channels; returns false to stop.
using Take = std::function<bool(gated::ConstView<float>)>;

/// The sample rate of the model in a file.
/// Errors: FileError if the file is neither a SpeechDenoiser nor MossFormer2_SE_48K.
Index rate_of(const std::filesystem::path& model);

/// Removes the noise of each channel with the model in a file, and passes the result to `take` part by part. Memory: one second
/// of sound, or one window of MossFormer2, however long the recording is.
/// Errors: those of rate_of() and Recording::read(); FileError for a recording shorter than a frame of MossFormer2.
void denoise(const std::filesystem::path& model, const Recording& recording, int threads, const Take& take);

/// Cleans raw 16-bit samples from stdin to stdout, a hop at a time. The latency is DenoiseStream::latency() samples.
/// Errors: those of examples::for_each_raw_block(); FileError if stdout is closed; ArgumentError for a model that cannot
/// stream.
void denoise_stream(const std::filesystem::path& model);

}  // namespace denoise
