#pragma once

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "gated/core/matrix.hpp"
#include "gated/core/shape.hpp"

/// @file
/// How a checkpoint that somebody else wrote calls our parameters.

namespace gated {

/// How a file states a shape that has the same elements in the same order.
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
  std::vector<std::string> elsewhere = {};  ///< where a file that holds shared tensors only once may have it instead
  Index part = 0, parts = 1;                ///< the rows that are ours, where the tensor holds several of our parameters
};

/// Our parameter paths to the names in a checkpoint, as a list of rules.
///
///     const NameMap timm{.origin = "timm",
///                        .rules = {{"patch_embedding", "stem.proj"},
///                                  {"trunk.blocks.*.proj_in", "blocks.*.mlp_channels.fc1"},
///                                  {"trunk.blocks.*.norm", "blocks.*.norm"}}};
///     timm.in_file("trunk.blocks.3.proj_in.weight", shape).name   // "blocks.3.mlp_channels.fc1.weight"
///
/// Patterns are compared by whole dot-separated components, from the left; `*` stands for any one component, and the rest of
/// the path is kept. The first rule that matches wins; a path that no rule matches keeps its name. A default NameMap is our
/// own names. Two parameters may map to one tensor: to parts of it, or (tied weights) both to all of it, but then the map
/// cannot save.
struct NameMap {
  /// What parameters that begin alike are called in the file.
  struct Rule {
    std::string ours;    ///< the beginning of a path; empty matches every path
    std::string theirs;  ///< what stands in its place; the n-th `*` here is the n-th `*` of `ours`
    ShapeForm form = ShapeForm::same;
    std::vector<std::string> stacked_with = {};  ///< further tensors, which stand below `theirs` in our parameter, one per row
    bool shared = false;  ///< one tensor for all that `*` stands for, which a file may hold for the first alone
    Index part = 0;       ///< of a tensor that holds `parts` parameters below each other this is number `part`
    Index parts = 1;
  };

  /// A Rule whose texts stand in the program, for lists of them: a table, and not code that makes strings.
  struct RuleText {
    const char *ours, *theirs;
    ShapeForm form = ShapeForm::same;
    std::array<const char*, 1> stacked_with = {};  ///< one tensor more, or none
    bool shared = false;
    Index part = 0, parts = 1;
  };

  /// A tensor that a file holds twice, under another name.
  struct Tie {
    std::string copy;      ///< loaded only where the other is absent; otherwise it must equal …
    std::string original;  ///< … this one, to the bit
  };

  std::string origin = {};  ///< who writes such files, for messages: "timm"
  std::string prefix = {};  ///< stands before every name in the file: "model."
  /// Stands between `prefix` and the names of a body in the file of a larger model: "flash_quad.". Names that begin with `head`
  /// are the larger model's own and do without. A file has it before all names of the body or before none, which
  /// load_parameters() finds out; save_parameters() writes it where there are names of the head.
  std::string body = {};
  std::string head = {};         ///< "cls."
  std::vector<Rule> rules = {};  ///< in order of precedence
  std::vector<Tie> tied = {};    ///< tied weights that the file stores under both names, without `prefix` and `body`
  /// Tensors without a parameter, without `prefix` and `body`: "blocks.*.attn.position_ids". To load a part of a larger file,
  /// list the first components of what lies outside `prefix`.
  std::vector<std::string> ignored = {};

  /// Appends rules for what lies at `ours` and is called `theirs` in the file; each ends in a dot, or is empty.
  void add(std::string_view ours, std::string_view theirs, std::initializer_list<RuleText> parts);
  /// The same with rules that the program makes.
  void add(std::string_view ours, std::string_view theirs, std::vector<Rule> parts);

  /// The name and shape in the file of the parameter at `path`, with `body` if the map has one.
  /// Errors: ArgumentError if the rule's form does not suit the shape, or `theirs` has more `*` than `ours`.
  FileTensor in_file(std::string_view path, const Shape& shape) const;

  /// The same where the parameter is stacked from several tensors of the file; usually one.
  std::vector<FileTensor> parts_in_file(std::string_view path, const Shape& shape) const;

  /// The tensor that `name` must equal because it is tied to it; empty for others.
  std::string tied_to(std::string_view name) const;

  /// True if the file's tensor `name` is known to carry no parameter.
  bool ignores(std::string_view name) const;

 private:
  std::string full(std::string_view name) const;
  FileTensor in_file_as(const std::string& name, const std::vector<Index>& shape) const;
};

}  // namespace gated

#if !defined(GATED_COMPILED)
#include "gated/io/name_map.inl"
#endif
