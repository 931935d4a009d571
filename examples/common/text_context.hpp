#pragma once

#include <algorithm>
#include <vector>

#include "gated/models/language_model.hpp"
#include "gated/models/prepare.hpp"

namespace text {

/// The text so far, as a model remembers it, and what it expects next. `model` and its `weights`, packed by prepare() or
/// load_prepared(), must outlive it and stay as they are.
///
/// A model that cannot serve every length slides: where the text would outgrow it, the state is made anew from the last half of
/// the longest text that it can serve, so that each restart buys as many tokens as it read.
template <class Model>
class Context {
 public:
  Context(const Model& model, const gated::PreparedWeights<float>& weights, int threads)
      : model_(model), workspace_(gated::Threads{threads}), state_(model.start()), logits_(1, 256) {
    workspace_.use(weights);
  }

  /// Reads on. `tokens` must not be empty.
  void add(gated::Tokens tokens) {
    if (const gated::Index longest = model_.longest(); longest != Model::State::unlimited) {
      recent_.insert(recent_.end(), tokens.begin(), tokens.end());
      if (static_cast<gated::Index>(recent_.size()) > longest) {
        recent_.erase(recent_.begin(), recent_.end() - std::max<gated::Index>(longest / 2, 1));
        state_ = model_.start();
        tokens = recent_;
        ++restarts_;
      }
    }
    for (std::size_t at = 0; at < tokens.size(); at += piece) {
      model_.extend(tokens.subspan(at, std::min(piece, tokens.size() - at)), state_, logits_, workspace_);
    }
  }

  /// What comes next: 1 × 256.
  const gated::Matrix<float>& logits() const { return logits_; }
  std::size_t state_bytes() const { return state_.bytes(); }
  int restarts() const { return restarts_; }

 private:
  static constexpr std::size_t piece = 1024;  // of a long prompt: bounds the scratch memory

  const Model& model_;
  gated::Workspace<float> workspace_;
  typename Model::State state_;
  gated::Matrix<float> logits_;
  std::vector<gated::Index> recent_;  // what the state holds, if it may have to be made anew
  int restarts_ = 0;
};

}  // namespace text
