#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "gated/core/random.hpp"
#include "gated/core/running_layer.hpp"
#include "gated/core/sequences.hpp"
#include "gated/ops/gradients.hpp"
#include "gated/ops/kernels.hpp"  // the element-wise kernels of backward functions
#include "gated/train/forgotten_block.hpp"
#include "gated/train/function_stack.hpp"
#include "gated/train/parameter_gradients.hpp"
#include "gated/train/tape_options.hpp"
#include "gated/train/variables.hpp"

/// @file
/// The record of a training step's forward pass, and the backward pass through it.

namespace gated {

/// The activations of one training step, and the backward pass through them.
///
/// `record(tape, layer, x, …)` of train/recording.hpp runs the same code as `layer.forward()`. Each op pushes a backward
/// function, which computes the gradients of the op's inputs and parameters from the gradient of its output. backward() calls
/// these functions in reverse order.
///
///     Tape<float> tape(Threads{2});
///     tape.begin(model, gradient);                                   // forgets the last step, keeps its memory
///     const Variable logits = record(tape, model, tokens, sequences);
///     const Variable loss = cross_entropy(tape, logits, targets);
///     const double value = tape.backward(loss);                      // adds to `gradient`
///
/// `gradient` has the type of `model`: each parameter's gradient is *added* to the parameter at the same place in `gradient`.
/// Parameters of other models, even of copies of the model given to begin(), get no gradient. Model and gradient must not move
/// until backward() returns; inputs, tokens, masks and targets are copied. Only one thread may use a tape at a time.
///
/// Cost: memory for the activations of all blocks, linear in the depth; with `recompute`, memory for two matrices per block and
/// the activations of one block. The third step with the same shapes, and all later ones, allocate nothing.
template <class T>
class Tape {
 public:
  using Scalar = T;

  explicit Tape(Threads threads = {}, const TapeOptions& options = {}) : options_(options), workspace_(threads) {
    options.check();
  }
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  /// Starts a step without dropout or stochastic depth. backward() adds the gradient of `model` to `gradient`.
  /// Errors: ArgumentError if `model` and `gradient` differ in structure or are the same object.
  template <class Model>
  void begin(const Model& model, Model& gradient) {
    const auto hold = this->hold();
    clear();
    require<ArgumentError>(&model != &gradient, "Tape::begin: model and gradient are the same object. Pass zeros_like(model).");
    parameters_.assign(model, gradient);
    begun_ = true;
  }

  /// Starts a step with dropout and stochastic depth. One number drawn from `random` determines all random choices of the step.
  template <class Model>
  void begin(const Model& model, Model& gradient, Random& random) {
    begin(model, gradient);
    noise_ = Random(random.bits());
    noisy_ = true;
  }

  const TapeOptions& options() const { return options_; }
  /// The generator of this step's dropout and stochastic depth, or nullptr for a step without them.
  Random* noise() { return noisy_ ? &noise_ : nullptr; }
  /// Scratch memory and threads, for the functions that the tape calls.
  Workspace<T>& workspace() { return workspace_; }
  /// Bytes used by the activations and gradients of the largest step so far. They are linear in the number of tokens, because
  /// the backward pass recomputes attention scores.
  std::size_t bytes() const { return variables_.bytes(); }

  // --- Variables. Errors: ArgumentError for a variable of another tape, or of an earlier begin(). ---

  /// A copy of x that receives no gradient.
  Variable constant(const ConstView<T>& x) {
    const auto hold = hold_begun();
    return variables_.copy(x, false);
  }

  /// A copy of x whose gradient() can be read after backward().
  Variable input(const ConstView<T>& x) {
    const auto hold = hold_begun();
    asks_inputs_ = true;
    return variables_.copy(x, true);
  }

  /// A new uninitialized matrix, for the output of a layer.
  Variable make(Index rows, Index columns) {
    const auto hold = hold_begun();
    return variables_.make(rows, columns);
  }

  /// The columns `first` … `first` + `count` - 1 of x, in place; a copy if x is itself a part or another part overlaps them.
  /// Errors: ArgumentError for columns outside x.
  Variable columns(Variable x, Index first, Index count) {
    if (const Variable part = variables_.part(x, first, count)) {
      return part;
    }
    return copied(x, first, count);
  }

  /// A copy of the columns `first` … `first` + `count` - 1 of x.
  Variable copied(Variable x, Index first, Index count) {
    const Variable y = make(rows(x), count);
    View<T> copy = (*this)[y];
    copy = (*this)[x].middleCols(first, count);
    push([x, y, first, count](Tape& back) {
      if (back.wants_gradient(x)) {
        accumulator(back, x).middleCols(first, count) += back.gradient(y);
      }
    });
    return y;
  }

  Index rows(Variable x) const { return variables_.rows(x); }
  Index columns(Variable x) const { return variables_.width(x); }
  /// The values of x.
  View<T> operator[](Variable x) { return variables_[x]; }

  /// Memory for `count` scalars, such as a mask or a table, that lives as long as the step's activations.
  T* take(Index count) {
    const auto hold = this->hold();
    return variables_.take(count);
  }

  /// A copy of `values` that lives as long as the step's activations.
  template <class V>
  std::span<const V> keep(std::span<const V> values) {
    const auto hold = this->hold();
    return variables_.keep(values);
  }

  /// Keeps a copy of `sequences` for the backward pass, and returns the handle to pass to sequences().
  Index keep(const Sequences& sequences) {
    const auto hold = this->hold();
    sequences_.push_back(sequences);
    return static_cast<Index>(sequences_.size()) - 1;
  }
  Sequences sequences(Index kept) const { return sequences_[static_cast<std::size_t>(kept)]; }

  // --- Layers ---

  /// The scope of a running layer. Until it ends, only this thread may use the tape.
  class InLayer {
   public:
    template <class L>
    InLayer(Tape& tape, const L& layer) : tape_(tape), hold_(tape.hold()), layer_(tape.running_, layer) {
      tape.running_ = &layer_;
    }
    ~InLayer() { tape_.running_ = layer_.outer; }
    InLayer(const InLayer&) = delete;
    InLayer& operator=(const InLayer&) = delete;

   private:
    Tape& tape_;
    detail::SingleThreadUse::Hold hold_;
    detail::KernelChoice kernels_;
    RunningLayer layer_;
  };

  /// The path of the running layer, and the name of the outermost layer, for messages.
  std::string path() const { return detail::path_of(running_); }
  const char* outermost() const { return detail::outermost_of(running_); }

  // --- The backward pass ---

  /// Pushes a backward function; the backward pass calls it as `backward(tape)`. It is copied as bytes, so it may capture only
  /// variables, numbers, and pointers or references to objects that outlive the step, such as the layer.
  template <class F>
  void push(const F& backward) {
    const auto hold = this->hold();
    steps_.push(backward);
  }

  /// Runs y = f(x) as a block. The block's gradients are freed when the backward pass leaves it. With `recompute`, its
  /// activations are freed after f(x) and recomputed in the backward pass. `f` may capture what push() allows. Variables other
  /// than x that `f` reads keep their gradients for the rest of the step.
  /// Errors: ShapeError if y and x differ in shape.
  template <class F>
  Variable block(Variable x, const F& f) {
    if (!options_.recompute) {
      const std::size_t first = steps_.size();
      const Index outer = variables_.count();
      const Variable y = f(x);
      expect_same_shape(y, x);
      const std::size_t last = steps_.size();
      push([this, first, last, outer, x](auto&) {
        if (wants_gradient(x)) {
          gradient(x);  // allocates the gradient of x now, because it outlives the block
        }
        {
          const typename Variables<T>::Inside inside(variables_, outer);
          steps_.run_backward(first, last, *this);
        }
        steps_.skip_to(first);
      });
      return y;
    }
    const Variable y = make(rows(x), columns(x));
    const Random before = noise_;
    {
      const ForgottenBlock<T> forgotten(variables_, steps_, sequences_);
      const Variable computed = f(x);
      expect_same_shape(computed, x);
      View<T> stored = (*this)[y];
      stored = (*this)[computed];
    }
    push([this, f, x, y, before](Tape&) {
      const ConstView<T> dy = gradient(y);
      if (wants_gradient(x)) {
        gradient(x);  // allocates the gradient of x now, because it outlives the block
      }
      const ForgottenBlock<T> forgotten(variables_, steps_, sequences_);
      const typename Variables<T>::Inside inside(variables_, variables_.count());
      const Random after = std::exchange(noise_, before);
      target(f(x)).give(dy);
      steps_.run_backward(forgotten.first_step(), steps_.size(), *this);
      noise_ = after;
    });
    return y;
  }

  /// Adds the gradient of `loss`, a 1 × 1 variable, to the gradient of every parameter and input. Returns the loss.
  /// Errors: ShapeError unless the loss is 1 × 1; ArgumentError before begin(), or on a second call in a step. ArgumentError at
  /// the end of a pass that reached no parameter of the model given to begin(), for example because a copy of the model was
  /// recorded. This last check is skipped if input() was called in the step.
  double backward(Variable loss) {
    const auto hold = hold_begun();
    require<ShapeError>(rows(loss) == 1 && columns(loss) == 1, "Tape::backward: the loss is ", rows(loss), " × ", columns(loss),
                        ", expected 1 × 1. For another output, pass its gradient: backward(output, cotangent).");
    const T one[64 / sizeof(T)]{1};  // a whole SIMD vector: g++ 12 warns that Eigen reads one (-Warray-bounds)
    backward(loss, Eigen::Map<const Matrix<T>>(one, 1, 1));
    return static_cast<double>((*this)[loss](0, 0));
  }

  /// Runs the backward pass from `cotangent`, the gradient of a loss with respect to `output`.
  void backward(Variable output, const ConstView<T>& cotangent) {
    const auto hold = hold_begun();
    require<ShapeError>(cotangent.rows() == rows(output) && cotangent.cols() == columns(output),
                        "Tape::backward: cotangent is ", cotangent.rows(), " × ", cotangent.cols(), ", expected ", rows(output),
                        " × ", columns(output), ".");
    require<ArgumentError>(
        !std::exchange(ran_backward_, true),  // a second pass would add to consumed gradients
        "Tape::backward: backward() was already called for this step. Call begin() and record the step again.");
    target(output).give(cotangent);
    const detail::KernelChoice kernels;
    steps_.run_backward(0, steps_.size(), *this);
    require<ArgumentError>(parameters_.reached() || asks_inputs_,
                           "Tape::backward: no parameter of the model given to begin() took part, so it has no gradient. "
                           "Record that model itself, not a copy.");
  }

  /// The gradient of the loss with respect to x: available to pushed functions and, if x is an input, after backward().
  ConstView<T> gradient(Variable x) { return variables_.gradient(x); }
  /// gradient(x) for its last reader, which may overwrite it.
  View<T> last_gradient(Variable x) { return variables_.last_gradient(x); }
  bool wants_gradient(Variable x) const { return variables_.wants_gradient(x); }
  /// The memory in which a pushed function stores its contribution to the gradient of x.
  using Target = GradientTarget<T>;
  Target target(Variable x) { return variables_.target(x); }

  /// The gradient of a parameter, by the parameter's address; nullptr if the parameter is not trained.
  T* gradient_of(const T* parameter) { return parameters_.find(parameter); }

 private:
  detail::SingleThreadUse::Hold hold() { return detail::SingleThreadUse::Hold(use_); }
  detail::SingleThreadUse::Hold hold_begun() {
    require<ArgumentError>(begun_, "Tape: no step has begun. Call begin(model, gradient) first.");
    return hold();
  }

  void expect_same_shape(Variable y, Variable x) const {
    require<ShapeError>(rows(y) == rows(x) && columns(y) == columns(x), "Tape::block: y is ", rows(y), " × ", columns(y),
                        ", expected the shape of x, ", rows(x), " × ", columns(x), ".");
  }

  void clear() {
    parameters_.clear();
    variables_.clear();
    steps_.shrink(0);
    sequences_.clear();
    running_ = nullptr;
    noisy_ = begun_ = ran_backward_ = asks_inputs_ = false;
  }

  TapeOptions options_;
  detail::SingleThreadUse use_{
      "Tape: two threads use it at the same time. Give each thread its own tape; threads may share the model."};
  Workspace<T> workspace_;  // scratch for one function at a time
  Variables<T> variables_;
  ParameterGradients<T> parameters_;
  FunctionStack<Tape> steps_;  // functions of the backward pass
  std::vector<Sequences> sequences_;
  const RunningLayer* running_ = nullptr;  // in the innermost InLayer
  Random noise_;
  bool noisy_ = false;
  bool begun_ = false;
  bool ran_backward_ = false;  // backward() was called
  bool asks_inputs_ = false;   // input() was called
};

}  // namespace gated
