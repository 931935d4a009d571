#pragma once

#include <string>
#include <vector>

#include "gated/gated.hpp"
#include "options.hpp"

namespace gates {

/// What is drawn: the parts of an image classifier or a language model that mix tokens.
struct Subject {
  std::string description;
  gated::ImageSize grid;                                     ///< the grid of tokens; a text is one row high
  std::vector<gated::SpatialProjection<float>> projections;  ///< one per block
  std::vector<gated::Matrix<float>> attention;               ///< one map per block, if asked for: tokens × tokens

  bool is_text() const { return grid.height == 1; }
};

/// Opens the checkpoint: an image classifier or a language model with its configuration, or a timm image classifier.
///
/// If `options.attention` is set, also runs the model on one input and keeps the attention maps. The input is random if the
/// option is "random", otherwise the first line of the CSV file that it names.
/// Errors: FileError; ArgumentError for a model without gates or attention; ShapeError for an input that does not fit.
Subject open_subject(const Options& options);

}  // namespace gates
