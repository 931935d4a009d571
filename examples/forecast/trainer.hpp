#pragma once

#include <cstdio>
#include <numeric>

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

/// Trains `start` with IBM's recipe: AdamW, warm-up over 30 % of the steps, then cosine decay, gradients clipped to norm 1.
/// Returns the model with the smallest loss on the validation rows (from 70 to 80 % of all rows): `start`, or the model after
/// one of the epochs.
inline Model trained(Model start, const Series& series, const Options& options) {
  auto windows = series.windows(0, series.training_rows);
  const auto kept = static_cast<std::size_t>(std::lround(options.share * static_cast<double>(windows.size())));
  windows.resize(std::clamp<std::size_t>(kept, 1, windows.size()));
  const auto validation = series.windows(series.training_rows, series.test_row);
  const auto count = static_cast<Index>(windows.size()), batch_size = std::min(options.batch, count);
  const Index per_epoch = count / batch_size, steps = options.epochs * per_epoch;
  gated::TrainingConfig<Model> config{
      .optimizer = {.learning_rate = options.rate},
      .schedule = {.form = gated::ScheduleForm::cosine, .warmup = steps * 3 / 10, .steps = steps},
      .clip_norm = 1};
  if (options.fine_tune) {
    config.optimizer.groups = {{.path = "backbone", .frozen = true}};
  }
  gated::Training<Model> training(config, std::move(start), gated::Random(options.seed));
  const gated::RegressionLossConfig loss = loss_of(options);
  const gated::Threads threads(options.threads);
  gated::Tape<float> tape(threads);
  gated::Workspace<float> workspace(threads);
  examples::ProgressLine progress;
  Batch batch;
  Model best = training.model;
  const auto measured = [&](const Model& model) {
    return errors_of(model, series, validation, options.frequency.value_or(0), workspace, loss);
  };
  const auto describe = [&loss](const Errors& errors) {
    const bool alike = loss.form == gated::RegressionForm::squared;
    char text[96];
    std::snprintf(text, sizeof text, alike ? "validation MSE %.4f" : "validation MSE %.4f   loss %.4f", errors.mse(),
                  errors.mean_loss());
    return std::string(text);
  };
  const Errors before = measured(best);
  gated::require<gated::ShapeError>(before.count > 0, "the columns to forecast have no values in rows ",
                                    series.training_rows + 1, " to ", series.test_row,
                                    ", which choose the best epoch. Use series with fewer gaps.");
  double least = before.mean_loss();
  if (options.fine_tune) {
    std::printf("  loss          %s\n", std::string(gated::name_of(loss.form)).c_str());
    std::printf("  before        %s\n", describe(before).c_str());
  }
  for (Index epoch = 1; epoch <= options.epochs && examples::stop_signal == 0; ++epoch) {
    for (std::size_t i = windows.size(); i > 1; --i) {
      std::swap(windows[i - 1], windows[static_cast<std::size_t>(training.random.uniform() * static_cast<double>(i))]);
    }
    double sum = 0;
    const auto line = [&](Index done) {
      return gated::text("  epoch ", epoch, " of ", options.epochs, "  ",
                         examples::progress_bar(static_cast<double>(done) / static_cast<double>(per_epoch), 20));
    };
    for (Index step = 0; step < per_epoch; ++step) {
      batch.fill(series, training.model,
                 std::span(windows).subspan(static_cast<std::size_t>(step * batch_size), static_cast<std::size_t>(batch_size)),
                 options.frequency.value_or(0));
      sum += training.step([&](const Model& model, Model& gradient) {
        tape.begin(model, gradient, training.random);
        Model::Options<gated::Recording<float>> given{.observed = batch.observed, .resolution = batch.resolution};
        if (batch.future.size() > 0) {
          given.future = tape.constant(batch.future);
        }
        gated::Recording<float> run(tape, batch.items);
        const gated::Variable y = run(model, tape.constant(batch.x), given);
        return tape.backward(gated::regression_loss<float>(tape, y, batch.target, loss, batch.target_observed));
      });
      if (progress.on_terminal() && step % 8 == 0) {
        progress.show(line(step));
      }
    }
    const Errors errors = measured(training.model);
    const bool is_best = errors.mean_loss() < least;
    char text[192];
    std::snprintf(text, sizeof text, "  epoch %3td     loss %.4f   %s%s", epoch, sum / static_cast<double>(per_epoch),
                  describe(errors).c_str(), is_best ? "  best" : "");
    progress.keep(text);
    if (is_best) {
      least = errors.mean_loss();
      best = training.model;
    }
  }
  return best;
}

}  // namespace forecast
