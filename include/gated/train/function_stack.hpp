#pragma once

#include "gated/core/compiler.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>
#include <vector>

/// @file
/// What a training step must do in its backward pass.

namespace gated {

/// Functions one upon another, kept as bytes: pushing one allocates nothing once the memory of a step is there.
class FunctionStack {
 public:
  /// Puts `f()` on top. It is copied as bytes, so it may capture numbers, pointers and references to what outlives the stack.
  template <class F>
  void push(const F& f) {
    static_assert(std::is_trivially_copyable_v<F>, "what is pushed captures variables, numbers, pointers and references only");
    const std::size_t at = code_.size();
    code_.resize(at + sizeof(F));
    std::memcpy(code_.data() + at, &f, sizeof(F));
    functions_.push_back({at, [](const FunctionStack& stack, std::size_t where) {
                            // The bytes may move while the function runs, if it pushes others: run a copy.
                            alignas(F) std::byte copy[sizeof(F)];
                            std::memcpy(copy, stack.code_.data() + where, sizeof(F));
                            (*std::launder(reinterpret_cast<F*>(copy)))();
                          }});
  }

  std::size_t size() const { return functions_.size(); }

  /// Calls the function `index`, counted from the bottom.
  void run(std::size_t index) const {
    const Function f = functions_[index];
    f.run(*this, f.code);
  }

  /// Calls the functions below `last` from the top down to `first`, except those that a call of skip_to() in one of them
  /// passes.
  void run_backward(std::size_t first, std::size_t last) {
    while (last > first) {
      next_ = --last;
      run(last);
      last = std::min(last, next_);
    }
  }
  /// For a function that runs: goes on below `index`, because what stands between has been done.
  void skip_to(std::size_t index) { next_ = index; }

  /// Takes functions off until `size` are left.
  void shrink(std::size_t size) {
    if (size < functions_.size()) {
      code_.resize(functions_[size].code);
      functions_.resize(size);
    }
  }

 private:
  struct Function {
    std::size_t code;  // where its bytes begin
    void (*run)(const FunctionStack&, std::size_t);
  };
  std::vector<Function> functions_;
  std::vector<std::byte> code_;
  std::size_t next_ = 0;  // run_backward() goes on below it
};

}  // namespace gated
