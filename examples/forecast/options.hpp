#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "gated/core/matrix.hpp"
#include "gated/train/regression_loss.hpp"

namespace forecast {

/// The command line.
struct Options {
  std::filesystem::path data;                            ///< a CSV: a header, a column of times, columns of numbers
  std::filesystem::path model;                           ///< a file from --train, or the folder of a published model
  bool train = false;                                    ///< train a new model
  bool fine_tune = false;                                ///< train the model's decoder and head
  std::filesystem::path out = ".";                       ///< the folder for all output
  std::vector<gated::Index> seasons{7, 364};             ///< season lengths of the seasonal naive forecasts, in rows
  std::optional<gated::Index> frequency;                 ///< the frequency token, for models that have one
  gated::Index context = 364, horizon = 28, patch = 14;  ///< sizes for a new model, in rows
  gated::Index epochs = 30, batch = 32;
  double rate = 2e-3;
  double share = 1;                           ///< the share of the training windows to use, earliest first
  std::vector<std::string> known;             ///< columns whose future is known
  std::optional<gated::RegressionForm> loss;  ///< if absent, the loss recorded in the model, or else squared
  std::optional<double> quantile, delta;      ///< parameters of the losses quantile and huber
  std::vector<std::filesystem::path> band;    ///< models of the lower and the upper quantile; empty for no band
  std::uint64_t seed = 1;
  int threads = 1;
};

/// Parses the command line.
/// Errors: those of examples::parse(); UsageError for conflicting options.
Options parse_options(int count, char** arguments);

}  // namespace forecast
