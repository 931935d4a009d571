#pragma once

#include <span>
#include <string>
#include <utility>

#include "gated/core/mask.hpp"
#include "gated/core/rows.hpp"
#include "gated/core/sequence_groups.hpp"
#include "gated/core/sublayers.hpp"
#include "gated/core/workspace.hpp"

/// @file
/// How the body of a layer runs over a batch.
///
/// A layer states its formula once, in `apply(run, x, …)`. What runs it decides what it means: Batch computes whole sequences,
/// Stream (core/stream.hpp) the next tokens of one, Recording (train/recording.hpp) whole sequences whose gradients are wanted.
/// All three offer
///
///     run(layer, x)                       layer(x); also run(layer, x, options), run(layer, x, options, to)
///     run[x]                              the numbers of x
///     run.count(x), run.width(x)          its rows and columns
///     run.columns(x, first, count)        some of its columns, in place
///     run.over(x)                         x as the place for a result, if it may be overwritten
///     run.sequences(), run.mask()         how the rows split, and which tokens count
///
/// so that a composite layer knows nothing of the way in which it runs. Only ops tell them apart.

namespace gated {

/// What a layer takes besides its input, unless it says otherwise by a member template Options.
struct NoOptions {};

namespace detail {

template <class L, class Run>
struct OptionsTrait {
  using type = NoOptions;
};
template <class L, class Run>
requires requires { typename L::template Options<Run>; }
struct OptionsTrait<L, Run> {
  using type = typename L::template Options<Run>;
};

template <class T>
Index rows_of(const Rows<T>& x) {
  return x.count;
}
template <class Id>
Index rows_of(std::span<const Id> ids) {
  return static_cast<Index>(ids.size());
}

/// The rows that a layer makes of `rows`: as many, unless it says otherwise.
template <class L>
Index output_rows(const L& layer, Index rows) {
  if constexpr (requires { layer.output_rows(rows); }) {
    return layer.output_rows(rows);
  } else {
    return rows;
  }
}

/// The columns of its output: as many as x has, unless it says otherwise.
template <class L, class In>
Index output_columns(const L& layer, const In& x) {
  if constexpr (requires { layer.out(); }) {
    return layer.out();
  } else {
    return x.columns;
  }
}

/// Whether a layer takes a mask: if it says so.
template <class L>
constexpr bool takes_mask() {
  if constexpr (requires { L::takes_mask; }) {
    return L::takes_mask;
  } else {
    return false;
  }
}

template <class L>
constexpr const char* name_of_layer() {
  if constexpr (requires { L::name; }) {
    return L::name;
  } else {
    return "layer";
  }
}

}  // namespace detail

/// The options of layer `L` in a run: what stands between x and the place of the result.
template <class L, class Run>
using OptionsOf = typename detail::OptionsTrait<std::remove_cvref_t<L>, Run>::type;

/// A layer that is running and those around it: a chain on the call stack, from which names follow when somebody asks.
struct RunningLayer {
  const RunningLayer* outer;
  const void* layer;
  const char* tag;   ///< of its type
  const char* name;  ///< of its type, for messages
  bool (*write_path)(const void* layer, const void* sublayer, const char* tag, std::string& out);

  template <class L>
  RunningLayer(const RunningLayer* outer_, const L& layer_)
      : outer(outer_),
        layer(&layer_),
        tag(&type_tag<L>),
        name(detail::name_of_layer<L>()),
        write_path([](const void* whole, const void* sublayer, const char* wanted, std::string& out) {
          return detail::write_path_of(*static_cast<const L*>(whole), nullptr, sublayer, wanted, out);
        }) {}

  /// "blocks.3.gate", by the names that fields() states; empty for the outermost layer.
  void write(std::string& out) const {
    if (outer == nullptr) {
      return;
    }
    outer->write(out);
    write_name(*outer, out);
  }

  /// The layer around all others.
  const RunningLayer& outermost() const { return outer == nullptr ? *this : outer->outermost(); }

  /// Appends the name of this layer in `whole`, which runs it.
  void write_name(const RunningLayer& whole, std::string& out) const {
    out += out.empty() ? "" : ".";
    if (!whole.write_path(whole.layer, layer, tag, out)) {
      out += name;  // no field of it
    }
  }
};

/// What runs without a tape have in common. Batch and Stream derive from it.
template <class Derived, class T>
class Inference {
 public:
  using Scalar = T;
  using Rows = gated::Rows<T>;
  using Place = gated::Rows<T>;  ///< where a result goes; absent for new memory
  static constexpr bool records = false;

  Workspace<T>& workspace() const { return workspace_; }
  const Sequences& sequences() const { return sequences_; }
  Mask mask() const { return mask_; }

  static Index count(const Rows& x) { return x.count; }
  static Index width(const Rows& x) { return x.columns; }
  View<T> operator[](const Rows& x) const { return x; }
  static Rows columns(const Rows& x, Index first, Index number) { return x.part(first, number); }

  /// Uninitialised rows: at `to`, or in the run's own memory, until the layer that runs is done.
  Rows make(Index rows, Index columns, const Place& to = {}) const {
    return to ? to.as_scratch() : Rows(workspace_.matrix(rows, columns)).as_scratch();
  }
  /// `to`, or new rows that will be it.
  Place reserve(const Place& to, Index rows, Index columns) const { return make(rows, columns, to); }
  /// Scalars that last as long.
  T* take(Index number) const { return workspace_.take(number); }

  /// x, or some of its columns, as the place for a result, if nobody else needs it.
  static Place over(const Rows& x) { return x.scratch ? x : Place(); }
  static Place over(const Rows& x, Index first, Index number) { return x.scratch ? x.part(first, number) : Place(); }

  /// A copy of x at `to`, which layers may then work on in place.
  static Rows copy(const Rows& x, const Place& to) {
    if (to.data != x.data) {
      to.assign(x);
    }
    return to.as_scratch();
  }

  /// layer(x), at `to` if that is given.
  template <class L, class In>
  Rows operator()(const L& layer, const In& x, const OptionsOf<L, Derived>& options = {}, const Place& to = {}) {
    const RunningLayer running(running_, layer);
    const auto restored = enter(running);
    const Rows place = make(detail::output_rows(layer, detail::rows_of(x)), detail::output_columns(layer, x), to);
    const Rows y = apply(layer, x, options, place);
    if constexpr (requires { options.is_plain(); }) {
      if (options.is_plain()) {
        show(y);  // otherwise the op has shown it without what is fused
      }
    } else if constexpr (!requires { L::shows_itself; }) {
      show(y);
    }
    return to && y.data != to.data ? copy(y, to) : y;
  }

  /// One of a stack's blocks, in place.
  template <class Block>
  Rows block(const Block& layer, const Rows& x) {
    return (*this)(layer, x, {}, over(x));
  }

  // Nothing is dropped but in training.
  static Rows embedding_dropout(const Rows& x) { return x; }
  static Rows dropout(const Rows& x, double) { return x; }
  static auto draw_blocks(double, Index) {
    return [](std::size_t) { return true; };
  }

  /// The path of the layer that runs, for messages and observers, and the name of the layer around all others.
  std::string path() const {
    std::string path;
    if (running_ != nullptr) {
      running_->write(path);
    }
    return path;
  }
  const char* outermost() const { return running_ == nullptr ? "layer" : running_->outermost().name; }

  bool observed() const { return workspace_.observed(); }
  /// Shows `output` under the path of the layer that runs, or one of several parts of it: "weights.0" or, for 3, "3".
  void show(const Rows& output, const char* part = nullptr, Index index = -1, Index inner = -1, Index innermost = -1) const {
    if (!observed()) [[likely]] {
      return;
    }
    std::string path = this->path();
    const auto append = [&](const std::string& element) { path += (path.empty() ? "" : ".") + element; };
    if (part != nullptr) {
      append(part);
    }
    for (const Index number : {index, inner, innermost}) {
      if (number >= 0) {
        append(text(number));
      }
    }
    workspace_.show(path, output);
  }

 protected:
  Inference(Workspace<T>& workspace, const Sequences& sequences, Mask mask, const RunningLayer* running)
      : workspace_(workspace), sequences_(sequences), mask_(mask), running_(running) {}

  const RunningLayer* running() const { return running_; }

 private:
  /// Back to the layer around when the result ends.
  struct Restored {
    const RunningLayer*& current;
    const RunningLayer* outer;
    ~Restored() { current = outer; }
  };
  [[nodiscard]] Restored enter(const RunningLayer& layer) { return {running_, std::exchange(running_, &layer)}; }

  template <class L, class In>
  Rows apply(const L& layer, const In& x, const OptionsOf<L, Derived>& options, const Place& to) {
    const auto frame = workspace_.frame();
    if constexpr (std::is_same_v<OptionsOf<L, Derived>, NoOptions>) {
      return layer.apply(static_cast<Derived&>(*this), x, to);
    } else {
      return layer.apply(static_cast<Derived&>(*this), x, options, to);
    }
  }

  Workspace<T>& workspace_;
  Sequences sequences_;
  Mask mask_;
  const RunningLayer* running_;
};

/// A run over whole sequences.
template <class T>
class Batch : public Inference<Batch<T>, T> {
  using Base = Inference<Batch<T>, T>;

 public:
  using typename Base::Rows;
  static constexpr bool streams = false;

  Batch(Workspace<T>& workspace, const Sequences& sequences, Mask mask = {}, const RunningLayer* running = nullptr)
      : Base(workspace, sequences, mask, running) {}

  /// The same run with other sequences or another mask, for what stands inside the layer that runs.
  Batch with(const Sequences& sequences) const { return Batch(this->workspace(), sequences, {}, this->running()); }
  Batch with(Mask mask) const { return Batch(this->workspace(), this->sequences(), mask, this->running()); }

  /// Calls `f(run, rows)` for groups of sequences that stay in cache from layer to layer; see for_each_group(). Returns x,
  /// which `f` works on in place.
  template <class F>
  Rows in_groups(const Rows& x, const F& f) {
    for_each_group(this->sequences(), this->workspace(), [&](Index first, const Sequences& group, Workspace<T>& scratch) {
      Batch part(scratch, group, mask_part(this->mask(), first, group.total()), this->running());
      f(part, x.middle(first, group.total()));
    });
    return x;
  }
};

}  // namespace gated
