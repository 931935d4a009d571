#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include "gated/core/count.hpp"
#include "gated/io/name_map.hpp"

namespace gated {

namespace detail {

inline std::vector<Index> shape_in_file(const Shape& shape, ShapeForm form, std::string_view path) {
  std::vector<Index> out(shape.begin(), shape.end());
  switch (form) {
    case ShapeForm::same:
      break;
    case ShapeForm::flatten_tail:
      for (; out.size() > 2; out.pop_back()) {
        out[out.size() - 2] *= out.back();
      }
      break;
    case ShapeForm::drop_leading_one:
    case ShapeForm::pointwise_convolution:
      require<ArgumentError>(shape.rank() >= 1 && shape[0] == 1,
                             "NameMap: the rule's form drops a leading dimension of 1, but ", path, " ", shape.describe(),
                             " has none.");
      out.erase(out.begin());
      if (form == ShapeForm::pointwise_convolution) {
        out.push_back(1);
      }
      break;
    case ShapeForm::insert_one:
      out.insert(out.begin() + 1, 1);
      break;
    case ShapeForm::append_one:
      out.push_back(1);
      break;
    case ShapeForm::append_two_ones:
      out.insert(out.end(), 2, 1);
      break;
    case ShapeForm::prepend_two_ones:
      out.insert(out.begin(), 2, 1);
      break;
  }
  return out;
}

/// `theirs` with its wildcards and the rest of the path filled in.
inline std::string fill_pattern(const NameMap::Rule& rule, std::string_view theirs, const PatternMatch& match) {
  std::string name;
  const auto append = [&](std::string_view components) {
    if (!components.empty()) {
      name += name.empty() ? "" : ".";
      name += components;
    }
  };
  std::size_t used = 0;
  while (!theirs.empty()) {
    const std::string_view component = take_component(theirs);
    if (component == "*") {
      require<ArgumentError>(used < match.wildcards.size(), "NameMap: ", rule.theirs, " has more * than ", rule.ours, ".");
      append(match.wildcards[used++]);
    } else {
      append(component);
    }
  }
  append(match.rest);
  return name;
}

}  // namespace detail

GATED_INLINE void NameMap::add(std::string_view ours, std::string_view theirs, std::initializer_list<RuleText> parts) {
  rules.reserve(rules.size() + parts.size());
  for (const RuleText& part : parts) {
    Rule& rule = rules.emplace_back();
    rule.ours.append(ours).append(part.ours);
    rule.theirs.append(theirs).append(part.theirs);
    rule.form = part.form;
    if (part.stacked_with[0] != nullptr) {
      rule.stacked_with.push_back(std::string(theirs) + part.stacked_with[0]);
    }
    rule.shared = part.shared;
    rule.part = part.part;
    rule.parts = part.parts;
  }
}

GATED_INLINE void NameMap::add(std::string_view ours, std::string_view theirs, std::vector<Rule> parts) {
  for (Rule& part : parts) {
    part.ours.insert(0, ours);
    part.theirs.insert(0, theirs);
    for (std::string& other : part.stacked_with) {
      other.insert(0, theirs);
    }
    for (Piece& piece : part.pieces) {
      piece.theirs.insert(0, theirs);
    }
    rules.push_back(std::move(part));
  }
}

GATED_INLINE std::string NameMap::full(std::string_view name) const { return text(prefix, is_of_head(name) ? "" : body, name); }

GATED_INLINE bool NameMap::is_of_head(std::string_view name) const {
  return std::any_of(heads.begin(), heads.end(), [&](const std::string& head) { return name.starts_with(head); });
}

GATED_INLINE FileTensor NameMap::in_file(std::string_view path, const Shape& shape) const {
  return parts_in_file(path, shape).front();
}

GATED_INLINE std::vector<FileTensor> NameMap::parts_in_file(std::string_view path, const Shape& shape) const {
  for (const Rule& rule : rules) {
    const auto match = detail::match_pattern(rule.ours, path);
    if (!match) {
      continue;
    }
    std::vector<Index> in_file = detail::shape_in_file(shape, rule.form, path);
    if (!rule.pieces.empty()) {
      return pieces_in_file(rule, *match, in_file, path);
    }
    const auto parts = static_cast<Index>(1 + rule.stacked_with.size());
    if (parts > 1) {
      require<ArgumentError>(!in_file.empty() && in_file[0] == parts, "NameMap: ", path, " ", shape.describe(),
                             " is not a stack of ", parts, " tensors: its first dimension is ",
                             in_file.empty() ? 0 : in_file[0], ", expected ", parts,
                             ". For tensors that are joined along their rows, use Rule::pieces.");
      in_file.erase(in_file.begin());
    }
    if (rule.parts > 1) {
      require<ArgumentError>(!in_file.empty() && parts == 1, "NameMap: ", path, " ", shape.describe(),
                             " cannot be part of a tensor.");
      in_file[0] *= rule.parts;
    }
    std::vector<FileTensor> tensors;
    const auto add = [&](const std::string& theirs) {
      tensors.push_back(in_file_as(detail::fill_pattern(rule, theirs, *match), in_file));
      if (rule.parts > 1) {
        tensors.back().rows = in_file[0] / rule.parts;
        tensors.back().first = rule.part * tensors.back().rows;
      }
      if (rule.shared) {
        const detail::PatternMatch first{std::vector<std::string_view>(match->wildcards.size(), "0"), match->rest};
        tensors.back().elsewhere.push_back(full(detail::fill_pattern(rule, theirs, first)));
      }
    };
    add(rule.theirs);
    for (const std::string& theirs : rule.stacked_with) {
      add(theirs);
    }
    return tensors;
  }
  return {in_file_as(std::string(path), detail::shape_in_file(shape, ShapeForm::same, path))};
}

GATED_INLINE std::vector<FileTensor> NameMap::pieces_in_file(const Rule& rule, const detail::PatternMatch& match,
                                                             std::vector<Index> shape, std::string_view path) const {
  std::vector<FileTensor> tensors;
  Count rows = 0;
  for (const Piece& piece : rule.pieces) {
    rows += piece.rows;
  }
  require<ArgumentError>(!shape.empty() && rows.value() == shape[0], "NameMap: ", path, " has ",
                         shape.empty() ? Index{0} : shape[0], " rows, but its pieces in the file have ", rows.value(), ".");
  for (const Piece& piece : rule.pieces) {
    std::vector<Index> theirs = shape;
    theirs[0] = piece.of > 0 ? piece.of : piece.rows;
    tensors.push_back(in_file_as(detail::fill_pattern(rule, piece.theirs, match), theirs));
    tensors.back().first = piece.first;
    tensors.back().rows = piece.of > 0 ? piece.rows : 0;
  }
  return tensors;
}

GATED_INLINE FileTensor NameMap::in_file_as(const std::string& name, const std::vector<Index>& shape) const {
  FileTensor tensor{full(name), shape};
  for (const Tie& tie : tied) {
    if (tie.original == name) {
      tensor.elsewhere.push_back(full(tie.copy));
    }
  }
  return tensor;
}

GATED_INLINE std::string NameMap::tied_to(std::string_view name) const {
  for (const Tie& tie : tied) {
    if (full(tie.copy) == name) {
      return full(tie.original);
    }
  }
  return {};
}

GATED_INLINE bool NameMap::ignores(std::string_view name) const {
  if (name.starts_with(prefix)) {
    name.remove_prefix(prefix.size());
    name.remove_prefix(name.starts_with(body) ? body.size() : 0);
  }
  return std::any_of(ignored.begin(), ignored.end(),
                     [&](const std::string& pattern) { return detail::match_pattern(pattern, name).has_value(); });
}

}  // namespace gated
