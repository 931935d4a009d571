#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>

#include "gated/core/matrix.hpp"

/// @file
/// Tables that depend only on a length, shared by all threads.

namespace gated {

/// Returns Table(length), built on first use and kept until the program ends. Later calls neither allocate nor block, on any
/// thread. If two threads ask for the same new length at once, both may build the table; only one is kept.
template <class Table>
const Table& length_table(Index length) {
  struct Node {
    Node(Index length_, Node* next_) : length(length_), table(length_), next(next_) {}
    Index length;
    Table table;
    Node* next;
  };
  static constinit std::array<std::atomic<Node*>, 64> lists{};  // never destroyed: other static objects may use it at exit
  std::atomic<Node*>& list = lists[static_cast<std::size_t>(length) % lists.size()];
  const auto find = [length](Node* from) {
    while (from != nullptr && from->length != length) {
      from = from->next;
    }
    return from;
  };
  Node* first = list.load(std::memory_order_acquire);
  if (const Node* const found = find(first)) {
    return found->table;
  }
  auto made = std::make_unique<Node>(length, first);
  while (!list.compare_exchange_weak(first, made.get(), std::memory_order_acq_rel, std::memory_order_acquire)) {
    if (const Node* const found = find(first)) {
      return found->table;
    }
    made->next = first;
  }
  return made.release()->table;
}

}  // namespace gated
