#pragma once

#include <cstddef>
#include <vector>

#include "gated/core/sequences.hpp"
#include "gated/train/function_stack.hpp"
#include "gated/train/variables.hpp"

/// @file
/// Recomputation (gradient checkpointing): a step drops a block's activations and recomputes them in the backward pass.

namespace gated {

template <class T>
class Tape;

/// A scope whose destructor drops everything that was recorded in it.
template <class T>
class ForgottenBlock {
 public:
  ForgottenBlock(Variables<T>& variables, FunctionStack<Tape<T>>& steps, std::vector<Sequences>& sequences)
      : variables_(variables),
        steps_(steps),
        sequences_(sequences),
        first_step_(steps.size()),
        sequence_count_(sequences.size()) {}
  ~ForgottenBlock() {
    steps_.shrink(first_step_);
    sequences_.erase(sequences_.begin() + static_cast<std::ptrdiff_t>(sequence_count_), sequences_.end());
  }
  ForgottenBlock(const ForgottenBlock&) = delete;
  ForgottenBlock& operator=(const ForgottenBlock&) = delete;

  /// The index of the first backward function recorded in the scope.
  std::size_t first_step() const { return first_step_; }

 private:
  typename Variables<T>::Forgotten variables_;
  FunctionStack<Tape<T>>& steps_;
  std::vector<Sequences>& sequences_;
  std::size_t first_step_, sequence_count_;
};

}  // namespace gated
