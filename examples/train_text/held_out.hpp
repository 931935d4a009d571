#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "corpus.hpp"
#include "gated/core/sequences.hpp"
#include "gated/core/workspace.hpp"
#include "gated/layers/embedding.hpp"

namespace text {

/// How well `model` predicts what was held out: the mean of -log2 p over these bytes, in bits.
///
/// Each byte is predicted once, from more than `length` / 2 bytes before it in its file, or all that there are: they are read
/// in strides of `length` / 2, each after as much as makes a sequence full. Of these strides only every `every`-th counts.
template <class Model>
double held_out_bits(const Model& model, const Corpus& corpus, gated::Index length, std::size_t every,
                     gated::Workspace<float>& workspace) {
  using gated::Index;
  const auto longest = static_cast<std::size_t>(length), stride = std::max<std::size_t>(longest / 2, 1);
  std::vector<Index> tokens, lengths;
  std::vector<std::pair<Index, unsigned char>> wanted;  // rows of logits, and the bytes that they should predict
  double bits = 0;
  std::size_t bytes = 0, strides = 0;

  const auto measure = [&] {
    const auto logits = model.forward(tokens, gated::Sequences::of_lengths(lengths), workspace);
    for (const auto& [row, byte] : wanted) {
      const auto scores = logits.row(row).template cast<double>();
      const double largest = scores.maxCoeff();
      bits += (largest + std::log((scores.array() - largest).exp().sum()) - scores(byte)) / std::numbers::ln2;
    }
    bytes += wanted.size();
    tokens.clear();
    lengths.clear();
    wanted.clear();
  };

  for (const Document& document : corpus.documents()) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(document.bytes[i]); };
    for (std::size_t first = document.held_out; first < document.bytes.size(); first += stride) {
      if (strides++ % every != 0) {
        continue;
      }
      const std::size_t end = std::min(first + stride, document.bytes.size());  // predicts the bytes first … end - 1
      const std::size_t begin = end - 1 - std::min(longest, end - 1);           // from the bytes begin … end - 2
      lengths.push_back(static_cast<Index>(end - 1 - begin));
      for (std::size_t i = begin; i + 1 < end; ++i) {
        if (i + 1 >= first) {
          wanted.emplace_back(static_cast<Index>(tokens.size()), byte(i + 1));
        }
        tokens.push_back(byte(i));
      }
      if (tokens.size() >= 4096) {
        measure();
      }
    }
  }
  if (!tokens.empty()) {
    measure();
  }
  return bits / static_cast<double>(bytes);
}

}  // namespace text
