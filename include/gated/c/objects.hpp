#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "gated/c/handle_table.hpp"
#include "gated/c/opened_model.hpp"

/// @file
/// The objects behind the handles: models and streamed sequences.

namespace gated::c_interface {

/// A model, and scratch memory for the threads that run it.
class ModelObject {
 public:
  ModelObject(std::unique_ptr<const OpenedModel> opened, const ProductEngine<float>* engine, int threads)
      : opened_(std::move(opened)), engine_(engine), threads_(threads == 1 ? Threads() : Threads(threads)) {
    for (const std::string& label : opened_->description().labels) {
      labels_.push_back(label.c_str());
    }
  }

  const OpenedModel& opened() const { return *opened_; }
  const char* const* labels() const { return labels_.empty() ? nullptr : labels_.data(); }

  std::unique_ptr<Workspace<float>> new_workspace() const {
    auto workspace = std::make_unique<Workspace<float>>(threads_);
    workspace->use(opened_->weights());
    workspace->use(engine_);
    return workspace;
  }

  /// Calls `run(workspace)` with scratch memory that no other thread uses.
  template <class F>
  void with_workspace(F&& run) const {
    std::unique_ptr<Workspace<float>> workspace = take();
    struct GiveBack {
      const ModelObject& model;
      std::unique_ptr<Workspace<float>>& workspace;
      ~GiveBack() { model.give_back(std::move(workspace)); }
    } const give_back{*this, workspace};
    run(*workspace);
  }

 private:
  std::unique_ptr<Workspace<float>> take() const {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) {
      idle_.reserve(made_ + 1);  // so that give_back() never allocates
      auto workspace = new_workspace();
      ++made_;
      return workspace;
    }
    auto workspace = std::move(idle_.back());
    idle_.pop_back();
    return workspace;
  }
  void give_back(std::unique_ptr<Workspace<float>> workspace) const noexcept {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(workspace));
  }

  const std::unique_ptr<const OpenedModel> opened_;
  const ProductEngine<float>* const engine_;
  const Threads threads_;
  std::vector<const char*> labels_;
  mutable std::mutex mutex_;  // guards the members below
  mutable std::vector<std::unique_ptr<Workspace<float>>> idle_;
  mutable std::size_t made_ = 0;
};

/// A sequence and its scratch memory.
struct StateObject {
  std::shared_ptr<const ModelObject> model;
  State<float> state;
  std::unique_ptr<Workspace<float>> workspace;

  StateObject(std::shared_ptr<const ModelObject> of, State<float> from)
      : model(std::move(of)), state(std::move(from)), workspace(model->new_workspace()) {}
};

using Models = HandleTable<const ModelObject, 1>;
using States = HandleTable<StateObject, 2>;

/// The open models. Never destroyed: static destructors may still close a model.
inline Models& models() {
  static auto* const table = new Models;
  return *table;
}
/// The open states. Never destroyed: static destructors may still free a state.
inline States& states() {
  static auto* const table = new States;
  return *table;
}

}  // namespace gated::c_interface
