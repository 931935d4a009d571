#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "gated/core/error.hpp"
#include "gated/core/fields.hpp"
#include "gated/core/function_ref.hpp"
#include "gated/core/shape.hpp"

/// @file
/// Visits the parameters of any model that lists its fields().
///
/// Loading, saving, counting, summaries, gradients and optimizers use for_each_parameter(). Gradients and an optimizer's
/// moments have the model's type, so for_each_parameter() can visit them in lockstep with the model.

namespace gated {

/// The description of a parameter in for_each_parameter(): path, shape and role.
struct ParameterInfo {
  const detail::PathNode* node;
  Shape shape;
  Role role;

  /// "blocks.3.gate.proj.weight"
  std::string path() const {
    std::string out;
    node->write(out);
    return out;
  }
};

namespace detail {

/// The callback of for_each_parameter(): a parameter and its values in each of `count` models. Const and non-const models share
/// this type, so each layer's code is compiled once.
template <class T, std::size_t count>
using ParameterVisitor = FunctionRef<void(const ParameterInfo& info, const std::array<std::span<T>, count>& values)>;

inline void expect_same_structure(bool same, const PathNode& path) {
  if (!same) {
    std::string where;
    path.write(where);
    raise<ArgumentError>("The models (or a model and its gradient) differ in structure at ", where,
                         ". Build all from equal configurations; build a gradient with zeros_like(model).");
  }
}

template <class T, std::size_t count, class Layer>
void walk_fields(const ParameterVisitor<T, count>& visit, const PathNode* parent, const std::array<Layer*, count>& layers);

template <class T, std::size_t count, class Member>
void walk_member(const ParameterVisitor<T, count>& visit, const PathNode& path, const std::array<Member*, count>& members) {
  if constexpr (HasFields<Member>) {
    walk_fields(visit, &path, members);
  } else if constexpr (IsOptional<Member>) {
    std::array<typename Member::value_type*, count> values;
    for (std::size_t k = 0; k < count; ++k) {
      expect_same_structure(members[k]->has_value() == members[0]->has_value(), path);
      values[k] = members[k]->has_value() ? &**members[k] : nullptr;
    }
    if (values[0] != nullptr) {
      walk_member(visit, path, values);
    }
  } else {  // a vector of sub-layers
    for (const Member* member : members) {
      expect_same_structure(member->size() == members[0]->size(), path);
    }
    for (std::size_t i = 0; i < members[0]->size(); ++i) {
      std::array<typename Member::value_type*, count> elements;
      for (std::size_t k = 0; k < count; ++k) {
        elements[k] = &(*members[k])[i];
      }
      walk_member(visit, PathNode{path.parent, path.name, static_cast<Index>(i)}, elements);
    }
  }
}

template <class T, std::size_t count, class Layer, class Owner, class Member>
void walk_field(const ParameterVisitor<T, count>& visit, const PathNode* parent, const std::array<Layer*, count>& layers,
                const Field<Owner, Member>& field) {
  const PathNode path{parent, field.name, -1};
  std::array<Member*, count> members;
  for (std::size_t k = 0; k < count; ++k) {
    members[k] = &(layers[k]->*(field.member));
  }
  if constexpr (std::is_base_of_v<Eigen::MatrixBase<Member>, Member>) {
    static_assert(std::is_same_v<typename Member::Scalar, T>, "all parameters of a model must have the same scalar type");
    const Member& first = *members[0];
    std::array<std::span<T>, count> values;
    for (std::size_t k = 0; k < count; ++k) {
      expect_same_structure(members[k]->rows() == first.rows() && members[k]->cols() == first.cols(), path);
      values[k] = {members[k]->data(), static_cast<std::size_t>(members[k]->size())};
    }
    if (first.size() != 0) {  // an empty parameter is absent, such as an unused bias
      const Shape natural = Member::ColsAtCompileTime == 1 ? Shape{first.size()} : Shape{first.rows(), first.cols()};
      visit({&path, field.shape == nullptr ? natural : (layers[0]->*(field.shape))(), field.role}, values);
    }
  } else {
    walk_member(visit, path, members);
  }
}

template <class T, std::size_t count, class Layer>
void walk_fields(const ParameterVisitor<T, count>& visit, const PathNode* parent, const std::array<Layer*, count>& layers) {
  Layer::fields().pass_to([&](const auto&... field) { (walk_field(visit, parent, layers, field), ...); });
}

/// Wraps a type as a value; `a || b` wraps the first non-void type.
template <class T>
struct ScalarTag {
  using Type = T;
};
template <class A, class B>
constexpr auto operator||(ScalarTag<A>, ScalarTag<B>) {
  return ScalarTag<std::conditional_t<std::is_void_v<A>, B, A>>{};
}

/// The scalar type of `Member`: its `Scalar`, that of the first parameter in its fields or elements, or void if it has none.
template <class Member>
constexpr auto scalar_of() {
  if constexpr (requires { typename Member::Scalar; }) {
    return ScalarTag<typename Member::Scalar>{};
  } else if constexpr (HasFields<Member>) {
    return Member::fields().pass_to([]<class... Owners, class... Members>(const Field<Owners, Members>&...) {
      return (ScalarTag<void>{} || ... || scalar_of<Members>());
    });
  } else {
    return scalar_of<typename Member::value_type>();
  }
}

/// Returns `values`, as const elements if `Model` is const.
template <class Model, class T>
std::span<std::conditional_t<std::is_const_v<Model>, const T, T>> values_in(std::span<T> values) {
  return values;
}

}  // namespace detail

/// Calls `f(info, values, values_of_others...)` for each parameter of `model`, in the order of fields(), depth first.
///
/// `info` is a ParameterInfo; the values are spans, of const elements if the model is const. Absent parameters are skipped.
/// Errors: ArgumentError if the models differ in structure. A model with parameters of two scalar types does not compile.
/// Cost: allocates only in `info.path()`.
template <class F, class Model, class... Others>
requires(std::is_same_v<std::remove_const_t<Model>, std::remove_const_t<Others>>&&...) void for_each_parameter(
    F&& f, Model& model, Others&... others) {
  using Layer = std::remove_const_t<Model>;
  using T = typename decltype(detail::scalar_of<Layer>())::Type;
  constexpr std::size_t count = 1 + sizeof...(Others);
  if constexpr (!std::is_void_v<T>) {  // void: a model without parameters
    const auto call = [&](const ParameterInfo& info, const std::array<std::span<T>, count>& values) {
      [&]<std::size_t... k>(std::index_sequence<k...>) {
        f(info, detail::values_in<std::tuple_element_t<k, std::tuple<Model, Others...>>>(values[k])...);
      }
      (std::make_index_sequence<count>());
    };
    const std::array<Layer*, count> models{const_cast<Layer*>(&model),
                                           const_cast<Layer*>(&others)...};  // const_cast is safe: only f writes
    detail::walk_fields<T, count>(call, nullptr, models);
  }
}

/// The number of scalars in all parameters of `model` except constants.
template <class Model>
Index parameter_count(const Model& model) {
  Index count = 0;
  for_each_parameter([&](const ParameterInfo& info,
                         auto values) { count += info.role == Role::constant ? 0 : static_cast<Index>(values.size()); },
                     model);
  return count;
}

/// Sets every parameter to zero, to clear a gradient before the next step. Allocates nothing.
template <class Model>
void set_zero(Model& model) {
  for_each_parameter([](const ParameterInfo&,
                        auto values) { std::fill(values.begin(), values.end(), typename decltype(values)::value_type{0}); },
                     model);
}

/// A model of the same configuration whose parameters are all zero: a gradient, or an optimizer's moments.
template <class Model>
Model zeros_like(const Model& model) {
  Model zeros = model;
  set_zero(zeros);
  return zeros;
}

}  // namespace gated
