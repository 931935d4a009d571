#pragma once

#include <algorithm>
#include <vector>

#include "gated/core/layer.hpp"
#include "gated/layers/embedding.hpp"
#include "gated/ops/dropout.hpp"
#include "gated/ops/elementwise.hpp"
#include "gated/train/tape.hpp"

/// @file
/// How the body of a layer runs in training: each op's output is kept on a tape, with what its backward pass does.

namespace gated {

/// A run over whole sequences that a tape records. See core/run.hpp for what a body may ask of it.
///
/// Dropout and stochastic depth (Huang et al., arXiv:1603.09382) have an effect in steps with noise only: see TapeOptions.
template <class T>
class Recording {
  struct Anywhere {};

 public:
  using Scalar = T;
  using Rows = Variable;
  using Place = Anywhere;  ///< every result is a new variable
  static constexpr bool records = true, streams = false;

  Recording(Tape<T>& tape, const Sequences& sequences, Mask mask = {})
      : tape_(tape), sequences_(sequences), mask_(tape.keep(mask)), kept_(tape.keep(sequences)) {}

  /// The same run with other sequences or another mask.
  Recording with(const Sequences& sequences) const { return Recording(tape_, sequences); }
  Recording with(Mask mask) const { return Recording(tape_, sequences_, mask); }

  Tape<T>& tape() const { return tape_; }
  /// The path of the layer that runs, for messages, and the name of the layer around all others.
  std::string path() const { return tape_.path(); }
  const char* outermost() const { return tape_.outermost(); }
  Workspace<T>& workspace() const { return tape_.workspace(); }
  const Sequences& sequences() const { return sequences_; }
  Mask mask() const { return mask_; }
  /// The number by which tape().sequences() gives the sequences in the backward pass; the same for others.
  Index kept_sequences() const { return kept_; }
  Index keep(const Sequences& others) const { return tape_.keep(others); }
  template <class V>
  std::span<const V> keep(std::span<const V> values) const {
    return tape_.keep(values);
  }

  Index count(Variable x) const { return tape_.rows(x); }
  Index width(Variable x) const { return tape_.width(x); }
  View<T> operator[](Variable x) const { return tape_[x]; }
  Variable columns(Variable x, Index first, Index number) const { return tape_.columns(x, first, number); }
  Variable make(Index rows, Index columns, Place = {}) const { return tape_.make(rows, columns); }
  T* take(Index number) const { return tape_.take(number); }
  static Place over(Variable) { return {}; }
  static Place over(Variable, Index, Index) { return {}; }
  static Place reserve(Place, Index, Index) { return {}; }
  static Variable copy(Variable x, Place) { return x; }

  /// Pushes what the backward pass does here: see Tape::push().
  template <class F>
  void push(const F& backward) const {
    tape_.push(backward);
  }
  T* gradient_of(const T* parameter) const { return tape_.gradient_of(parameter); }

  /// layer(x).
  template <class L, class In>
  Variable operator()(const L& layer, const In& x, const OptionsOf<L, Recording>& options = {}, Place = {}) {
    const auto scope = tape_.enter(layer);
    if constexpr (std::is_same_v<OptionsOf<L, Recording>, NoOptions>) {
      return layer.apply(*this, x, Place());
    } else {
      return layer.apply(*this, x, options, Place());
    }
  }

  /// One of a stack's blocks: see Tape::block() for what is kept of it.
  template <class Block>
  Variable block(const Block& layer, Variable x) {
    return tape_.block(x, [&tape = tape_, &layer, kept = kept_, mask = mask_](Variable input) {
      Recording run(tape, kept, mask);
      return run(layer, input);
    });
  }

  /// All sequences together.
  template <class F>
  Variable in_groups(Variable x, const F& f) {
    return f(*this, x);
  }

  // --- What training drops ---

  /// x, each number set to 0 with probability `rate` and divided by 1 - rate otherwise.
  Variable dropout(Variable x, double rate) {
    if (rate <= 0 || tape_.noise() == nullptr) {
      return x;
    }
    return scale(*this, x, terms::Mask<T>{DropoutMask<T>(tape_.noise()->bits(), rate)});
  }
  Variable embedding_dropout(Variable x) { return dropout(x, tape_.options().embedding_dropout); }

  /// The masks of attention dropout for this step, one for each sequence and head by DropoutMask::at().
  DropoutMask<T> attention_dropout() const {
    const double rate = tape_.options().attention_dropout;
    return rate > 0 && tape_.noise() != nullptr ? DropoutMask<T>(tape_.noise()->bits(), rate) : DropoutMask<T>();
  }

  /// Whether something is dropped from a branch before the residual joins it.
  bool drops(double survival) const {
    return tape_.noise() != nullptr && (tape_.options().residual_dropout > 0 || drops_sequences(survival));
  }
  /// The branch after residual dropout and stochastic depth. With TapeOptions::scaled_depth each sequence survives with
  /// probability `survival`, survivors being divided by it: timm's rule.
  Variable drop(Variable x, double survival) {
    x = dropout(x, tape_.options().residual_dropout);
    if (!drops_sequences(survival)) {
      return x;
    }
    T* const factors = take(count(x));
    for (Index b = 0; b < sequences_.count(); ++b) {
      const bool survives = tape_.noise()->uniform() < survival;
      std::fill_n(factors + sequences_.offset(b), sequences_.length(b), survives ? static_cast<T>(1 / survival) : T{0});
    }
    return scale(*this, x, per_row<T>(factors));
  }
  Variable add(Variable a, Variable b, const T* factors) { return gated::add(*this, a, b, factors); }

  /// A function that says of each of `blocks` blocks whether this step uses it: lucidrains' rule, in which blocks are dropped
  /// one by one, survivors stay as they are, and one survives at least. All in a step without noise, and where each sequence
  /// decides for itself.
  auto draw_blocks(double survival, Index blocks) {
    T* const used = take(blocks);
    std::fill_n(used, blocks, T{1});
    if (survival < 1 && tape_.noise() != nullptr && !tape_.options().scaled_depth && blocks > 0) {
      for (Index i = 0; i < blocks; ++i) {
        used[i] = tape_.noise()->uniform() < survival ? T{1} : T{0};
      }
      if (std::count(used, used + blocks, T{1}) == 0) {
        used[static_cast<Index>(tape_.noise()->uniform() * static_cast<double>(blocks))] = T{1};
      }
    }
    return [used](std::size_t i) { return used[i] != T{0}; };
  }

 private:
  Recording(Tape<T>& tape, Index kept, Mask mask) : tape_(tape), sequences_(tape.sequences(kept)), mask_(mask), kept_(kept) {}

  bool drops_sequences(double survival) const {
    return survival < 1 && tape_.noise() != nullptr && tape_.options().scaled_depth;
  }

  Tape<T>& tape_;
  Sequences sequences_;
  Mask mask_;
  Index kept_;
};

/// layer(x) on a tape, for a layer that looks at one token at a time. The layer must stay until the backward pass is over.
/// Errors: as forward().
/// Cost: about twice the forward's in the backward pass.
template <class T, class L>
Variable record(Tape<T>& tape, const L& layer, Variable x) {
  if constexpr (requires { layer.expect_input(Where(L::name, "record"), ConstView<T>(tape[x])); }) {
    layer.expect_input({L::name, "record"}, tape[x]);
  }
  Recording<T> run(tape, Sequences::single(tape.rows(x)));
  return run(layer, x);
}

/// The same for one that looks at other tokens.
template <class T, class L>
Variable record(Tape<T>& tape, const L& layer, Variable x, const Sequences& sequences, Mask mask = {},
                const OptionsOf<L, Recording<T>>& options = {}) {
  const Where where(detail::name_of_layer<L>(), "record");
  if constexpr (requires { layer.expect_input(where, ConstView<T>(tape[x]), sequences, mask); }) {
    layer.expect_input(where, tape[x], sequences, mask);
  } else {
    sequences.expect_total(where, tape.rows(x));
  }
  require<ArgumentError>(mask.empty() || detail::takes_mask<L>(), where, ": it takes no mask.");
  Recording<T> run(tape, sequences, mask);
  return run(layer, x, options);
}

/// The logits (or hidden states) of a language model.
template <class T, class Model>
requires requires(const Model& model, Tokens tokens) { model.embedding.expect_known("", tokens); }
Variable record(Tape<T>& tape, const Model& model, Tokens tokens, const Sequences& sequences, Mask mask = {},
                Tokens types = {}) {
  model.expect_input({Model::name, "record"}, tokens, sequences, mask, types);
  Recording<T> run(tape, sequences, mask);
  return run(model, tokens, {.types = types});
}
/// The logits of some tokens only, `rows` of the batch: what masked language modelling asks for.
/// Errors: as above; ArgumentError for a row that the batch does not have, and for none.
/// Cost: the head's of as many rows.
template <class T, class Model>
requires requires(const Model& model, Tokens tokens) { model.embedding.expect_known("", tokens); }
Variable record_rows(Tape<T>& tape, const Model& model, Tokens tokens, const Sequences& sequences, std::span<const Index> rows,
                     Mask mask = {}, Tokens types = {}) {
  constexpr Where where(Model::name, "record_rows");
  model.expect_input(where, tokens, sequences, mask, types);
  require<ArgumentError>(!rows.empty(), where, ": no rows are asked for.");
  Recording<T> run(tape, sequences, mask);
  return run(model, tokens, {.types = types, .rows = rows});
}

}  // namespace gated
