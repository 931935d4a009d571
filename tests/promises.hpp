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

/// Checks the promises of every layer to its users. The test of a layer then needs only its configurations and its formula:
///
///     TEST(GmlpBlock, KeepsItsPromises) {
///       expect_promises<GmlpBlock>({.length = 9, .channels = 6, .hidden = 12}, {.lengths = {9, 9}});
///       expect_promises<GmlpBlock>({.length = 9, .channels = 6, .hidden = 12, .causal = true}, {.causal = true});
///     }
///
/// Link gated_test_promises and gated_test_allocations, which replaces the global allocation functions
/// (tests/core/allocations.hpp).

namespace gated::test {

/// What a layer promises in one configuration, where layers differ, and the inputs for its tests.
struct Promises {
  std::vector<Index> lengths = {7, 0, 9, 1};  ///< of the sequences of the test batch
  bool causal = false;                        ///< no output depends on a later token
  bool streams = true;                        ///< if causal, it streams; otherwise start() throws
  bool rewinds = true;                        ///< if it streams, it can rewind; otherwise rewind() throws
  bool streams_otherwise = false;             ///< its streams sum in a different order than a batch: equal up to rounding
  bool mask_hides = true;                     ///< masked tokens reach no other token, at any magnitude
  bool trains = true;                         ///< checks its gradients against central differences
  double tolerance = 1e-6;                    ///< for gradients, relative to the largest of the same parameter
};

/// Expects of Layer<float> and Layer<double>, built from `config`, with parameters moved away from their initial values:
///
/// * each sequence of a batch is bit-equal to itself alone; y may be x; both may be blocks of larger matrices, or empty;
/// * 1, 2 and 3 threads are bit-equal, forward and backward;
/// * x + layer(x) is bit-equal whether x belongs to the caller or is scratch: a layer overwrites only inputs moved in;
/// * a NaN or an infinity reaches no other sequence and, if the layer is causal, no earlier token: in forward(), record() and
///   extend();
/// * if it is causal: streams of any step size are bit-equal, also to forward() unless `streams_otherwise`; copies branch;
///   rewind() works or throws; states of other layers are refused. If not, start() throws;
/// * record() is bit-equal to forward(), and gradients match central differences;
/// * a warm forward(), stream step and training step allocate nothing;
/// * a masked token reaches no other, and a mask of ones changes nothing;
/// * a hook sees each layer once and changes nothing;
/// * a model that can be saved is the same when loaded;
/// * uninitialised weights are refused by name, explicit zeros are not;
/// * bf16 and int8 weights are bit-equal to the float layer with the rounded values;
/// * with int8 products, sequences, threads and steps are still bit-equal;
/// * mismatched shapes are refused by an error that names the layer, and nothing is written.
///
/// Layers derive from Layer (layers/layer.hpp), or have contract() and `forward(x, sequences, y, workspace)`. Streams are
/// tested if the layer has start(), masks if its contract takes one, files if it has an `architecture`.
template <template <class> class Layer>
void expect_promises(const typename Layer<float>::Config& config, const Promises& promises = {});

/// The same for a layer without a member type Config.
template <template <class> class Layer, class Config>
requires(!requires { typename Layer<float>::Config; }) void expect_promises(const Config& config,
                                                                            const Promises& promises = {});

/// The same for layers made by `make(T())`, such as `[](auto zero) { return Linear<decltype(zero)>(5, 3); }`.
template <class Make>
requires std::invocable<const Make&, float>
void expect_promises(const Make& make, const Promises& promises = {});

namespace detail {

/// Checks all promises but those about uninitialised weights. Compiled once, in promises.cpp.
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
