#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "gated/core/arena.hpp"
#include "gated/core/matrix_view.hpp"
#include "gated/train/variable.hpp"

/// @file
/// The matrices of a training step and their gradients.

namespace gated {

/// The destination of a gradient contribution: overwritten if `fresh`, otherwise added to.
template <class T>
struct GradientTarget {
  View<T> view;
  bool fresh;

  /// Adds `values`, or assigns them if `fresh`.
  void give(const ConstView<T>& values) {
    if (fresh) {
      view = values;
    } else {
      view += values;
    }
  }
};

/// The variables of one step and their gradients. Gradients are allocated on first use. Internal to Tape.
///
/// A part is a variable that views some columns of another; the two share one gradient matrix. At the end of a block in the
/// backward pass, the gradients of the block's own variables are freed.
template <class T>
class Variables {
 public:
  Variables() = default;
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

  /// Starts a new step; keeps the memory.
  void clear() {
    step_ = detail::next_step();
    entries_.clear();
    frame_.restart();
    outer_frame_.restart();
    first_inner_ = 0;
  }

  Index count() const { return static_cast<Index>(entries_.size()); }
  /// Number of bytes in the values and gradients of the largest step.
  std::size_t bytes() const { return memory_.bytes() + outer_memory_.bytes(); }

  // --- Values ---

  /// A copy of the caller's matrix.
  Variable copy(const ConstView<T>& x, bool wants_gradient) {
    const Variable result = make(x.rows(), x.cols());
    entry(result).wants_gradient = wants_gradient;
    (*this)[result] = x;
    return result;
  }

  /// A new uninitialized matrix.
  Variable make(Index rows, Index columns) {
    const Index stride = row_stride<T>(columns);
    return add(
        {.value = memory_.take(rows * stride), .rows = rows, .columns = columns, .stride = stride, .wants_gradient = true});
  }

  /// The columns `first` … `first` + `count` - 1 of x as a part, new or existing, without a copy. The result is absent if
  /// these columns overlap another part of x, or if x is itself a part.
  /// Errors: ArgumentError for columns outside x.
  Variable part(Variable x, Index first, Index count) {
    require<ArgumentError>(first >= 0 && count >= 0 && count <= width(x) && first <= width(x) - count,
                           "Tape::columns: first = ", first, " and count = ", count, ", but x has ", width(x), " columns.");
    if (const Index same = find_part(x, [=](const Entry& p) { return p.first_column == first && p.columns == count; });
        same >= 0) {
      return {same, step_};
    }
    const auto overlaps = [=](const Entry& p) { return first < p.first_column + p.columns && p.first_column < first + count; };
    if (entry(x).whole >= 0 || find_part(x, overlaps) >= 0) {
      return {};
    }
    if (is_outer(x.index) && wants_gradient(x)) {
      gradient(x);  // allocates the gradient of x now: it outlives the block, unlike this part
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
  View<T> operator[](Variable x) { return view(entry(x).value, entry(x)); }

  /// `count` scalars that live as long as the variables.
  T* take(Index count) { return memory_.take(count); }
  /// A copy of `values` that lives as long as the variables.
  template <class V>
  std::span<const V> keep(std::span<const V> values) {
    return memory_.copy(values);
  }

  // --- Gradients ---

  bool wants_gradient(Variable x) const { return entry(x).wants_gradient; }

  /// The gradient of x so far.
  ConstView<T> gradient(Variable x) {
    if (const Entry& e = entry(x); e.gradient == nullptr || e.first_part >= 0 || e.whole >= 0) {
      if (GradientTarget<T> all = target(x); all.fresh) {
        all.view.setZero();  // no gradient so far
      }
    }
    return view(entry(x).gradient, entry(x));
  }

  /// Like gradient(x), but writable: the last reader of the gradient may overwrite it.
  View<T> last_gradient(Variable x) {
    gradient(x);
    return view(entry(x).gradient, entry(x));
  }

  /// The destination for a contribution to the gradient of x.
  GradientTarget<T> target(Variable x) {
    if (entry(x).whole >= 0) {
      return target_of_part(x);
    }
    Entry& e = entry(x);
    const bool allocated = e.gradient != nullptr;
    if (!allocated) {
      e.gradient = take_gradient(e, x.index);
    }
    const bool fresh = !std::exchange(e.filled, true);
    if (!fresh || e.first_part < 0) {
      return {view(e.gradient, e), fresh};
    }
    // Parts may already have a gradient, or get one later: zero the columns without one, and add every later contribution.
    for (Index part = e.first_part; part >= 0; part = at(part).next_part) {
      Entry& p = at(part);
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

  // --- Blocks ---

  /// Scope of a block of the backward pass. The block's variables are those from index `first` on; their gradients are freed
  /// when the scope ends.
  class Inside {
   public:
    Inside(Variables& variables, Index first)
        : variables_(variables), frame_(variables.memory_), around_(std::exchange(variables.first_inner_, first)) {}
    ~Inside() { variables_.first_inner_ = around_; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    Variables& variables_;
    typename Arena<T>::Frame frame_;
    Index around_;
  };

  /// Scope that drops its variables, and new parts of older variables, when it ends.
  class Forgotten {
   public:
    explicit Forgotten(Variables& variables)
        : variables_(variables), frame_(variables.memory_), count_(variables.entries_.size()) {}
    ~Forgotten() {
      while (variables_.entries_.size() > count_) {  // a variable lists its newest part first
        if (const Entry& e = variables_.entries_.back(); e.whole >= 0) {
          Entry& whole = variables_.at(e.whole);
          whole.first_part = e.next_part;
          whole.columns_in_parts -= e.columns;
        }
        variables_.entries_.pop_back();
      }
    }
    Forgotten(const Forgotten&) = delete;
    Forgotten& operator=(const Forgotten&) = delete;

   private:
    Variables& variables_;
    typename Arena<T>::Frame frame_;
    std::size_t count_;
  };

 private:
  struct Entry {
    T* value = nullptr;
    Index rows = 0, columns = 0, stride = 0;
    T* gradient = nullptr;
    Index whole = -1, first_column = 0, next_part = -1;  // set for a part
    Index first_part = -1, columns_in_parts = 0;         // set for a variable with parts
    bool wants_gradient = false;
    bool filled = false;  // the gradient has a value
  };

  Variable add(const Entry& e) {
    entries_.push_back(e);
    return {count() - 1, step_};
  }

  /// Errors: ArgumentError for a variable of another step.
  const Entry& entry(Variable x) const {
    require<ArgumentError>(x.step == step_ && x.index >= 0 && x.index < count(),
                           "Tape: the variable is absent, or belongs to another tape or an earlier begin(). Record it on "
                           "this tape after begin().");
    return entries_[static_cast<std::size_t>(x.index)];
  }
  Entry& entry(Variable x) { return const_cast<Entry&>(std::as_const(*this).entry(x)); }
  Entry& at(Index x) { return entries_[static_cast<std::size_t>(x)]; }
  const Entry& at(Index x) const { return entries_[static_cast<std::size_t>(x)]; }

  static View<T> view(T* data, const Entry& e) {
    return Eigen::Map<Matrix<T>, 0, Eigen::OuterStride<>>(data, e.rows, e.columns, Eigen::OuterStride<>(e.stride));
  }

  /// The index of the first part of x that `f` accepts, or -1.
  template <class F>
  Index find_part(Variable x, const F& f) const {
    Index part = entry(x).first_part;
    while (part >= 0 && !f(at(part))) {
      part = at(part).next_part;
    }
    return part;
  }
  /// True if the backward pass is in a block and x was made outside it.
  bool is_outer(Index x) const { return x < first_inner_; }
  /// Memory for the gradient of x, whose entry is `e`. It lives at least as long as x.
  T* take_gradient(const Entry& e, Index x) { return (is_outer(x) ? outer_memory_ : memory_).take(e.rows * e.stride); }

  GradientTarget<T> target_of_part(Variable x) {
    Entry& whole = at(entry(x).whole);
    if (whole.gradient == nullptr) {
      whole.gradient = take_gradient(whole, entry(x).whole);
      if (whole.columns_in_parts != whole.columns) {  // some columns are in no part
        view(whole.gradient, whole).setZero();
      }
    }
    Entry& e = entry(x);
    e.gradient = whole.gradient + e.first_column;
    return {view(e.gradient, e), !std::exchange(e.filled, true)};
  }

  Arena<T> memory_;  // values, and the gradients of the backward pass's current block
  typename Arena<T>::Frame frame_{memory_};
  Arena<T> outer_memory_;  // gradients of the variables outside the block, to which the block adds
  typename Arena<T>::Frame outer_frame_{outer_memory_};
  std::vector<Entry> entries_;
  std::size_t step_ = 0;
  Index first_inner_ = 0;  // first variable of the current block; 0 outside blocks
};

}  // namespace gated
