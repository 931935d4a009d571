#pragma once

#include <concepts>

#include "gated/core/layer.hpp"
#include "gated/ops/embedding.hpp"

/// @file
/// How a model for text is called: on whole texts, or token by token. Its body is the model's own.

namespace gated {

/// What a model that takes the ids of tokens offers on top of its body, as SequenceLayer does for layers. It is a struct with
/// the body `apply(run, tokens, {.types = …, .outputs = …}, to)`, out(), longest(), and the checks expect_input() and
/// expect_streamed(). With `static constexpr bool takes_mask = true` forward() takes a mask.
template <class Derived, class T>
struct TextModel {
  /// The logits (or hidden states) of every token of all sequences at once.
  void forward(Tokens tokens, const Sequences& sequences, View<T> output, Workspace<T>& workspace, Tokens types = {}) const {
    run_forward(tokens, sequences, Mask(), types, output, workspace);
  }
  /// The same, into a new matrix.
  Matrix<T> forward(Tokens tokens, const Sequences& sequences, Workspace<T>& workspace, Tokens types = {}) const {
    Matrix<T> output(static_cast<Index>(tokens.size()), self().out());
    forward(tokens, sequences, output, workspace, types);
    return output;
  }
  /// With a 0 or 1 per token: which are attended to.
  template <std::same_as<Derived> Self = Derived>
  requires(detail::takes_mask<Self>()) void forward(Tokens tokens, const Sequences& sequences, View<T> output,
                                                    Workspace<T>& workspace, Mask mask, Tokens types = {}) const {
    run_forward(tokens, sequences, mask, types, output, workspace);
  }
  /// The same, into a new matrix.
  template <std::same_as<Derived> Self = Derived>
  requires(detail::takes_mask<Self>()) Matrix<T> forward(Tokens tokens, const Sequences& sequences, Workspace<T>& workspace,
                                                         Mask mask, Tokens types = {})
  const {
    Matrix<T> output(static_cast<Index>(tokens.size()), self().out());
    run_forward(tokens, sequences, mask, types, output, workspace);
    return output;
  }

  /// The state before the first token of a text of up to `capacity` tokens, by default as many as the model can serve.
  /// Errors: see SequenceLayer::start().
  State<T> start(Index capacity = State<T>::unlimited) const;

  /// Adds `tokens` to a streamed sequence. `output` has one row per token, or one row in all, for the last.
  /// Errors: as forward(), and ShapeError past the state's capacity; the state is unchanged then.
  /// Cost: no allocation when warm.
  void extend(Tokens tokens, State<T>& state, View<T> output, Workspace<T>& workspace) const {
    constexpr Where where(Derived::name, "extend");
    add_to_stream(where, tokens, state, output, workspace);
  }

  /// Adds one token; `output` is 1 × out(). The same as extend() by one token.
  void step(Index token, State<T>& state, View<T> output, Workspace<T>& workspace) const {
    constexpr Where where(Derived::name, "step");
    add_to_stream(where, Tokens(&token, 1), state, output, workspace);
  }

 private:
  const Derived& self() const { return static_cast<const Derived&>(*this); }

  void run_forward(Tokens tokens, const Sequences& sequences, Mask mask, Tokens types, View<T> output,
                   Workspace<T>& workspace) const;
  void add_to_stream(Where where, Tokens tokens, State<T>& state, View<T> output, Workspace<T>& workspace) const;
};

// Outside of the class, and so not `inline`: see core/layer.hpp.

template <class Derived, class T>
State<T> TextModel<Derived, T>::start(Index capacity) const {
  return Stream<T>::start(self(), Tokens(), detail::checked_capacity({Derived::name, "start"}, self(), capacity));
}

template <class Derived, class T>
void TextModel<Derived, T>::run_forward(Tokens tokens, const Sequences& sequences, Mask mask, Tokens types, View<T> output,
                                        Workspace<T>& workspace) const {
  constexpr Where where(Derived::name, "forward");
  self().expect_input(where, tokens, sequences, mask, types);
  expect_shape<T>(where, "output", output, static_cast<Index>(tokens.size()), self().out());
  const auto frame = workspace.frame();
  Batch<T> run(workspace, sequences, mask);
  run(self(), tokens, {.types = types}, Rows<T>(output));
}

template <class Derived, class T>
void TextModel<Derived, T>::add_to_stream(Where where, Tokens tokens, State<T>& state, View<T> output,
                                          Workspace<T>& workspace) const {
  const auto count = static_cast<Index>(tokens.size());
  require<ShapeError>(output.rows() == count || (output.rows() == 1 && count > 0), where, ": output has ", output.rows(),
                      " rows, expected ", count, ", one per token, or 1 for the last.");
  expect_shape<T>(where, "output", output, output.rows(), self().out());
  self().expect_streamed(where, tokens);
  detail::run_stream<T>(where, self(), tokens, Tokens(), {.outputs = output.rows()}, state, output, workspace);
}

}  // namespace gated
