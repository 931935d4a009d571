#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/interrupt.hpp"
#include "common/progress.hpp"
#include "gated/train.hpp"
#include "options.hpp"
#include "windows.hpp"

namespace forecast {

/// A small model with context, horizon and patch from the options. If `known` is not empty, forecasts combine all `series`
/// series; otherwise each series is forecast by itself.
inline gated::TinyTimeMixerConfig new_model(const Options& options, Index series, const std::vector<Index>& known) {
  return {.series = known.empty() ? 1 : series,
          .context = options.context,
          .patch = options.patch,
          .stride = options.patch,
          .horizon = options.horizon,
          .backbone = {.channels = 48, .depth = 1, .levels = 2},
          .decoder = {.channels = 24, .depth = 1},
          .known = known,
          .forecast_mixing = {.enabled = !known.empty()}};
}

/// The training loss from the options; by default that of `options.model` or, without a model, the squared error.
inline gated::RegressionLossConfig loss_of(const Options& options) {
  gated::RegressionLossConfig loss = options.model.empty() ? gated::RegressionLossConfig{} : loss_of(options.model);
  loss.form = options.loss.value_or(loss.form);
  loss.delta = options.delta.value_or(loss.delta);
  loss.quantile = options.quantile.value_or(loss.quantile);
  const auto belongs = [&loss](const char* option, bool given, gated::RegressionForm form) {
    gated::require<gated::ArgumentError>(!given || loss.form == form, option, " requires --loss ", gated::name_of(form),
                                         ", but the loss is ", gated::name_of(loss.form), ".");
  };
  belongs("--quantile", options.quantile.has_value(), gated::RegressionForm::quantile);
  belongs("--delta", options.delta.has_value(), gated::RegressionForm::huber);
  return loss;
}

/// IBM's recipe: AdamW, warm-up over 30 % of the steps, then cosine decay, gradients clipped to norm 1.
inline gated::TrainingConfig<Model> recipe(const Options& options, Index steps) {
  gated::TrainingConfig<Model> config{
      .optimizer = {.learning_rate = options.rate},
      .schedule = {.form = gated::ScheduleForm::cosine, .warmup = steps * 3 / 10, .steps = steps},
      .clip_norm = 1};
  if (options.fine_tune) {
    config.optimizer.groups = {{.path = "backbone", .frozen = true}};
  }
  return config;
}

/// The windows to train on: the earliest `share` of those in the training rows.
/// Errors: ShapeError if the training rows hold no window, or the validation rows no forecast.
inline std::vector<Index> training_windows(const Series& series, double share) {
  auto windows = series.windows(0, series.training_rows);
  gated::require<gated::ShapeError>(!windows.empty() && !series.windows(series.training_rows, series.test_row).empty(),
                                    "the series are too short for training: the first 70 % of ", series.table.past,
                                    " rows must hold a window of ", series.context, " + ", series.horizon,
                                    " rows, and the next 10 % must hold a forecast of ", series.horizon, " rows.");
  const auto kept = static_cast<std::size_t>(std::lround(share * static_cast<double>(windows.size())));
  windows.resize(std::clamp<std::size_t>(kept, 1, windows.size()));
  return windows;
}

/// A training run with the options' recipe.
class Trainer {
 public:
  /// Errors: those of training_windows().
  Trainer(Model start, const Series& series, const gated::RegressionLossConfig& loss, const Options& options)
      : series_(series),
        options_(options),
        loss_(loss),
        windows_(training_windows(series, options.share)),
        batch_size_(std::min(options.batch, static_cast<Index>(windows_.size()))),
        per_epoch_(static_cast<Index>(windows_.size()) / batch_size_),
        training_(recipe(options, options.epochs * per_epoch_), std::move(start), gated::Random(options.seed)),
        threads_(options.threads) {}

  const Model& model() const { return training_.model; }

  /// The model's errors on the validation rows (from 70 to 80 % of all rows).
  Errors validate() {
    const auto windows = series_.windows(series_.training_rows, series_.test_row);
    return errors_of(training_.model, series_, windows, options_.frequency.value_or(0), workspace_, loss_);
  }

  /// Trains for one epoch: a pass over the windows in random order. Returns the mean loss.
  double train(Index epoch, examples::ProgressLine& progress) {
    for (std::size_t i = windows_.size(); i > 1; --i) {
      std::swap(windows_[i - 1], windows_[static_cast<std::size_t>(training_.random.uniform() * static_cast<double>(i))]);
    }
    const auto size = static_cast<std::size_t>(batch_size_);
    double sum = 0;
    for (Index i = 0; i < per_epoch_; ++i) {
      sum += step(std::span(windows_).subspan(static_cast<std::size_t>(i) * size, size));
      if (progress.on_terminal() && i % 8 == 0) {
        const double part = static_cast<double>(i) / static_cast<double>(per_epoch_);
        progress.show(gated::text("  epoch ", epoch, " of ", options_.epochs, "  ", examples::progress_bar(part, 20)));
      }
    }
    return sum / static_cast<double>(per_epoch_);
  }

 private:
  /// Trains for one step on a batch. Returns its loss.
  double step(std::span<const Index> windows) {
    batch_.fill(series_, training_.model, windows, options_.frequency.value_or(0));
    return training_.step([&](const Model& model, Model& gradient) {
      tape_.begin(model, gradient, training_.random);
      Model::Options<gated::Recording<float>> given{.observed = batch_.observed, .resolution = batch_.resolution};
      if (batch_.future.size() > 0) {
        given.future = tape_.constant(batch_.future);
      }
      gated::Recording<float> run(tape_, batch_.items);
      const gated::Variable y = run(model, tape_.constant(batch_.x), given);
      return tape_.backward(gated::regression_loss<float>(tape_, y, batch_.target, loss_, batch_.target_observed));
    });
  }

  const Series& series_;
  const Options& options_;
  gated::RegressionLossConfig loss_;
  std::vector<Index> windows_;
  Index batch_size_, per_epoch_;  // windows per step, steps per epoch
  gated::Training<Model> training_;
  gated::Threads threads_;
  gated::Tape<float> tape_{threads_};
  gated::Workspace<float> workspace_{threads_};
  Batch batch_;
};

/// "validation MSE 0.0432", with the mean loss unless it is the MSE.
inline std::string describe(const Errors& errors) {
  const bool alike = errors.loss.form == gated::RegressionForm::squared;
  char text[96];
  std::snprintf(text, sizeof text, alike ? "validation MSE %.4f" : "validation MSE %.4f   loss %.4f", errors.mse(),
                errors.mean_loss());
  return text;
}

/// Trains `start`. Returns the model with the smallest loss on the validation rows: `start`, or the model after one of the
/// epochs.
/// Errors: ShapeError if the series are too short for training, or all gaps in the validation rows.
inline Model trained(Model start, const Series& series, const gated::RegressionLossConfig& loss, const Options& options) {
  Trainer trainer(std::move(start), series, loss, options);
  Model best = trainer.model();
  const Errors before = trainer.validate();
  gated::require<gated::ShapeError>(before.count > 0, "the columns to forecast have no values in rows ",
                                    series.training_rows + 1, " to ", series.test_row,
                                    ", which choose the best epoch. Use series with fewer gaps.");
  double least = before.mean_loss();
  if (options.fine_tune) {
    std::printf("  loss          %s\n", std::string(gated::name_of(before.loss.form)).c_str());
    std::printf("  before        %s\n", describe(before).c_str());
  }
  examples::ProgressLine progress;
  for (Index epoch = 1; epoch <= options.epochs && examples::stop_signal == 0; ++epoch) {
    const double mean_loss = trainer.train(epoch, progress);
    const Errors errors = trainer.validate();
    const bool is_best = errors.mean_loss() < least;
    char text[192];
    std::snprintf(text, sizeof text, "  epoch %3td     loss %.4f   %s%s", epoch, mean_loss, describe(errors).c_str(),
                  is_best ? "  best" : "");
    progress.keep(text);
    if (is_best) {
      least = errors.mean_loss();
      best = trainer.model();
    }
  }
  return best;
}

}  // namespace forecast
