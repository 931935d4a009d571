#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "gated/io/model_file.hpp"
#include "gated/models/prepare.hpp"
#include "gated/train/recording.hpp"
#include "tests/core/numbers.hpp"
#include "tests/io/files.hpp"
#include "tests/train/gradients.hpp"

/// The layer that promises are tried on, behind one interface for layers of every type.

namespace gated::test::detail {

template <class Layer>
concept MixesTokens = requires(const Layer& layer, ConstView<typename Layer::Scalar> x, View<typename Layer::Scalar> y,
                               Workspace<typename Layer::Scalar>& workspace) {
  layer.forward(x, Sequences::single(1), y, workspace);
};
template <class Layer>
concept CanStart = requires(const Layer& layer) {
  layer.start(Index{1});
};
/// A layer and its gradient, whatever its type: what checks are written with, so that they are compiled once per scalar type.
template <class T>
struct Subject {
  std::string name;
  Index in, out;
  bool mixes, masked, starts;

  virtual ~Subject() = default;
  virtual Index rows(Index input_rows) const = 0;
  virtual void forward(const ConstView<T>& x, const Sequences& sequences, View<T> y, Workspace<T>& workspace,
                       Mask mask) const = 0;
  virtual State<T> start(Index capacity) const = 0;
  virtual void extend(const ConstView<T>& x, State<T>& state, View<T> y, Workspace<T>& workspace) const = 0;
  virtual void begin(Tape<T>& tape, Random* noise) = 0;  // with a gradient of 0
  virtual Variable record(Tape<T>& tape, Variable x, const Sequences& sequences, Mask mask) const = 0;
  virtual Matrix<T> gradient() const = 0;            // of all parameters, one after the other
  virtual std::set<std::string> layers() const = 0;  // the paths of those that must be shown
  virtual void expect_gradients(const Sequences& sequences, Mask mask, double tolerance) const = 0;
  virtual void expect_counted() const = 0;
  virtual void expect_saved(const std::function<Matrix<T>(const Subject&)>& result) const = 0;
  virtual void expect_small(const std::function<Matrix<T>(const Subject&, Workspace<T>&)>& result) const = 0;
};

template <class Layer, class T = typename Layer::Scalar>
class SubjectOf final : public Subject<T> {
 public:
  explicit SubjectOf(const Layer& layer) : layer_(layer), gradient_(zeros_like(layer)) {
    this->name = Layer::name;
    this->in = layer.in();
    this->out = layer.out();
    this->mixes = MixesTokens<Layer>;
    this->masked = gated::detail::takes_mask<Layer>();
    this->starts = CanStart<Layer>;
  }

  Index rows(Index input_rows) const override { return gated::detail::output_rows(layer_, input_rows); }

  void forward(const ConstView<T>& x, const Sequences& sequences, View<T> y, Workspace<T>& workspace,
               Mask mask) const override {
    if constexpr (!MixesTokens<Layer>) {
      layer_.forward(x, y, workspace);
    } else if constexpr (gated::detail::takes_mask<Layer>()) {
      layer_.forward(x, sequences, y, workspace, mask);
    } else {
      layer_.forward(x, sequences, y, workspace);
    }
  }

  State<T> start(Index capacity) const override {
    if constexpr (CanStart<Layer>) {
      return layer_.start(capacity);
    } else {
      return {};
    }
  }
  void extend(const ConstView<T>& x, State<T>& state, View<T> y, Workspace<T>& workspace) const override {
    if constexpr (CanStart<Layer>) {
      layer_.extend(x, state, y, workspace);
    }
  }

  void begin(Tape<T>& tape, Random* noise) override {
    set_zero(gradient_);
    noise == nullptr ? tape.begin(layer_, gradient_) : tape.begin(layer_, gradient_, *noise);
  }
  Variable record(Tape<T>& tape, Variable x, const Sequences& sequences, Mask mask) const override {
    return record_of(tape, layer_, x, sequences, mask);
  }
  Matrix<T> gradient() const override {
    std::vector<T> all;
    for_each_parameter([&](const ParameterInfo&, auto values) { all.insert(all.end(), values.begin(), values.end()); },
                       gradient_);
    return Eigen::Map<const Matrix<T>>(all.data(), 1, static_cast<Index>(all.size()));
  }

  std::set<std::string> layers() const override {
    std::set<std::string> paths{""};
    for_each_parameter(
        [&](const ParameterInfo& info, auto) {
          const std::string path = info.path();
          if (info.role != Role::position && info.role != Role::constant && path.find('.') != std::string::npos) {
            paths.insert(path.substr(0, path.rfind('.')));
          }
        },
        layer_);
    return paths;
  }

  void expect_gradients(const Sequences& sequences, Mask mask, double tolerance) const override {
    if constexpr (std::is_same_v<T, double>) {
      test::expect_gradients(
          layer_, random_matrix<double>(sequences.total(), this->in, 7),
          [&](Tape<double>& tape, const Layer& layer, Variable x) { return record_of(tape, layer, x, sequences, mask); },
          tolerance);
    }
  }

  void expect_counted() const override {
    if constexpr (requires { Layer::value_count(layer_.config).value(); }) {
      Index values = 0;
      for_each_parameter([&](const ParameterInfo&, auto found) { values += static_cast<Index>(found.size()); }, layer_);
      EXPECT_EQ(Layer::value_count(layer_.config).value(), values);
    }
  }
  void expect_saved([[maybe_unused]] const std::function<Matrix<T>(const Subject<T>&)>& result) const override {
    if constexpr (ConfiguredModel<Layer> && std::is_same_v<T, float>) {  // compiled once: it takes long
      const auto path = temporary("promised.safetensors");
      save_model(layer_, path);
      EXPECT_TRUE(same_bits(result(SubjectOf(load_model<Layer>(path))), result(*this)));
    }
  }

  void expect_small([[maybe_unused]] const std::function<Matrix<T>(const Subject<T>&, Workspace<T>&)>& result) const override {
    if constexpr (std::is_same_v<T, float>) {
      for (const WeightFormat format : {WeightFormat::bf16, WeightFormat::int8}) {
        Layer rounded = layer_;
        round_weights(rounded, format);
        const auto weights = prepare(layer_, format);
        Workspace<T> plain, small;
        small.use(weights);
        EXPECT_TRUE(same_bits(result(*this, small), result(SubjectOf(rounded), plain)));
      }
    }
  }

 private:
  static Variable record_of(Tape<T>& tape, const Layer& layer, Variable x, const Sequences& sequences, Mask mask) {
    if constexpr (MixesTokens<Layer>) {
      return gated::record(tape, layer, x, sequences, mask);
    } else {
      return gated::record(tape, layer, x);
    }
  }

  Layer layer_, gradient_;
};

}  // namespace gated::test::detail
