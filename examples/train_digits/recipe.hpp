#pragma once

#include <algorithm>
#include <string>

#include "gated/io/timm_config.hpp"
#include "gated/train/training.hpp"
#include "options.hpp"

/// Training recipes, with values chosen on training images only; see README.md.

namespace digits {

/// Limits of the random distortion that is applied each time the model sees an image; see distort().
struct Distortion {
  double shift = 0;  ///< pixels
  double turn = 0;   ///< radians
  double scale = 0;  ///< relative change of width and height
};

/// A data set, the gMLP for it, and the training settings, which all mixers share.
struct Recipe {
  std::string data;         ///< the name of the data set, used in file names
  std::string description;  ///< the model's configuration in timm's format, copied to the checkpoint
  gated::Index epochs;      ///< the default; --epochs overrides it
  gated::Index batch_size;
  double learning_rate, weight_decay;
  gated::Index warmup;  ///< steps
  double average_decay, drop_path, label_smoothing;
  Distortion distortion;
  double least_shown;  ///< lower end of the plot's accuracy axis, in percent
  int decimals;        ///< decimals of percentages, enough to show a difference of one image

  gated::GmlpImageClassifierConfig described() const { return gated::timm_config(description); }
};

inline const Recipe scanned_digits{
    .data = "digits",
    .description =
        R"({"architecture": "timm.gmlp", "image_size": 8, "patch_size": 1, "in_chans": 1, "dim": 32, "hidden": 128, )"
        R"("depth": 4, "num_classes": 10, "mean": 0.5, "std": 0.5})",
    .epochs = 80,
    .batch_size = 32,
    .learning_rate = 6e-3,
    .weight_decay = 1,
    .warmup = 40,
    .average_decay = 0.995,
    .drop_path = 0.1,
    .label_smoothing = 0.1,
    .distortion = {.shift = 0.5, .turn = 0.14, .scale = 0.08},  // 8 degrees
    .least_shown = 90,
    .decimals = 1};

inline const Recipe mnist{
    .data = "mnist",
    .description =
        R"({"architecture": "timm.gmlp", "image_size": 28, "patch_size": 2, "in_chans": 1, "dim": 48, "hidden": 192, )"
        R"("depth": 4, "num_classes": 10, "mean": 0.5, "std": 0.5})",
    .epochs = 40,
    .batch_size = 64,
    .learning_rate = 4e-3,
    .weight_decay = 0.3,
    .warmup = 300,
    .average_decay = 0.999,
    .drop_path = 0.05,
    .label_smoothing = 0.1,
    .distortion = {.shift = 2, .turn = 0.2, .scale = 0.12},
    .least_shown = 95,
    .decimals = 2};

/// The recipe for a user's data set of `count` training images of side × side pixels. The model is MNIST's, with 4 to 16
/// patches per side; small data sets are trained for more epochs.
/// Errors: ArgumentError if `side` cannot be cut into 4 to 16 equal patches.
inline Recipe recipe_for(const std::string& data, gated::Index side, gated::Index channels, gated::Index classes,
                         gated::Index count) {
  using gated::Index;
  Index patch = (side + 15) / 16;
  while (patch < side && side % patch != 0) {
    ++patch;
  }
  gated::require<gated::ArgumentError>(
      side / patch >= 4, "images of ", side, " × ", side,
      " pixels cannot be cut into 4 to 16 patches per side. Use another size, such as 28 or 32.");
  Recipe recipe = mnist;
  recipe.data = data;
  recipe.description = gated::text(R"({"architecture": "timm.gmlp", "image_size": )", side, R"(, "patch_size": )", patch,
                                   R"(, "in_chans": )", channels, R"(, "dim": 48, "hidden": 192, "depth": 4, "num_classes": )",
                                   classes, R"(, "mean": 0.5, "std": 0.5, "crop_pct": 1})");
  recipe.batch_size = std::clamp<Index>(count / 8 * 8, 8, 32);
  recipe.epochs = std::max<Index>(40, 3000 / std::max<Index>(count / recipe.batch_size, 1));
  recipe.warmup = scanned_digits.warmup;
  recipe.average_decay = scanned_digits.average_decay;
  recipe.distortion.shift = 0.07 * static_cast<double>(side);
  recipe.least_shown = 0;
  recipe.decimals = 1;
  return recipe;
}

/// The recipe with the settings from the command line.
/// Errors: ArgumentError if the patch's side does not divide the images' side.
inline Recipe changed(Recipe recipe, const Options& options) {
  using gated::Index;
  recipe.learning_rate = options.learning_rate.value_or(recipe.learning_rate);
  recipe.weight_decay = options.weight_decay.value_or(recipe.weight_decay);
  if (options.patch) {
    const Index side = recipe.described().image.height, patch = *options.patch;
    gated::require<gated::ArgumentError>(side % patch == 0, "--patch ", patch, ": expected a divisor of the images' ", side,
                                         " pixels.");
    const auto value = recipe.description.find_first_of("0123456789", recipe.description.find("\"patch_size\""));
    recipe.description.replace(value, recipe.description.find(',', value) - value, std::to_string(patch));
  }
  return recipe;
}

/// The training configuration of a model with any mixer.
template <class Model>
gated::TrainingConfig<Model> training_of(const Recipe& recipe, typename Model::Config model, gated::Index steps) {
  if constexpr (requires { model.trunk.block.drop_path; }) {
    model.trunk.block.drop_path = recipe.drop_path;
  } else {
    model.trunk.drop_path = recipe.drop_path;
  }
  return {.model = model,
          .optimizer = {.learning_rate = recipe.learning_rate,
                        .weight_decay = recipe.weight_decay,
                        .decayed_roles = {gated::Role::weight, gated::Role::spatial, gated::Role::memory}},
          .schedule = {.form = gated::ScheduleForm::cosine, .warmup = std::min(recipe.warmup, steps - 1), .steps = steps},
          .clip_norm = 1,
          .average_decay = recipe.average_decay};
}

}  // namespace digits
