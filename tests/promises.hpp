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

/// What every layer owes its users. With this, the test of a layer is a list of configurations, and its formula:
///
///     TEST(GmlpBlock, KeepsItsPromises) {
///       expect_promises<GmlpBlock>({.length = 9, .channels = 6, .hidden = 12}, {.lengths = {9, 9}});
///       expect_promises<GmlpBlock>({.length = 9, .channels = 6, .hidden = 12, .causal = true}, {.causal = true});
///     }
///
/// A program that includes it links gated_test_promises and gated_test_allocations, which replaces the global allocation
/// functions (tests/core/allocations.hpp).

namespace gated::test {

/// What a layer of some configuration promises, as far as layers differ, and what it is tried with.
struct Promises {
  std::vector<Index> lengths = {7, 0, 9, 1};  ///< of the sequences that it is given together
  bool causal = false;                        ///< no output depends on a later token
  bool streams = true;                        ///< if it is causal, it streams; without, start() is refused
  bool rewinds = true;                        ///< if it streams, tokens can be taken back; without, rewind() is refused
  bool streams_otherwise = false;             ///< its streams sum in another order than a batch: equal but for rounding
  bool mask_hides = true;                     ///< what a mask takes away reaches no other token, however large
  bool trains = true;                         ///< its gradients are tried against differences
  double tolerance = 1e-6;                    ///< of gradients, relative to the largest of the same parameter
};

/// Expects of Layer<float> and Layer<double>, made from `config` and shaken away from their start, that
///
/// * each sequence of a batch has the bits that it has alone; y may be x; both may be parts of larger matrices, or empty;
/// * 1, 2 and 3 threads give the same bits, forward and backward;
/// * x + layer(x) has the same bits whether x is a caller's or scratch of the run: a layer overwrites what is moved in, no
/// more;
/// * a NaN or an infinity reaches no other sequence and, if the layer is causal, no token before its own: in forward(),
///   record() and extend();
/// * if it is causal, streams of any steps give the same bits, those of forward() unless it says otherwise, copies branch,
///   rewind() works or is refused, and states of other layers are refused; if not, start() is refused;
/// * record() gives the bits of forward(), and the gradients are those of central differences;
/// * a warm forward(), step of a stream and training step allocate nothing;
/// * a masked token reaches no other, and a mask of ones changes nothing;
/// * a hook sees each layer once and changes nothing;
/// * a model that a file can hold is the same when read again;
/// * weights that nobody has set are refused, each by its name; zeros that somebody has set are not;
/// * weights in bf16 and int8 give the bits of the float layer that holds the rounded numbers;
/// * with products in integers, sequences, threads and steps give the same bits as each other;
/// * what has another shape is refused by an error that names the layer, and nothing is written.
///
/// Layers are those of layers/layer.hpp, or any with contract() and `forward(x, sequences, y, workspace)`. Streams, masks and
/// files are tried where the layer has start(), its contract takes a mask, and it has an `architecture`.
template <template <class> class Layer>
void expect_promises(const typename Layer<float>::Config& config, const Promises& promises = {});

/// The same for a layer whose configuration is no member type of it.
template <template <class> class Layer, class Config>
requires(!requires { typename Layer<float>::Config; }) void expect_promises(const Config& config,
                                                                            const Promises& promises = {});

/// The same for layers that `make(T())` gives, such as `[](auto zero) { return Linear<decltype(zero)>(5, 3); }`.
template <class Make>
requires std::invocable<const Make&, float>
void expect_promises(const Make& make, const Promises& promises = {});

namespace detail {

/// Checks what every layer promises but for its start. Compiled once, in promises.cpp.
void expect_promises_of(Subject<float>& subject, const Promises& promises);
void expect_promises_of(Subject<double>& subject, const Promises& promises);

/// Expects that `layer`, as it was built, is not run before each of its weights has been set.
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
