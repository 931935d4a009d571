#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "gated/core/matrix.hpp"
#include "gated/layers/spatial_gating_unit.hpp"

namespace text {

/// The command line.
struct Options {
  std::vector<std::filesystem::path> texts;  ///< files and folders; if empty, default_texts()

  // Settings of a new training run.
  std::string model = "gmlp";                                 ///< "gmlp", "amlp", "flash", "gau" or "transformer"
  bool mlm = false;                                           ///< predict masked bytes instead of the next one
  gated::GateForm gate = gated::GateForm::split;              ///< how a block of gMLP and aMLP mixes tokens
  gated::SpatialForm spatial = gated::SpatialForm::toeplitz;  ///< the form of the spatial weight of gMLP and aMLP
  gated::Index attention = 0;                                 ///< the width of the tiny attention; 0 for none
  gated::Index heads = 0;                                     ///< spatial weights per block, or a Transformer's attention heads
  gated::Index parameters = 500000;
  gated::Index channels = 128;
  gated::Index depth = 6;
  gated::Index length = 256;  ///< bytes per sequence
  gated::Index batch = 16;    ///< sequences per step
  double rate = 4e-3;         ///< the peak learning rate
  std::uint64_t seed = 1;

  std::filesystem::path resume;  ///< a training run to resume; empty for a new one
  gated::Index steps = 0;        ///< steps of the whole run; 0: as in the resumed file, or as many as fit into `minutes`
  double minutes = 0;            ///< training time from now on; if 0, `steps` sets the length
  gated::Index stop_after = 0;   ///< the step to stop after; 0 for none
  int threads = 1;
  bool bf16 = false;  ///< matmuls in bf16
  std::filesystem::path out = "text.safetensors";
  std::filesystem::path metrics;  ///< a CSV with a line per step; empty for none
  double sample_every = 60;       ///< seconds of training between samples
  gated::Index sample = 200;
};

/// Parses the command line.
/// Errors: those of examples::parse(); UsageError for conflicting options.
Options parse_options(int count, char** arguments);

/// The file of the training run, which is saved beside the model `out`: text.training.safetensors for text.safetensors.
std::filesystem::path training_file(const std::filesystem::path& out);

}  // namespace text
