#pragma once

#include "gated/core/random.hpp"
#include "gated/core/stream.hpp"
#include "gated/core/unset.hpp"

/// @file
/// What every layer offers on top of its body.
///
/// A layer is a struct of parameters with
///
///     static constexpr const char* name = "…";                    // for messages
///     static constexpr auto fields();                             // its parameters and sub-layers
///     Index in() const, out() const;                              // channels
///     template <class Run>
///     auto apply(Run& run, RowsOf<Run> x, PlaceOf<Run> to) const; // the body: see core/run.hpp
///
/// and, if it takes something besides x, a member template Options<Run>, which then stands before `to`. Derived from
/// TokenLayer or SequenceLayer it has forward(), and start() and extend() where its body can stream; record() of
/// train/recording.hpp trains it. A body's result lies at `to`, or is its input.

namespace gated {

/// A matrix in a run: Rows<T>, or a Variable on a tape.
template <class Run>
using RowsOf = typename Run::Rows;
/// Where a result goes, if the run has a say in it.
template <class Run>
using PlaceOf = typename Run::Place;

namespace detail {

template <class Member>
void initialize_member(Member& member, Random& random) {
  if constexpr (requires { member.initialize(random); }) {
    member.initialize(random);
  } else if constexpr (IsOptional<Member>) {
    if (member) {
      initialize_member(*member, random);
    }
  } else if constexpr (requires { member.front().initialize(random); }) {
    for (auto& element : member) {
      element.initialize(random);
    }
  }
}

/// Raises an error if `layer` cannot serve these sequences with this mask.
template <class L>
void check_sequences(Where where, const L& layer, const Sequences& sequences, Mask mask) {
  if constexpr (requires { layer.check(where, sequences, mask); }) {
    layer.check(where, sequences, mask);
  }
}

}  // namespace detail

/// Has each sub-layer of `layer` that can start a training set its own start, in the order of fields().
template <class L>
void initialize_sublayers(L& layer, Random& random) {
  std::apply([&](const auto&... field) { (detail::initialize_member(layer.*(field.member), random), ...); }, L::fields());
}

/// A layer that looks at one token at a time.
template <class Derived, class T>
struct TokenLayer {
  static_assert(computes_in<T>());

  /// y, which may be x.
  void forward(ConstView<T> x, View<T> y, Workspace<T>& workspace) const;

  /// The same, into a new matrix.
  Matrix<T> forward(ConstView<T> x, Workspace<T>& workspace) const {
    const auto& self = static_cast<const Derived&>(*this);
    Matrix<T> y(detail::output_rows(self, x.rows()), self.out());
    forward(x, y, workspace);
    return y;
  }

  /// Raises ShapeError unless forward() takes x.
  void expect_input(Where where, const ConstView<T>& x) const {
    const auto& self = static_cast<const Derived&>(*this);
    if constexpr (requires { self.check(x); }) {
      self.check(x);
    } else {
      expect_columns<T>(where, "x", x, "in", self.in());
    }
  }
};

/// A layer that looks at other tokens of a sequence.
///
/// With `static constexpr bool takes_mask = true` forward() takes a mask. `check(where, sequences, mask)`, if there is one,
/// raises an error for sequences that it cannot serve; `longest()` is the longest of them.
template <class Derived, class T>
struct SequenceLayer {
  static_assert(computes_in<T>());

  /// The start of a training, unless the layer has another: that of its parts.
  void initialize(Random& random) { initialize_sublayers(static_cast<Derived&>(*this), random); }

  /// y for all sequences at once; y may be x.
  void forward(ConstView<T> x, const Sequences& sequences, View<T> y, Workspace<T>& workspace) const;
  /// The same, into a new matrix.
  Matrix<T> forward(ConstView<T> x, const Sequences& sequences, Workspace<T>& workspace) const {
    Matrix<T> y(x.rows(), self().out());
    forward(x, sequences, y, workspace);
    return y;
  }

  /// With a 0 or 1 per row: which tokens are attended to.
  template <std::same_as<Derived> Self = Derived>
  requires(detail::takes_mask<Self>()) void forward(ConstView<T> x, const Sequences& sequences, View<T> y,
                                                    Workspace<T>& workspace, Mask mask) const {
    run_forward(x, sequences, mask, y, workspace, OptionsOf<Derived, Batch<T>>());
  }
  /// The same, into a new matrix.
  template <std::same_as<Derived> Self = Derived>
  requires(detail::takes_mask<Self>()) Matrix<T> forward(ConstView<T> x, const Sequences& sequences, Workspace<T>& workspace,
                                                         Mask mask)
  const {
    Matrix<T> y(x.rows(), self().out());
    forward(x, sequences, y, workspace, mask);
    return y;
  }

  /// The state before the first token of a sequence of up to `capacity` tokens; by default as many as the layer can serve.
  /// Errors: ArgumentError for a layer that cannot stream, because its outputs depend on later tokens, and for one that
  /// remembers every token where no capacity is known; ShapeError for more than the layer can serve.
  State<T> start(Index capacity = State<T>::unlimited) const;

  /// The next tokens of a streamed sequence, one or many: y equals the same rows of forward() on the whole sequence, to the
  /// bit; with a Toeplitz weight and a long text within rounding (see mix_tokens()). However the tokens are divided, the bits
  /// are the same.
  /// Shapes: x is tokens × in, y is tokens × out and may be x.
  /// Errors: ShapeError for sizes and past the state's capacity, ArgumentError for a state of another configuration; the state
  /// is unchanged then. If memory runs out in a call that is not warm, start anew.
  /// Cost: no allocation when warm.
  void extend(ConstView<T> x, State<T>& state, View<T> y, Workspace<T>& workspace) const;

  /// Raises ShapeError unless forward() takes x with these sequences and this mask.
  void expect_input(Where where, const ConstView<T>& x, const Sequences& sequences, Mask mask) const {
    expect_columns<T>(where, "x", x, "channels", self().in());
    sequences.expect_total(where, x.rows());
    detail::check_sequences(where, self(), sequences, mask);
  }

 protected:
  template <class Options>
  void run_forward(const ConstView<T>& x, const Sequences& sequences, Mask mask, View<T> y, Workspace<T>& workspace,
                   const Options& options) const {
    constexpr Where where(Derived::name, "forward");
    expect_input(where, x, sequences, mask);
    expect_shape<T>(where, "y", y, x.rows(), self().out());
    expect_apart<T>(where, x, y);
    const auto frame = workspace.frame();
    Batch<T> run(workspace, sequences, mask);
    run(self(), input_rows<T>(x), options, Rows<T>(y));
  }

 private:
  const Derived& self() const { return static_cast<const Derived&>(*this); }
};

// Defined outside of their classes, and so not `inline`: what gated::compiled holds of them is not compiled again by a program
// that links it. Their bodies are most of what a model costs to compile.

template <class Derived, class T>
void TokenLayer<Derived, T>::forward(ConstView<T> x, View<T> y, Workspace<T>& workspace) const {
  const auto& self = static_cast<const Derived&>(*this);
  constexpr Where where(Derived::name, "forward");
  expect_input(where, x);
  expect_shape<T>(where, "y", y, detail::output_rows(self, x.rows()), self.out());
  expect_apart<T>(where, x, y);
  const auto frame = workspace.frame();
  Batch<T> run(workspace, Sequences::single(x.rows()));
  run(self, input_rows<T>(x), {}, Rows<T>(y));
}

template <class Derived, class T>
void SequenceLayer<Derived, T>::forward(ConstView<T> x, const Sequences& sequences, View<T> y, Workspace<T>& workspace) const {
  run_forward(x, sequences, Mask(), y, workspace, OptionsOf<Derived, Batch<T>>());
}

template <class Derived, class T>
State<T> SequenceLayer<Derived, T>::start(Index capacity) const {
  return Stream<T>::start(self(), Rows<T>(nullptr, 0, self().in(), self().in()),
                          detail::checked_capacity({Derived::name, "start"}, self(), capacity));
}

template <class Derived, class T>
void SequenceLayer<Derived, T>::extend(ConstView<T> x, State<T>& state, View<T> y, Workspace<T>& workspace) const {
  constexpr Where where(Derived::name, "extend");
  expect_columns<T>(where, "x", x, "channels", self().in());
  expect_shape<T>(where, "y", y, x.rows(), self().out());
  expect_apart<T>(where, x, y);
  const auto no_input = Rows<T>(nullptr, 0, self().in(), self().in());
  detail::run_stream<T>(where, self(), input_rows<T>(x), no_input, {}, state, y, workspace);
}

}  // namespace gated
