#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <concepts>
#include <string>
#include <vector>

#include "tests/core/allocations.hpp"
#include "tests/core/numbers.hpp"
#include "tests/layers/settings_of.hpp"
#include "tests/subject.hpp"

/// Checks what every layer promises to its users. A layer's own tests need to check only its formula. Usage:
///
///     TEST(GmlpBlock, KeepsItsPromises) {
///       expect_promises<GmlpBlock>({.length = 9, .channels = 6, .hidden = 12}, {.lengths = {9, 9}});
///       expect_promises<GmlpBlock>({.length = 9, .channels = 6, .hidden = 12, .causal = true}, {.causal = true});
///     }
///
/// Link gated_test_promises and gated_test_allocations. The latter replaces the global allocation functions
/// (tests/core/allocations.hpp).

namespace gated::test {

/// Optional promises of one configuration, and settings of their tests.
struct Promises {
  std::vector<Index> lengths = {7, 0, 9, 1};  ///< sequence lengths of the test batch
  bool causal = false;                        ///< no output depends on a later token
  bool streams = true;                        ///< a causal layer streams; if false, start() throws
  bool rewinds = true;                        ///< a stream can rewind; if false, rewind() throws
  bool streams_otherwise = false;             ///< streams sum in a different order, and equal forward() up to rounding
  bool mask_hides = true;                     ///< masked tokens reach no other token, even if they are huge
  bool trains = true;                         ///< gradients are checked against central differences
  double tolerance = 1e-6;                    ///< allowed error of a gradient, relative to the parameter's largest gradient
};

/// Builds Layer<float> and Layer<double> from `config`, perturbs their initial parameters, and expects:
///
/// * a sequence's outputs are bit-equal in a batch and alone; y may be x; both may be blocks of larger matrices, or empty;
/// * 1, 2 and 3 threads give the same bits in the forward and the backward pass;
/// * x + layer(x) has the same bits whether x is in the caller's or scratch memory: a layer overwrites only inputs moved in;
/// * a NaN or an infinity reaches no other sequence and, if the layer is causal, no earlier token. This is checked in
///   forward(), record() and extend();
/// * if the layer is causal, streams of any step size are bit-equal to each other and, unless `streams_otherwise`, to
///   forward(); a copied state continues independently; rewind() works or throws; states of other layers are refused;
/// * if the layer is not causal, start() throws;
/// * record() is bit-equal to forward(), and gradients match central differences;
/// * forward(), stream steps and training steps allocate nothing once warm, that is, after a first such call;
/// * a masked token reaches no other token, and a mask of ones changes nothing;
/// * a hook sees each layer once and changes nothing;
/// * if the layer can be saved, a loaded copy gives the same outputs;
/// * uninitialized weights are refused, with an error that names them, but explicit zeros are accepted;
/// * with bf16 and int8 weights, results are bit-equal to those of a float layer with the rounded weights;
/// * with int8 products, batching, the number of threads, streaming, record() and hooks do not change the bits, and warm calls
///   allocate nothing;
/// * mismatched shapes raise an error that names the layer, and nothing is written.
///
/// A layer must derive from Layer (layers/layer.hpp), or have contract() and `forward(x, sequences, y, workspace)`. A layer's
/// streams are tested if it has start(), masks if its contract allows masks, and files if it has an `architecture`.
template <template <class> class Layer>
void expect_promises(const typename Layer<float>::Config& config, const Promises& promises = {});

/// Overload for layers without a member type Config.
template <template <class> class Layer, class Config>
requires(!requires { typename Layer<float>::Config; }) void expect_promises(const Config& config,
                                                                            const Promises& promises = {});

/// Overload for layers made by `make(T())`, such as `[](auto zero) { return Linear<decltype(zero)>(5, 3); }`.
template <class Make>
requires std::invocable<const Make&, float>
void expect_promises(const Make& make, const Promises& promises = {});

namespace detail {

/// Checks all promises except those about uninitialized weights. Compiled once, in promises.cpp.
void expect_promises_of(Subject<float>& subject, const Promises& promises);
void expect_promises_of(Subject<double>& subject, const Promises& promises);

/// Expects that a new `layer` refuses to run until all of its weights are set.
template <class Layer>
void expect_unset_weights_refused(const Layer& layer, const Promises& promises) {
  using T = typename Layer::Scalar;
  const Sequences sequences = Sequences::of_lengths(promises.lengths);
  const Index rows = sequences.total();
  const auto run = [&](const Layer& tried) {
    Workspace<T> workspace;
    SubjectOf<Layer> subject(tried);
    Matrix<T> y(subject.rows(rows), subject.out);
    subject.forward(Matrix<T>::Ones(rows, subject.in), sequences, y, workspace, {});
  };
  const auto set_but = [&](const std::string& unset) {
    Layer partly = layer;
    for_each_parameter(
        [&](const ParameterInfo& info, auto values) {
          if (info.path() != unset && is_unset(values.front())) {
            std::fill(values.begin(), values.end(), T{0});
          }
        },
        partly);
    return partly;
  };
  for_each_parameter(
      [&](const ParameterInfo& info, auto values) {
        if (is_unset(values.front())) {
          const std::string path = info.path(), message = message_of<ArgumentError>([&] { run(set_but(path)); });
          EXPECT_TRUE(message.starts_with(text(Layer::name, ": the parameter ", path, " was never set."))) << message;
        }
      },
      layer);
  run(set_but(""));
}

template <class Layer>
void expect_promises_of(Layer layer, const Promises& promises, const std::string& settings) {
  using T = typename Layer::Scalar;
  SCOPED_TRACE(text(Layer::name, sizeof(T) == 4 ? "<float> " : "<double> ", settings));
  expect_unset_weights_refused(layer, promises);
  shake(layer, 3);
  SubjectOf<Layer> subject(layer);
  expect_promises_of(subject, promises);
}

}  // namespace detail

template <template <class> class Layer>
void expect_promises(const typename Layer<float>::Config& config, const Promises& promises) {
  detail::expect_promises_of(Layer<float>(config), promises, settings_of(config));
  detail::expect_promises_of(Layer<double>(config), promises, settings_of(config));
}

template <template <class> class Layer, class Config>
requires(!requires { typename Layer<float>::Config; }) void expect_promises(const Config& config, const Promises& promises) {
  detail::expect_promises_of(Layer<float>(config), promises, settings_of(config));
  detail::expect_promises_of(Layer<double>(config), promises, settings_of(config));
}

template <class Make>
requires std::invocable<const Make&, float>
void expect_promises(const Make& make, const Promises& promises) {
  detail::expect_promises_of(make(float()), promises, "");
  detail::expect_promises_of(make(double()), promises, "");
}

}  // namespace gated::test
