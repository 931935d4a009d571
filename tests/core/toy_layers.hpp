#pragma once

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "gated/core/layer.hpp"

/// Layers with bodies of a few lines, for the tests of what runs them.

namespace gated::test {

/// y = factor · x.
struct Times : TokenLayer<Times, double> {
  using Scalar = double;
  static constexpr const char* name = "Times";

  Index channels;
  Vector<double> factor;

  Times(double factor_, Index channels_) : channels(channels_), factor(Vector<double>::Constant(1, factor_)) {}
  static constexpr auto fields() { return std::tuple{field("factor", &Times::factor, Role::weight)}; }
  Index in() const { return channels; }
  Index out() const { return channels; }

  template <class Run>
  auto apply(Run& run, const RowsOf<Run>& x, const PlaceOf<Run>& to) const {
    expect_columns<double>(name, "x", run[x], "channels", channels);
    const auto y = run.make(run.count(x), run.width(x), to);
    View<double> product = run[y];
    product = run[x] * factor[0];
    return y;
  }
};

/// y_t = x_t + x_{t-1}, and an addition. A stream remembers the tokens.
struct Neighbours : SequenceLayer<Neighbours, double> {
  using Scalar = double;
  template <class Run>
  struct Options {
    RowsOf<Run> added = {};
    bool is_plain() const { return !added; }
  };
  static constexpr const char* name = "Neighbours";

  Index channels, length;

  Neighbours(Index channels_, Index length_) : channels(channels_), length(length_) {}
  static constexpr auto fields() { return std::tuple{}; }
  Index in() const { return channels; }
  Index out() const { return channels; }
  Index longest() const { return length; }
  void check(Where where, const Sequences& sequences, Mask) const {
    require<ShapeError>(sequences.longest() <= length, where, ": a sequence is too long.");
  }

  template <class Run>
  auto apply(Run& run, const RowsOf<Run>& x, const Options<Run>& options, const PlaceOf<Run>& to) const {
    const auto y = run.make(run.count(x), run.width(x), to);
    View<double> sum = run[y];
    const Matrix<double> own = run[x];  // y may be x
    sum = own;
    if constexpr (Run::streams) {
      Matrix<double>& seen = run.remember(std::min(run.capacity(), length), channels);
      for (Index i = 0; i < own.rows(); ++i) {
        const Index t = run.position() + i;
        seen.row(t) = own.row(i);
        sum.row(i) += t > 0 ? Matrix<double>(seen.row(t - 1)) : Matrix<double>(Matrix<double>::Zero(1, channels));
      }
    } else {
      for (Index b = 0; b < run.sequences().count(); ++b) {
        for (Index t = 1; t < run.sequences().length(b); ++t) {
          sum.row(run.sequences().offset(b) + t) += own.row(run.sequences().offset(b) + t - 1);
        }
      }
    }
    if (options.added) {
      sum += run[options.added];
    }
    return y;
  }
};

/// y_t = x_0 + … + x_t, without tokens that the mask hides. A stream remembers the sum.
struct Totals : SequenceLayer<Totals, double> {
  using Scalar = double;
  static constexpr const char* name = "Totals";
  static constexpr bool takes_mask = true;

  Index channels;

  explicit Totals(Index channels_) : channels(channels_) {}
  static constexpr auto fields() { return std::tuple{}; }
  Index in() const { return channels; }
  Index out() const { return channels; }
  void check(Where where, const Sequences& sequences, Mask mask) const { expect_mask(where, mask, sequences); }

  template <class Run>
  auto apply(Run& run, const RowsOf<Run>& x, const PlaceOf<Run>& to) const {
    const auto y = run.make(run.count(x), run.width(x), to);
    const View<double> from = run[x];
    View<double> out = run[y];
    Matrix<double> none = Matrix<double>::Zero(1, channels), *total = &none;
    if constexpr (Run::streams) {
      total = &run.remember(1, channels, Run::Memory::sums);
    }
    for (Index b = 0; b < run.sequences().count(); ++b) {
      if constexpr (!Run::streams) {
        total->setZero();
      }
      for (Index t = run.sequences().offset(b); t < run.sequences().offset(b) + run.sequences().length(b); ++t) {
        if (run.mask().empty() || run.mask()[static_cast<std::size_t>(t)] != 0) {
          *total += from.row(t);
        }
        out.row(t) = *total;
      }
    }
    return y;
  }
};

/// y = totals(times(x)), in place where it may be.
struct Pair : SequenceLayer<Pair, double> {
  using Scalar = double;
  static constexpr const char* name = "Pair";
  static constexpr bool takes_mask = true;

  Times times;
  Totals totals;

  Pair(double factor, Index channels) : times(factor, channels), totals(channels) {}
  static constexpr auto fields() { return std::tuple{field("times", &Pair::times), field("totals", &Pair::totals)}; }
  Index in() const { return times.in(); }
  Index out() const { return times.out(); }

  template <class Run>
  auto apply(Run& run, const RowsOf<Run>& x, const PlaceOf<Run>& to) const {
    return run(totals, run(times, x, {}, run.over(x)), {}, to);
  }
};

/// Layers in every kind of field, one after the other.
struct Tower : SequenceLayer<Tower, double> {
  using Scalar = double;
  static constexpr const char* name = "Tower";
  static constexpr bool takes_mask = true;

  std::vector<Pair> blocks;
  std::optional<Times> head;
  Neighbours last;

  Tower(Index depth, Index channels, Index length) : last(channels, length) {
    for (Index i = 0; i < depth; ++i) {
      blocks.emplace_back(static_cast<double>(i + 2), channels);
    }
    head.emplace(0.5, channels);
  }
  static constexpr auto fields() {
    return std::tuple{field("blocks", &Tower::blocks), field("head", &Tower::head), field("inner.last", &Tower::last)};
  }
  Index in() const { return last.in(); }
  Index out() const { return last.out(); }
  Index longest() const { return last.longest(); }

  template <class Run>
  auto apply(Run& run, const RowsOf<Run>& x, const PlaceOf<Run>& to) const {
    auto y = run.in_groups(run.copy(x, to), [this](auto& group, auto rows) {
      for (const Pair& block : blocks) {
        rows = group.block(block, rows);
      }
      return rows;
    });
    y = head ? run(*head, y, {}, run.over(y)) : y;
    return run(last, y, {}, to);
  }
};

}  // namespace gated::test
