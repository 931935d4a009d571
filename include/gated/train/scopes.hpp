#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gated/core/matrix.hpp"

/// @file
/// Under which names a training step makes its variables.

namespace gated {

/// Names within names: a tree, in which one is the current one. Numbers stand for paths until somebody reads them.
class Scopes {
 public:
  /// The number of the path that is current; -1 outside of all names.
  Index current() const { return current_; }

  /// Goes into `name` (or `name.index`) within the current path. Returns the path to come back to.
  Index enter(const char* name, Index index) {
    const Index outer = current_;
    nodes_.push_back({outer, name, index});
    current_ = static_cast<Index>(nodes_.size()) - 1;
    return outer;
  }
  /// Goes to the path `outer`, which enter() gave.
  void leave(Index outer) { current_ = outer; }

  /// "blocks.3.gate".
  std::string path(Index scope) const {
    const Node& node = nodes_[static_cast<std::size_t>(scope)];
    std::string out = node.outer < 0 ? "" : path(node.outer) + ".";
    out += node.name;
    return node.index < 0 ? out : out + text(".", node.index);
  }

  std::size_t size() const { return nodes_.size(); }
  /// Forgets the newest names until `size` are left.
  void shrink(std::size_t size) { nodes_.resize(size); }
  void clear() {
    nodes_.clear();
    current_ = -1;
  }

 private:
  struct Node {
    Index outer;
    const char* name;
    Index index;
  };
  std::vector<Node> nodes_;
  Index current_ = -1;
};

}  // namespace gated
