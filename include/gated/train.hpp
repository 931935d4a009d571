#pragma once

/// @file
/// Everything for training: gated.hpp, the tape, losses and the optimizer. Training on several machines is in
/// gated/train/distributed_mpi.hpp, which needs MPI.

#include "gated/gated.hpp"
#include "gated/train/loss.hpp"
#include "gated/train/masked_tokens.hpp"
#include "gated/train/next_token.hpp"
#include "gated/train/recording.hpp"
#include "gated/train/regression_loss.hpp"
#include "gated/train/training.hpp"
