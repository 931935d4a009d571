#pragma once

#include <algorithm>
#include <deque>
#include <limits>
#include <utility>
#include <vector>

#include "gated/core/aligned_memory.hpp"
#include "gated/core/parameter_budget.hpp"
#include "gated/core/run.hpp"
#include "gated/core/single_thread_use.hpp"

/// @file
/// Runs the body of a layer over the next tokens of a sequence.

namespace gated {

/// The memory of one causal sequence while it streams, made by start() and owned by the caller. Copy it to branch the
/// sequence. A thread that extends, rewinds or copies a state while another one extends it gets an ArgumentError. To extend a
/// state while another thread copies it is a data race.
///
/// Holds the matrices that ops request with remember(), in execution order. Their sizes are fixed when the state is made.
template <class T>
class State {
 public:
  /// The capacity() of a state without a limit.
  static constexpr Index unlimited = std::numeric_limits<Index>::max();

  /// Number of tokens already in the stream.
  Index position() const { return position_; }
  /// The maximum number of tokens, or `unlimited`.
  Index capacity() const { return capacity_; }

  /// Discards the tokens from `position` on.
  /// Errors: ArgumentError unless 0 ≤ position ≤ position(). ArgumentError also if the model no longer has the earlier tokens:
  /// FLASH, token shift by half and convolutions can never rewind; attention windows only while every token is still stored.
  /// Keep a copy of the state at `position` instead.
  void rewind(Index position) {
    const detail::SingleThreadUse::Hold hold(use_);
    require<ArgumentError>(position >= 0 && position <= position_, "State::rewind: position = ", position, ", expected 0 … ",
                           position_, ".");
    require<ArgumentError>(
        position == position_ || position_ <= rewindable_, "State::rewind: this model keeps ",
        rewindable_ == 0 ? "only the last tokens, or sums over tokens" : "only the last tokens",
        ", so it cannot return to an earlier position. To return to a position later, copy the state at that position.");
    position_ = position;
  }

  /// Advances by `tokens` tokens without computing them, to benchmark steps late in a sequence. The skipped tokens' memory is
  /// unchanged: zero in a new state.
  /// Errors: ArgumentError if `tokens` is negative, ShapeError past the capacity.
  void skip(Index tokens) {
    const detail::SingleThreadUse::Hold hold(use_);
    require<ArgumentError>(tokens >= 0, "State::skip: tokens = ", tokens, " must not be negative.");
    expect_positions("State::skip", tokens, position_, capacity_, "that the state has room for.");
    position_ += tokens;
  }

  /// Size in bytes.
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

  /// The memory of an op. Large memory uses large pages, because a step may read a whole column of it.
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

  // Held by the thread that extends the state. The first member, because a refused copy must copy nothing.
  detail::SingleThreadUse use_{"State: two threads use it at the same time. Give each thread its own state, such as a copy."};
  std::deque<Memory> memory_;  // a deque, because its elements never move
  Index position_ = 0;
  Index capacity_ = unlimited;
  Index rewindable_ = unlimited;  // once position_ exceeds this, rewind() cannot go back
  const void* model_ = nullptr;   // address of the model checked last; another model may be there now
  bool torn_ = false;             // a call failed after it may have changed memory other than rows per token
};

/// A run over the next tokens of the sequence that a state remembers. Appends the tokens to the sequence.
///
/// start() makes a state by running the layer over zero tokens; during this run, each op that needs memory allocates its own.
/// With an existing state, a run over zero tokens checks the state against the model.
template <class T>
class Stream : public Inference<Stream<T>, T> {
  using Base = Inference<Stream<T>, T>;

 public:
  using typename Base::Matrix;
  static constexpr bool streams = true;

  /// Kinds of memory that an op may need.
  enum class Memory {
    tokens,  ///< a row per token: the state can be rewound
    recent,  ///< a row for each of the last tokens: the state can be rewound while every token has a row
    sums     ///< values that combine many tokens: the state cannot be rewound
  };

  /// A run over the next `tokens` tokens. Error messages about a wrong state begin with `checked`.
  Stream(Workspace<T>& workspace, State<T>& state, Index tokens, Where checked = "extend")
      : Base(workspace, Sequences::single(tokens), {}, nullptr), state_(state), checked_(checked) {}

  /// Makes the state of an empty sequence by running `layer` on `no_input`, which has no rows. The state's capacity is `wanted`
  /// tokens, or as many as the layer can serve if `wanted` is `unlimited`.
  /// Errors: ArgumentError if the layer cannot stream or `wanted` < 0; ShapeError if `wanted` is more than the layer can serve.
  template <class L, class In>
  static State<T> start(const L& layer, const In& no_input, Index wanted) {
    State<T> state = empty_state({L::name, "start"}, layer.contract(), wanted);
    Workspace<T> workspace;
    const auto frame = workspace.frame();
    Stream run(workspace, state, 0);
    run.starts_ = true;
    run(layer, no_input);
    state.model_ = &layer;
    return state;
  }

  /// Writes the next rows of layer(x, more…) to y. First checks the contract, the number of tokens and the state.
  template <class L, class In, class... More>
  static void extend(Where where, const L& layer, const In& x, const In& no_input, State<T>& state, const MatrixView<T>& y,
                     Workspace<T>& workspace, More&&... more) {
    const detail::SingleThreadUse::Hold hold(state.use_);
    const Index tokens = detail::rows_of(x);
    expect_room(where, layer.contract(), tokens, state);
    require<ArgumentError>(
        !state.torn_, where,
        ": an earlier call failed halfway, and part of the state had changed. Continue from a copy, or make a "
        "state with start().");
    if (state.model_ != &layer) {
      check(where, layer, no_input, state, workspace.prepared());
    }
    if (tokens == 0) {
      return;
    }
    const auto frame = workspace.frame();
    Stream run(workspace, state, tokens, where);
    run.into(y, layer, x, std::forward<More>(more)...);
    run.expect_state(run.next_ == state.memory_.size());  // fails if another model is now at the checked model's address
    state.torn_ = false;
    state.position_ += tokens;
  }

  /// The number of tokens before this run.
  Index position() const { return state_.position_; }
  /// True while start() makes a state.
  bool starts() const { return starts_; }

  /// The maximum length of the sequence.
  /// Errors: ArgumentError if no capacity was given.
  Index capacity() const {
    const bool is_known = state_.capacity_ != State<T>::unlimited;
    expect_state(starts_ || is_known);
    require<ArgumentError>(is_known, where(),
                           ": the layer remembers every token. Pass the number of tokens to make room for: start(capacity), or "
                           "the `tokens` of generate().");
    return state_.capacity_;
  }

  /// The smaller of the capacity and `most`.
  Index room(Index most) const { return std::min(state_.capacity_, most); }

  /// The running op's memory across calls: `rows` × `columns`, initially zero. Ops must call remember() in the same order in
  /// every run.
  /// Errors: MemoryError, in start() only.
  gated::Matrix<T>& remember(Index rows, Index columns, Memory kind = Memory::tokens) {
    if (starts_) {
      if (kind != Memory::tokens) {
        state_.rewindable_ = std::min(state_.rewindable_, kind == Memory::sums ? 0 : rows);
      }
      expect_memory<T>(where(), rows, columns);
      return state_.memory_.emplace_back(rows, columns);
    }
    expect_state(next_ < state_.memory_.size());
    gated::Matrix<T>& memory = state_.memory_[next_++];
    expect_state(memory.rows() == rows && memory.cols() == columns);
    state_.torn_ = state_.torn_ || (kind != Memory::tokens && this->sequences().total() > 0);
    return memory;
  }

  /// The last `number` rows of x.
  static Matrix last_rows(const Matrix& x, Index number) { return x.sharing(x.rows(x.rows() - number, number)); }

  /// The running layer and the call, for messages.
  Where where() const {
    return {this->running() == nullptr ? "Stream" : this->running()->name(), starts_ ? "start" : "extend"};
  }

  /// Raises ArgumentError, because a layer that regroups the tokens into other sequences needs all tokens.
  [[noreturn]] Stream with(const Sequences&) const {
    raise<ArgumentError>(
        where(),
        ": this layer regroups the tokens into other sequences and needs all of them. Use forward() on whole sequences.");
  }

  /// True if a layer with this contract accepts `rows` more tokens.
  bool takes_rows(const Contract& contract, Index rows) const {
    return contract.streams() && position() <= contract.longest && rows <= contract.longest - position();
  }
  /// Raises an error unless takes_rows().
  void expect_rows(Where where, const Contract& contract, Index rows) const {
    expect_streaming(where, contract);
    expect_positions(where, rows, position(), contract.longest, "that the layer can serve.");
  }

  /// Applies `layers` to x one after the other.
  template <class L>
  Matrix blocks(const std::vector<L>& layers, Matrix x, double = 0) {
    for (const L& layer : layers) {
      x = (*this)(layer, std::move(x));
    }
    return x;
  }

 private:
  static State<T> empty_state(Where where, const Contract& contract, Index wanted) {
    expect_streaming(where, contract);
    require<ArgumentError>(wanted >= 0, where, ": capacity = ", wanted, " must not be negative.");
    require<ShapeError>(wanted <= contract.longest || wanted == State<T>::unlimited, where, ": capacity = ", wanted,
                        ", but the model can serve ", contract.longest, " tokens at most.", contract.remedy);
    State<T> state;
    state.capacity_ = std::min(wanted, contract.longest);
    return state;
  }

  /// Raises an error unless a layer with this contract can append `tokens` tokens to `state`.
  static void expect_room(Where where, const Contract& contract, Index tokens, const State<T>& state) {
    expect_streaming(where, contract);
    const bool can_grow = state.capacity() < contract.longest;
    expect_positions(where, tokens, state.position(), state.capacity(),
                     can_grow ? "that the state has room for. Rewind it, or call start() with a larger capacity."
                              : "that the model can serve. Rewind the state, or change the model.",
                     can_grow ? "" : contract.remedy);
    require_state(where, state.capacity_ <= contract.longest);
  }

  /// Raises ArgumentError unless `state` was made by start() of a layer with this configuration.
  template <class L, class In>
  static void check(Where where, const L& layer, const In& no_input, State<T>& state, const PreparedWeights<T>* prepared) {
    Workspace<T> workspace;  // without a hook
    if (prepared != nullptr) {
      workspace.use(*prepared);
    }
    const auto frame = workspace.frame();
    Stream run(workspace, state, 0, where);
    run(layer, no_input);
    run.expect_state(run.next_ == state.memory_.size());
    state.model_ = &layer;
  }

  void expect_state(bool fits) const { require_state(checked_, fits); }
  static void require_state(Where where, bool fits) {
    require<ArgumentError>(fits, where, ": the state was made for another configuration. Make one with this model's start().");
  }

  State<T>& state_;
  std::size_t next_ = 0;  // index of the memory that remember() returns next
  bool starts_ = false;
  Where checked_;
};

/// Raises ArgumentError in a stream, for an op that needs all tokens. `what` describes the op: "a norm over the tokens".
template <class Run>
void expect_all_tokens(const Run& run, const char* what) {
  if constexpr (Run::streams) {
    raise<ArgumentError>(
        run.where(), ": ", what,
        " needs all tokens of a sequence, so a token's output depends on later tokens and cannot be streamed. Use forward() "
        "on whole sequences.");
  }
}

}  // namespace gated
