#pragma once

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "windows.hpp"

namespace forecast {

/// An edge of a band: a model trained for a quantile.
struct Edge {
  double quantile = 0;
  Model model;
};

/// The edges of a band around the forecasts of `model`, the lower first; empty if there are no paths.
/// Errors: ArgumentError unless the models are trained for two quantiles, with the context, horizon and series of `model`.
inline std::vector<Edge> load_band(const std::vector<std::filesystem::path>& paths, const Model& model) {
  std::vector<Edge> band;
  for (const auto& path : paths) {
    const auto loss = loss_of(path);
    gated::require<gated::ArgumentError>(loss.form == gated::RegressionForm::quantile, "--band: ", path.string(),
                                         " was trained with loss ", gated::name_of(loss.form),
                                         ", expected quantile. Train it with --fine-tune --loss quantile --quantile 0.1.");
    band.push_back({loss.quantile, load(path)});
    const auto& own = band.back().model;
    gated::require<gated::ArgumentError>(
        own.config.context == model.config.context && own.out() == model.out() && own.chosen == model.chosen &&
            own.config.known == model.config.known && own.config.resolutions == model.config.resolutions,
        "--band: ", path.string(), " sees ", own.config.context, " rows and forecasts ", own.out(), "; expected ",
        model.config.context, " and ", model.out(), ", and the same series as the main model. Fine-tune it from that model.");
  }
  std::sort(band.begin(), band.end(), [](const Edge& a, const Edge& b) { return a.quantile < b.quantile; });
  gated::require<gated::ArgumentError>(band.empty() || band[0].quantile < band[1].quantile,
                                       "--band: both models are for the quantile ", band.empty() ? 0 : band[0].quantile,
                                       ". Use two quantiles, such as 0.1 and 0.9.");
  return band;
}

/// Swaps the two forecasts where they cross.
template <class T>
void uncross(Matrix<T>& low, Matrix<T>& high) {
  const Matrix<T> larger = low.cwiseMax(high);
  low = low.cwiseMin(high);
  high = larger;
}

/// The share of all observed values in the windows' horizons that lie inside the band.
inline double coverage(const std::vector<Edge>& band, const Series& series, std::span<const Index> windows, Index frequency,
                       gated::Workspace<float>& workspace) {
  Index inside = 0, count = 0;
  Batch batch;
  for (std::size_t first = 0; first < windows.size(); first += 256) {
    batch.fill(series, band[0].model, windows.subspan(first, std::min<std::size_t>(256, windows.size() - first)), frequency);
    Matrix<float> low = forecasts(band[0].model, batch, workspace), high = forecasts(band[1].model, batch, workspace);
    uncross(low, high);
    for (Index i = 0; i < low.size(); ++i) {
      const float came = batch.target.data()[i];
      const bool counts = batch.target_observed[static_cast<std::size_t>(i)] != 0;
      count += counts ? 1 : 0;
      inside += counts && low.data()[i] <= came && came <= high.data()[i] ? 1 : 0;
    }
  }
  return static_cast<double>(inside) / static_cast<double>(std::max<Index>(count, 1));
}

}  // namespace forecast
