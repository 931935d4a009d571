#pragma once

#include <concepts>
#include <type_traits>

#include "gated/core/fields.hpp"
#include "gated/core/matrix_span.hpp"
#include "gated/core/prepared_weights.hpp"
#include "gated/core/random.hpp"
#include "gated/core/stream.hpp"
#include "gated/core/unset.hpp"
#include "gated/ops/join.hpp"

/// @file
/// The base class of layers: forward pass, streaming and initialization.
///
/// A layer is a struct of parameters that derives from Layer and has
///
///     static constexpr const char* name = "…";       // for messages
///     static constexpr auto fields();                // its parameters and sub-layers
///     Contract contract() const;                     // requirements on x, shape of y: see core/contract.hpp
///     auto apply(auto& run, auto x) const;           // the body: see core/run.hpp
///
/// A layer may also define `void initialize(Random&)`; the default initializes its sub-layers. If apply() ends with a matmul,
/// it may accept an epilogue as its last argument and pass it to that matmul: a residual then costs no extra pass.
///
/// A constructor without a Random leaves weights uninitialized, to be loaded from a checkpoint; one with a Random calls
/// initialize().

namespace gated {

namespace detail {

/// The scalar type of a template argument: the argument itself, or its `Scalar` if it is a layer.
template <class First>
struct ScalarIn {
  using type = typename First::Scalar;
};
template <class First>
requires(!std::is_class_v<First>) struct ScalarIn<First> {
  using type = First;
};
/// The scalar type of layer L: that of its first template argument, or float if there is none.
template <class L>
struct ScalarOf {
  using type = float;
};
template <template <class...> class L, class First, class... Others>
struct ScalarOf<L<First, Others...>> : ScalarIn<First> {};

template <class Member>
void initialize_member(Member& member, Random& random) {
  if constexpr (
      requires { member.initialize(random); } || requires { &Member::initialize; }) {
    member.initialize(random);  // an initialize() with a wrong signature fails to compile here
  } else if constexpr (IsOptional<Member>) {
    if (member) {
      initialize_member(*member, random);
    }
  } else if constexpr (requires { member.front().fields(); }) {
    for (auto& element : member) {
      initialize_member(element, random);
    }
  } else if constexpr (HasFields<Member>) {
    Member::fields().pass_to([&](const auto&... field) { (initialize_member(member.*(field.member), random), ...); });
  }
}

/// Raises ArgumentError if `member`, a layer's own weight, is still unset.
template <class Member>
void expect_initialized(Where where, const char* field, const Member& member) {
  if constexpr (std::derived_from<Member, Eigen::EigenBase<Member>>) {
    require<ArgumentError>(member.size() == 0 || !is_unset(*member.data()), where, ": ", field,
                           " is uninitialized. Define `void initialize(Random& random)` in this layer; see fill_normal().");
  }
}

}  // namespace detail

/// Initializes each sub-layer of `layer`, in the order of fields().
template <class L>
void initialize_sublayers(L& layer, Random& random) {
  L::fields().pass_to([&](const auto&... field) { (detail::initialize_member(layer.*(field.member), random), ...); });
}

/// The base class of layers: `struct FeedForward : Layer<FeedForward<T>>`. `T` defaults to the scalar type of the layer's
/// first template argument.
///
/// y may be x in all calls.
/// Errors: ShapeError or ArgumentError if a call violates contract(), before anything is written.
template <class Self, class T = typename detail::ScalarOf<Self>::type>
struct Layer {
  static_assert(computes_in<T>());
  using Scalar = T;

  /// Columns of x and of y; Contract::any if x may have any number of columns.
  Index in() const { return contract_of_self().in; }
  Index out() const { return contract_of_self().out; }
  /// Maximum sequence length.
  Index longest() const { return contract_of_self().longest; }
  /// True if no output depends on a later token.
  bool is_causal() const { return contract_of_self().is_causal(); }

  /// Sets initial parameters for training; by default, initializes the sub-layers.
  /// Errors: ArgumentError from the default if a weight of the layer itself is unset.
  void initialize(Random& random) {
    Self& self = static_cast<Self&>(*this);
    initialize_sublayers(self, random);
    Self::fields().pass_to(
        [&](const auto&... field) { (detail::expect_initialized(Self::name, field.name, self.*(field.member)), ...); });
  }

  /// Computes y for all sequences at once. `mask` has a 0 or 1 per row of x; tokens with a 0 are not attended to.
  void forward(ConstView<T> x, const Sequences& sequences, View<T> y, Workspace<T>& workspace, Mask mask = {}) const;
  /// Returns y for all sequences as a new matrix.
  Matrix<T> forward(ConstView<T> x, const Sequences& sequences, Workspace<T>& workspace, Mask mask = {}) const {
    Matrix<T> y = result_for(x);
    forward(x, sequences, y, workspace, mask);
    return y;
  }
  /// Computes y for one sequence, or for independent rows.
  void forward(ConstView<T> x, View<T> y, Workspace<T>& workspace) const {
    forward(x, Sequences::single(x.rows()), y, workspace);
  }
  /// Returns y for one sequence as a new matrix.
  Matrix<T> forward(ConstView<T> x, Workspace<T>& workspace) const {
    return forward(x, Sequences::single(x.rows()), workspace);
  }
  /// Computes y for one sequence, in plain memory without Eigen: forward({pixels, 8, 784}, {scores, 8, 10}, workspace).
  void forward(const MatrixSpan<const T>& x, const MatrixSpan<T>& y, Workspace<T>& workspace) const {
    forward(ConstView<T>(x), View<T>(y), workspace);
  }
  /// Computes y for several sequences, in plain memory without Eigen.
  void forward(const MatrixSpan<const T>& x, const Sequences& sequences, const MatrixSpan<T>& y, Workspace<T>& workspace,
               Mask mask = {}) const {
    forward(ConstView<T>(x), sequences, View<T>(y), workspace, mask);
  }
  /// Returns y for one sequence, computed in a temporary workspace.
  Matrix<T> forward(ConstView<T> x) const {
    Workspace<T> workspace;
    return forward(x, workspace);
  }
  /// Returns y for several sequences, computed in a temporary workspace.
  Matrix<T> forward(ConstView<T> x, const Sequences& sequences) const {
    Workspace<T> workspace;
    return forward(x, sequences, workspace);
  }

  /// The initial state of a stream of up to `capacity` tokens; `unlimited` means longest().
  /// Errors: ArgumentError if the layer cannot stream, for instance because outputs depend on later tokens, or if it remembers
  /// every token and no capacity is known; ShapeError if `capacity` exceeds longest().
  State<T> start(Index capacity = State<T>::unlimited) const;

  /// Processes the next tokens of a stream, one or many. y is bit-equal to the same rows of forward() on the whole sequence,
  /// or equal up to rounding if a Toeplitz weight uses the FFT (see mix_tokens()). y does not depend on how the tokens are
  /// divided into calls.
  /// Shapes: x is tokens × in, y is tokens × out and may be x.
  /// Errors: ShapeError for wrong sizes or for tokens beyond the state's capacity; ArgumentError for a state of another
  /// configuration. These errors leave the state unchanged. An error within the model, such as an unset weight or memory that
  /// runs out, can leave it half changed; later calls then refuse it.
  /// Cost: no allocation after a first call with at least as many tokens and the same workspace.
  void extend(ConstView<T> x, State<T>& state, View<T> y, Workspace<T>& workspace) const;
  /// extend() for plain memory without Eigen.
  void extend(const MatrixSpan<const T>& x, State<T>& state, const MatrixSpan<T>& y, Workspace<T>& workspace) const {
    extend(ConstView<T>(x), state, View<T>(y), workspace);
  }

 private:
  Contract contract_of_self() const {
    detail::expect_layer<Self>();
    return static_cast<const Self&>(*this).contract();
  }
  MatrixView<T> no_rows() const { return {nullptr, 0, in(), in()}; }
  Matrix<T> result_for(const ConstView<T>& x) const {
    const Contract contract = contract_of_self();
    return Matrix<T>(contract.output_rows(x.rows()), contract.output_columns(x.cols()));
  }
  static void expect_result(Where where, const Contract& contract, const ConstView<T>& x, const View<T>& y) {
    expect_shape<T>(where, "y", y, contract.output_rows(x.rows()), contract.output_columns(x.cols()));
    expect_apart<T>(where, x, y);
  }
};

// Defined outside the class, so not implicitly `inline`: a program that links gated::compiled does not recompile the instances
// in that library. The bodies below account for most of a model's compile time.

template <class Self, class T>
void Layer<Self, T>::forward(ConstView<T> x, const Sequences& sequences, View<T> y, Workspace<T>& workspace, Mask mask) const {
  constexpr Where where(Self::name, "forward");
  const Contract contract = contract_of_self();
  expect_input(where, contract, x.rows(), x.cols(), sequences, mask);
  expect_result(where, contract, x, y);
  const auto frame = workspace.frame();
  Batch<T> run(workspace, sequences, mask);
  run.into(MatrixView<T>(y), static_cast<const Self&>(*this), input_view<T>(x));
}

template <class Self, class T>
State<T> Layer<Self, T>::start(Index capacity) const {
  constexpr Where where(Self::name, "start");
  expect_streaming(where, contract_of_self());
  require<ArgumentError>(
      in() != Contract::any, where,
      ": a state needs a fixed number of columns, but this layer accepts any. Stream the layer that contains it.");
  return Stream<T>::start(static_cast<const Self&>(*this), no_rows(), capacity);
}

template <class Self, class T>
void Layer<Self, T>::extend(ConstView<T> x, State<T>& state, View<T> y, Workspace<T>& workspace) const {
  constexpr Where where(Self::name, "extend");
  const Contract contract = contract_of_self();
  expect_columns(where, contract, x.cols());
  expect_result(where, contract, x, y);
  Stream<T>::extend(where, static_cast<const Self&>(*this), input_view<T>(x), no_rows(), state, MatrixView<T>(y), workspace);
}

}  // namespace gated
