#pragma once

#include "gated/layers/embedding.hpp"
#include "gated/layers/layer.hpp"

/// @file
/// The interface of text models: forward passes over whole texts, and streaming token by token.

namespace gated {

/// CRTP base that adds the public interface of a text model, as Layer does for layers. The derived struct provides the body
/// `apply(run, tokens, inputs)`, contract(), and the checks expect_input() and expect_streamed().
template <class Derived, class T>
struct TextModel {
  using Scalar = T;

  /// Columns of the output.
  Index out() const { return self().contract().out; }
  /// The maximum number of tokens in a text.
  Index longest() const { return self().contract().longest; }
  /// True if no output depends on a later token.
  bool is_causal() const { return self().contract().is_causal(); }

  /// Computes the logits (or hidden states) of every token.
  void forward(Tokens tokens, const Sequences& sequences, View<T> output, Workspace<T>& workspace, Tokens types = {}) const {
    forward(tokens, sequences, output, workspace, Mask(), types);
  }
  /// Overload with a mask, 0 or 1 per token; 0 hides the token.
  void forward(Tokens tokens, const Sequences& sequences, View<T> output, Workspace<T>& workspace, Mask mask,
               Tokens types = {}) const;
  /// Overload for output memory that is not an Eigen matrix.
  void forward(Tokens tokens, const Sequences& sequences, const MatrixSpan<T>& output, Workspace<T>& workspace,
               Tokens types = {}) const {
    forward(tokens, sequences, View<T>(output), workspace, Mask(), types);
  }
  /// Overload that returns a new matrix.
  Matrix<T> forward(Tokens tokens, const Sequences& sequences, Workspace<T>& workspace, Tokens types = {}) const {
    Matrix<T> output(static_cast<Index>(tokens.size()), out());
    forward(tokens, sequences, output, workspace, Mask(), types);
    return output;
  }
  /// Overload that takes a mask and returns a new matrix.
  Matrix<T> forward(Tokens tokens, const Sequences& sequences, Workspace<T>& workspace, Mask mask, Tokens types = {}) const {
    Matrix<T> output(static_cast<Index>(tokens.size()), out());
    forward(tokens, sequences, output, workspace, mask, types);
    return output;
  }
  /// Overload for one text, with a temporary workspace.
  Matrix<T> forward(Tokens tokens) const {
    Workspace<T> workspace;
    return forward(tokens, Sequences::single(static_cast<Index>(tokens.size())), workspace);
  }

  /// The initial state for a text of up to `capacity` tokens; `unlimited` means longest().
  /// Errors: see Layer::start().
  State<T> start(Index capacity = State<T>::unlimited) const;

  /// Adds `tokens` to a streamed sequence. `output` has one row per token, or a single row for the last token.
  /// Errors: those of Layer::extend(), and ArgumentError for an id outside the vocabulary or padding (pad_token). Segment types
  /// are always 0 in a stream. These errors leave the state unchanged. If memory runs out, discard the state: see
  /// Layer::extend().
  /// Cost: no allocation with a warm workspace.
  void extend(Tokens tokens, State<T>& state, View<T> output, Workspace<T>& workspace) const {
    constexpr Where where(Derived::name, "extend");
    add_to_stream(where, tokens, state, output, workspace);
  }
  /// Overload for output memory that is not an Eigen matrix.
  void extend(Tokens tokens, State<T>& state, const MatrixSpan<T>& output, Workspace<T>& workspace) const {
    extend(tokens, state, View<T>(output), workspace);
  }

  /// Adds one token, as extend() does; `output` is 1 × out().
  void step(Index token, State<T>& state, View<T> output, Workspace<T>& workspace) const {
    constexpr Where where(Derived::name, "step");
    add_to_stream(where, Tokens(&token, 1), state, output, workspace);
  }

 private:
  const Derived& self() const { return static_cast<const Derived&>(*this); }

  void add_to_stream(Where where, Tokens tokens, State<T>& state, View<T> output, Workspace<T>& workspace) const;
};

// Defined outside the class, so not implicitly `inline`: see layers/layer.hpp.

template <class Derived, class T>
State<T> TextModel<Derived, T>::start(Index capacity) const {
  return Stream<T>::start(self(), Tokens(), capacity);
}

template <class Derived, class T>
void TextModel<Derived, T>::forward(Tokens tokens, const Sequences& sequences, View<T> output, Workspace<T>& workspace,
                                    Mask mask, Tokens types) const {
  constexpr Where where(Derived::name, "forward");
  self().expect_input(where, tokens, sequences, mask, types);
  expect_shape<T>(where, "output", output, static_cast<Index>(tokens.size()), out());
  const auto frame = workspace.frame();
  Batch<T> run(workspace, sequences, mask);
  run.into(MatrixView<T>(output), self(), tokens, TextInputs{.types = types});
}

template <class Derived, class T>
void TextModel<Derived, T>::add_to_stream(Where where, Tokens tokens, State<T>& state, View<T> output,
                                          Workspace<T>& workspace) const {
  const auto count = static_cast<Index>(tokens.size());
  require<ShapeError>(output.rows() == count || (output.rows() == 1 && count > 0), where, ": output has ", output.rows(),
                      " rows, expected ", count, ", one per token, or 1 for the last.");
  expect_shape<T>(where, "output", output, output.rows(), out());
  self().expect_streamed(where, tokens);
  Stream<T>::extend(where, self(), tokens, Tokens(), state, MatrixView<T>(output), workspace,
                    TextInputs{.outputs = output.rows()});
}

}  // namespace gated
