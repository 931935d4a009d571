#pragma once

#include <type_traits>
#include <vector>

#include "gated/core/count.hpp"
#include "gated/core/joined_name.hpp"
#include "gated/core/layer.hpp"
#include "gated/core/random.hpp"
#include "gated/core/settings.hpp"

/// @file
/// The trunk of a model: a stack of identical blocks.

namespace gated {

/// The options of a stack of blocks.
template <class BlockConfig>
struct StackConfig {
  Index depth = 1;      ///< blocks
  BlockConfig block{};  ///< the options of each

  template <class C = StackConfig>
  static constexpr auto fields() {
    return std::tuple{setting("depth", &C::depth), setting("block", &C::block)};
  }
};

namespace detail {

/// The options of a block: part of its stack's, or all of them.
template <class BlockConfig>
const BlockConfig& block_of(const StackConfig<BlockConfig>& config) {
  return config.block;
}
template <class BlockConfig>
const BlockConfig& block_of(const BlockConfig& config) {
  return config;
}

/// The setting that says how many tokens the sequences of a trunk, block or mixer have; nullptr where it takes any number.
template <class Config>
auto length_setting(Config& config) -> std::conditional_t<std::is_const_v<Config>, const Index, Index>* {
  if constexpr (requires { config.length; }) {
    return &config.length;
  } else if constexpr (requires { config.block; }) {
    return length_setting(config.block);
  } else if constexpr (requires { config.token_mixer; }) {
    return length_setting(config.token_mixer);
  } else {
    return nullptr;
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
/// `Block` is a layer whose output is as wide as its input. Made without a Random, it has weights that nobody has set, waits
/// for a checkpoint and refuses to run. All methods are const, and a model may serve many threads, each with its own workspace.
/// Shapes: x and y are rows × C; y may be x.
/// Errors: ArgumentError when built, and for one that was moved from; ShapeError when run.
/// Cost: depth × the block's; scratch is one block's.
template <class Block, class ConfigType = StackConfig<typename Block::Config>>
struct Stack : SequenceLayer<Stack<Block, ConfigType>, typename Block::Scalar> {
  using Scalar = typename Block::Scalar;
  using T = Scalar;
  using Config = ConfigType;
  static constexpr const char* name = "Stack";
  static constexpr const char* architecture = detail::joined_name<detail::stack_word, Block::architecture>.data();
  static constexpr bool takes_mask = detail::takes_mask<Block>();

  Config config;
  std::vector<Block> blocks;

  Stack() = default;
  /// Weights that nobody has set, for a checkpoint to be loaded into.
  explicit Stack(const Config& c) : config(c) {
    require<ArgumentError>(c.depth >= 0, "Stack: depth = ", c.depth, " must not be negative.");
    expect_memory<Block>(name, c.depth);
    blocks.reserve(static_cast<std::size_t>(c.depth));
    for (Index i = 0; i < c.depth; ++i) {
      blocks.emplace_back(detail::block_of(c));
    }
    require<ArgumentError>(blocks.empty() || blocks.front().in() == blocks.front().out(), "Stack: a ", Block::name,
                           " that makes ", blocks.empty() ? 0 : blocks.front().out(), " channels of ", in(),
                           " cannot be stacked. Build it with as many.");
  }
  /// With initial parameters, as initialize() draws them.
  Stack(const Config& c, Random& random) : Stack(c) { this->initialize(random); }
  /// The values in one of this configuration.
  static Count value_count(const Config& c) { return c.depth * Block::value_count(detail::block_of(c)); }

  static constexpr auto fields() { return std::tuple{field("blocks", &Stack::blocks)}; }

  Index in() const { return detail::block_of(config).channels; }
  Index out() const { return in(); }
  /// The longest sequence that it can serve.
  Index longest() const { return blocks.empty() ? State<T>::unlimited : detail::longest_of(blocks.front()); }
  /// True if no output depends on a later token.
  bool is_causal() const requires requires(const Block& block) { block.is_causal(); }
  { return blocks.empty() || blocks.front().is_causal(); }
  void check(Where where, const Sequences& sequences, Mask mask) const {
    if (!blocks.empty()) {
      detail::check_sequences(where, blocks.front(), sequences, mask);
    }
  }

  template <class Run>
  RowsOf<Run> apply(Run& run, const RowsOf<Run>& x, const PlaceOf<Run>& to) const {
    require<ArgumentError>(static_cast<Index>(blocks.size()) == config.depth, run.outermost(), ": the stack has ",
                           blocks.size(), " blocks, expected depth = ", config.depth,
                           ". A model that was moved from has none: use the one that it was moved to.");
    return run.in_groups(run.copy(x, to), [this](auto& group, auto rows) {
      const auto kept = group.draw_blocks(survival(), config.depth);
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        if (kept(i)) {
          rows = group.block(blocks[i], rows);
        }
      }
      return rows;
    });
  }

 private:
  /// The probability that training keeps a block.
  double survival() const {
    if constexpr (requires(const typename Block::Config& c) { c.survival; }) {
      return detail::block_of(config).survival;
    } else {
      return 1;
    }
  }
};

}  // namespace gated
