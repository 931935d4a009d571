#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "gated/layers/layer.hpp"

/// Small layers for tests of runs and streams.

namespace gated::test {

/// y = factor · x.
struct Times : Layer<Times, double> {
  static constexpr const char* name = "Times";

  Index channels;
  Vector<double> factor;

  Times(double factor_, Index channels_) : channels(channels_), factor(Vector<double>::Constant(1, factor_)) {}
  static constexpr auto fields() { return Fields(field("factor", &Times::factor, Role::weight)); }
  Contract contract() const { return {.in = channels, .out = channels, .sees = Sees::itself}; }

  template <class Run>
  auto apply(Run& run, MatrixOf<Run> x) const {
    const auto y = run.reuse(x);
    View<double> product = run[y];
    product = run[x] * factor[0];
    return y;
  }
};

/// y_t = x_t + x_{t-1} + added_t. A stream remembers all tokens.
struct Neighbours : Layer<Neighbours, double> {
  static constexpr const char* name = "Neighbours";

  Index channels, length;

  Neighbours(Index channels_, Index length_) : channels(channels_), length(length_) {}
  static constexpr auto fields() { return Fields(); }
  Contract contract() const {
    return {.in = channels, .out = channels, .sees = Sees::past, .longest = length, .remedy = " Cut it."};
  }

  template <class Run>
  auto apply(Run& run, MatrixOf<Run> x, MatrixOf<Run> added = {}) const {
    const auto y = run.make(run.rows(x), run.columns(x));
    View<double> sum = run[y];
    const View<double> own = run[x];
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
    if (added) {
      sum += run[added];
    }
    return y;
  }
};

/// y_t = x_0 + … + x_t, leaving out masked tokens. A stream remembers the sum.
struct Totals : Layer<Totals, double> {
  static constexpr const char* name = "Totals";

  Index channels;

  explicit Totals(Index channels_) : channels(channels_) {}
  static constexpr auto fields() { return Fields(); }
  Contract contract() const { return {.in = channels, .out = channels, .sees = Sees::past, .takes_mask = true}; }

  template <class Run>
  auto apply(Run& run, MatrixOf<Run> x) const {
    const auto y = run.reuse(x);
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

/// y = totals(times(x)), in place if possible.
struct Pair : Layer<Pair, double> {
  static constexpr const char* name = "Pair";

  Times times;
  Totals totals;

  Pair(double factor, Index channels) : times(factor, channels), totals(channels) {}
  static constexpr auto fields() { return Fields(field("times", &Pair::times), field("totals", &Pair::totals)); }
  Contract contract() const { return times.contract().then(totals.contract()); }

  auto apply(auto& run, auto x) const { return run(totals, run(times, std::move(x))); }
};

/// Consecutive layers in each kind of field: a vector, an optional and a plain member.
struct Tower : Layer<Tower, double> {
  static constexpr const char* name = "Tower";

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
    return Fields(field("blocks", &Tower::blocks), field("head", &Tower::head), field("inner.last", &Tower::last));
  }
  Contract contract() const {
    Contract contract = last.contract();
    contract.takes_mask = true;
    return contract;
  }

  auto apply(auto& run, auto x) const {
    auto y = run.blocks(blocks, std::move(x));
    return run(last, head ? run(*head, std::move(y)) : std::move(y));
  }
};

}  // namespace gated::test
