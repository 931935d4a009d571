#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "gated/io/model_file.hpp"
#include "gated/models/prepare.hpp"
#include "gated/ops/elementwise.hpp"
#include "gated/train/recording.hpp"
#include "tests/core/numbers.hpp"
#include "tests/io/files.hpp"
#include "tests/train/gradients.hpp"

/// Type-erases the layer under test, so the checks of promises.cpp are compiled once per scalar type.

namespace gated::test::detail {

/// True for classes derived from Layer. False for models that define their own forward(), such as TinyTimeMixer.
template <class L>
concept IsLayer = std::is_base_of_v<gated::Layer<L, typename L::Scalar>, L>;

/// A layer and its gradient, type-erased.
template <class T>
struct Subject {
  std::string name;
  Index in, out;
  bool mixes, masked, starts;

  virtual ~Subject() = default;
  virtual Contract contract() const = 0;
  Index rows(Index input_rows) const { return contract().output_rows(input_rows); }
  virtual void forward(const ConstView<T>& x, const Sequences& sequences, View<T> y, Workspace<T>& workspace,
                       Mask mask) const = 0;
  virtual State<T> start(Index capacity) const = 0;
  virtual void extend(const ConstView<T>& x, State<T>& state, View<T> y, Workspace<T>& workspace) const = 0;
  virtual void begin(Tape<T>& tape, Random* noise) = 0;  // sets the gradient to 0
  virtual Variable record(Tape<T>& tape, Variable x, const Sequences& sequences, Mask mask) const = 0;
  // layer(x) with the epilogue `then`, within the run of another layer
  virtual RunMatrix<T> call(Batch<T>& run, const RunMatrix<T>& x, const Epilogue<Batch<T>>& then) const = 0;
  virtual RunMatrix<T> call(Stream<T>& run, const RunMatrix<T>& x, const Epilogue<Stream<T>>& then) const = 0;
  virtual Variable call(Recording<T>& run, const Variable& x, const Epilogue<Recording<T>>& then) const = 0;
  virtual Matrix<T> gradient() const = 0;            // gradients of all parameters, concatenated
  virtual std::set<std::string> layers() const = 0;  // paths that a hook must see
  virtual void expect_gradients(const Sequences& sequences, Mask mask, double tolerance) const = 0;
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
    const Contract contract = layer.contract();
    this->mixes = contract.mixes_tokens();
    this->masked = contract.takes_mask;
    this->starts = IsLayer<Layer>;
  }

  Contract contract() const override { return layer_.contract(); }

  void forward(const ConstView<T>& x, const Sequences& sequences, View<T> y, Workspace<T>& workspace,
               Mask mask) const override {
    if constexpr (IsLayer<Layer>) {
      this->mixes ? layer_.forward(x, sequences, y, workspace, mask) : layer_.forward(x, y, workspace);
    } else {
      layer_.forward(x, sequences, y, workspace);
    }
  }

  State<T> start(Index capacity) const override {
    if constexpr (IsLayer<Layer>) {
      return layer_.start(capacity);
    } else {
      return {};
    }
  }
  void extend(const ConstView<T>& x, State<T>& state, View<T> y, Workspace<T>& workspace) const override {
    if constexpr (IsLayer<Layer>) {
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
  RunMatrix<T> call(Batch<T>& run, const RunMatrix<T>& x, const Epilogue<Batch<T>>& then) const override {
    return run(layer_, x, then);
  }
  RunMatrix<T> call(Stream<T>& run, const RunMatrix<T>& x, const Epilogue<Stream<T>>& then) const override {
    if constexpr (IsLayer<Layer>) {
      return run(layer_, x, then);
    } else {
      return x;
    }
  }
  Variable call(Recording<T>& run, const Variable& x, const Epilogue<Recording<T>>& then) const override {
    return run(layer_, x, then);
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

  void expect_saved([[maybe_unused]] const std::function<Matrix<T>(const Subject<T>&)>& result) const override {
    if constexpr (ConfiguredModel<Layer> && std::is_same_v<T, float>) {  // only for float, because it is slow to compile
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
    return layer.contract().mixes_tokens() ? gated::record(tape, layer, x, sequences, mask) : gated::record(tape, layer, x);
  }

  Layer layer_, gradient_;
};

}  // namespace gated::test::detail
