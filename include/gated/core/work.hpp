#pragma once

#include "gated/core/compiler.hpp"

/// @file
/// What a loop asks of threads.

namespace gated {

/// A reference to the work of one loop. `work(i)` does what it can as worker i; each i has one thread at a time.
class Work {
 public:
  template <class F>
  explicit Work(const F& f)
      : object_(&f), call_([](const void* object, int worker) { (*static_cast<const F*>(object))(worker); }) {}

  void operator()(int worker) const { call_(object_, worker); }

 private:
  const void* object_;
  void (*call_)(const void* object, int worker);
};

}  // namespace gated
