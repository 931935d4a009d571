#pragma once

#include "gated/io/timm_config.hpp"
#include "gated/train/training.hpp"

/// How the model of examples/classify_digits is trained. The numbers were chosen by cross-validation among the training images,
/// each quarter of them held out in turn.

namespace digits {

/// The model in timm's words, as the checkpoint says it too.
inline constexpr const char* description =
    R"({"architecture": "timm.gmlp", "image_size": 8, "patch_size": 1, "in_chans": 1, "dim": 32, "hidden": 128, "depth": 4, )"
    R"("num_classes": 10, "mean": 0.5, "std": 0.5})";

inline constexpr gated::Index epochs = 80;  ///< unless the command line says otherwise
inline constexpr gated::Index batch_size = 32;
inline constexpr double label_smoothing = 0.1;

/// What happens at random to an image each time that it is seen: see distort().
struct Distortion {
  double shift = 0.5;   ///< pixels
  double turn = 0.14;   ///< radians: 8 degrees
  double scale = 0.08;  ///< the part by which it grows or shrinks
};

inline gated::GmlpImageClassifierConfig described() { return gated::timm_config(description); }

/// The training of a model, whatever mixes its tokens.
template <class Model>
gated::TrainingConfig<Model> recipe(typename Model::Config model, gated::Index steps) {
  if constexpr (requires { model.trunk.block.survival; }) {
    model.trunk.block.survival = 0.9;
  } else {
    model.trunk.survival = 0.9;
  }
  return {.model = model,
          .optimizer = {.learning_rate = 6e-3, .weight_decay = 1, .decayed_roles = {gated::Role::weight, gated::Role::spatial, gated::Role::memory}},
          .schedule = {.form = gated::ScheduleForm::cosine, .warmup = 40, .steps = steps},
          .clip_norm = 1,
          .average_decay = 0.995};
}

}  // namespace digits
