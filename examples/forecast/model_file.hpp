#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "gated/io/tiny_time_mixer.hpp"
#include "gated/train/regression_loss.hpp"

namespace forecast {

using Model = gated::TinyTimeMixer<float>;

/// Opens a file from --train, or the folder of a published model.
inline Model load(const std::filesystem::path& path) {
  return std::filesystem::is_directory(path) ? gated::load_ttm<float>(path) : gated::load_model<Model>(path);
}

/// Writes a model and its training loss.
inline void save(const Model& model, const gated::RegressionLossConfig& loss, const std::filesystem::path& path) {
  gated::save_model(model, path, {{"loss", gated::to_json(loss)}});
}

/// The training loss of the model at `path`, from the file's metadata or the folder's config.json; by default squared error.
inline gated::RegressionLossConfig loss_of(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) {
    const gated::SafetensorsFile file(path);
    const auto loss = file.metadata().find("loss");
    return loss == file.metadata().end() ? gated::RegressionLossConfig{}
                                         : gated::from_json<gated::RegressionLossConfig>(loss->second, path.string());
  }
  const gated::MappedFile file(path / "config.json");
  const auto stated = gated::forecaster_loss({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()},
                                             (path / "config.json").string());
  using Form = gated::RegressionForm;
  return {.form = stated.name == "mae"       ? Form::absolute
                  : stated.name == "huber"   ? Form::huber
                  : stated.name == "pinball" ? Form::quantile
                                             : Form::squared,
          .delta = stated.delta,
          .quantile = stated.quantile};
}

}  // namespace forecast
