#pragma once

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "gated/core/matrix.hpp"
#include "gated/core/shape.hpp"

/// @file
/// Parameter names in the checkpoints of other libraries.

namespace gated {

/// How a file writes a shape of the same elements in the same order.
enum class ShapeForm {
  same,
  flatten_tail,           ///< ours [d, c, p, p], theirs [d, c·p·p]: a convolution over patches stored as a linear layer
  drop_leading_one,       ///< ours [1, n, n], theirs [n, n]: one head, stored without the dimension
  append_one,             ///< ours [n, n], theirs [n, n, 1]: a linear layer stored as a convolution of width 1
  append_two_ones,        ///< ours [n, n], theirs [n, n, 1, 1]: a linear layer stored as a convolution of one pixel
  pointwise_convolution,  ///< ours [1, n, n], theirs [n, n, 1]: one head, and width 1
  prepend_two_ones,       ///< ours [c], theirs [1, 1, c]: a scale per channel of images or tokens
};

/// The name and shape of a parameter in a file.
struct FileTensor {
  std::string name;
  std::vector<Index> shape;
  std::vector<std::string> elsewhere = {};  ///< other names in files that store shared tensors once
  Index part = 0, parts = 1;                ///< our rows, if the tensor stacks several parameters
};

/// Rules from our parameter paths to the names in a checkpoint.
///
///     const NameMap timm{.origin = "timm",
///                        .rules = {{"patch_embedding", "stem.proj"},
///                                  {"trunk.blocks.*.proj_in", "blocks.*.mlp_channels.fc1"},
///                                  {"trunk.blocks.*.norm", "blocks.*.norm"}}};
///     timm.in_file("trunk.blocks.3.proj_in.weight", shape).name   // "blocks.3.mlp_channels.fc1.weight"
///
/// Patterns match whole dot-separated components from the left; `*` matches any one component, and the rest of the path is
/// kept. The first match wins; a path without a match keeps its name. A default NameMap keeps all names. Two parameters may map
/// to parts of one tensor, or (tied weights) both to all of it; the latter can be loaded but not saved.
struct NameMap {
  /// Replaces the beginning of a path.
  struct Rule {
    std::string ours;    ///< a pattern for the beginning; empty matches every path
    std::string theirs;  ///< the replacement; its n-th `*` is the n-th `*` of `ours`
    ShapeForm form = ShapeForm::same;
    std::vector<std::string> stacked_with = {};  ///< more tensors, each a further row of our parameter
    bool shared = false;                         ///< all `*` share one tensor, which a file may store under the first only
    Index part = 0;                              ///< our index, if the tensor stacks `parts` parameters
    Index parts = 1;
  };

  /// A Rule of string literals: a list of them compiles to a table instead of code.
  struct RuleText {
    const char *ours, *theirs;
    ShapeForm form = ShapeForm::same;
    std::array<const char*, 1> stacked_with = {};  ///< one more tensor, or none
    bool shared = false;
    Index part = 0, parts = 1;
  };

  /// A tensor that a file stores under two names.
  struct Tie {
    std::string copy;      ///< read only if `original` is absent; otherwise it must equal …
    std::string original;  ///< … this one, to the bit
  };

  std::string origin = {};  ///< the library that writes such files, for messages: "timm"
  std::string prefix = {};  ///< precedes every name in the file: "model."
  /// Follows `prefix` in files of a larger model, the body with a head: "flash_quad.". Names that begin with `head` go without.
  /// A file has it in all other names or in none, which load_parameters() detects; save_parameters() writes it if there are
  /// names of the head.
  std::string body = {};
  std::string head = {};         ///< "cls."
  std::vector<Rule> rules = {};  ///< in order of precedence
  std::vector<Tie> tied = {};    ///< weights stored under two names, without `prefix` and `body`
  /// Tensors that hold no parameter, without `prefix` and `body`: "blocks.*.attn.position_ids". To load part of a larger file,
  /// list the first components of everything outside `prefix`.
  std::vector<std::string> ignored = {};

  /// Appends rules for the parameters at `ours`, called `theirs` in the file; both end in a dot or are empty.
  void add(std::string_view ours, std::string_view theirs, std::initializer_list<RuleText> parts);
  /// The same for rules built at run time.
  void add(std::string_view ours, std::string_view theirs, std::vector<Rule> parts);

  /// The name and shape in the file of the parameter at `path`, with `body` if the map has one.
  /// Errors: ArgumentError if the rule's form does not suit the shape, or `theirs` has more `*` than `ours`.
  FileTensor in_file(std::string_view path, const Shape& shape) const;

  /// All tensors that the parameter is stacked from; usually one.
  std::vector<FileTensor> parts_in_file(std::string_view path, const Shape& shape) const;

  /// The tensor that `name` is tied to; empty if none.
  std::string tied_to(std::string_view name) const;

  /// True if `ignored` lists the tensor `name`.
  bool ignores(std::string_view name) const;

 private:
  std::string full(std::string_view name) const;
  FileTensor in_file_as(const std::string& name, const std::vector<Index>& shape) const;
};

}  // namespace gated

#if !defined(GATED_COMPILED)
#include "gated/io/name_map.inl"
#endif
