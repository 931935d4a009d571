#pragma once

#include <algorithm>
#include <numbers>
#include <vector>

#include "corpus.hpp"
#include "gated/core/sequences.hpp"
#include "gated/core/workspace.hpp"
#include "gated/train/loss.hpp"
#include "gated/train/masked_tokens.hpp"
#include "models.hpp"

namespace text {

/// Measures how well `model` predicts bytes: the mean of -log2 p(correct byte), in bits.
template <class Model>
class BitMeter {
 public:
  BitMeter(const Model& model, gated::Workspace<float>& workspace) : model_(model), workspace_(workspace) {}

  /// Adds a sequence and the target of each token: a byte, or CrossEntropyOptions::ignored for none.
  void add(const std::vector<gated::Index>& tokens, const std::vector<gated::Index>& targets) {
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
    targets_.insert(targets_.end(), targets.begin(), targets.end());
    lengths_.push_back(static_cast<gated::Index>(tokens.size()));
    if (tokens_.size() >= 4096) {
      measure();
    }
  }

  double bits() {
    if (!tokens_.empty()) {
      measure();
    }
    return loss_.mean / std::numbers::ln2;
  }

 private:
  void measure() {
    const auto logits = model_.forward(tokens_, gated::Sequences::of_lengths(lengths_), workspace_);
    loss_ = loss_ + gated::cross_entropy(logits, targets_);
    tokens_.clear();
    targets_.clear();
    lengths_.clear();
  }

  const Model& model_;
  gated::Workspace<float>& workspace_;
  std::vector<gated::Index> tokens_, targets_, lengths_;
  gated::MeanLoss loss_;
};

inline std::vector<gated::Index> bytes_of(std::string_view text) {
  std::vector<gated::Index> tokens;
  for (const char c : text) {
    tokens.push_back(static_cast<unsigned char>(c));
  }
  return tokens;
}

/// A copy of the text with masked bytes, the input of models trained with --mlm.
inline gated::MaskedTokens masked_bytes(gated::Tokens tokens, const gated::Sequences& sequences, gated::Random& random) {
  return gated::mask_tokens(tokens, sequences, {.mask_token = mask_token, .vocabulary = mask_token + 1}, random);
}

/// The part of each file's held-out text to measure: from `from` to `to`, both fractions of its length.
struct HeldOutPart {
  double from = 0, to = 1;
};

/// The bits per byte of `model` on held-out text.
///
/// Each byte is predicted once, from more than `length` / 2 preceding bytes of its file, or from all if there are fewer. The
/// text is cut into strides of `length` / 2 bytes, and each is predicted at the end of a sequence of at most `length` bytes.
/// Only every `every`-th stride is measured. If `mlm` is set, only masked bytes of the strides are predicted, the same ones in
/// each call.
template <class Model>
double held_out_bits(const Model& model, const Corpus& corpus, gated::Index length, bool mlm, std::size_t every,
                     gated::Workspace<float>& workspace, const HeldOutPart& part = {}) {
  using gated::Index;
  constexpr Index ignored = gated::CrossEntropyOptions{}.ignored;
  const auto longest = static_cast<std::size_t>(length), stride = std::max<std::size_t>(longest / 2, 1);
  BitMeter<Model> meter(model, workspace);
  gated::Random random(corpus.fingerprint());
  std::size_t strides = 0;
  for (const Document& document : corpus.documents()) {
    const auto count = static_cast<double>(document.bytes.size() - document.held_out);
    const auto at = [&](double share) { return document.held_out + static_cast<std::size_t>(count * share); };
    const std::string_view bytes = std::string_view(document.bytes).substr(0, at(part.to));
    for (std::size_t first = at(part.from); first < bytes.size(); first += stride) {
      if (strides++ % every != 0) {
        continue;
      }
      const std::size_t end = std::min(first + stride, bytes.size());  // the bytes to predict: first … end - 1
      std::vector<Index> targets;
      if (mlm) {
        const std::size_t begin = end - std::min(longest, end);  // the input: bytes begin … end - 1, some masked
        std::vector<Index> tokens = bytes_of(bytes.substr(begin, end - begin));
        targets.assign(tokens.size(), ignored);
        const auto masked = masked_bytes(gated::Tokens(tokens).subspan(first - begin),
                                         gated::Sequences::single(static_cast<Index>(end - first)), random);
        std::copy(masked.tokens.begin(), masked.tokens.end(), tokens.begin() + static_cast<Index>(first - begin));
        for (std::size_t i = 0; i < masked.rows.size(); ++i) {
          targets[first - begin + static_cast<std::size_t>(masked.rows[i])] = masked.targets[i];
        }
        meter.add(tokens, targets);
        continue;
      }
      const std::size_t begin = end - 1 - std::min(longest, end - 1);  // the input: bytes begin … end - 2
      const std::vector<Index> tokens = bytes_of(bytes.substr(begin, end - 1 - begin));
      targets = bytes_of(bytes.substr(begin + 1, end - 1 - begin));
      std::fill_n(targets.begin(), first - std::min(first, begin + 1), ignored);
      meter.add(tokens, targets);
    }
  }
  return meter.bits();
}

}  // namespace text
