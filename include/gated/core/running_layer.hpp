#pragma once

#include <string>

#include "gated/core/sublayers.hpp"

/// @file
/// Which layer runs, for messages and hooks.

namespace gated {

namespace detail {

/// What the type of a layer says of it.
struct LayerType {
  const char* name;  ///< for messages
  const char* tag;   ///< differs from type to type
  bool (*write_path)(const void* layer, const void* sublayer, const char* tag, std::string& out);
};

template <class L>
inline constexpr LayerType layer_type{L::name, &type_tag<L>,
                                      [](const void* layer, const void* sublayer, const char* tag, std::string& out) {
                                        return write_path_of(*static_cast<const L*>(layer), nullptr, sublayer, tag, out);
                                      }};

}  // namespace detail

/// A layer that runs and those around it: a chain on the call stack. Names follow from it on demand.
struct RunningLayer {
  const RunningLayer* outer;
  const void* layer;
  const detail::LayerType* type;

  template <class L>
  RunningLayer(const RunningLayer* outer_, const L& layer_) : outer(outer_), layer(&layer_), type(&detail::layer_type<L>) {}

  const char* name() const { return type->name; }

  /// "blocks.3.gate", by the names that fields() states; empty for the outermost layer.
  void write(std::string& out) const {
    if (outer == nullptr) {
      return;
    }
    outer->write(out);
    write_name(*outer, out);
  }

  /// The layer around all others.
  const RunningLayer& outermost() const { return outer == nullptr ? *this : outer->outermost(); }

  /// Appends the name of this layer in `whole`, which runs it.
  void write_name(const RunningLayer& whole, std::string& out) const {
    out += out.empty() ? "" : ".";
    if (!whole.type->write_path(whole.layer, layer, type->tag, out)) {
      out += name();  // no field of it
    }
  }
};

}  // namespace gated
