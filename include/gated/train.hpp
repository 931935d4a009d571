#pragma once

/// @file
/// All of gated that training needs: gated.hpp and the way back through it, losses, the optimiser and what goes with it.
/// Training on several machines is in gated/train/distributed_mpi.hpp, which needs MPI.

#include "gated/gated.hpp"
#include "gated/train/flash_language_model.hpp"
#include "gated/train/gated_cross_attention.hpp"
#include "gated/train/gau_encoder.hpp"
#include "gated/train/gmlp_image_classifier.hpp"
#include "gated/train/gmlp_language_model.hpp"
#include "gated/train/loss.hpp"
#include "gated/train/training.hpp"
#include "gated/train/transformer_block.hpp"
