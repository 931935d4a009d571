#pragma once

#include <iterator>
#include <type_traits>
#include <vector>

#include "gated/core/joined_name.hpp"
#include "gated/core/parameter_budget.hpp"
#include "gated/core/random.hpp"
#include "gated/core/settings.hpp"
#include "gated/layers/layer.hpp"

/// @file
/// The trunk of a model: a stack of blocks.

namespace gated {

/// The options of a stack of blocks. Blocks can differ in options such as norms, windows and rotary bases, but must agree in
/// channels, causality, length, masks and drop_path. For example:
///
///     {.depth = 12, .block = global, .others = {local}, .kinds = {0, 1, 1}}   // every third block is global
template <class BlockConfig>
struct StackConfig {
  Index depth = 1;      ///< blocks
  BlockConfig block{};  ///< options of each block of kind 0
  /// Options of the blocks of kind 1, 2, … (g++ 12 does not compile {} here.)
  std::vector<BlockConfig> others = std::vector<BlockConfig>(0);
  std::vector<Index> kinds = {};  ///< the kinds of the blocks, repeated cyclically; empty if all blocks are of kind 0

  /// The options of block i.
  const BlockConfig& of(Index i) const {
    const Index kind = kinds.empty() ? 0 : kinds[static_cast<std::size_t>(i) % kinds.size()];
    return kind == 0 ? block : others[static_cast<std::size_t>(kind - 1)];
  }

  template <class C = StackConfig>
  static constexpr auto fields() {
    return Fields(setting("depth", &C::depth), setting("block", &C::block), setting("others", &C::others),
                  setting("kinds", &C::kinds));
  }
};

namespace detail {

/// The options of a block: `block` of a StackConfig, otherwise the config itself.
template <class BlockConfig>
const BlockConfig& block_of(const StackConfig<BlockConfig>& config) {
  return config.block;
}
template <class BlockConfig>
const BlockConfig& block_of(const BlockConfig& config) {
  return config;
}

/// The options of block i: those of its kind in a StackConfig, otherwise the config itself.
template <class BlockConfig>
const BlockConfig& block_of(const StackConfig<BlockConfig>& config, Index i) {
  return config.of(i);
}
template <class BlockConfig>
const BlockConfig& block_of(const BlockConfig& config, Index) {
  return config;
}

/// Raises ArgumentError unless each kind has options.
template <class BlockConfig>
void expect_kinds(const StackConfig<BlockConfig>& c) {
  for (const Index kind : c.kinds) {
    require<ArgumentError>(kind >= 0 && kind <= std::ssize(c.others), "Stack: kinds contains ", kind, ", expected 0 … ",
                           c.others.size(), ": 0 is `block`, k is others[k - 1].");
  }
}
template <class BlockConfig>
void expect_kinds(const BlockConfig&) {}

/// Calls `f` with each sequence length in the options of a trunk, block or mixer; not at all if they have none.
template <class Config, class F>
void for_each_length(Config& config, const F& f) {
  if constexpr (requires { config.length; }) {
    f(config.length);
  } else if constexpr (requires { config.others; }) {
    for_each_length(config.block, f);
    for (auto& other : config.others) {
      for_each_length(other, f);
    }
  } else if constexpr (requires { config.token_mixer; }) {
    for_each_length(config.token_mixer, f);
  }
}

inline constexpr const char* stack_word = "gated.Stack";

}  // namespace detail

/// x ← block(x), `depth` times: features in, features out, no final norm.
///
///     Random random(1);
///     Gmlp<float> model({.length = 196, .channels = 256, .hidden = 1536, .depth = 30}, random);
///     Workspace<float> workspace;
///     Matrix<float> y = model.forward(x, Sequences::uniform(8, 196), workspace);   // x: 8·196 × 256
///
/// `Block` is a layer with equal numbers of input and output channels. A model constructed without a Random has uninitialized
/// weights and refuses to run until a checkpoint is loaded. forward() and extend() are const: many threads may share a model,
/// each with its own workspace.
/// Shapes: x and y are rows × C.
/// Errors: ArgumentError for invalid options, or a run of a moved-from stack; ShapeError from runs with wrong shapes.
/// Cost: `depth` times that of a block, with the scratch of one block.
template <class Block, class ConfigType = StackConfig<typename Block::Config>>
struct Stack : Layer<Stack<Block, ConfigType>> {
  using T = typename Block::Scalar;
  using Config = ConfigType;
  static constexpr const char* name = "Stack";
  static constexpr const char* architecture = detail::joined_name<detail::stack_word, Block::architecture>.data();

  Config config;
  std::vector<Block> blocks;

  Stack() = default;
  explicit Stack(const Config& c) : config(c) {
    require<ArgumentError>(c.depth >= 0, "Stack: depth = ", c.depth, " must not be negative.");
    detail::expect_kinds(c);
    expect_memory<Block>(name, c.depth);
    blocks.reserve(static_cast<std::size_t>(c.depth));
    for (Index i = 0; i < c.depth; ++i) {
      blocks.emplace_back(detail::block_of(c, i));
    }
    const Contract contract = this->contract();
    for (Index i = 0; i < c.depth; ++i) {
      const Contract other = blocks[static_cast<std::size_t>(i)].contract();
      require<ArgumentError>(
          other.in == contract.in && other.out == contract.out && other.sees == contract.sees &&
              other.shortest == contract.shortest && other.longest == contract.longest && other.multiple == contract.multiple &&
              other.takes_mask == contract.takes_mask && other.mask.softmax == contract.mask.softmax,
          "Stack: block ", i, " differs from block 0 in channels, causality, length or masks. Use the same for all blocks.");
      const double drop_path = drop_path_of(detail::block_of(c, i)), expected = drop_path_of(detail::block_of(c));
      require<ArgumentError>(drop_path == expected, "Stack: block ", i, " has drop_path = ", drop_path, ", expected ", expected,
                             ", that of StackConfig::block.");
    }
    require<ArgumentError>(contract.output_columns(contract.in) == contract.in, "Stack: ", Block::name, " maps ", contract.in,
                           " channels to ", contract.out, ", expected equal input and output channels.");
  }
  Stack(const Config& c, Random& random) : Stack(c) { this->initialize(random); }

  static constexpr auto fields() { return Fields(field("blocks", &Stack::blocks)); }

  Contract contract() const {
    const Index channels = detail::block_of(config).channels;
    return blocks.empty() ? Contract{.in = channels, .out = channels, .sees = Sees::itself, .takes_mask = true}
                          : blocks.front().contract();
  }

  auto apply(auto& run, auto x) const {
    require<ArgumentError>(static_cast<Index>(blocks.size()) == config.depth, run.outermost(), ": the stack has ",
                           blocks.size(), " blocks, expected depth = ", config.depth,
                           ". If it was moved from, use the model it was moved to.");
    return run.blocks(blocks, std::move(x), drop_path_of(detail::block_of(config)));
  }

 private:
  /// The probability that training drops a block with this configuration.
  static double drop_path_of(const typename Block::Config& c) {
    if constexpr (requires { c.drop_path; }) {
      return c.drop_path;
    } else {
      return 0;
    }
  }
};

}  // namespace gated
