#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "gated/core/matrix.hpp"
#include "gated/core/shape.hpp"

/// @file
/// Each layer lists its parameters and sub-layers once, as member pointers:
///
///     static constexpr auto fields() {
///       return Fields(field("weight", &Linear::weight, Role::weight), field("bias", &Linear::bias, Role::bias));
///     }
///
/// parameters.hpp and sublayers.hpp walk these lists.

namespace gated {

/// What a parameter is for. Optimizers apply weight decay by role, prepare() chooses by role which weights to pack, and reports
/// use the role too.
enum class Role {
  weight,     ///< matrix of a channel projection
  bias,       ///< per-channel offset
  norm,       ///< scale or shift of a normalization
  spatial,    ///< mixes tokens: spatial weights and their biases
  position,   ///< encodes positions: class token, position tables, relative biases
  embedding,  ///< one row per token id
  memory,     ///< learned keys or values of external attention, shared by all inputs
  constant,   ///< table in a checkpoint, such as rotary frequencies; neither trained nor counted as parameters
};

/// A parameter or sub-layer of `Owner`, as a member pointer. Create it with field().
template <class Owner, class Member>
struct Field {
  const char* name;
  Member Owner::*member;
  Role role;
  Shape (Owner::*shape)() const;
};

/// A parameter. `shape` returns its shape in a checkpoint; omit `shape` if checkpoints store the matrix as rows × columns.
template <class Owner, class Member>
constexpr Field<Owner, Member> field(const char* name, Member Owner::*member, Role role,
                                     Shape (Owner::*shape)() const = nullptr) {
  return {name, member, role, shape};
}

/// A sub-layer, an optional sub-layer, or a vector of sub-layers.
template <class Owner, class Member>
constexpr Field<Owner, Member> field(const char* name, Member Owner::*member) {
  return {name, member, Role::weight, nullptr};
}

namespace detail {

// std::tuple would do, but its recursion and its constraints are slow to compile.
template <std::size_t index, class Item>
struct IndexedItem {
  Item item;
};

template <class Indices, class... Items>
struct IndexedItems;
template <std::size_t... indices, class... Items>
struct IndexedItems<std::index_sequence<indices...>, Items...> : IndexedItem<indices, Items>... {
  constexpr explicit IndexedItems(const Items&... items) : IndexedItem<indices, Items>{items}... {}

  /// Returns f(items…).
  template <class F>
  constexpr decltype(auto) pass_to(const F& f) const {
    return f(IndexedItem<indices, Items>::item...);
  }
};

}  // namespace detail

/// The fields of a layer or the settings of a configuration: `Fields(field(…), field(…))`.
template <class... Items>
struct Fields : detail::IndexedItems<std::index_sequence_for<Items...>, Items...> {
  using detail::IndexedItems<std::index_sequence_for<Items...>, Items...>::IndexedItems;
};
/// Keeps the type of every item.
template <class... Items>
Fields(Items...) -> Fields<Items...>;

namespace detail {

/// An element of a path, linked to its parent on the call stack. Only write() allocates.
struct PathNode {
  const PathNode* parent;
  const char* name;
  Index index;

  void write(std::string& out) const {
    if (parent != nullptr) {
      parent->write(out);
      out += '.';
    }
    out += name;
    if (index >= 0) {
      out += text(".", index);
    }
  }
};

template <class M>
concept HasFields = requires {
  std::remove_const_t<M>::fields();
};

template <class M>
concept IsOptional = requires(M& m) {
  m.has_value();
  *m;
};

}  // namespace detail

}  // namespace gated
