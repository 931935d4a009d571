#pragma once

#include <string>
#include <type_traits>

#include "gated/core/fields.hpp"

/// @file
/// Visits the sub-layers of any model that lists its fields().

namespace gated {

/// Calls `f(layer)` for `model` and each of its sub-layers, in the order of fields(), depth first.
template <class F, class Model>
void for_each_layer(F&& f, const Model& model) {
  if constexpr (detail::HasFields<const Model>) {
    f(model);
    Model::fields().pass_to([&](const auto&... field) { (for_each_layer(f, model.*(field.member)), ...); });
  } else if constexpr (std::is_base_of_v<Eigen::MatrixBase<Model>, Model>) {
    // a parameter
  } else if constexpr (detail::IsOptional<const Model>) {
    if (model.has_value()) {
      for_each_layer(f, *model);
    }
  } else {
    for (const auto& element : model) {
      for_each_layer(f, element);
    }
  }
}

/// One variable per type L: its address identifies L, without RTTI.
template <class L>
inline constexpr char type_tag = 0;

namespace detail {

/// Finds the sub-layer of type `tag` at address `wanted` among the fields of `layer`, depth first. Appends its path to `out`.
template <class L>
bool write_path_of(const L& layer, const PathNode* parent, const void* wanted, const char* tag, std::string& out);

template <class Member>
bool write_path_in(const Member& member, const PathNode& path, const void* wanted, const char* tag, std::string& out) {
  if constexpr (std::is_base_of_v<Eigen::MatrixBase<Member>, Member>) {
    return false;
  } else if constexpr (HasFields<Member>) {
    if (&member == wanted && tag == &type_tag<Member>) {
      path.write(out);
      return true;
    }
    return write_path_of(member, &path, wanted, tag, out);
  } else if constexpr (IsOptional<const Member>) {
    return member.has_value() && write_path_in(*member, path, wanted, tag, out);
  } else {  // a vector of sub-layers
    for (std::size_t i = 0; i < member.size(); ++i) {
      if (write_path_in(member[i], PathNode{path.parent, path.name, static_cast<Index>(i)}, wanted, tag, out)) {
        return true;
      }
    }
    return false;
  }
}

template <class L>
bool write_path_of(const L& layer, const PathNode* parent, const void* wanted, const char* tag, std::string& out) {
  return L::fields().pass_to([&](const auto&... field) {
    return (write_path_in(layer.*(field.member), PathNode{parent, field.name, -1}, wanted, tag, out) || ...);
  });
}

}  // namespace detail

}  // namespace gated
