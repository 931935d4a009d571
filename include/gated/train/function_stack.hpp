#pragma once

#include "gated/core/compiler.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>
#include <vector>

/// @file
/// The functions of a backward pass.

namespace gated {

/// A stack of functions of a Context, stored as bytes. A training step allocates nothing unless it pushes more than earlier
/// ones.
template <class Context>
class FunctionStack {
 public:
  /// Pushes `f`, to be called as `f(context)`. It is copied as bytes: it may capture numbers, and pointers and references to
  /// objects that outlive the stack.
  template <class F>
  void push(const F& f) {
    static_assert(std::is_trivially_copyable_v<F>,
                  "a pushed function may capture variables, numbers, pointers and references only");
    const std::size_t at = code_.size();
    code_.resize(at + sizeof(F));
    std::memcpy(code_.data() + at, &f, sizeof(F));
    functions_.push_back({at, &call<F>});
  }

  std::size_t size() const { return functions_.size(); }

  /// Calls functions `last` - 1 down to `first`, except those skipped by skip_to().
  void run_backward(std::size_t first, std::size_t last, Context& context) {
    while (last > first) {
      next_ = --last;
      const Function f = functions_[last];  // a copy: functions_ may move if the function pushes others
      f.call(*this, f.code, context);
      last = std::min(last, next_);
    }
  }
  /// Makes run_backward() continue below `index`. Called by a function that has itself run function `index` and those above it.
  void skip_to(std::size_t index) { next_ = index; }

  /// Pops functions until `size` are left.
  void shrink(std::size_t size) {
    if (size < functions_.size()) {
      code_.resize(functions_[size].code);
      functions_.resize(size);
    }
  }

 private:
  struct Function {
    std::size_t code;  // offset of the function's bytes in code_
    void (*call)(const FunctionStack&, std::size_t, Context&);
  };

  /// Calls a copy of the F at `where`: code_ may move if the function pushes others.
  template <class F>
  static void call(const FunctionStack& stack, std::size_t where, Context& context) {
    alignas(F) std::byte copy[sizeof(F)];
    std::memcpy(copy, stack.code_.data() + where, sizeof(F));
    (*std::launder(reinterpret_cast<F*>(copy)))(context);
  }

  std::vector<Function> functions_;
  std::vector<std::byte> code_;
  std::size_t next_ = 0;  // run_backward() continues below this index
};

}  // namespace gated
