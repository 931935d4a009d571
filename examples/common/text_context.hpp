#pragma once

#include <algorithm>
#include <vector>

#include "gated/models/language_model.hpp"
#include "gated/models/prepare.hpp"

namespace text {

/// A model's state for the text so far, and its prediction of the next token. `model` and its `weights`, packed by prepare() or
/// load_prepared(), must outlive the Context and stay unchanged.
///
/// A model of limited length slides: when the text outgrows the length, the state restarts from the last
/// length / 2 tokens. Each restart rereads these tokens and makes room for as many new ones.
template <class Model>
class Context {
 public:
  /// `tokens` is the maximum length of the text, if known. It bounds the memory of a model of limited length.
  Context(const Model& model, const gated::PreparedWeights<float>& weights, int threads,
          gated::Index tokens = gated::State<float>::unlimited)
      : model_(model),
        workspace_(gated::Threads{threads}),
        capacity_(slides() ? std::min(model.longest(), tokens) : gated::State<float>::unlimited),
        state_(model.start(capacity_)),
        logits_(1, 256) {
    workspace_.use(weights);
  }

  /// Appends `tokens`, which must not be empty.
  void add(gated::Tokens tokens) {
    if (slides()) {
      recent_.insert(recent_.end(), tokens.begin(), tokens.end());
      if (const gated::Index longest = model_.longest(); static_cast<gated::Index>(recent_.size()) > longest) {
        recent_.erase(recent_.begin(), recent_.end() - std::max<gated::Index>(longest / 2, 1));
        state_ = model_.start(capacity_);
        tokens = recent_;
        ++restarts_;
      }
    }
    for (std::size_t at = 0; at < tokens.size(); at += piece) {
      model_.extend(tokens.subspan(at, std::min(piece, tokens.size() - at)), state_, logits_, workspace_);
    }
  }

  /// The logits of the next token: 1 × 256.
  const gated::Matrix<float>& logits() const { return logits_; }
  std::size_t state_bytes() const { return state_.bytes(); }
  int restarts() const { return restarts_; }

 private:
  static constexpr std::size_t piece = 1024;  // tokens per call, to bound the scratch memory

  bool slides() const { return model_.longest() != gated::State<float>::unlimited; }

  const Model& model_;
  gated::Workspace<float> workspace_;
  gated::Index capacity_;
  gated::State<float> state_;
  gated::Matrix<float> logits_;
  std::vector<gated::Index> recent_;  // the tokens in the state, for restarts
  int restarts_ = 0;
};

}  // namespace text
