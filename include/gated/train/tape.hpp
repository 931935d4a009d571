#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gated/core/parameters.hpp"
#include "gated/core/random.hpp"
#include "gated/core/sequences.hpp"
#include "gated/core/workspace.hpp"

/// @file
/// What a training step remembers on its way forward, and how it comes back.

namespace gated {

/// A matrix on a Tape, named by its place there. Valid until the tape begins anew.
struct Variable {
  Index index = -1;
};

/// How a training step differs from inference. Nothing here has an effect without a generator in Tape::begin().
struct TapeOptions {
  bool recompute = false;        ///< keep only what enters each block, and compute the rest again on the way back
  double attention_dropout = 0;  ///< of attention weights: GAU, FLASH's local part, tiny and softmax attention
  double embedding_dropout = 0;  ///< behind the sum (and norm) of a text model's embeddings
  double residual_dropout = 0;   ///< of a layer's output before the residual joins it
  bool scaled_depth = false;     ///< stochastic depth for each sequence alone, survivors divided by their probability (timm);
                                 ///< otherwise for whole blocks, unscaled (lucidrains)
};

/// The activations of one training step, by name, and the way back through them.
///
/// For each layer `record(tape, layer, x, …)` computes what `layer.forward()` computes, with the same functions of ops/, and
/// pushes a function that turns the gradient of its output into those of its inputs and parameters. backward() calls these
/// functions last to first.
///
///     Tape<float> tape(Threads{2});
///     tape.begin(model, gradient);                                   // forgets the last step, keeps its memory
///     const Variable logits = record(tape, model, tokens, sequences);
///     const Variable loss = cross_entropy(tape, logits, targets);
///     const double value = tape.backward(loss);                      // adds to `gradient`
///
/// A gradient is a model. What reaches a parameter is *added* to the one of the same place in `gradient`; parameters of other
/// models than the one given to begin(), copies of it included, are taken as fixed. The model, the gradient, tokens, masks and
/// inputs are referred to, not copied, and must stay where they are until backward() returns.
///
/// Cost: the activations of all blocks, linear in the depth; with `recompute` two matrices a block and the activations of one
/// block. From the third step of a shape on nothing is allocated: the second puts the memory that the first found piece by
/// piece into one place.
template <class T>
class Tape {
 public:
  explicit Tape(Threads threads = {}, const TapeOptions& options = {}) : options_(options), workspace_(threads) {
    for (const double rate : {options.attention_dropout, options.embedding_dropout, options.residual_dropout}) {
      require<ArgumentError>(rate >= 0 && rate < 1, "Tape: a dropout rate is ", rate, ", expected 0 ≤ rate < 1.");
    }
  }
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  /// Starts a step of `model` whose gradient is added to `gradient`, without dropout and stochastic depth.
  /// Errors: ArgumentError if the two differ in structure, or are one object.
  template <class Model>
  void begin(const Model& model, Model& gradient) {
    clear();
    require<ArgumentError>(&model != &gradient, "Tape::begin: the model is its own gradient. Give it one by zeros_like().");
    for_each_parameter(
        [&](const ParameterInfo& info, auto values, auto gradients) {
          if (info.role != Role::constant) {
            parameters_.push_back({values.data(), gradients.data()});
          }
        },
        model, gradient);
    std::sort(parameters_.begin(), parameters_.end(),
              [](const Parameter& a, const Parameter& b) { return std::less<>{}(a.value, b.value); });
    begun_ = true;
  }

  /// The same with dropout and stochastic depth, all of whose choices follow from one number drawn from `random`.
  template <class Model>
  void begin(const Model& model, Model& gradient, Random& random) {
    begin(model, gradient);
    noise_ = Random(random.bits());
    noisy_ = true;
  }

  const TapeOptions& options() const { return options_; }
  /// The generator of this step's dropout and stochastic depth, or nullptr for a step without.
  Random* noise() { return noisy_ ? &noise_ : nullptr; }
  /// Scratch memory and threads, for the functions that the tape calls.
  Workspace<T>& workspace() { return workspace_; }
  /// The bytes that the activations and gradients of the largest step took.
  std::size_t bytes() const { return memory_.bytes() + outer_memory_.bytes(); }

  // --- Variables ---

  /// A matrix of the caller, from which no gradient is asked.
  Variable constant(const ConstView<T>& x) { return add({const_cast<T*>(x.data()), x.rows(), x.cols(), x.outerStride()}); }

  /// A matrix of the caller whose gradient() can be read after backward().
  Variable input(const ConstView<T>& x) {
    const Variable result = constant(x);
    entry(result).wants_gradient = true;
    return result;
  }

  /// A temporary would be gone before the way back.
  template <class M>
  requires std::is_same_v<M, Matrix<T>> Variable constant(M&&)
  = delete;
  template <class M>
  requires std::is_same_v<M, Matrix<T>> Variable input(M&&)
  = delete;

  /// A new uninitialised matrix, for the output of a layer.
  Variable make(Index rows, Index columns) {
    const Index stride = row_stride<T>(columns);
    Entry made{memory_.take(rows * stride), rows, columns, stride};
    made.wants_gradient = true;
    return add(made);
  }

  /// The columns `first` … `first` + `count` - 1 of x, in place. Errors: ArgumentError for columns that x does not have, that
  /// another part of x has already, or of an x that is a part itself.
  Variable columns(Variable x, Index first, Index count) {
    expect_free(x, first, count);
    if (is_outer(x) && wants_gradient(x)) {
      gradient(x);  // outlives the block, while this part of it does not
    }
    Entry part = entry(x);
    part.value += first;
    part.columns = count;
    part.gradient = nullptr;
    part.whole = x.index;
    part.first_column = first;
    part.columns_in_parts = 0;
    part.next_part = std::exchange(part.first_part, -1);
    const Variable result = add(part);
    entry(x).first_part = result.index;
    entry(x).columns_in_parts += count;
    return result;
  }

  Index rows(Variable x) const { return entry(x).rows; }
  Index width(Variable x) const { return entry(x).columns; }

  /// The values of x.
  View<T> operator[](Variable x) {
    const Entry& e = entry(x);
    return view(e.value, e);
  }

  /// Scalars that live as long as the step's activations: a mask, a table.
  T* take(Index count) { return memory_.take(count); }

  /// Keeps a copy of `sequences` for the way back; sequences() gives it.
  Index keep(const Sequences& sequences) {
    sequences_.push_back(sequences);
    return static_cast<Index>(sequences_.size()) - 1;
  }
  Sequences sequences(Index kept) const { return sequences_[static_cast<std::size_t>(kept)]; }

  // --- Names ---

  /// Names the variables that are made while the result lives, as Workspace::at() names layers.
  class Scope {
   public:
    Scope(Tape& tape, const char* name, Index index) : tape_(tape), outer_(tape.scope_) {
      tape.scopes_.push_back({outer_, name, index});
      tape.scope_ = static_cast<Index>(tape.scopes_.size()) - 1;
    }
    ~Scope() { tape_.scope_ = outer_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    operator Tape&() const { return tape_; }

   private:
    Tape& tape_;
    Index outer_;
  };
  [[nodiscard]] Scope at(const char* name, Index index = -1) { return Scope(*this, name, index); }

  /// Calls `f(path, values)` for each activation that is kept, in the order in which they were made. A layer that makes several
  /// has them under one path, its output last; one that ends with a sub-layer has its output there.
  template <class F>
  void for_each_activation(F&& f) {
    for (Entry& e : entries_) {
      if (e.scope >= 0 && e.whole < 0) {
        f(path(e.scope), ConstView<T>(view(e.value, e)));
      }
    }
  }

  // --- The way back ---

  /// Pushes what the way back does here: `backward()`. It is copied as bytes, so it may capture variables, numbers, pointers
  /// and references to what outlives the step, such as the layer and this tape.
  template <class F>
  void push(const F& backward) {
    static_assert(std::is_trivially_copyable_v<F>, "what is pushed captures variables, numbers, pointers and references only");
    const std::size_t at = code_.size();
    code_.resize(at + sizeof(F));
    std::memcpy(code_.data() + at, &backward, sizeof(F));
    steps_.push_back({at, [](Tape& tape, std::size_t where) {
                        // The code may move while it runs, if a block is recomputed: run a copy.
                        alignas(F) std::byte copy[sizeof(F)];
                        std::memcpy(copy, tape.code_.data() + where, sizeof(F));
                        (*std::launder(reinterpret_cast<F*>(copy)))();
                      }});
  }

  /// y = f(x), a block whose gradients (and, with `recompute`, activations) are given back when the way back has passed it.
  /// y has the shape of x. `f` may capture as push() says. Other variables than x that it reads keep their gradients for the
  /// rest of the step. Errors: ShapeError for a y of another shape.
  template <class F>
  Variable block(Variable x, const F& f) {
    if (!options_.recompute) {
      const std::size_t first = steps_.size();
      const Index outer = entry_count();
      const Variable y = f(x);
      expect_same_shape(y, x);
      const std::size_t last = steps_.size();
      push([this, first, last, outer, x] {
        if (wants_gradient(x)) {
          gradient(x);  // outlives the block
        }
        const auto frame = memory_.frame();
        const Index around = std::exchange(outer_entries_, outer);
        run_back(first, last);
        outer_entries_ = around;
        skip_to_ = first;
      });
      return y;
    }
    const Variable y = make(rows(x), width(x));
    const Random before = noise_;
    {
      const Forgotten forgotten(*this);
      const Variable computed = f(x);
      expect_same_shape(computed, x);
      View<T> kept = (*this)[y];
      kept = (*this)[computed];
    }
    push([this, f, x, y, before] {
      const ConstView<T> dy = gradient(y);
      if (wants_gradient(x)) {
        gradient(x);  // outlives the block
      }
      const Forgotten forgotten(*this);
      const Index around = std::exchange(outer_entries_, entry_count());
      const Random after = std::exchange(noise_, before);
      give(target(f(x)), dy);
      run_back(forgotten.first_step(), steps_.size());
      noise_ = after;
      outer_entries_ = around;
    });
    return y;
  }

  /// Adds the gradient of `loss`, which is 1 × 1, to that of every parameter and input. Returns the loss.
  double backward(Variable loss) {
    expect_of_this_step(loss);
    require<ShapeError>(rows(loss) == 1 && width(loss) == 1, "Tape::backward: the loss is ", rows(loss), " × ", width(loss),
                        ", expected 1 × 1. For another output, give the gradient of the loss with respect to it.");
    expect_forward_only();
    Target start = target(loss);
    start.view(0, 0) = start.fresh ? T{1} : start.view(0, 0) + T{1};
    run_back(0, steps_.size());
    return static_cast<double>((*this)[loss](0, 0));
  }

  /// The same from the gradient of a loss with respect to `output`.
  void backward(Variable output, const ConstView<T>& cotangent) {
    expect_of_this_step(output);
    require<ShapeError>(cotangent.rows() == rows(output) && cotangent.cols() == width(output), "Tape::backward: cotangent is ",
                        cotangent.rows(), " × ", cotangent.cols(), ", expected ", rows(output), " × ", width(output), ".");
    expect_forward_only();
    give(target(output), cotangent);
    run_back(0, steps_.size());
  }

  /// The gradient of the loss with respect to x: for the functions that are pushed, and for inputs after backward().
  ConstView<T> gradient(Variable x) {
    if (const Entry& e = entry(x); e.gradient == nullptr || e.first_part >= 0 || e.whole >= 0) {
      if (Target all = target(x); all.fresh) {
        all.view.setZero();  // nothing reached it
      }
    }
    return view(entry(x).gradient, entry(x));
  }

  bool wants_gradient(Variable x) const { return entry(x).wants_gradient; }

  /// Where a gradient goes: to be assigned if `fresh`, to be added to otherwise.
  struct Target {
    View<T> view;
    bool fresh;
  };
  Target target(Variable x) {
    if (entry(x).whole >= 0) {
      return target_of_part(x);
    }
    Entry& e = entry(x);
    const bool allocated = e.gradient != nullptr;
    if (!allocated) {
      e.gradient = take_gradient(x);
    }
    const bool fresh = !std::exchange(e.filled, true);
    if (!fresh || e.first_part < 0) {
      return {view(e.gradient, e), fresh};
    }
    // Parts of it have received something, or may do so later. What has not becomes zero; from now on all is added.
    for (Index part = e.first_part; part >= 0; part = entry({part}).next_part) {
      Entry& p = entry({part});
      p.gradient = e.gradient + p.first_column;
      if (!std::exchange(p.filled, true) && allocated) {
        view(p.gradient, p).setZero();
      }
    }
    if (!allocated) {
      view(e.gradient, e).setZero();
    }
    return {view(e.gradient, e), false};
  }

  /// The gradient of a parameter, by the parameter's address; nullptr for one that is not trained.
  T* gradient_of(const T* parameter) const {
    const auto found = std::lower_bound(parameters_.begin(), parameters_.end(), parameter,
                                        [](const Parameter& p, const T* wanted) { return std::less<>{}(p.value, wanted); });
    return found != parameters_.end() && found->value == parameter ? found->gradient : nullptr;
  }

 private:
  struct Parameter {
    const T* value;
    T* gradient;
  };
  struct Entry {
    T* value = nullptr;
    Index rows = 0, columns = 0, stride = 0;
    T* gradient = nullptr;
    Index scope = -1;
    Index whole = -1, first_column = 0, next_part = -1;  // of a part
    Index first_part = -1, columns_in_parts = 0;         // of a whole that has parts
    bool wants_gradient = false;
    bool filled = false;  // the gradient has received something
  };
  struct Step {
    std::size_t code;
    void (*run)(Tape&, std::size_t);
  };
  struct ScopeNode {
    Index outer;
    const char* name;
    Index index;
  };

  /// Forgets, when it ends, everything that was put on the tape since it began, parts of older variables included.
  class Forgotten {
   public:
    explicit Forgotten(Tape& tape)
        : tape_(tape),
          frame_(tape.memory_),
          entries_(tape.entries_.size()),
          steps_(tape.steps_.size()),
          code_(tape.code_.size()),
          sequences_(tape.sequences_.size()),
          scopes_(tape.scopes_.size()) {}
    ~Forgotten() {
      while (tape_.entries_.size() > entries_) {  // the newest part of a variable is its first
        if (const Entry& e = tape_.entries_.back(); e.whole >= 0) {
          Entry& whole = tape_.entry({e.whole});
          whole.first_part = e.next_part;
          whole.columns_in_parts -= e.columns;
        }
        tape_.entries_.pop_back();
      }
      tape_.steps_.resize(steps_);
      tape_.code_.resize(code_);
      tape_.sequences_.erase(tape_.sequences_.begin() + static_cast<std::ptrdiff_t>(sequences_), tape_.sequences_.end());
      tape_.scopes_.resize(scopes_);
    }
    Forgotten(const Forgotten&) = delete;
    Forgotten& operator=(const Forgotten&) = delete;
    std::size_t first_step() const { return steps_; }

   private:
    Tape& tape_;
    typename Workspace<T>::Frame frame_;
    std::size_t entries_, steps_, code_, sequences_, scopes_;
  };

  /// One way back for one way forward: a second would add to gradients that have been used up.
  void expect_forward_only() {
    require<ArgumentError>(!returned_, "Tape::backward: this step has gone back already. Call begin() and record it again.");
    returned_ = true;
  }

  void expect_of_this_step(Variable x) const {
    require<ArgumentError>(begun_ && x.index >= 0 && x.index < entry_count(),
                           "Tape::backward: there is no such variable in this step. Record it after begin().");
  }

  void expect_same_shape(Variable y, Variable x) const {
    require<ShapeError>(rows(y) == rows(x) && width(y) == width(x), "Tape::block: y is ", rows(y), " × ", width(y),
                        ", expected the shape of x, ", rows(x), " × ", width(x), ".");
  }

  void expect_free(Variable x, Index first, Index count) const {
    constexpr const char* where = "Tape::columns";
    require<ArgumentError>(entry(x).whole < 0, where, ": x is a part of another variable and cannot have parts itself.");
    require<ArgumentError>(first >= 0 && count >= 0 && first + count <= width(x), where, ": first = ", first,
                           " and count = ", count, ", but x has ", width(x), " columns.");
    for (Index part = entry(x).first_part; part >= 0; part = entry({part}).next_part) {
      const Entry& p = entry({part});
      require<ArgumentError>(first + count <= p.first_column || p.first_column + p.columns <= first, where, ": ", count,
                             " columns from ", first, " on overlap another part of x, ", p.columns, " from ", p.first_column,
                             " on.");
    }
  }

  void clear() {
    parameters_.clear();
    entries_.clear();
    steps_.clear();
    code_.clear();
    sequences_.clear();
    scopes_.clear();
    scope_ = -1;
    noisy_ = false;
    frame_.restart();
    outer_frame_.restart();
    outer_entries_ = 0;
    begun_ = false;
    returned_ = false;
  }

  Variable add(Entry e) {
    require<ArgumentError>(begun_, "Tape: begin(model, gradient) comes first.");
    e.scope = scope_;
    entries_.push_back(e);
    return {static_cast<Index>(entries_.size()) - 1};
  }

  Index entry_count() const { return static_cast<Index>(entries_.size()); }
  /// Whether the way back is in a block, and x was made outside of it.
  bool is_outer(Variable x) const { return x.index < outer_entries_; }
  /// Memory for the gradient of x, which must not be given back before x is.
  T* take_gradient(Variable x) { return (is_outer(x) ? outer_memory_ : memory_).take(entry(x).rows * entry(x).stride); }

  Entry& entry(Variable x) { return entries_[static_cast<std::size_t>(x.index)]; }
  const Entry& entry(Variable x) const { return entries_[static_cast<std::size_t>(x.index)]; }

  static View<T> view(T* data, const Entry& e) {
    return Eigen::Map<Matrix<T>, 0, Eigen::OuterStride<>>(data, e.rows, e.columns, Eigen::OuterStride<>(e.stride));
  }

  Target target_of_part(Variable x) {
    Entry& whole = entry({entry(x).whole});
    if (whole.gradient == nullptr) {
      whole.gradient = take_gradient({entry(x).whole});
      if (whole.columns_in_parts != whole.columns) {  // columns that no part covers
        view(whole.gradient, whole).setZero();
      }
    }
    Entry& e = entry(x);
    e.gradient = whole.gradient + e.first_column;
    return {view(e.gradient, e), !std::exchange(e.filled, true)};
  }

  static void give(Target to, const ConstView<T>& values) {
    if (to.fresh) {
      to.view = values;
    } else {
      to.view += values;
    }
  }

  void run_back(std::size_t first, std::size_t last) {
    while (last > first) {
      skip_to_ = --last;
      steps_[last].run(*this, steps_[last].code);
      last = std::min(last, skip_to_);
    }
  }

  std::string path(Index scope) const {
    const ScopeNode& node = scopes_[static_cast<std::size_t>(scope)];
    std::string out = node.outer < 0 ? "" : path(node.outer) + ".";
    out += node.name;
    return node.index < 0 ? out : out + text(".", node.index);
  }

  TapeOptions options_;
  Workspace<T> workspace_;  // scratch of single functions
  Workspace<T> memory_;     // activations and gradients
  typename Workspace<T>::Frame frame_{memory_};
  Workspace<T> outer_memory_;  // gradients that a block gives to variables of others, besides its input
  typename Workspace<T>::Frame outer_frame_{outer_memory_};
  std::vector<Parameter> parameters_;
  std::vector<Entry> entries_;
  std::vector<Step> steps_;
  std::vector<std::byte> code_;
  std::vector<Sequences> sequences_;
  std::vector<ScopeNode> scopes_;
  Index scope_ = -1;
  Index outer_entries_ = 0;  // variables that are older than the block in which the way back is; 0 outside of blocks
  std::size_t skip_to_ = 0;  // where the way back goes on, behind a block that it has passed
  Random noise_;
  bool noisy_ = false;
  bool begun_ = false;
  bool returned_ = false;  // backward() was called
};

}  // namespace gated
