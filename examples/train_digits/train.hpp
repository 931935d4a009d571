#pragma once

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <string>

#include "batch_loss.hpp"
#include "common/bf16.hpp"
#include "common/filters.hpp"
#include "common/interrupt.hpp"
#include "common/metrics_file.hpp"
#include "common/progress.hpp"
#include "common/shuffled.hpp"
#include "curve.hpp"
#include "data.hpp"
#include "evaluation.hpp"
#include "gated/io/labels.hpp"
#include "gated/io/model_file.hpp"
#include "gated/layers/feed_forward.hpp"
#include "gated/layers/glu_feed_forward.hpp"
#include "gated/layers/mixer_block.hpp"
#include "mixers.hpp"
#include "options.hpp"
#include "status.hpp"

/// A complete training run of a classifier with any mixer.

namespace digits {

using gated::Index, gated::Random;

/// The files to write, all in one folder.
struct Files {
  std::filesystem::path folder;
  std::string data, mixer;
  std::filesystem::path model = folder / (data + "_" + mixer + ".safetensors");
  std::filesystem::path training = folder / (data + "_training.safetensors");
  std::filesystem::path curve = folder / "loss_curve.svg";
  std::filesystem::path before = folder / "spatial_weights_before.svg";
  std::filesystem::path after = folder / "spatial_weights_after.svg";
};

/// The number of held-out images that the model with averaged weights classifies correctly.
template <class Model>
Index count_right(const gated::Training<Model>& training, const Data& data) {
  return count_right(training.result(), data.held_out, data.held_out_inputs, training.threads);
}

/// Writes all that resume() needs.
template <class Model>
void save(const gated::Training<Model>& training, const History& history, const Data& data, const std::filesystem::path& path) {
  gated::save_model(training, path, {{"history", history.text()}, {"data", data.name}});
}

/// Reads a file written by save(). The run keeps its schedule unless `steps` sets a new length.
template <class Model>
gated::Training<Model> resume(const std::filesystem::path& path, const typename Model::Config& model, const Data& data,
                              std::optional<Index> steps, History& history) {
  const gated::SafetensorsFile file(path);
  const auto text = file.metadata().find("history"), name = file.metadata().find("data");
  gated::require<gated::FileError>(text != file.metadata().end() && name != file.metadata().end(), path.string(),
                                   ": was not written by train_digits.");
  gated::require<gated::FileError>(name->second == data.name, path.string(), ": is a training run on ", name->second,
                                   ", expected ", data.name, ". Give the options that it was started with.");
  auto training = gated::load_model<gated::Training<Model>>(file);
  const auto expected = training_of<Model>(data.recipe, model, steps.value_or(training.config().schedule.steps));
  training.expect_same_run(expected);
  training.set_schedule(expected.schedule);
  history = History::from_text(text->second);
  return training;
}

template <class Model>
gated::Training<Model> begin_or_resume(const Options& options, const typename Model::Config& model, const Data& data,
                                       History& history) {
  const auto steps_of = [&](Index count) { return count * data.steps_per_epoch(); };
  if (options.resume.empty()) {
    return gated::Training<Model>(training_of<Model>(data.recipe, model, steps_of(options.epochs.value_or(data.recipe.epochs))),
                                  Random(options.seed));
  }
  const auto steps = options.epochs ? std::optional(steps_of(*options.epochs)) : std::nullopt;
  return resume<Model>(options.resume, model, data, steps, history);
}

/// Trains whole epochs, to the last step or until asked to stop. A run stops and is saved only between epochs, before the next
/// epoch's image order is drawn, so it resumes bit for bit.
template <class Model>
void run_epochs(gated::Training<Model>& training, History& history, const Data& data, const Options& options,
                const Files& files) {
  const Index per_epoch = data.steps_per_epoch(), steps = training.config().schedule.steps;
  const Index batch_size = data.recipe.batch_size;
  const Status status(data.recipe, training.steps_done(), steps, per_epoch);
  BatchLoss<Model> loss(training.model, data.recipe, data.images, training.threads, training.products);
  examples::ProgressLine progress;
  examples::MetricsFile metrics(options.metrics, training.steps_done());
  double saved = 0;
  for (bool last = training.steps_done() >= steps; !last;) {
    const auto order = examples::shuffled(data.images.count(), training.random);
    for (Index i = 0; i < per_epoch; ++i) {
      const auto batch =
          std::span(order).subspan(static_cast<std::size_t>(i * batch_size), static_cast<std::size_t>(batch_size));
      const double rate = training.rate();
      history.losses.push_back(
          training.step([&](const Model& model, Model& gradient) { return loss(model, gradient, batch, training.random); }));
      metrics.add(training.steps_done(), history.losses.back(), training.norm(), rate);
      if (progress.on_terminal() && i % 8 == 0) {
        progress.show(status.line(training.steps_done(), history));
      }
    }
    history.accuracies.push_back(static_cast<double>(count_right(training, data)) / static_cast<double>(data.held_out.count()));

    const Index epoch = training.steps_done() / per_epoch;
    last = training.steps_done() >= steps || epoch == options.stop_after || examples::stop_signal != 0;
    if (epoch % status.epochs_per_line() == 0 || last) {
      progress.keep(status.line(training.steps_done(), history));
    }
    if (last || status.seconds() > saved + 5) {
      save(training, history, data, files.training);
      saved = status.seconds();
    }
  }
  std::printf("\n  time      %.1f s\n", status.seconds());
}

/// Whether the model has spatial weights to draw.
template <class Model>
constexpr bool has_gates = std::is_same_v<Model, gated::GmlpImageClassifier<float>>;

/// Prints the model, the images and the length of the run.
template <class Model>
void print_run(const gated::Training<Model>& training, const Data& data, const Options& options) {
  const auto& config = training.model.config;
  std::printf("  model     %s, %td blocks, %td parameters, %td x %td pixels\n", options.mixer.c_str(), config.trunk.depth,
              gated::parameter_count(training.model), config.image.height, config.image.width);
  std::printf("  images    %td to learn from, %td held out\n", data.images.count(), data.held_out.count());
  std::printf("  training  %td epochs of %td steps of %td images, %d thread%s\n",
              training.config().schedule.steps / data.steps_per_epoch(), data.steps_per_epoch(), data.recipe.batch_size,
              options.threads, options.threads > 1 ? "s" : "");
}

/// Writes the trained model, with timm's names if timm has such models, and its pictures. Prints the held-out accuracy.
template <class Model>
void finish(const gated::Training<Model>& training, const Data& data, const Files& files) {
  const Model& result = training.result();
  bool timms = false;
  std::map<std::string, std::string> metadata;
  if (!data.labels.empty()) {
    metadata["labels"] = gated::labels_text(data.labels);
  }
  if constexpr (has_gates<Model>) {
    if (result.config.trunk.spatial == gated::SpatialForm::dense) {
      metadata["config"] = data.recipe.description;
      gated::save_parameters(result, files.model, metadata, gated::timm_names());
      timms = true;
    }
  }
  if (!timms) {
    gated::save_model(result, files.model, metadata);
  }
  const Index right = count_right(training, data);
  std::printf("  right     %.*f %%, %td of %td held out\n", data.recipe.decimals,
              100 * static_cast<double>(right) / static_cast<double>(data.held_out.count()), right, data.held_out.count());
  std::printf("  model     %s%s\n", files.model.string().c_str(), timms ? ", with timm's names" : "");
  std::printf("  training  %s: all that --resume needs\n", files.training.string().c_str());
  std::string pictures = files.curve.string();
  if constexpr (has_gates<Model>) {
    examples::write_svg(files.after, examples::spatial_weights(result));
    pictures += ", " + files.before.string() + ", " + files.after.string();
  }
  std::printf("  pictures  %s\n", pictures.c_str());
}

/// Trains a model with the configuration `config` according to the options. Returns the program's exit code.
template <class Model>
int train(const Options& options, const Data& data, const typename Model::Config& config) {
  examples::stop_when_asked();
  const Files files{options.out, data.recipe.data, options.mixer};
  History history;
  auto training = begin_or_resume<Model>(options, config, data, history);
  training.threads = gated::Threads{options.threads};
  training.products = examples::products(options.bf16);

  std::filesystem::create_directories(files.folder);
  print_run(training, data, options);
  if (options.resume.empty()) {
    if constexpr (has_gates<Model>) {
      examples::write_svg(files.before, examples::spatial_weights(training.model));
    }
  } else {
    std::printf("  resumed   after epoch %td\n", training.steps_done() / data.steps_per_epoch());
  }
  std::printf("\n");
  run_epochs(training, history, data, options, files);

  examples::write_svg(files.curve, draw_curve(history, data.recipe.least_shown));
  if (training.steps_done() < training.config().schedule.steps) {
    const std::string into = (options.mixer == Options().mixer ? "" : " --mixer " + options.mixer) +
                             options.recipe_arguments() + (options.out == "." ? "" : " --out " + options.out.string());
    std::printf("  stopped   after epoch %td; continue with --resume %s%s\n", training.steps_done() / data.steps_per_epoch(),
                files.training.string().c_str(), into.c_str());
    return examples::exit_code_of_stop();
  }
  finish(training, data, files);
  return 0;
}

/// Returns `config` with the largest inner width at which the model has no more parameters than the recipe's gMLP.
/// `set(config, width)` sets the width; the number of parameters must grow linearly with it.
template <class Model, class Set>
typename Model::Config widest(const Data& data, typename Model::Config config, const Set& set) {
  const auto parameters = [&](Index width) {
    set(config, width);
    return gated::parameter_count(Model(config));
  };
  const Index most = gated::parameter_count(gated::GmlpImageClassifier<float>(data.recipe.described()));
  const Index narrowest = parameters(1), growth = parameters(2) - narrowest;
  set(config, 1 + std::max<Index>(most - narrowest, 0) / growth);
  return config;
}

/// Trains a classifier of MixerBlocks, with as many blocks and channels as the recipe's gMLP. `arrange(config)` sets the token
/// mixer.
template <class TokenMixer, class ChannelMixer, class Arrange>
int train_mixer(const Options& options, const Data& data, const Arrange& arrange) {
  using Model = gated::ImageClassifier<gated::Stack<gated::MixerBlock<TokenMixer, ChannelMixer>>>;
  const auto images = data.recipe.described();
  typename Model::Config config{
      .image = images.image,
      .patch = images.patch,
      .image_channels = images.image_channels,
      .classes = images.classes,
      .pixel_mean = images.pixel_mean,
      .pixel_deviation = images.pixel_deviation,
      .crop_share = images.crop_share,
      .trunk = {.depth = images.trunk.depth, .block = {.channels = images.trunk.channels, .norm_eps = images.trunk.norm_eps}}};
  arrange(config);
  return train<Model>(options, data,
                      widest<Model>(data, config, [](auto& c, Index width) { c.trunk.block.channel_mixer.hidden = width; }));
}

}  // namespace digits
