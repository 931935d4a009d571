#pragma once

#include <algorithm>
#include <limits>
#include <numeric>

#include "gated/core/mask.hpp"
#include "gated/core/sequences.hpp"

/// @file
/// Input requirements and output shape of a layer, as data.

namespace gated {

/// Which tokens of a sequence an output depends on.
enum class Sees {
  itself,  ///< its own
  past,    ///< its own and earlier ones: the layer is causal
  all      ///< later ones too
};

/// What a layer asks and promises, by `contract()`, which every layer has:
///
///     Contract contract() const { return {.in = config.channels, .out = config.channels, .sees = Sees::past}; }
///
/// Calls are checked against it before a body runs, and it determines the shape of the result and whether the layer streams.
/// A composite layer composes contracts: `norm.contract().then(proj.contract())`.
struct Contract {
  static constexpr Index unlimited = std::numeric_limits<Index>::max(), any = -1;

  Index in = any;               ///< columns of x
  Index out = any;              ///< columns of y; any for those of x
  Index of_rows = 1, rows = 1;  ///< y has `rows` rows for every `of_rows` of x
  Sees sees = Sees::all;        ///< what an output depends on
  Index shortest = 0;           ///< the fewest tokens of a sequence, except in a stream
  Index longest = unlimited;    ///< the most
  Index multiple = 1;           ///< the number of tokens is a multiple of this
  const char* remedy = "";      ///< what to do about a sequence that does not fit: " Resize …"
  const char* in_note = "a matrix is tokens × channels, one row per token";  ///< on the columns of x, for messages
  const char* unstreamable = nullptr;  ///< why a layer that sees no later token cannot stream
  bool takes_mask = false;             ///< whether a mask may hide tokens
  MaskDemands mask = {};               ///< what a mask must be
  bool shows_itself = false;           ///< the body shows a hook what there is to see

  bool is_causal() const { return sees != Sees::all; }
  bool streams() const { return is_causal() && unstreamable == nullptr; }
  bool takes_columns(Index columns) const { return in == any || columns == in; }
  bool takes_any_length() const { return shortest == 0 && longest == unlimited && multiple == 1; }
  bool takes_length(Index length) const {
    return length >= shortest && length <= longest && (multiple == 1 || length % multiple == 0);
  }
  /// Whether it takes `rows` rows inside another layer, which splits them into `sequences`. Rows that become more or fewer are
  /// split by the result, so only their number counts.
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
  Index output_rows(Index input_rows) const { return input_rows / of_rows * rows; }
  Index output_columns(Index input_columns) const { return out != any ? out : input_columns; }

  /// The requirements of both this and `part` on sequences; the columns are this one's.
  Contract with(const Contract& part) const {
    Contract both = *this;
    both.sees = std::max(sees, part.sees);
    both.remedy = part.longest < longest || part.shortest > shortest || *remedy == '\0' ? part.remedy : remedy;
    both.shortest = std::max(shortest, part.shortest);
    both.longest = std::min(longest, part.longest);
    both.multiple = std::lcm(multiple, part.multiple);
    both.unstreamable = unstreamable != nullptr ? unstreamable : part.unstreamable;
    both.takes_mask = takes_mask || part.takes_mask;
    both.mask.softmax = mask.softmax || part.mask.softmax;
    both.shows_itself = false;
    return both;
  }
  /// The contract of this layer followed by `next`.
  Contract then(const Contract& next) const {
    Contract asked = next;  // in tokens of this layer's input
    asked.shortest = (next.shortest + rows - 1) / rows * of_rows;
    asked.longest = next.longest == unlimited ? unlimited : next.longest / rows * of_rows;
    asked.multiple = next.multiple / std::gcd(next.multiple, rows) * (next.multiple == 1 ? 1 : of_rows);
    Contract both = with(asked);
    both.in = in != any ? in : next.in;
    both.out = next.out != any ? next.out : out;
    both.of_rows = of_rows * next.of_rows;
    both.rows = rows * next.rows;
    return both;
  }
};

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

/// Raises ShapeError unless x has the columns that `contract` asks for.
inline void expect_columns(Where where, const Contract& contract, Index columns) {
  require<ShapeError>(contract.takes_columns(columns), where, ": x has ", columns, " columns, expected in = ", contract.in,
                      " (", contract.in_note, ").");
}

/// Raises ShapeError unless contract.takes_rows().
inline void expect_rows(Where where, const Contract& contract, Index rows, const Sequences& sequences) {
  if (contract.rows != contract.of_rows) {  // what it takes is split by what it makes
    require<ShapeError>(rows % contract.of_rows == 0, where, ": x has ", rows, " rows, expected a multiple of ",
                        contract.of_rows, ".", contract.remedy);
  } else if (!contract.takes_any_length()) {
    sequences.expect_total(where, rows);
    expect_lengths(where, contract, sequences);
  }
}

/// Raises an error unless a layer of this contract takes `rows` × `columns` with these sequences and this mask.
inline void expect_input(Where where, const Contract& contract, Index rows, Index columns, const Sequences& sequences,
                         Mask mask) {
  expect_columns(where, contract, columns);
  require<ShapeError>(rows % contract.of_rows == 0, where, ": x has ", rows, " rows, expected a multiple of ", contract.of_rows,
                      ".");
  sequences.expect_total(where, rows);
  expect_lengths(where, contract, sequences);
  require<ArgumentError>(mask.empty() || contract.takes_mask, where, ": it takes no mask.");
  expect_mask(where, mask, sequences, contract.mask);
}

/// Raises ArgumentError unless a layer of this contract streams.
inline void expect_streaming(Where where, const Contract& contract) {
  require<ArgumentError>(contract.unstreamable == nullptr || !contract.is_causal(), where, ": ", contract.unstreamable);
  require<ArgumentError>(contract.is_causal(), where, ": an output depends on later tokens, so it cannot be streamed. ",
                         contract.unstreamable != nullptr
                             ? contract.unstreamable
                             : "Build it with causal = true, or use forward() on whole sequences.");
}

}  // namespace gated
