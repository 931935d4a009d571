#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "gated/core/aligned_memory.hpp"
#include "gated/core/matrix.hpp"
#include "gated/core/parallel.hpp"
#include "gated/core/prepared_weights.hpp"

/// @file
/// Where activations live while a model runs.

namespace gated {

/// A bump arena for scratch memory, the number of threads to use, and an optional observer. One per calling thread.
///
/// A const model serves any number of threads, each with a workspace of its own. Memory is taken in frames and given back when
/// the frame ends; the arena keeps it. After the first call of a shape forward allocates nothing, and after the first step of
/// a stream no step does.
///
///     Workspace<float> workspace(Threads{2});
///     auto logits = model.forward(images, workspace);
///
/// An observer sees every layer's output under its parameter path (`"blocks.3.gate.proj"`). A channel projection is shown
/// before its activation or residual is added, as a PyTorch hook would show it; the results stay the same bits.
///
///     workspace.observe([](const std::string& path, ConstView<float> output) { … });
///
/// Cost: the high-water mark of the largest call, bytes().
template <class T>
class Workspace {
 public:
  using Observer = std::function<void(const std::string& path, ConstView<T> output)>;

  explicit Workspace(Threads threads = {}) : threads_(threads) {
    require<ArgumentError>(threads.count >= 1, "Workspace: threads = ", threads.count, ", expected at least 1.");
    path_.reserve(16);
    chunks_.reserve(4);  // replace_chunks() must not need memory of its own
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  Threads threads() const { return threads_; }

  /// Takes packed weights from `prepared` where it has them; it must outlive the runs. See prepare().
  void use(const PreparedWeights<T>& prepared) { prepared_ = &prepared; }
  void use(const PreparedWeights<T>&&) = delete;  // would be gone at the end of the line
  const PreparedWeights<T>* prepared() const { return prepared_; }

  /// The bytes that the arena holds.
  std::size_t bytes() const {
    std::size_t sum = capacity() * sizeof(T);
    for (const auto& worker : workers_) {
      sum += worker->bytes();
    }
    return sum;
  }

  /// Gives back, when it ends, everything taken since it began.
  class Frame {
   public:
    explicit Frame(Workspace& workspace)
        : workspace_(workspace), chunk_(workspace.current_), used_(workspace.used_), taken_(workspace.taken_) {
      ++workspace_.depth_;
    }
    ~Frame() { workspace_.give_back(chunk_, used_, taken_); }
    /// Gives back what was taken, and goes on.
    void restart() {
      workspace_.give_back(chunk_, used_, taken_);
      ++workspace_.depth_;
    }
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;

   private:
    Workspace& workspace_;
    std::size_t chunk_, used_, taken_;
  };

  [[nodiscard]] Frame frame() { return Frame(*this); }

  /// `count` uninitialised scalars, aligned to 64 bytes, until the enclosing frame ends.
  T* take(Index count) {
    eigen_assert(depth_ > 0 && count >= 0);
    const std::size_t size = whole_cache_lines<T>(static_cast<std::size_t>(count));
    while (current_ < chunks_.size() && used_ + size > chunks_[current_].count()) {
      ++current_;
      used_ = 0;
    }
    if (current_ == chunks_.size()) {
      chunks_.emplace_back(std::max(size, chunks_.empty() ? std::size_t{1024} : chunks_.back().count()));
    }
    T* const result = chunks_[current_].data() + used_;
    used_ += size;
    taken_ += size;
    peak_ = std::max(peak_, taken_);
    return result;
  }

  /// An uninitialised rows × columns matrix until the enclosing frame ends. Its rows are row_stride() apart.
  MatrixMap<T> matrix(Index rows, Index columns) {
    const Index stride = row_stride<T>(columns);
    return MatrixMap<T>(take(rows * stride), rows, columns, Eigen::OuterStride<>(stride));
  }

  /// Calls `task(index, scratch)` for each index in [0, tasks), on all threads, `scratch` being a workspace of the thread's
  /// own: one thread, the same prepared weights, no observer.
  ///
  /// Afterwards all of them hold as much memory as the one that needed most, so that a second call allocates nothing whichever
  /// thread gets which task. An exception of a task, such as std::bad_alloc, is raised again when all have ended.
  template <class Task>
  void side_by_side(Index tasks, const Task& task) {
    while (workers_.size() < static_cast<std::size_t>(threads_.count)) {
      workers_.push_back(std::make_unique<Workspace>());
    }
    for (const auto& worker : workers_) {
      worker->prepared_ = prepared_;
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
      most = std::max(most, worker->capacity());
      if (worker->failure_ != nullptr) {
        failure = std::exchange(worker->failure_, nullptr);
      }
    }
    if (failure != nullptr) {
      std::rethrow_exception(failure);
    }
    for (const auto& worker : workers_) {
      if (worker->capacity() < most) {
        worker->replace_chunks(most);
      }
    }
  }

  /// Installs (or, with nullptr, removes) the observer.
  void observe(Observer observer) { observer_ = std::move(observer); }
  bool observed() const { return static_cast<bool>(observer_); }

  /// Shows `output` to the observer under the path of the layer that is running.
  void show(ConstView<T> output) const {
    if (observer_) {
      observer_(path(), output);
    }
  }

  /// Stands for the workspace while the sub-layer `name` runs: `norm.forward(x, y, workspace.at("norm"))`.
  class Scope {
   public:
    Scope(Workspace& workspace, const char* name, Index index) : workspace_(workspace) {
      workspace_.path_.push_back({name, index});
    }
    ~Scope() { workspace_.path_.pop_back(); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    operator Workspace&() const { return workspace_; }

   private:
    Workspace& workspace_;
  };

  [[nodiscard]] Scope at(const char* name) { return Scope(*this, name, -1); }
  [[nodiscard]] Scope at(const char* name, Index index) { return Scope(*this, name, index); }

 private:
  struct PathElement {
    const char* name;
    Index index;
  };

  /// Back to the state at the frame's start. When the outermost frame ends, chunks that the first call of a shape needed are
  /// replaced by one that holds the most that was ever taken, so that the next call finds room for everything in one place.
  void give_back(std::size_t chunk, std::size_t used, std::size_t taken) noexcept {
    current_ = chunk;
    used_ = used;
    taken_ = taken;
    if (--depth_ == 0 && chunks_.size() > 1) {
      replace_chunks(peak_);
    }
  }

  /// One chunk of `count` scalars, or none if there is no memory for it.
  void replace_chunks(std::size_t count) noexcept {
    chunks_.clear();  // keeps the vector's own memory
    AlignedMemory<T> whole(count, std::nothrow);
    if (whole.data() != nullptr) {
      chunks_.push_back(std::move(whole));
    }
  }

  std::size_t capacity() const {
    std::size_t count = 0;
    for (const AlignedMemory<T>& chunk : chunks_) {
      count += chunk.count();
    }
    return count;
  }

  std::string path() const {
    std::string out;
    for (const PathElement& element : path_) {
      out += out.empty() ? "" : ".";
      out += element.name;
      if (element.index >= 0) {
        out += text(".", element.index);
      }
    }
    return out;
  }

  Threads threads_;
  const PreparedWeights<T>* prepared_ = nullptr;
  std::vector<AlignedMemory<T>> chunks_;
  std::vector<std::unique_ptr<Workspace>> workers_;
  std::size_t current_ = 0;     // the chunk that is being filled
  std::size_t used_ = 0;        // of that chunk
  std::size_t taken_ = 0;       // in all frames together
  std::size_t peak_ = 0;        // the most of it so far
  int depth_ = 0;               // of nested frames
  std::exception_ptr failure_;  // of a task that ran with this workspace
  Observer observer_;
  std::vector<PathElement> path_;
};

}  // namespace gated
