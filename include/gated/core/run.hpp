#pragma once

#include <cstddef>
#include <vector>

#include "gated/core/inference.hpp"
#include "gated/core/sequence_groups.hpp"

/// @file
/// Runs the body of a layer over a batch.
///
/// A layer states its formula once, in `apply(run, x, …)`. The type of `run` decides what is computed. A Batch computes whole
/// sequences, and a Recording (train/recording.hpp) also records the ops for training. A Stream (core/stream.hpp) computes the
/// next tokens of one sequence. All three offer:
///
///     run(layer, x)                       layer(x); also run(layer, x, {.residual = …}), and run(layer, x, more…)
///     run(layer, std::move(x))            the same; may overwrite x, because it is moved
///     run.blocks(layers, std::move(x))    one layer after the other, a few sequences at a time
///     run[x]                              the values of x; write only to a matrix from run.make(), run.reuse() or run.owned()
///     run.rows(x), run.columns(x)         the numbers of rows and columns of x
///     run.columns(x, first, count)        `count` columns of x from column `first`, in place
///     run.split(std::move(x), n, m, …)    all columns of x in parts of n, m, … columns, to be moved one by one
///     run.sequences(), run.mask()         the split into sequences, and the token mask
///     run.position()                      the position of the run's first token; above 0 only in a stream
///
/// Only ops depend on the type of run. A composite layer depends neither on that type nor on where its result is stored.

namespace gated {

/// A run over whole sequences.
template <class T>
class Batch : public Inference<Batch<T>, T> {
  using Base = Inference<Batch<T>, T>;

 public:
  using typename Base::Matrix;
  static constexpr bool streams = false;

  Batch(Workspace<T>& workspace, const Sequences& sequences, Mask mask = {}, const RunningLayer* running = nullptr)
      : Base(workspace, sequences, mask, running) {}

  /// The position of each sequence's first token in this run: always 0.
  static constexpr Index position() { return 0; }

  /// The same run with other sequences or another mask, for layers inside the running layer.
  Batch with(const Sequences& sequences) const { return Batch(*this, sequences, {}); }
  Batch with(Mask mask) const { return Batch(*this, this->sequences(), mask); }

  /// True if a layer with this contract accepts `rows` rows for the run's sequences.
  bool takes_rows(const Contract& contract, Index rows) const { return contract.takes_rows(rows, this->sequences()); }
  /// Raises ShapeError unless takes_rows().
  void expect_rows(Where where, const Contract& contract, Index rows) const {
    gated::expect_rows(where, contract, rows, this->sequences());
  }

  /// Applies all `layers` to one group of sequences, then to the next group: a group's activations stay in cache from layer to
  /// layer. See for_each_group().
  template <class L>
  Matrix blocks(const std::vector<L>& layers, Matrix x, double = 0) {
    if (layers.empty()) {
      return x;
    }
    const Matrix y = this->reuse(x);
    for_each_group(this->sequences(), this->workspace(), [&](Index first, const Sequences& group, Workspace<T>& scratch) {
      const auto frame = scratch.frame();
      Batch part(scratch, group, mask_part(this->mask(), first, group.total()), this->running());
      const MatrixView<T> rows = y.rows(first, group.total());
      part.into(rows, layers.front(), x.rows(first, group.total()));
      for (std::size_t i = 1; i < layers.size(); ++i) {
        part.into(rows, layers[i], rows);
      }
    });
    return y;
  }

 private:
  Batch(const Batch& around, const Sequences& sequences, Mask mask) : Base(around, sequences, mask) {}
};

}  // namespace gated
