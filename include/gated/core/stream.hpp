#pragma once

#include <algorithm>
#include <deque>
#include <limits>

#include "gated/core/aligned_memory.hpp"
#include "gated/core/run.hpp"
#include "gated/core/single_thread_use.hpp"

/// @file
/// How the body of a layer runs over the next tokens of a sequence.

namespace gated {

/// What streaming keeps of one causal sequence: a value that the caller owns, made by start(). A copy branches the sequence.
/// Two threads that extend one state at the same time get an error.
///
/// It is the list of what the ops of a model must remember, in the order in which its body meets them. Its size is fixed when
/// it is made.
template <class T>
class State {
 public:
  /// No limit to the tokens of a sequence.
  static constexpr Index unlimited = std::numeric_limits<Index>::max();

  /// Tokens seen.
  Index position() const { return position_; }
  /// The most tokens that it has room for, or `unlimited`.
  Index capacity() const { return capacity_; }

  /// Forgets the tokens from `position` on.
  /// Errors: ArgumentError unless 0 ≤ position ≤ position(), and for a model that keeps sums over the tokens, such as FLASH,
  /// where only a copy leads back.
  void rewind(Index position) {
    require<ArgumentError>(position >= 0 && position <= position_, "State::rewind: position = ", position, ", expected 0 … ",
                           position_, ".");
    require<ArgumentError>(rewinds_ || position == position_,
                           "State::rewind: this model keeps sums over the tokens and not the tokens, so they cannot be taken "
                           "back. Copy the state where you may want to return.");
    position_ = position;
  }

  /// Counts `tokens` more as seen, with zeros in the place of what would be remembered of them: to measure steps at a late
  /// position.
  /// Errors: ArgumentError for a negative number, ShapeError past the capacity.
  void skip(Index tokens) {
    require<ArgumentError>(tokens >= 0, "State::skip: tokens = ", tokens, " must not be negative.");
    expect_positions("State::skip", tokens, position_, capacity_, "that the state has room for.");
    position_ += tokens;
  }

  /// The bytes that it holds.
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const Memory& part : memory_) {
      sum += static_cast<std::size_t>(part.size()) * sizeof(T);
    }
    return sum;
  }

 private:
  template <class>
  friend class Stream;

  /// What an op remembers, in large pages if it is large: a step may walk through columns of all tokens.
  struct Memory : Matrix<T> {
    Memory(Index rows, Index columns) : Matrix<T>(rows, columns) {
      ask();
      this->setZero();
    }
    Memory(const Memory& other) : Matrix<T>(other.rows(), other.cols()) {
      ask();
      Matrix<T>::operator=(other);
    }
    Memory& operator=(const Memory&) = default;

   private:
    void ask() { ask_for_large_pages(this->data(), static_cast<std::size_t>(this->size()) * sizeof(T)); }
  };

  std::deque<Memory> memory_;  // whose elements stay where they are
  Index position_ = 0;
  Index capacity_ = unlimited;
  bool rewinds_ = true;
  const void* model_ = nullptr;  // where the last lies that it was checked against; another may have taken that place
  detail::SingleThreadUse use_;  // of the thread that runs
};

namespace detail {

/// The longest sequence that a layer can serve.
template <class L>
Index longest_of(const L& layer) {
  if constexpr (requires { layer.longest(); }) {
    return layer.longest();
  } else {
    return std::numeric_limits<Index>::max();
  }
}

}  // namespace detail

/// A run over the next tokens of the one sequence that a state remembers; they join it.
///
/// Over no tokens it is how a state is made: each op that must remember something makes room for it. Over no tokens with a
/// state that is there, it checks that state against the model.
template <class T>
class Stream : public Inference<Stream<T>, T> {
  using Base = Inference<Stream<T>, T>;

 public:
  using typename Base::Rows;
  static constexpr bool streams = true;

  /// What an op remembers.
  enum class Memory {
    tokens,  ///< a row for each token, so that tokens can be taken back
    sums     ///< something of many tokens
  };

  /// A run over the next `tokens` tokens, of the call `checked`.
  Stream(Workspace<T>& workspace, State<T>& state, Index tokens, Where checked = "extend")
      : Base(workspace, Sequences::single(tokens), {}, nullptr), state_(state), checked_(checked) {}

  /// The state of an empty sequence of up to `capacity` tokens, for `layer`, by a run over `no_input`.
  template <class L, class In>
  static State<T> start(const L& layer, const In& no_input, Index capacity) {
    State<T> state;
    state.capacity_ = capacity;
    Workspace<T> workspace;
    const auto frame = workspace.frame();
    Stream run(workspace, state, 0);
    run.starts_ = true;
    run(layer, no_input);
    state.model_ = &layer;
    return state;
  }

  /// Raises ArgumentError unless start() of a layer of this configuration made `state`.
  template <class L, class In>
  static void check(Where where, const L& layer, const In& no_input, State<T>& state) {
    require_state(where, state.capacity_ <= detail::longest_of(layer));
    if (state.model_ == &layer) {
      return;
    }
    Workspace<T> workspace;  // without an observer
    const auto frame = workspace.frame();
    Stream run(workspace, state, 0, where);
    run(layer, no_input);
    run.expect_state(run.next_ == state.memory_.size());
    state.model_ = &layer;
  }

  /// The tokens join the sequence, after a run over them.
  /// Errors: ArgumentError if the model has fewer memories than the state: another one, where the one that was checked lay.
  void advance() {
    expect_state(next_ == state_.memory_.size());
    state_.position_ += this->sequences().total();
  }

  /// Makes `state` this thread's until the result ends.
  /// Errors: ArgumentError while another thread extends it.
  static detail::SingleThreadUse::Hold hold(State<T>& state) {
    return {state.use_, "State: two threads use it at the same time. Give each thread a state of its own; a copy branches it."};
  }

  /// The tokens before these.
  Index position() const { return state_.position_; }
  /// True while a state is made.
  bool starts() const { return starts_; }

  /// The most tokens that the sequence may have.
  /// Errors: ArgumentError where nobody has said it.
  Index capacity() const {
    const bool is_known = state_.capacity_ != State<T>::unlimited;
    expect_state(starts_ || is_known);
    require<ArgumentError>(is_known, where(),
                           ": it remembers the keys and values of every token. Give start() the number of tokens to make room "
                           "for: start(capacity).");
    return state_.capacity_;
  }

  /// What this op keeps from call to call, `rows` × `columns`, zero at first. Ops meet their memories in the same order every
  /// time.
  /// Errors: MemoryError while a state is made.
  Matrix<T>& remember(Index rows, Index columns, Memory kind = Memory::tokens) {
    if (starts_) {
      state_.rewinds_ = state_.rewinds_ && kind == Memory::tokens;
      expect_memory<T>(where(), rows, columns);
      return state_.memory_.emplace_back(rows, columns);
    }
    expect_state(next_ < state_.memory_.size());
    Matrix<T>& memory = state_.memory_[next_++];
    expect_state(memory.rows() == rows && memory.cols() == columns);
    return memory;
  }

  /// The last rows of x.
  static Rows last_rows(const Rows& x, Index number) { return x.middle(x.count - number, number); }

  /// The layer that runs, for messages.
  Where where() const { return {this->running() == nullptr ? "Stream" : this->running()->name, starts_ ? "start" : "extend"}; }

  /// One group of one sequence.
  template <class F>
  Rows in_groups(const Rows& x, const F& f) {
    f(*this, x);
    return x;
  }

 private:
  void expect_state(bool fits) const { require_state(checked_, fits); }
  static void require_state(Where where, bool fits) {
    require<ArgumentError>(fits, where, ": the state is of another configuration. Make it with start() of this model.");
  }

  State<T>& state_;
  std::size_t next_ = 0;  // memory to be asked for
  bool starts_ = false;
  Where checked_;
};

/// Raises ArgumentError in a stream, for an op that needs all tokens of a sequence: `what` says why.
template <class Run>
void expect_all_tokens(const Run& run, const char* what) {
  if constexpr (Run::streams) {
    raise<ArgumentError>(
        run.where(), ": ", what,
        " takes all of them, so a token's output depends on later tokens and cannot be streamed. Use forward() "
        "on whole sequences.");
  }
}

namespace detail {

/// The room that a state gets: `wanted`, or as much as the layer can serve.
template <class L>
Index checked_capacity(Where where, const L& layer, Index wanted) {
  const Index longest = longest_of(layer);
  require<ArgumentError>(wanted >= 0, where, ": capacity = ", wanted, " must not be negative.");
  require<ShapeError>(wanted <= longest || wanted == State<float>::unlimited, where, ": capacity = ", wanted,
                      ", but the model can serve ", longest, " tokens at most.");
  return std::min(wanted, longest);
}

/// y = the next rows of layer(x), after all has been checked.
template <class T, class L, class In>
void run_stream(Where where, const L& layer, const In& x, const In& no_input, const OptionsOf<L, Stream<T>>& options,
                State<T>& state, View<T> y, Workspace<T>& workspace) {
  const auto hold = Stream<T>::hold(state);
  expect_positions(where, rows_of(x), state.position(), state.capacity(),
                   state.capacity() < longest_of(layer)
                       ? "that the state has room for. Rewind it, or start anew with a larger capacity."
                       : "that the model can serve. Rewind the state, or build the model for longer sequences; resize_length() "
                         "carries a gMLP to another length.");
  Stream<T>::check(where, layer, no_input, state);
  if (rows_of(x) == 0) {
    return;
  }
  const auto frame = workspace.frame();
  Stream<T> run(workspace, state, rows_of(x), where);
  run(layer, x, options, Rows<T>(y));
  run.advance();
}

}  // namespace detail

}  // namespace gated
