#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "gated/core/matrix.hpp"

/// @file
/// One walk over the parameters of any model.
///
/// A layer lists its parameters and sub-layers once, by member pointer:
///
///     static constexpr auto fields() {
///       return std::tuple{field("weight", &Linear::weight, Role::weight), field("bias", &Linear::bias, Role::bias)};
///     }
///
/// and for_each_parameter() does the rest: loading, saving, counting, summaries, gradients, optimisers are written with it.
/// A gradient is a model; so are an optimiser's moments: the walk takes several models of one type in step.

namespace gated {

/// What a parameter is for. Optimisers choose weight decay by it, initialisers and reports read it.
enum class Role {
  weight,     ///< matrix of a channel projection
  bias,       ///< added to a channel
  norm,       ///< scale or shift of a normalisation
  spatial,    ///< mixes tokens: spatial weights and their biases
  position,   ///< says where a token is: class token, position tables, relative biases
  embedding,  ///< a row per token id
  memory,     ///< matrix that all tokens attend to
  constant,   ///< a table that checkpoints store, such as rotary frequencies; never trained and not counted
};

/// "[256, 196]"
inline std::string describe_shape(std::span<const Index> shape) {
  std::string out = "[";
  for (const Index size : shape) {
    out += out.size() > 1 ? text(", ", size) : text(size);
  }
  return out + "]";
}

/// The sizes of a tensor as a checkpoint states them; at most four. In memory a parameter is a matrix or a vector.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<Index> sizes) : rank_(sizes.size()) {
    require<ArgumentError>(rank_ <= sizes_.size(), "Shape: ", rank_, " dimensions, at most ", sizes_.size(), " are supported.");
    std::copy(sizes.begin(), sizes.end(), sizes_.begin());
  }

  std::size_t rank() const { return rank_; }
  Index operator[](std::size_t i) const { return sizes_[i]; }
  const Index* begin() const { return sizes_.data(); }
  const Index* end() const { return sizes_.data() + rank_; }

  /// The number of elements: the product of the sizes, 1 for a scalar.
  Index count() const {
    Index product = 1;
    for (const Index size : *this) {
      product *= size;
    }
    return product;
  }

  /// "[256, 196]"
  std::string describe() const { return describe_shape({begin(), end()}); }

  friend bool operator==(const Shape& a, const Shape& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

 private:
  std::array<Index, 4> sizes_{};
  std::size_t rank_ = 0;
};

/// One parameter or sub-layer of `Owner`, by member pointer. Made by field().
template <class Owner, class Member>
struct Field {
  const char* name;
  Member Owner::*member;
  Role role;
  Shape (Owner::*shape)() const;
};

/// A parameter. `shape` names a member function for parameters whose checkpoint shape is not their matrix's rows × columns.
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

/// A chain of names on the call stack, so that a walk allocates nothing unless somebody asks for the text.
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

}  // namespace detail

/// What for_each_parameter() tells about a parameter besides its values.
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

template <class M>
concept HasFields = requires {
  std::remove_const_t<M>::fields();
};

template <class M>
concept IsOptional = requires(M& m) {
  m.has_value();
  *m;
};

template <class M>
std::span<std::conditional_t<std::is_const_v<M>, const typename M::Scalar, typename M::Scalar>> values_of(M& m) {
  return {m.data(), static_cast<std::size_t>(m.size())};
}

[[noreturn]] inline void raise_different_structure(const PathNode& path) {
  std::string where;
  path.write(where);
  raise<ArgumentError>("for_each_parameter: the models differ at ", where,
                       ". Models that are walked in step must be built from equal configurations.");
}

template <class F, class Model, class... Others>
void walk_fields(F& f, const PathNode* parent, Model& model, Others&... others);

template <class F, class Member, class... Others>
void walk_member(F& f, const PathNode& path, Member& member, Others&... others) {
  if constexpr (HasFields<Member>) {
    walk_fields(f, &path, member, others...);
  } else if constexpr (IsOptional<Member>) {
    if (((others.has_value() != member.has_value()) || ...)) {
      raise_different_structure(path);
    }
    if (member.has_value()) {
      walk_member(f, path, *member, *others...);
    }
  } else {  // a vector of sub-layers
    if (((others.size() != member.size()) || ...)) {
      raise_different_structure(path);
    }
    for (std::size_t i = 0; i < member.size(); ++i) {
      const PathNode element{path.parent, path.name, static_cast<Index>(i)};
      walk_member(f, element, member[i], others[i]...);
    }
  }
}

template <class F, class Field, class Model, class... Others>
void walk_field(F& f, const PathNode* parent, const Field& field, Model& model, Others&... others) {
  const PathNode path{parent, field.name, -1};
  auto& member = model.*(field.member);
  using Member = std::remove_cvref_t<decltype(member)>;
  if constexpr (std::is_base_of_v<Eigen::MatrixBase<Member>, Member>) {
    if ((((others.*(field.member)).rows() != member.rows() || (others.*(field.member)).cols() != member.cols()) || ...)) {
      raise_different_structure(path);
    }
    if (member.size() == 0) {
      return;  // an absent parameter, such as the bias of a layer without one
    }
    const Shape natural = Member::ColsAtCompileTime == 1 ? Shape{member.size()} : Shape{member.rows(), member.cols()};
    const ParameterInfo info{&path, field.shape == nullptr ? natural : (model.*(field.shape))(), field.role};
    f(info, values_of(member), values_of(others.*(field.member))...);
  } else {
    walk_member(f, path, member, (others.*(field.member))...);
  }
}

template <class F, class Model, class... Others>
void walk_fields(F& f, const PathNode* parent, Model& model, Others&... others) {
  std::apply([&](const auto&... field) { (walk_field(f, parent, field, model, others...), ...); },
             std::remove_const_t<Model>::fields());
}

}  // namespace detail

/// Calls `f(info, values, values_of_others...)` for each parameter of `model`, in the order of fields(), depth first.
///
/// `info` is a ParameterInfo; the values are `std::span`s, const where the model is const. Absent parameters are skipped.
/// Errors: ArgumentError where the models differ in structure.
/// Cost: no allocation, unless `info.path()` is called.
template <class F, class Model, class... Others>
requires(std::is_same_v<std::remove_const_t<Model>, std::remove_const_t<Others>>&&...) void for_each_parameter(
    F&& f, Model& model, Others&... others) {
  detail::walk_fields(f, nullptr, model, others...);
}

/// Calls `f(layer)` for `model` and each of its sub-layers, in the order of fields(), depth first.
template <class F, class Model>
void for_each_layer(F&& f, const Model& model) {
  if constexpr (detail::HasFields<const Model>) {
    f(model);
    std::apply([&](const auto&... field) { (for_each_layer(f, model.*(field.member)), ...); }, Model::fields());
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

/// Stands for a type where there is no run-time type information: its address.
template <class L>
inline constexpr char type_tag = 0;

namespace detail {

/// Looks among the fields of `layer`, depth first, for the sub-layer at an address, and appends its path to `out`.
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
  return std::apply(
      [&](const auto&... field) {
        return (write_path_in(layer.*(field.member), PathNode{parent, field.name, -1}, wanted, tag, out) || ...);
      },
      L::fields());
}

}  // namespace detail

/// The number of scalars in all parameters of `model`, constants left out.
template <class Model>
Index parameter_count(const Model& model) {
  Index count = 0;
  for_each_parameter([&](const ParameterInfo& info,
                         auto values) { count += info.role == Role::constant ? 0 : static_cast<Index>(values.size()); },
                     model);
  return count;
}

/// Sets every parameter to zero: a gradient before its next step. No allocation.
template <class Model>
void set_zero(Model& model) {
  for_each_parameter([](const ParameterInfo&,
                        auto values) { std::fill(values.begin(), values.end(), typename decltype(values)::value_type{0}); },
                     model);
}

/// A model of the same configuration whose parameters are all zero: a gradient, or an optimiser's moments.
template <class Model>
Model zeros_like(const Model& model) {
  Model zeros = model;
  set_zero(zeros);
  return zeros;
}

}  // namespace gated
