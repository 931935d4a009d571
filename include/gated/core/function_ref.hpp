#pragma once

#include "gated/core/compiler.hpp"

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

/// @file
/// A non-owning reference to a callable.

namespace gated {

template <class Signature>
class FunctionRef;

/// A non-owning reference to anything callable as `R(Args...)`, like C++26's `std::function_ref`: two pointers, no copy, no
/// allocation. A function with a FunctionRef parameter is compiled once, not once per lambda. The callable must outlive the
/// reference: use FunctionRef only as a parameter type, and do not store it.
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, FunctionRef> && std::is_object_v<std::remove_reference_t<F>> &&
           std::is_invocable_r_v<R, const F&, Args...>) FunctionRef(const F& f)
      : object_(std::addressof(f)), call_(&call<F>) {}

  R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  template <class F>
  static R call(const void* object, Args... args) {
    return static_cast<R>((*static_cast<const F*>(object))(std::forward<Args>(args)...));
  }

  const void* object_;
  R (*call_)(const void* object, Args... args);
};

/// The work of a parallel loop: `work(i)` runs tasks as worker i until none are left. No two threads use the same i at the same
/// time.
using Work = FunctionRef<void(int worker)>;

}  // namespace gated
