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

/// How a tensor's shape in a file differs from ours. The elements and their order are the same.
enum class ShapeForm {
  same,
  flatten_tail,           ///< ours [d, c, p, p], theirs [d, c·p·p]: a convolution over patches stored as a linear layer
  drop_leading_one,       ///< ours [1, n, n], theirs [n, n]: one head, stored without the dimension
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
  std::vector<std::string> elsewhere = {};  ///< further names to try, in files that store shared tensors once
  Index part = 0, parts = 1;                ///< which of the tensor's `parts` is ours, if it stacks several parameters
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
/// to parts of one tensor. Tied weights may both map to the whole tensor; they can then be loaded but not saved.
struct NameMap {
  /// Replaces the beginning of a path.
  struct Rule {
    std::string ours;    ///< a pattern for the beginning; empty matches every path
    std::string theirs;  ///< the replacement; its n-th `*` becomes what the n-th `*` of `ours` matched
    ShapeForm form = ShapeForm::same;
    std::vector<std::string> stacked_with = {};  ///< more tensors, each a further row of our parameter
    bool shared = false;                         ///< all blocks share the tensor; a file may hold only that of block 0
    Index part = 0;                              ///< which of the tensor's `parts` is ours, if it stacks several parameters
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
    std::string copy;      ///< used only if `original` is absent; if both are present, they must be bit-equal
    std::string original;  ///< the name that the rules give to the parameter
  };

  std::string origin = {};  ///< the library that writes such files, for messages: "timm"
  std::string prefix = {};  ///< precedes every name in the file: "model."
  /// In files of a model with a head, `body` follows `prefix` in all names that do not begin with `head`: "flash_quad.". Files
  /// of the model alone omit it; load_parameters() detects which kind a file is. save_parameters() writes it if the model has
  /// parameters of the head.
  std::string body = {};
  std::string head = {};         ///< begins the names of the head: "cls."
  std::vector<Rule> rules = {};  ///< in order of precedence
  std::vector<Tie> tied = {};    ///< weights stored under two names, without `prefix` and `body`
  /// Tensors that hold no parameter, without `prefix` and `body`: "blocks.*.attn.position_ids". To load part of a larger file,
  /// list the first component of every name outside `prefix`.
  std::vector<std::string> ignored = {};

  /// Appends `parts`, with `ours` prepended to our side of each rule and `theirs` to the file's side.
  void add(std::string_view ours, std::string_view theirs, std::initializer_list<RuleText> parts);
  /// The same for rules built at run time.
  void add(std::string_view ours, std::string_view theirs, std::vector<Rule> parts);

  /// The name and shape that the file gives to the parameter at `path`. The name includes `body` if the map has one.
  /// Errors: ArgumentError if the rule's form does not suit the shape, or `theirs` has more `*` than `ours`.
  FileTensor in_file(std::string_view path, const Shape& shape) const;

  /// All tensors whose stack is the parameter at `path`; usually one.
  std::vector<FileTensor> parts_in_file(std::string_view path, const Shape& shape) const;

  /// The tensor that `name` is a tied copy of; empty if there is none.
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
