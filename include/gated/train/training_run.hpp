#pragma once

#include <memory>

#include "gated/train/loss.hpp"
#include "gated/train/recording.hpp"
#include "gated/train/regression_loss.hpp"

/// @file
/// Training steps that create and use their own tape.

namespace gated {

/// A variable and its tape.
template <class T>
struct Recorded {
  Tape<T>* tape;
  Variable variable;

  View<T> values() const { return (*tape)[variable]; }
};

/// The argument of Training::step()'s loss function: `run(model, x)` records and returns the model's output. Inputs are copied.
template <class T>
class TrainingRun {
 public:
  explicit TrainingRun(Tape<T>& tape) : tape_(tape) {}

  Tape<T>& tape() const { return tape_; }

  template <class L>
  Recorded<T> operator()(const L& layer, const ConstView<T>& x) const {
    return {&tape_, record(tape_, layer, tape_.constant(x))};
  }
  template <class L>
  Recorded<T> operator()(const L& layer, const ConstView<T>& x, const Sequences& sequences, Mask mask = {}) const {
    return {&tape_, record(tape_, layer, tape_.constant(x), sequences, mask)};
  }
  /// run(layer, x) for an x that this step recorded.
  template <class L>
  Recorded<T> operator()(const L& layer, const Recorded<T>& x) const {
    return {&tape_, record(tape_, layer, x.variable)};
  }
  template <class L>
  Recorded<T> operator()(const L& layer, const Recorded<T>& x, const Sequences& sequences, Mask mask = {}) const {
    return {&tape_, record(tape_, layer, x.variable, sequences, mask)};
  }
  /// run(model, tokens, sequences) for a language model.
  template <class L>
  Recorded<T> operator()(const L& model, Tokens tokens, const Sequences& sequences, Mask mask = {}, Tokens types = {}) const {
    return {&tape_, record(tape_, model, tokens, sequences, mask, types)};
  }

 private:
  Tape<T>& tape_;
};

/// cross_entropy() on the tape of `logits`.
template <class T>
Recorded<T> cross_entropy(const Recorded<T>& logits, Targets targets, const CrossEntropyOptions& options = {}) {
  return {logits.tape, cross_entropy(*logits.tape, logits.variable, targets, options)};
}
/// regression_loss() on the tape of `y`.
template <class T>
Recorded<T> regression_loss(const Recorded<T>& y, const std::type_identity_t<ConstView<T>>& target,
                            const RegressionLossConfig& config = {}, Mask observed = {}) {
  return {y.tape, regression_loss(*y.tape, y.variable, target, config, observed)};
}

namespace detail {

/// A tape created on first use, and again if the number of threads changes. A copy creates its own.
template <class T>
class LazyTape {
 public:
  LazyTape() = default;
  LazyTape(const LazyTape&) {}
  LazyTape(LazyTape&&) = default;
  LazyTape& operator=(LazyTape other) noexcept {
    tape_ = std::move(other.tape_);
    return *this;
  }

  Tape<T>& get(const Threads& threads, const TapeOptions& options) {
    if (tape_ == nullptr || tape_->workspace().threads() != threads) {
      tape_ = std::make_unique<Tape<T>>(threads, options);
    }
    return *tape_;
  }

 private:
  std::unique_ptr<Tape<T>> tape_;
};

}  // namespace detail

}  // namespace gated
