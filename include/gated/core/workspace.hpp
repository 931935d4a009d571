#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gated/core/arena.hpp"
#include "gated/core/function_ref.hpp"
#include "gated/core/kernel_choice.hpp"
#include "gated/core/matrix.hpp"
#include "gated/core/parallel.hpp"
#include "gated/core/prepared_weights.hpp"
#include "gated/core/single_thread_use.hpp"

/// @file
/// Scratch memory and threads of a run.

namespace gated {

template <class T>
struct ProductEngine;  // ops/gemm_tasks.hpp

/// Scratch memory, threads, prepared weights and an optional hook. Use one Workspace per calling thread.
///
/// Threads share a const model, each with its own workspace. Concurrent use of one workspace raises ArgumentError.
/// forward() allocates nothing after its first call with a given shape; a stream allocates nothing after its first step.
///
///     Workspace<float> workspace(Threads{2});
///     auto logits = model.forward(images, workspace);
///
/// A hook receives every layer's output with the layer's parameter path (`"blocks.3.gate.proj"`), once per call. It receives a
/// projection's output before activation, gate or residual, like a PyTorch hook. Results are bit-equal with and without a hook.
///
///     workspace.set_hook([](const std::string& path, ConstView<float> output) { … });
///
/// Cost: memory for the largest call so far; see bytes().
template <class T>
class Workspace {
  static_assert(computes_in<T>());

 public:
  using Hook = std::function<void(const std::string& path, ConstView<T> output)>;

  /// A scope: its destructor releases the memory taken in the scope. Until the outermost frame ends, the workspace belongs to
  /// this thread and the form (instruction set) of the kernels is fixed.
  class Frame {
   public:
    explicit Frame(Workspace& workspace) : hold_(workspace.use_), frame_(workspace.arena_.frame()) {}

   private:
    detail::SingleThreadUse::Hold hold_;  // ends last
    detail::KernelChoice kernels_;
    typename Arena<T>::Frame frame_;
  };

  explicit Workspace(Threads threads = {}) : threads_(std::move(threads)) {}
  /// A single-threaded workspace in the caller's memory, which must outlive the workspace. It never allocates.
  /// Errors: MemoryError in a run that needs more memory.
  explicit Workspace(std::span<std::byte> memory) : arena_(memory) {}
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  const Threads& threads() const { return threads_; }

  /// Uses the packed weights of `prepared`, which must outlive the runs: see prepare().
  void use(const PreparedWeights<T>& prepared) { prepared_ = &prepared; }
  void use(const PreparedWeights<T>&&) = delete;  // a temporary would dangle
  const PreparedWeights<T>* prepared() const { return prepared_; }

  /// Lets `engine`, such as bf16_products() (ops/bf16_products.hpp), compute the products that it supports. nullptr removes it.
  void use(const ProductEngine<T>* engine) { product_engine_ = engine; }
  const ProductEngine<T>* product_engine() const { return product_engine_; }

  /// Memory in bytes, including the other threads' workspaces.
  std::size_t bytes() const {
    std::size_t sum = arena_.bytes();
    for (const auto& worker : workers_) {
      sum += worker->bytes();
    }
    return sum;
  }

  /// Peak memory use so far in bytes, excluding the workspaces of other threads.
  std::size_t peak_bytes() const { return arena_.peak() * sizeof(T); }

  // --- Memory: see Arena ---

  /// Errors: ArgumentError if another thread has an open frame.
  [[nodiscard]] Frame frame() { return Frame(*this); }
  /// A frame nested in an open frame of this thread.
  [[nodiscard]] typename Arena<T>::Frame inner_frame() { return arena_.frame(); }
  T* take(Index count) { return arena_.take(count); }
  MatrixMap<T> matrix(Index rows, Index columns) { return arena_.matrix(rows, columns); }
  /// Reserves `count` more scalars, in up to 16 pieces, so later steps of a stream allocate nothing.
  void reserve(Index count) {
    const auto frame = arena_.frame();
    arena_.take(count + 16 * cache_line_bytes / static_cast<Index>(sizeof(T)));  // each piece fills whole cache lines
  }

  /// Calls `task(index, scratch)` for each index in [0, tasks), on all threads. `scratch` is the thread's own workspace:
  /// single-threaded, with the same prepared weights and engine, without a hook.
  ///
  /// Afterwards each thread's workspace is as large as the largest of them, so a second call allocates nothing, whichever
  /// thread runs which task. A task's exception, such as std::bad_alloc, is rethrown when all tasks have ended.
  void side_by_side(Index tasks, FunctionRef<void(Index index, Workspace& scratch)> task) {
    if (arena_.is_given()) {  // in the caller's memory: single-threaded, without room for a second workspace
      for (Index i = 0; i < tasks; ++i) {
        const auto frame = inner_frame();
        task(i, *this);
      }
      return;
    }
    while (workers_.size() < static_cast<std::size_t>(threads_.count())) {
      workers_.push_back(std::make_unique<Workspace>());
    }
    for (const auto& worker : workers_) {
      worker->prepared_ = prepared_;
      worker->product_engine_ = product_engine_;
    }
    parallel_for(threads_, tasks, [&](Index index, Index thread) {
      Workspace& scratch = *workers_[static_cast<std::size_t>(thread)];
#if GATED_HAS_EXCEPTIONS
      try {
        task(index, scratch);
      } catch (...) {
        scratch.failure_ = std::current_exception();
      }
#else
      task(index, scratch);
#endif
    });
    std::size_t most = 0;
    std::exception_ptr failure;
    for (const auto& worker : workers_) {
      most = std::max(most, worker->arena_.capacity());
      if (worker->failure_ != nullptr) {
        failure = std::exchange(worker->failure_, nullptr);
      }
    }
    if (failure != nullptr) {
      std::rethrow_exception(failure);
    }
    for (const auto& worker : workers_) {
      if (worker->arena_.capacity() < most) {
        worker->arena_.replace_chunks(most);
      }
    }
  }

  /// Installs (or, with nullptr, removes) the hook.
  void set_hook(Hook hook) { hook_ = std::move(hook); }
  bool hooked() const { return static_cast<bool>(hook_); }
  /// Passes `output` to the hook, if there is one.
  void show(const std::string& path, const ConstView<T>& output) const {
    if (hook_) {
      hook_(path, output);
    }
  }

 private:
  Threads threads_;
  const PreparedWeights<T>* prepared_ = nullptr;
  const ProductEngine<T>* product_engine_ = nullptr;
  // Held by the thread that has an open frame.
  detail::SingleThreadUse use_{
      "Workspace: two threads use it at the same time. Give each thread its own workspace; threads may share the model."};
  Arena<T> arena_;
  std::vector<std::unique_ptr<Workspace>> workers_;
  std::exception_ptr failure_;  // thrown by a task that ran with this workspace
  Hook hook_;
};

}  // namespace gated
