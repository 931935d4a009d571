#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gated/core/run.hpp"

/// @file
/// The nested layers that run in a training step. Their paths name the variables of the step.

namespace gated {

/// A tree of nested layers with a current layer. Variables store their layer's index; path() builds the layer's path on demand.
class Scopes {
 public:
  /// The index of the running layer; -1 outside all layers.
  Index current() const { return current_; }

  /// Enters a sub-layer of the current layer. Returns the outer layer, for leave().
  Index enter(const RunningLayer& layer) {
    const Index outer = current_;
    nodes_.push_back({outer, layer});
    current_ = static_cast<Index>(nodes_.size()) - 1;
    return outer;
  }
  /// Makes `outer`, returned by enter(), the current layer again.
  void leave(Index outer) { current_ = outer; }
  /// A scope: its constructor enters a sub-layer, its destructor leaves it.
  class Inside {
   public:
    Inside(Scopes& scopes, const RunningLayer& layer) : scopes_(scopes), outer_(scopes.enter(layer)) {}
    ~Inside() { scopes_.leave(outer_); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    Scopes& scopes_;
    Index outer_;
  };

  /// A layer's path, from the names in fields(): "blocks.3.gate". Empty for the outermost layer and outside all layers.
  std::string path(Index scope) const {
    if (scope < 0) {
      return {};
    }
    const Node& node = nodes_[static_cast<std::size_t>(scope)];
    if (node.outer < 0) {
      return {};
    }
    std::string out = path(node.outer);
    node.layer.write_name(nodes_[static_cast<std::size_t>(node.outer)].layer, out);
    return out;
  }

  /// The name of the outermost running layer.
  const char* outermost() const {
    Index scope = current_;
    while (scope >= 0 && nodes_[static_cast<std::size_t>(scope)].outer >= 0) {
      scope = nodes_[static_cast<std::size_t>(scope)].outer;
    }
    return scope < 0 ? "layer" : nodes_[static_cast<std::size_t>(scope)].layer.name();
  }

  std::size_t size() const { return nodes_.size(); }
  /// Removes the newest layers until `size` are left.
  void shrink(std::size_t size) { nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(size), nodes_.end()); }
  void clear() {
    nodes_.clear();
    current_ = -1;
  }

 private:
  struct Node {
    Index outer;
    RunningLayer layer;
  };
  std::vector<Node> nodes_;
  Index current_ = -1;
};

}  // namespace gated
