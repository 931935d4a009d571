#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "gated/core/count.hpp"
#include "gated/core/fields.hpp"
#include "gated/core/words.hpp"

/// @file
/// Settings of a configuration, listed once.
///
/// A configuration is an aggregate with default member initializers and a list of its members, fields():
///
///     struct Config {
///       Index depth = 6;
///       Activation activation = Activation::gelu;
///       template <class C = Config>
///       static constexpr auto fields() {
///         return Fields(setting("depth", &C::depth), setting("activation", &C::activation));
///       }
///     };
///
/// fields() is a template, so only code that reads or writes configurations compiles the list. names_of(), defined next to an
/// enumeration and found by argument-dependent lookup, lists the enumeration's names:
///
///     constexpr auto names_of(Activation) { return words_for<Activation>("identity", "gelu", …); }
///
/// io/config_json.hpp reads and writes configurations through these lists.

namespace gated {

/// One member of the configuration `Owner`. Made by setting().
template <class Owner, class Member>
struct Setting {
  const char* name;
  Member Owner::*member;
};

/// A setting: a number, a bool, a string, a named enumeration, a nested configuration, an array, or a vector of these.
template <class Owner, class Member>
constexpr Setting<Owner, Member> setting(const char* name, Member Owner::*member) {
  return {name, member};
}

namespace detail {

template <class M>
struct IsSettings : std::false_type {};
template <class... Owners, class... Members>
struct IsSettings<Fields<Setting<Owners, Members>...>> : std::true_type {};

template <class C>
concept HasSettings = requires {
  std::remove_const_t<C>::fields();
}
&&IsSettings<std::remove_cvref_t<decltype(std::remove_const_t<C>::fields())>>::value;

template <class E>
concept NamedEnum = std::is_enum_v<E> && requires(E value) {
  names_of(value).begin()->first;
};

}  // namespace detail

/// A model that load_model() and Training can construct: it has an architecture name and a constructor from a Config. All
/// models in models/ qualify, and so does a layer that has both; examples/custom_layer defines such a layer.
template <class Model>
concept ConfiguredModel = requires(const typename Model::Config& config) {
  Model(config);
  std::string_view(Model::architecture);
};

/// Calls `f(name, member)` for each setting of `config`, in the order of fields(). A nested configuration is a single setting.
template <class F, detail::HasSettings Config>
void for_each_setting(F&& f, Config& config) {
  std::remove_const_t<Config>::fields().pass_to(
      [&](const auto&... setting) { (f(setting.name, config.*(setting.member)), ...); });
}

/// The name of `value`; empty if names_of() does not list it.
template <detail::NamedEnum E>
constexpr std::string_view name_of(E value) {
  for (const auto& [listed, name] : names_of(value)) {
    if (listed == value) {
      return name;
    }
  }
  return {};
}

/// The value named `word`; nullopt if there is none.
template <detail::NamedEnum E>
constexpr std::optional<E> value_named(std::string_view word) {
  for (const auto& [listed, name] : names_of(E{})) {
    if (name == word) {
      return listed;
    }
  }
  return std::nullopt;
}

namespace detail {

/// The names of an enumeration's values, in the order of names_of().
template <NamedEnum E>
inline constexpr auto words_of = [] {
  constexpr auto names = names_of(E{});
  std::array<std::string_view, names.size()> words;
  for (std::size_t i = 0; i < names.size(); ++i) {
    words[i] = names[i].second;
  }
  return words;
}();

inline std::string list_of_words(std::span<const std::string_view> words) {
  std::string list;
  for (const std::string_view word : words) {
    list += list.empty() ? "" : ", ";
    list += word;
  }
  return list;
}

}  // namespace detail

/// All names of an enumeration, for messages: "gelu, silu, relu".
template <detail::NamedEnum E>
std::string list_of_names() {
  return detail::list_of_words(detail::words_of<E>);
}

}  // namespace gated
