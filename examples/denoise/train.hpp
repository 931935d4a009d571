#pragma once

#include "gated/models/speech_denoiser.hpp"
#include "options.hpp"

namespace denoise {

using Model = gated::SpeechDenoiser<float>;

/// Trains a new model and writes it to options.in, in int8, every 100 steps and at the end.
/// Errors: those of read_speech() and of writing the file.
Model train(const Options& options);

}  // namespace denoise
