#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "gated/core/count.hpp"
#include "gated/core/joined_name.hpp"
#include "gated/core/kernel_choice.hpp"
#include "gated/core/parameters.hpp"
#include "gated/train/added_gradient.hpp"
#include "gated/train/clip.hpp"
#include "gated/train/moving_average.hpp"
#include "gated/train/training_config.hpp"
#include "gated/train/training_run.hpp"

/// @file
/// A training run with all state needed to resume it, in one object that can be saved.

namespace gated {

/// Raised if a loss or gradient is not finite, or if there is no gradient.
class TrainingError : public Error {
 public:
  using Error::Error;
};

namespace detail {

inline constexpr const char* training_word = "gated.Training";

}  // namespace detail

/// A training run: the model, its optimizer, an optional moving average, a generator, and the steps done.
///
///     Training<GmlpLanguageModel<float>> training({.model = …,
///                                                  .optimizer = {.learning_rate = 1e-3},
///                                                  .schedule = {.form = ScheduleForm::cosine, .warmup = 100, .steps = 2000},
///                                                  .clip_norm = 1.0}, Random(1));
///     while (training.steps_done() < 2000) {
///       …                       // draw a batch with training.random
///       const double loss = training.step([&](auto& run) {
///         return cross_entropy(run(training.model, tokens, sequences), targets);
///       });
///     }
///     save_model(training, "run.safetensors");
///
/// Alternatively, a loss function adds to the gradient directly, with or without its own Tape:
/// `[&](const Model& model, Model& gradient) { …; return loss; }`.
///
/// A step runs the loss function config.micro_batches times and divides the summed gradient by that number. It zeroes the
/// gradient of frozen parameters, clips the gradient's norm, and updates the model (AdamW, with the schedule's learning rate)
/// and the average.
///
/// A training run is saved like a model: save_model() (io/model_file.hpp) writes the whole run to one file, and load_model()
/// resumes it. The resumed run is bit-equal to an uninterrupted one if the loss function keeps no state other than `random`.
///
///     auto training = load_model<Training<GmlpLanguageModel<float>>>("run.safetensors");
///     training.expect_same_run(config);
///     training.set_schedule(config.schedule);  // with more steps, extends the run
///
/// Errors: the constructor raises ArgumentError for an invalid configuration. A step raises TrainingError if the loss or the
/// gradient is not finite, if the square of the gradient overflows the moments, or if `f(model, gradient)` adds no gradient.
/// It raises ArgumentError if `f(run)` records no parameter of `model`, for example because it records a copy.
/// If a step or its loss function throws, the model, moments, average and step count do not change; the gradient is dropped.
/// `random` has advanced by the numbers drawn: restore it to repeat the step.
/// Cost: memory for a gradient, two moments and the average, each as large as the model. A step runs the loss function and
/// makes a few passes over the model and this memory. From the third step with the same shapes on, it allocates nothing.
template <ConfiguredModel ModelType>
struct Training {
  using Model = ModelType;
  using Scalar = typename Model::Scalar;
  using Config = TrainingConfig<Model>;
  static constexpr const char* architecture = detail::joined_name<detail::training_word, Model::architecture>.data();

  Model model;
  AdamW<Model> optimizer;
  std::optional<Model> average;
  Random random;      ///< for batches and dropout
  Threads threads{};  ///< threads of a step; results are bit-equal for any number of threads
  /// The engine for the matrix products of recorded steps, `f(run)`, forward and backward, such as bf16_products(). It does not
  /// apply to `f(model, gradient)`: pass it to the workspace of your tape. Parameters, sums, and the optimizer stay in float.
  /// Not saved: set it again after load_model(). A recorded step raises ArgumentError for int8_products(), whose backward pass
  /// would stay in float.
  const ProductEngine<Scalar>* products = nullptr;

  /// Starts a training run with a model initialized by `generator`; `random` continues from the generator's state afterwards.
  Training(const Config& config, Random generator)
      : Training(at_start(config), started(config.model, generator), generator, 0) {}

  /// Starts a training run from an existing model, such as one loaded from a checkpoint. `config.model` is ignored here, but
  /// compared by expect_same_run(): set it to `start.config`.
  Training(const Config& config, Model start, Random generator)
      : Training(at_start(config, start.config), std::move(start), generator, 0) {}

  /// For load_model(): a training run at `config.progress` with an uninitialized model. load_model() then reads the parameters.
  explicit Training(const Config& config)
      : Training(config, Model(config.model), Random(config.progress.random), config.progress.steps) {}

  static constexpr auto fields() {
    return Fields(field("model", &Training::model), field("optimizer", &Training::optimizer),
                  field("average", &Training::average));
  }

  Index steps_done() const { return optimizer.steps; }

  /// The learning rate of the next update.
  double rate() const { return learning_rate(config_.schedule, config_.optimizer.learning_rate, steps_done()); }

  /// The norm of the last update's gradient before clipping.
  double norm() const { return norm_; }

  /// The model to evaluate and ship: the average if there is one, otherwise `model`.
  const Model& result() const { return average ? *average : model; }

  /// The configuration with the progress so far, which save_model() writes.
  /// Errors: ArgumentError between accumulate() and update(), because half a step cannot be saved.
  Config config() const {
    require<ArgumentError>(pending_ == 0, "Training: cannot be saved between accumulate() and update(). Call update() first.");
    Config current = config_;
    current.progress = {steps_done(), random.state()};
    return current;
  }

  /// Raises ArgumentError if this training run, read from a file, was started with settings other than `wanted`: see
  /// expect_same_training().
  void expect_same_run(const Config& wanted) const { expect_same_training(config_, wanted); }

  /// Installs a hook, such as one that logs gradient norms by path; nullptr removes it. Each update calls the hook with the
  /// mean gradient of the micro-batches, before clipping and before the check for non-finite values. The hook is not saved.
  /// Results are bit-equal with and without a hook; if the hook throws, the step is dropped.
  ///
  ///     training.set_gradient_hook([](const Model& gradient) {
  ///       for_each_parameter([](const ParameterInfo& info, auto values) { … info.path() … }, gradient);
  ///     });
  void set_gradient_hook(std::function<void(const Model& gradient)> hook) { gradient_hook_ = std::move(hook); }

  /// Continues with another schedule, such as one with more steps.
  void set_schedule(const ScheduleConfig& schedule) {
    static_cast<void>(learning_rate(schedule, config_.optimizer.learning_rate, steps_done()));
    config_.schedule = schedule;
  }

  /// Does one step and returns the mean loss of its micro-batches. Either `f(run)` returns the recorded loss of a micro-batch,
  /// or `f(model, gradient)` adds to the gradient and returns the loss: see accumulate().
  template <class F>
  double step(F&& f) {
    for (Index i = 0; i < config_.micro_batches; ++i) {
      accumulate(f);
    }
    return update();
  }

  /// The first half of a step: call it once per micro-batch. Returns the loss that `f(model, gradient)` returns; `f` must also
  /// add ∂loss/∂parameter to `gradient`, unless the loss is 0 and another micro-batch of the step adds a gradient.
  /// Errors: TrainingError if the loss is not finite, or if it is not 0 and `f` left `gradient` unchanged.
  template <class F>
  requires std::is_invocable_r_v<double, F, const Model&, Model&>
  double accumulate(F&& f) {
    return add_micro_batch([&] {
      const std::uint64_t before = pending_ == 0 ? 0 : detail::gradient_hash(gradient_);
      const double loss = static_cast<double>(f(std::as_const(model), gradient_));
      const bool is_unchanged =
          pending_ == 0 ? !detail::has_gradient(gradient_) : before != 0 && detail::gradient_hash(gradient_) == before;
      if (loss != 0 && is_unchanged && !first_nonfinite(gradient_)) {
        refuse_missing_gradient(text(" of micro-batch ", pending_ + 1, " is ", shown(loss)));
      }
      return loss;
    });
  }

  /// accumulate() for an `f(run)` that returns a loss recorded by TrainingRun; `random` drives dropout and stochastic depth.
  template <class F>
  requires std::is_invocable_r_v < Recorded<Scalar>, F, TrainingRun<Scalar>
  & > double accumulate(F&& f) {
    Tape<Scalar>& tape = tape_.get(threads, config_.tape);
    tape.workspace().use(products);
    return add_micro_batch([&] {
      require<ArgumentError>(
          products == nullptr || products->trains,
          "Training: `products` is an engine for inference, such as int8_products(): its backward pass would "
          "stay in float. Use bf16_products(), or nullptr.");
      tape.begin(model, gradient_, random);
      TrainingRun<Scalar> run(tape);
      return tape.backward(f(run).variable);
    });
  }

  /// The second half of a step: updates the model with the mean gradient and returns the mean loss.
  double update() {
    require<ArgumentError>(pending_ > 0, "Training::update: there is no gradient; call accumulate() first.");
    const DropUnlessDone drop{*this};        // drops this step's gradient on every exit
    if (!detail::has_gradient(gradient_)) {  // not require(): every step would call text(), which allocates
      refuse_missing_gradient(text(" is ", shown(loss_)));
    }
    const auto count = static_cast<double>(pending_);
    const double loss = loss_ / count;
    if (pending_ > 1) {
      scale_parameters(gradient_, 1 / count);
    }
    optimizer.zero_frozen(gradient_);
    if (gradient_hook_) {
      gradient_hook_(gradient_);
    }
    const double norm =
        config_.clip_norm > 0 ? clip_by_global_norm(gradient_, config_.clip_norm, threads) : gradient_norm(gradient_, threads);
    const double used = config_.clip_norm > 0 ? std::min(norm, config_.clip_norm) : norm;
    if (!std::isfinite(norm) || used > std::sqrt(static_cast<double>(std::numeric_limits<Scalar>::max()))) {
      refuse(text("the loss is ", shown(loss), " and the norm of its gradient is ", shown(norm)));
    }
    optimizer.update(model, gradient_, rate(), threads);
    if (average) {
      update_average(*average, model, config_.average_decay, threads);
    }
    norm_ = norm;
    return loss;
  }

 private:
  Training(const Config& config, Model&& start, const Random& generator, Index steps)
      : model(std::move(start)),
        optimizer(model, config.optimizer),
        random(generator),
        config_(config),
        gradient_(optimizer.first) {
    config.check();
    detail::clear_gradient(gradient_);
    optimizer.steps = steps;
    if (config.average_decay > 0) {
      average = model;
    }
  }

  static Model started(const typename Model::Config& config, Random& generator) {
    if constexpr (std::is_constructible_v<Model, const typename Model::Config&, Random&>) {
      return Model(config, generator);
    } else {
      Model made(config);
      made.initialize(generator);
      return made;
    }
  }
  static Config at_start(Config config) {
    config.progress = {};
    return config;
  }
  static Config at_start(Config config, const typename Model::Config& model) {
    config.model = model;
    return at_start(std::move(config));
  }

  /// Does the micro-batch whose gradient `f()` adds and whose loss it returns.
  template <class F>
  double add_micro_batch(const F& f) {
    DropUnlessDone drop{*this};
    const double loss = f();
    if (!std::isfinite(loss)) {
      refuse(text("the loss of micro-batch ", pending_ + 1, " is ", shown(loss)));
    }
    loss_ += loss;
    ++pending_;
    drop.done = true;
    return loss;
  }

  /// A scope of half a step, with one form of kernels. Its destructor clears the gradient for the next step, unless `done` is
  /// set to keep it.
  struct DropUnlessDone {
    Training& training;
    bool done = false;
    detail::KernelChoice one_form_of_kernels{};
    ~DropUnlessDone() {
      if (!done) {
        detail::clear_gradient(training.gradient_);
        training.pending_ = 0;
        training.loss_ = 0;
      }
    }
  };

  static std::string shown(double value) { return std::isnan(value) ? "nan" : text(value); }

  [[noreturn]] void refuse(const std::string& what) const {
    const auto place = first_nonfinite(gradient_);
    raise<TrainingError>("Training: step ", steps_done() + 1, ": ", what, "; ",
                         place ? text("the first non-finite gradient is ", *place) : "every gradient is finite",
                         ". The model is unchanged, and this step's gradient is dropped. If this repeats, check the inputs, "
                         "lower the learning rate or lengthen the warm-up.");
  }

  [[noreturn]] void refuse_missing_gradient(const std::string& is) const {
    raise<TrainingError>("Training: step ", steps_done() + 1, ": the loss", is,
                         ", but nothing was added to the gradient. In the loss function, call tape.begin(model, gradient) "
                         "with its arguments, then tape.backward(loss). The model is unchanged.");
  }

  Config config_;
  Model gradient_;
  Index pending_ = 0;  // number of micro-batches summed in the gradient
  double loss_ = 0;    // the sum of their losses
  double norm_ = 0;
  std::function<void(const Model&)> gradient_hook_;
  detail::LazyTape<Scalar> tape_;
};

}  // namespace gated
