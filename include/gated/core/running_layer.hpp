#pragma once

#include <string>

#include "gated/core/sublayers.hpp"

/// @file
/// Which layer runs, for messages and hooks.

namespace gated {

/// A layer that is running and those around it: a chain on the call stack, from which names follow when somebody asks.
struct RunningLayer {
  const RunningLayer* outer;
  const void* layer;
  const char* tag;   ///< of its type
  const char* name;  ///< of its type, for messages
  bool (*write_path)(const void* layer, const void* sublayer, const char* tag, std::string& out);

  template <class L>
  RunningLayer(const RunningLayer* outer_, const L& layer_)
      : outer(outer_),
        layer(&layer_),
        tag(&type_tag<L>),
        name(L::name),
        write_path([](const void* whole, const void* sublayer, const char* wanted, std::string& out) {
          return detail::write_path_of(*static_cast<const L*>(whole), nullptr, sublayer, wanted, out);
        }) {}

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
    if (!whole.write_path(whole.layer, layer, tag, out)) {
      out += name;  // no field of it
    }
  }
};

}  // namespace gated
