#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <utility>
#include <vector>

#include "gated/layers/embedding.hpp"
#include "gated/layers/layer.hpp"
#include "gated/ops/dropout.hpp"
#include "gated/ops/elementwise.hpp"
#include "gated/train/tape.hpp"

/// @file
/// Runs layers in training and records each op's output and backward function on a tape.

namespace gated {

/// A run over whole sequences, recorded on a tape. See core/run.hpp for the interface of a run. Token ids, token types, masks
/// and rows are copied: they may change or be destroyed before backward(). The layer must stay unchanged until then.
///
/// Dropout and stochastic depth (Huang et al., arXiv:1603.09382) need Tape::begin() with a generator: see TapeOptions.
template <class T>
class Recording {
 public:
  using Scalar = T;
  using Matrix = Variable;
  static constexpr bool records = true, streams = false;

  /// Errors: ShapeError for a mask of another length than the sequences.
  Recording(Tape<T>& tape, const Sequences& sequences, Mask mask = {})
      : tape_(tape), sequences_(sequences), mask_(tape.keep(mask)), kept_(tape.keep(sequences)) {
    expect_mask("Recording", mask, sequences);
  }

  /// The position of each sequence's first token in this run: always 0.
  static constexpr Index position() { return 0; }

  /// A run on the same tape: either with other sequences and no mask, or with another mask.
  Recording with(const Sequences& sequences) const { return Recording(tape_, sequences); }
  Recording with(Mask mask) const { return Recording(tape_, sequences_, mask); }

  Tape<T>& tape() const { return tape_; }
  /// The path of the running layer, for messages, and the name of the outermost layer.
  std::string path() const { return tape_.path(); }
  const char* outermost() const { return tape_.outermost(); }
  Workspace<T>& workspace() const { return tape_.workspace(); }
  const Sequences& sequences() const { return sequences_; }
  Mask mask() const { return mask_; }
  /// The handle of this run's sequences: backward functions read them as tape().sequences(handle). keep() stores other
  /// sequences and returns their handle.
  Index kept_sequences() const { return kept_; }
  Index keep(const Sequences& others) const { return tape_.keep(others); }
  template <class V>
  std::span<const V> keep(std::span<const V> values) const {
    return tape_.keep(values);
  }

  Index rows(Variable x) const { return tape_.rows(x); }
  Index columns(Variable x) const { return tape_.columns(x); }
  View<T> operator[](Variable x) const { return tape_[x]; }
  /// Some columns of x: see Tape::columns().
  Variable columns(Variable x, Index first, Index number) const { return tape_.columns(x, first, number); }
  template <std::same_as<Index>... Widths>
  std::array<Variable, sizeof...(Widths)> split(Variable x, Widths... widths) const {
    Index first = 0;
    return {columns(x, std::exchange(first, first + widths), widths)...};
  }
  // Each result is a new variable.
  Variable make(Index rows, Index columns) const { return tape_.make(rows, columns); }
  Variable make(Index rows, Index columns, const Epilogue<Recording>&) const { return make(rows, columns); }
  Variable make_contiguous(Index rows, Index columns) const { return make(rows, columns); }
  Variable reuse(Variable x) const { return make(rows(x), columns(x)); }
  Variable owned(Variable x) const { return tape_.copied(x, 0, columns(x)); }
  T* take(Index number) const { return tape_.take(number); }

  /// Pushes a backward function: see Tape::push().
  template <class F>
  void push(const F& backward) const {
    tape_.push(backward);
  }
  T* gradient_of(const T* parameter) const { return tape_.gradient_of(parameter); }

  /// layer(x) with `epilogue` applied.
  template <class L, class In>
  Variable operator()(const L& layer, const In& x, Epilogue<Recording> epilogue = {}) {
    if constexpr (detail::JoinsItself<L, Recording, In>) {
      const Epilogue<Recording> residual = take_dropping_residual(*this, epilogue);
      return drop_and_add(*this, body(layer, x, epilogue), residual);
    } else {
      return join(*this, body(layer, x), epilogue);
    }
  }
  /// layer(x, more…), for layers with further arguments.
  template <class L, class In, class... More>
  requires(sizeof...(More) > 0 && !(std::same_as<More, Epilogue<Recording>> || ...)) Variable operator()(const L& layer,
                                                                                                         const In& x,
                                                                                                         const More&... more) {
    return body(layer, x, more...);
  }

  /// Applies `layers` in order, each as a Tape::block(). Unless TapeOptions::scaled_depth is set, a step with a generator drops
  /// each layer with probability `drop_path`. At least one is kept, and none is scaled, as in lucidrains' g-mlp-pytorch.
  template <class L>
  Variable blocks(const std::vector<L>& layers, Variable x, double drop_path = 0) {
    const T* const used = draw(drop_path, static_cast<Index>(layers.size()));
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (used[i] != T{0}) {
        x = tape_.block(x, [&tape = tape_, &layer = layers[i], kept = kept_, mask = mask_](Variable input) {
          Recording run(tape, kept, mask);
          return run(layer, input);
        });
      }
    }
    return x;
  }

  // --- Dropout ---

  /// Sets each element of x to 0 with probability `rate`, and divides the other elements by 1 - rate.
  Variable dropout(Variable x, double rate) {
    if (rate <= 0 || tape_.noise() == nullptr) {
      return x;
    }
    return scale(*this, x, terms::Mask<T>{DropoutMask<T>(tape_.noise()->bits(), rate)});
  }
  Variable embedding_dropout(Variable x) { return dropout(x, tape_.options().embedding_dropout); }

  /// The attention dropout masks of one op in this step; DropoutMask::at() returns the mask of a sequence and head.
  DropoutMask<T> attention_dropout() const {
    const double rate = tape_.options().attention_dropout;
    return rate > 0 && tape_.noise() != nullptr ? DropoutMask<T>(tape_.noise()->bits(), rate) : DropoutMask<T>();
  }

  /// True if residual dropout or scaled stochastic depth applies to a branch's output, before the residual is added.
  bool drops(double drop_path) const {
    return tape_.noise() != nullptr && (tape_.options().residual_dropout > 0 || drops_sequences(drop_path));
  }
  /// x, the output of a branch, after residual dropout and stochastic depth. If TapeOptions::scaled_depth is set, each sequence
  /// is dropped with probability `drop_path`, and survivors are divided by 1 - drop_path, as in timm.
  Variable drop(Variable x, double drop_path) {
    x = dropout(x, tape_.options().residual_dropout);
    if (!drops_sequences(drop_path)) {
      return x;
    }
    sequences_.expect_total("stochastic depth", rows(x));
    T* const factors = take(rows(x));
    for (Index b = 0; b < sequences_.count(); ++b) {
      const bool survives = tape_.noise()->uniform() < 1 - drop_path;
      std::fill_n(factors + sequences_.offset(b), sequences_.length(b), survives ? static_cast<T>(1 / (1 - drop_path)) : T{0});
    }
    return scale(*this, x, per_row<T>(factors));
  }

 private:
  template <class L, class In, class... More>
  Variable body(const L& layer, const In& x, const More&... more) {
    const Contract contract = layer.contract();
    if constexpr (std::same_as<In, Variable>) {
      expect_columns(L::name, contract, columns(x));
      expect_rows(L::name, contract, rows(x), sequences_);
    }
    const typename Tape<T>::InLayer inside(tape_, layer);
    const Variable y = layer.apply(*this, x, more...);
    if constexpr (std::same_as<In, Variable>) {
      const Index wanted_rows = contract.output_rows(rows(x)), wanted_columns = contract.output_columns(columns(x));
      if (rows(y) != wanted_rows || columns(y) != wanted_columns) [[unlikely]] {
        refuse_result(L::name, rows(y), columns(y), wanted_rows, wanted_columns);
      }
    }
    return y;
  }

  Recording(Tape<T>& tape, Index kept, Mask mask) : tape_(tape), sequences_(tape.sequences(kept)), mask_(mask), kept_(kept) {}

  /// Returns a value per block: 1 if this step uses the block, otherwise 0.
  const T* draw(double drop_path, Index blocks) {
    T* const used = take(blocks);
    std::fill_n(used, blocks, T{1});
    if (drop_path > 0 && tape_.noise() != nullptr && !tape_.options().scaled_depth && blocks > 0) {
      for (Index i = 0; i < blocks; ++i) {
        used[i] = tape_.noise()->uniform() < 1 - drop_path ? T{1} : T{0};
      }
      if (std::count(used, used + blocks, T{1}) == 0) {
        used[static_cast<Index>(tape_.noise()->uniform() * static_cast<double>(blocks))] = T{1};
      }
    }
    return used;
  }

  bool drops_sequences(double drop_path) const {
    return drop_path > 0 && tape_.noise() != nullptr && tape_.options().scaled_depth;
  }

  Tape<T>& tape_;
  Sequences sequences_;
  Mask mask_;
  Index kept_;
};

/// Computes layer(x) and records it on the tape. The layer must outlive the backward pass.
/// Errors: as for forward().
/// Cost: the backward pass takes about twice as long as the forward pass.
template <class T, class L>
Variable record(Tape<T>& tape, const L& layer, Variable x, const Sequences& sequences, Mask mask = {}) {
  expect_input({L::name, "record"}, layer.contract(), tape.rows(x), tape.columns(x), sequences, mask);
  Recording<T> run(tape, sequences, mask);
  return run(layer, x);
}
/// Records layer(x) for an x of one sequence, or of independent rows.
template <class T, class L>
Variable record(Tape<T>& tape, const L& layer, Variable x) {
  return record(tape, layer, x, Sequences::single(tape.rows(x)));
}

/// Records a language model and returns its logits (or hidden states).
template <class T, class Model>
requires requires(const Model& model, Tokens tokens) { model.embedding.expect_known("", tokens); }
Variable record(Tape<T>& tape, const Model& model, Tokens tokens, const Sequences& sequences, Mask mask = {},
                Tokens types = {}) {
  model.expect_input({Model::name, "record"}, tokens, sequences, mask, types);
  Recording<T> run(tape, sequences, mask);
  return run(model, tokens, TextInputs{.types = types});
}
/// record() of a language model, with logits for only the tokens at `rows` of the batch: for masked language modelling.
/// Errors: those of record(); ArgumentError if `rows` is empty or names a row outside the batch.
/// Cost: the head runs on these rows only.
template <class T, class Model>
requires requires(const Model& model, Tokens tokens) { model.embedding.expect_known("", tokens); }
Variable record_rows(Tape<T>& tape, const Model& model, Tokens tokens, const Sequences& sequences, std::span<const Index> rows,
                     Mask mask = {}, Tokens types = {}) {
  constexpr Where where(Model::name, "record_rows");
  model.expect_input(where, tokens, sequences, mask, types);
  require<ArgumentError>(!rows.empty(), where, ": `rows` is empty, expected at least one row.");
  Recording<T> run(tape, sequences, mask);
  return run(model, tokens, TextInputs{.types = types, .rows = rows});
}

}  // namespace gated
