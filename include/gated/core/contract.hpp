#pragma once

#include <algorithm>
#include <limits>
#include <numeric>

#include "gated/core/mask.hpp"
#include "gated/core/sequences.hpp"

/// @file
/// Input requirements and output shape of a layer, as data.

namespace gated {

/// The tokens of a sequence that an output token depends on.
enum class Sees {
  itself,  ///< only the token at its own position
  past,    ///< tokens up to and including its own position: the layer is causal
  all      ///< any token of the sequence
};

/// A layer's input requirements and output shape. Every layer has a member function that returns them:
///
///     Contract contract() const { return {.in = config.channels, .out = config.channels, .sees = Sees::past}; }
///
/// Calls are checked against the contract before the layer's body runs. The contract also determines the shape of the result
/// and whether the layer streams. A composite layer composes contracts: `norm.contract().then(proj.contract())`.
struct Contract {
  static constexpr Index unlimited = std::numeric_limits<Index>::max(), any = -1;

  Index in = any;               ///< columns of x; `any` if x may have any number
  Index out = any;              ///< columns of y; `any` if y has `widening` times as many columns as x
  Index widening = 1;           ///< see `out`
  Index of_rows = 1, rows = 1;  ///< y has `rows` rows for every `of_rows` rows of x
  Sees sees = Sees::all;        ///< the tokens that an output depends on
  Index shortest = 0;           ///< fewest tokens per sequence; a stream may have fewer
  Index longest = unlimited;    ///< most tokens per sequence
  Index multiple = 1;           ///< tokens per sequence must be a multiple of this
  const char* remedy = "";      ///< last part of the error message for an invalid length: " Resize …"
  const char* in_note = "a matrix is tokens × channels, one row per token";  ///< explains `in` in error messages
  const char* unstreamable = nullptr;  ///< why the layer cannot stream even if it is causal, or nullptr
  bool takes_mask = false;             ///< true if the layer accepts a mask
  MaskDemands mask = {};               ///< requirements for a mask
  bool shows_itself = false;           ///< true if the body, not its caller, passes the outputs to the hook

  bool is_causal() const { return sees != Sees::all; }
  bool streams() const { return is_causal() && unstreamable == nullptr; }
  bool takes_columns(Index columns) const { return in == any || columns == in; }
  bool takes_any_length() const { return shortest == 0 && longest == unlimited && multiple == 1; }
  bool takes_length(Index length) const {
    return length >= shortest && length <= longest && (multiple == 1 || length % multiple == 0);
  }
  /// For calls by another layer: true if this layer accepts an input of `given` rows, split into `sequences`. If the layer
  /// changes the number of rows, `sequences` describes its output rows, and only the number of input rows is checked.
  bool takes_rows(Index given, const Sequences& sequences) const {
    if (rows != of_rows) {
      return given % of_rows == 0;
    }
    if (takes_any_length()) {
      return true;
    }
    bool takes_all = sequences.total() == given;
    for (Index b = 0; takes_all && b < sequences.count(); ++b) {
      takes_all = takes_length(sequences.length(b));
    }
    return takes_all;
  }
  bool mixes_tokens() const { return sees != Sees::itself; }
  /// True unless the layer would mix masked tokens with others.
  bool heeds_mask() const { return takes_mask || !mixes_tokens(); }
  Index output_rows(Index input_rows) const { return input_rows / of_rows * rows; }
  /// The columns of y for an x with `input_columns`, which may be `any`.
  Index output_columns(Index input_columns) const {
    return out != any || input_columns == any ? out : input_columns * widening;
  }

  /// This contract plus `part`'s requirements on sequences. The columns stay the same.
  Contract with(const Contract& part) const {
    Contract both = *this;
    both.sees = std::max(sees, part.sees);
    both.remedy = part.longest < longest || part.shortest > shortest || *remedy == '\0' ? part.remedy : remedy;
    both.shortest = std::max(shortest, part.shortest);
    both.longest = std::min(longest, part.longest);
    both.multiple = std::lcm(multiple, part.multiple);
    both.unstreamable = unstreamable != nullptr ? unstreamable : part.unstreamable;
    both.takes_mask = (takes_mask || part.takes_mask) && heeds_mask() && part.heeds_mask();
    both.mask.softmax = mask.softmax || part.mask.softmax;
    both.shows_itself = false;
    return both;
  }
  /// The contract of this layer followed by `next`.
  Contract then(const Contract& next) const {
    Contract asked = next;  // next's contract, with lengths in tokens of this layer's input
    asked.shortest = (next.shortest + rows - 1) / rows * of_rows;
    asked.longest = next.longest == unlimited ? unlimited : next.longest / rows * of_rows;
    asked.multiple = next.multiple / std::gcd(next.multiple, rows) * (next.multiple == 1 ? 1 : of_rows);
    Contract both = with(asked);
    both.in = in != any ? in : next.in;
    both.out = next.out != any || out == any ? next.out : out * next.widening;
    both.widening = widening * next.widening;
    both.of_rows = of_rows * next.of_rows;
    both.rows = rows * next.rows;
    return both;
  }
};

/// Raises ArgumentError unless `stated`, the option channels of a block's `part`, is 0 or the block's `channels`.
inline void expect_channels_of_block(const char* block, const char* part, Index stated, Index channels) {
  require<ArgumentError>(stated == 0 || stated == channels, block, ": ", part, ".channels = ", stated, ", but the block has ",
                         channels, ". Leave it at 0.");
}

/// Raises ShapeError unless `contract` allows the length of each sequence.
inline void expect_lengths(Where where, const Contract& contract, const Sequences& sequences) {
  for (Index b = 0; b < sequences.count(); ++b) {
    const Index length = sequences.length(b);
    if (contract.takes_length(length)) [[likely]] {
      continue;
    }
    const bool is_long = length > contract.longest, is_exact = contract.shortest == contract.longest;
    require<ShapeError>(!is_long && length >= contract.shortest, where, ": sequence ", b, " of ", sequences.count(), " has ",
                        length, " tokens, expected ", is_long ? contract.longest : contract.shortest,
                        is_exact  ? "."
                        : is_long ? " at most."
                                  : " at least.",
                        contract.remedy);
    raise<ShapeError>(where, ": sequence ", b, " of ", sequences.count(), " has ", length, " tokens, expected a multiple of ",
                      contract.multiple, ".", contract.remedy);
  }
}

/// Raises ShapeError unless x has the number of columns that `contract` requires.
inline void expect_columns(Where where, const Contract& contract, Index columns) {
  require<ShapeError>(contract.takes_columns(columns), where, ": x has ", columns, " columns, expected in = ", contract.in,
                      " (", contract.in_note, ").",
                      contract.in == 0 ? " The layer has no weights, perhaps moved from. Use the one it was moved to." : "");
}

/// Raises ShapeError unless contract.takes_rows().
inline void expect_rows(Where where, const Contract& contract, Index rows, const Sequences& sequences) {
  if (contract.rows != contract.of_rows) {  // `sequences` then describes the output rows
    require<ShapeError>(rows % contract.of_rows == 0, where, ": x has ", rows, " rows, expected a multiple of ",
                        contract.of_rows, ".", contract.remedy);
  } else if (!contract.takes_any_length()) {
    sequences.expect_total(where, rows);
    expect_lengths(where, contract, sequences);
  }
}

/// Raises an error unless a layer with this contract accepts a rows × columns matrix with the given sequences and mask.
inline void expect_input(Where where, const Contract& contract, Index rows, Index columns, const Sequences& sequences,
                         Mask mask) {
  expect_columns(where, contract, columns);
  require<ShapeError>(rows % contract.of_rows == 0, where, ": x has ", rows, " rows, expected a multiple of ", contract.of_rows,
                      ".");
  sequences.expect_total(where, rows);
  expect_lengths(where, contract, sequences);
  require<ArgumentError>(mask.empty() || contract.takes_mask, where, ": got a mask, but this layer takes none. Omit the mask.");
  expect_mask(where, mask, sequences, contract.mask);
}

/// Raises ShapeError: the body of `layer` returned `rows` × `columns`, but its contract says `wanted_rows` × `wanted_columns`.
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_result(const char* layer, Index rows, Index columns,
                                                                 Index wanted_rows, Index wanted_columns) {
  raise<ShapeError>(layer, ": its body returned ", rows, " × ", columns, ", but its contract says ", wanted_rows, " × ",
                    wanted_columns, ". Correct `in`, `out`, `rows` or `of_rows` in contract().");
}

/// Raises ArgumentError unless a layer with this contract streams.
inline void expect_streaming(Where where, const Contract& contract) {
  require<ArgumentError>(contract.unstreamable == nullptr || !contract.is_causal(), where, ": ", contract.unstreamable);
  require<ArgumentError>(contract.is_causal(), where, ": an output depends on later tokens, so the layer cannot be streamed. ",
                         contract.unstreamable != nullptr
                             ? contract.unstreamable
                             : "Build it with causal = true, or use forward() on whole sequences.");
}

}  // namespace gated
