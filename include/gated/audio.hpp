#pragma once

/// @file
/// Includes all audio headers: resampling, spectra, features for speech networks, long recordings. For WAV files, see
/// gated/io/wav.hpp.

#include "gated/audio/decode_windows.hpp"
#include "gated/audio/in_place_mfcc.hpp"
#include "gated/audio/log_mel.hpp"
#include "gated/audio/mel_bank.hpp"
#include "gated/audio/mfcc.hpp"
#include "gated/audio/resample.hpp"
#include "gated/audio/spectral_mask.hpp"
#include "gated/audio/spectrum.hpp"
#include "gated/audio/window.hpp"
