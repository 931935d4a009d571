#pragma once

#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "common/labelled_images.hpp"
#include "distort.hpp"
#include "gated/train/loss.hpp"
#include "gated/train/recording.hpp"

namespace digits {

/// Computes the loss and the gradient of a batch of distorted images on several threads.
///
/// The batch is cut into shards of a few images. Each thread runs whole shards forward and backward on its own tape, so threads
/// synchronize only once per step. A shard's activations fit in a core's cache. Each shard has its own gradient and random
/// generator, and gradients are added in shard order: results are bit-equal for any number of threads.
template <class Model>
class BatchLoss {
 public:
  BatchLoss(const Model& model, const Recipe& recipe, const LabelledImages& images, gated::Threads threads,
            const gated::ProductEngine<float>* products)
      : recipe_(recipe),
        images_(images),
        threads_(threads),
        gradients_(static_cast<std::size_t>(recipe.batch_size) / shard_size, gated::zeros_like(model)),
        losses_(gradients_.size()),
        noises_(gradients_.size()) {
    for (int i = 0; i < threads.count(); ++i) {
      workers_.emplace_back().tape.workspace().use(products);
    }
  }

  /// Returns the mean loss over the images whose indices are in `batch`, and adds its gradient to `gradient`. All random
  /// choices come from `random`.
  double operator()(const Model& model, Model& gradient, std::span<const gated::Index> batch, gated::Random& random) {
    for (gated::Random& noise : noises_) {
      noise = gated::Random(random.bits());
    }
    const std::size_t shards = gradients_.size();
    gated::parallel_for(threads_, static_cast<gated::Index>(shards), [&](gated::Index shard, gated::Index worker) {
      const auto s = static_cast<std::size_t>(shard);
      losses_[s] = workers_[static_cast<std::size_t>(worker)].step(
          model, recipe_, images_, batch.subspan(s * shard_size, shard_size), noises_[s], gradients_[s]);
    });
    double sum = 0;
    for (std::size_t s = 0; s < shards; ++s) {
      sum += losses_[s] / static_cast<double>(shards);
      gated::for_each_parameter(
          [shards](const gated::ParameterInfo&, auto total, auto part) {
            for (std::size_t i = 0; i < total.size(); ++i) {
              total[i] += std::exchange(part[i], 0.0F) / static_cast<float>(shards);
            }
          },
          gradient, gradients_[s]);
    }
    return sum;
  }

 private:
  static constexpr std::size_t shard_size = 8;  // a divisor of every recipe's batch size

  /// One thread's tape and buffers.
  struct Worker {
    gated::Tape<float> tape{gated::Threads{1}, {.scaled_depth = true}};
    gated::Matrix<float> inputs;
    std::vector<gated::Index> labels;

    double step(const Model& model, const Recipe& recipe, const LabelledImages& images, std::span<const gated::Index> shard,
                gated::Random& noise, Model& gradient) {
      const auto count = static_cast<gated::Index>(shard.size());
      inputs.resize(count, images.pixels.cols());
      labels.clear();
      for (gated::Index i = 0; i < count; ++i) {
        const gated::Index image = shard[static_cast<std::size_t>(i)];
        distort(images.pixels.row(image), model.config.image, recipe.distortion, noise, inputs.row(i));
        labels.push_back(images.labels[static_cast<std::size_t>(image)]);
      }
      gated::scale_pixels<float>(inputs, model.config);
      tape.begin(model, gradient, noise);
      const gated::Variable logits = record(tape, model, tape.constant(inputs));
      return tape.backward(gated::cross_entropy(tape, logits, labels, {.label_smoothing = recipe.label_smoothing}));
    }
  };

  Recipe recipe_;
  const LabelledImages& images_;
  gated::Threads threads_;
  std::deque<Worker> workers_;
  std::vector<Model> gradients_;
  std::vector<double> losses_;
  std::vector<gated::Random> noises_;
};

}  // namespace digits
