#pragma once

#include <concepts>
#include <string>

#include "gated/core/contract.hpp"
#include "gated/core/prepared_weights.hpp"
#include "gated/core/random.hpp"
#include "gated/core/sublayers.hpp"

/// @file
/// The running layer, for messages and hooks.

namespace gated {

namespace detail {

/// Stops the compilation, and says why, if layer L lacks a member or declares one that gated would ignore. `Layer` (in
/// layers/layer.hpp) lists the members.
template <class L>
constexpr void expect_layer() {
  static_assert(
      requires {
        { L::name } -> std::convertible_to<const char*>;
      },
      "name: a layer needs `static constexpr const char* name`");
  static_assert(HasFields<L>, "fields: a layer needs `static constexpr auto fields()`; see core/fields.hpp");
  static_assert(
      requires(const L& layer) {
        { layer.contract() } -> std::same_as<Contract>;
      },
      "contract: a layer needs `Contract contract() const`; see core/contract.hpp");
  if constexpr (
      requires { &L::initialize; } || requires(L & layer, Random & random) { layer.initialize(random); }) {
    static_assert(
        requires { static_cast<void (L::*)(Random&)>(&L::initialize); },
        "initialize: declare it as `void initialize(Random& random)`");
  }
  static_assert(
      !requires(L & layer, Random & random) { layer.initialise(random); }, "initialise: write `initialize`");
  static_assert(
      !requires(L & layer) { layer.reset_parameters(); }, "reset_parameters: write `void initialize(Random& random)`");
  if constexpr (requires { &L::prepare; }) {
    static_assert(
        requires(const L& layer, PreparedWeights<typename L::Scalar>& prepared) { layer.prepare(prepared); },
        "prepare: declare it as `void prepare(PreparedWeights<T>& prepared) const`");
  }
}

/// Type-erased description of a layer: name, tag and path lookup.
struct LayerType {
  const char* name;  ///< for messages
  const char* tag;   ///< unique to the type
  bool (*write_path)(const void* layer, const void* sublayer, const char* tag, std::string& out);
};

template <class L>
inline constexpr LayerType layer_type{L::name, &type_tag<L>,
                                      [](const void* layer, const void* sublayer, const char* tag, std::string& out) {
                                        return write_path_of(*static_cast<const L*>(layer), nullptr, sublayer, tag, out);
                                      }};

}  // namespace detail

/// The running layer and its enclosing layers: a linked list on the call stack. Parameter paths are built from it on demand.
struct RunningLayer {
  const RunningLayer* outer;
  const void* layer;
  const detail::LayerType* type;

  template <class L>
  RunningLayer(const RunningLayer* outer_, const L& layer_) : outer(outer_), layer(&layer_), type(&detail::layer_type<L>) {
    detail::expect_layer<L>();
  }

  const char* name() const { return type->name; }

  /// Appends the path, such as "blocks.3.gate", from the names in fields(). Appends nothing for the outermost layer.
  void write(std::string& out) const {
    if (outer == nullptr) {
      return;
    }
    outer->write(out);
    write_name(*outer, out);
  }

  /// Appends the path of this layer within `whole`, its enclosing layer.
  void write_name(const RunningLayer& whole, std::string& out) const {
    out += out.empty() ? "" : ".";
    if (!whole.type->write_path(whole.layer, layer, type->tag, out)) {
      out += name();  // not a field of `whole`
    }
  }
};

namespace detail {

/// The path of `running`; empty for the outermost layer, and for nullptr.
inline std::string path_of(const RunningLayer* running) {
  std::string path;
  if (running != nullptr) {
    running->write(path);
  }
  return path;
}

/// The name of the outermost layer around `running`, for messages.
inline const char* outermost_of(const RunningLayer* running) {
  while (running != nullptr && running->outer != nullptr) {
    running = running->outer;
  }
  return running == nullptr ? "layer" : running->name();
}

}  // namespace detail

}  // namespace gated
