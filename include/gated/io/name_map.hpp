#pragma once

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "gated/core/matrix.hpp"
#include "gated/core/path_pattern.hpp"
#include "gated/core/shape.hpp"

/// @file
/// Parameter names in the checkpoints of other libraries.

namespace gated {

/// How a tensor's shape in a file differs from ours. The elements and their order are the same.
enum class ShapeForm {
  same,
  flatten_tail,           ///< ours [d, c, p, p], theirs [d, c·p·p]: a convolution over patches stored as a linear layer
  drop_leading_one,       ///< ours [1, n, n], theirs [n, n]: one head, stored without the head dimension
  insert_one,             ///< ours [c, k], theirs [c, 1, k]: a linear layer stored as a convolution of one channel
  append_one,             ///< ours [n, n], theirs [n, n, 1]: a linear layer stored as a convolution of width 1
  append_two_ones,        ///< ours [n, n], theirs [n, n, 1, 1]: a linear layer stored as a convolution of one pixel
  pointwise_convolution,  ///< ours [1, n, n], theirs [n, n, 1]: one head, stored as a convolution of width 1
  prepend_two_ones,       ///< ours [c], theirs [1, 1, c]: a scale per channel of images or tokens
};

/// The name and shape of a parameter in a file.
struct FileTensor {
  std::string name;
  std::vector<Index> shape;
  std::vector<std::string> elsewhere = {};  ///< names to try next: a file may store a shared tensor under one name only
  Index first = 0, rows = 0;                ///< the parameter's first row in the tensor and its number of rows; 0 rows: all

  /// True if the parameter has only some of the tensor's rows.
  bool is_part() const { return rows > 0; }
  /// The number of values that the tensor stores for the parameter.
  std::size_t count() const {
    std::size_t count = 1;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      count *= static_cast<std::size_t>(i == 0 && is_part() ? rows : shape[i]);
    }
    return count;
  }
  /// The parameter's rows in `bytes`, which are the bytes of all rows of the tensor.
  template <class Bytes>
  Bytes part_of(const Bytes& bytes) const {
    const std::size_t row = is_part() ? bytes.size() / static_cast<std::size_t>(shape[0]) : bytes.size();
    return bytes.subspan(static_cast<std::size_t>(first) * row, is_part() ? static_cast<std::size_t>(rows) * row : row);
  }
};

/// Rules that map our parameter paths to the tensor names in a checkpoint.
///
///     const NameMap timm{.origin = "timm",
///                        .rules = {{"patch_embedding", "stem.proj"},
///                                  {"trunk.blocks.*.proj_in", "blocks.*.mlp_channels.fc1"},
///                                  {"trunk.blocks.*.norm", "blocks.*.norm"}}};
///     timm.in_file("trunk.blocks.3.proj_in.weight", shape).name   // "blocks.3.mlp_channels.fc1.weight"
///
/// Patterns match whole dot-separated components from the left; `*` matches any one component, and the rest of the path is
/// kept. The first match wins; a path without a match keeps its name. A default NameMap keeps all names. Two parameters may map
/// to parts of one tensor, and one parameter may map to rows of several tensors. Two tied weights may map to one whole tensor;
/// they can then be loaded but not saved.
struct NameMap {
  /// Rows of a tensor.
  struct Piece {
    std::string theirs;  ///< the name of the tensor, as in Rule
    Index rows;          ///< number of rows
    Index first = 0;     ///< index of the first of these rows in the tensor
    Index of = 0;        ///< number of rows of the whole tensor; 0 if it has no others
  };

  /// Replaces the beginning of a path.
  struct Rule {
    std::string ours;    ///< a pattern for the beginning; empty matches every path
    std::string theirs;  ///< the replacement; its n-th `*` is the component matched by the n-th `*` of `ours`
    ShapeForm form = ShapeForm::same;
    std::vector<std::string> stacked_with = {};  ///< tensors that form rows 1, 2, … of the parameter; `theirs` forms row 0
    bool shared = false;                         ///< all blocks share one tensor; files may store it under block 0's name only
    Index part = 0;                              ///< index of the parameter in a tensor that stacks `parts` parameters
    Index parts = 1;
    std::vector<Piece> pieces = {};  ///< if not empty, replaces `theirs`: the parameter is a stack of these rows
  };

  /// A Rule made of string literals. The compiler turns a list of them into a table instead of code.
  struct RuleText {
    const char *ours, *theirs;
    ShapeForm form = ShapeForm::same;
    std::array<const char*, 1> stacked_with = {};  ///< as in Rule, but at most one tensor
    bool shared = false;
    Index part = 0, parts = 1;
  };

  /// A tensor that a file stores under two names.
  struct Tie {
    std::string copy;      ///< used only if `original` is absent; if both are present, they must be bit-equal
    std::string original;  ///< the name that the rules give to the parameter
  };

  std::string origin = {};  ///< the library that writes such files, for messages: "timm"
  std::string prefix = {};  ///< precedes every name in the file: "model."
  /// Follows `prefix` in the names of all tensors outside the head: "bert.". Files of the model without its head omit `body`;
  /// load_parameters() detects this. save_parameters() writes `body` if the model has parameters of the head.
  std::string body = {};
  std::vector<std::string> heads = {};  ///< beginnings of the head's tensor names: "cls."
  std::vector<Rule> rules = {};         ///< the rules, in order of precedence
  std::vector<Tie> tied = {};           ///< weights stored under two names, given without `prefix` and `body`
  /// Names of tensors to ignore, without `prefix` and `body`: "blocks.*.attn.position_ids". To load part of a larger file, list
  /// the first component of every name that does not begin with `prefix`.
  std::vector<std::string> ignored = {};

  /// Appends the rules `parts`, with `ours` prepended to our side of each rule and `theirs` to the file's side.
  void add(std::string_view ours, std::string_view theirs, std::initializer_list<RuleText> parts);
  /// Overload for rules built at run time.
  void add(std::string_view ours, std::string_view theirs, std::vector<Rule> parts);

  /// The name and shape that the parameter at `path` has in the file. The name includes `prefix` and, outside the head, `body`.
  /// Errors: ArgumentError if the rule's form or pieces do not suit the shape, or `theirs` has more `*` than `ours`.
  FileTensor in_file(std::string_view path, const Shape& shape) const;

  /// The tensors that are stacked to form the parameter at `path`; usually one.
  std::vector<FileTensor> parts_in_file(std::string_view path, const Shape& shape) const;

  /// The tensor that `name` is a tied copy of; empty if there is none.
  std::string tied_to(std::string_view name) const;

  /// True if `name`, given without `prefix`, belongs to the head.
  bool is_of_head(std::string_view name) const;

  /// True if `ignored` lists the tensor `name`.
  bool ignores(std::string_view name) const;

 private:
  std::string full(std::string_view name) const;
  FileTensor in_file_as(const std::string& name, const std::vector<Index>& shape) const;
  std::vector<FileTensor> pieces_in_file(const Rule& rule, const detail::PatternMatch& match, std::vector<Index> shape,
                                         std::string_view path) const;
};

}  // namespace gated

#if !defined(GATED_COMPILED)
#include "gated/io/name_map.inl"
#endif
