#include "gated/layers/transformer_block.hpp"

#include <gtest/gtest.h>

#include "tests/core/numbers.hpp"

namespace {

using namespace gated;

/// LayerNorm without scale and shift.
Matrix<double> normalised(const Matrix<double>& x, double eps) {
  Matrix<double> y = x.colwise() - x.rowwise().mean();
  for (Index i = 0; i < y.rows(); ++i) {
    y.row(i) /= std::sqrt(y.row(i).squaredNorm() / static_cast<double>(y.cols()) + eps);
  }
  return y;
}

Matrix<double> affine(const Linear<double>& linear, const Matrix<double>& x) {
  return (x * linear.weight.transpose()).rowwise() + linear.bias.transpose();
}

TransformerBlock<double> random_block(const TransformerBlockConfig& config) {
  Random random(3);
  TransformerBlock<double> block(config, random);
  for_each_parameter([&](const ParameterInfo&, auto values) { fill_normal(values, 0.3, random); }, block);
  block.attention_norm = block.feed_forward_norm = LayerNorm<double>(config.channels, config.norm_eps);
  return block;
}

TEST(TransformerBlock, WithSoftmaxIsTheFormulaWrittenOut) {
  for (const bool causal : {false, true}) {
    const Index channels = 12, heads = 3, width = 4, tokens = 7;
    const auto block = random_block({.channels = channels, .heads = heads, .feed_forward = 20, .causal = causal});
    Matrix<double> x = Matrix<double>::Random(tokens, channels);
    const Matrix<double> qkv = affine(block.qkv, normalised(x, 1e-5));
    Matrix<double> attended(tokens, channels);
    for (Index head = 0; head < heads; ++head) {
      Matrix<double> weights =
          qkv.middleCols(head * width, width) * qkv.middleCols(channels + head * width, width).transpose() / std::sqrt(4.0);
      for (Index i = 0; i < tokens; ++i) {
        for (Index j = 0; j < tokens; ++j) {
          weights(i, j) = causal && j > i ? 0.0 : std::exp(weights(i, j));
        }
        weights.row(i) /= weights.row(i).sum();
      }
      attended.middleCols(head * width, width) = weights * qkv.middleCols(2 * channels + head * width, width);
    }
    const Matrix<double> h = x + affine(block.proj_out, attended);
    Matrix<double> hidden = affine(block.feed_forward_in, normalised(h, 1e-5));
    hidden = hidden.unaryExpr([](double v) { return v * 0.5 * std::erfc(-v / std::sqrt(2.0)); });
    const Matrix<double> expected = h + affine(block.feed_forward_out, hidden);

    Workspace<double> workspace;
    const Matrix<double> y = block.forward(x, Sequences::single(tokens), workspace);
    EXPECT_LT((y - expected).cwiseAbs().maxCoeff(), 1e-12 * expected.cwiseAbs().maxCoeff());
    block.forward(x, Sequences::single(tokens), x, workspace);  // in place
    EXPECT_EQ(x, y);
  }
}

TEST(TransformerBlock, WithMixedChunksAddsALocalAndAGlobalPartInEachHead) {
  const Index channels = 8, heads = 2, width = 4, tokens = 11, chunk = 4;
  for (const bool causal : {false, true}) {
    const auto block = random_block({.channels = channels,
                                     .heads = heads,
                                     .feed_forward = 8,
                                     .attention = TransformerAttention::mixed_chunk,
                                     .chunk = chunk,
                                     .causal = causal});
    const Matrix<double> x = Matrix<double>::Random(tokens, channels);
    const Matrix<double> qkv = affine(block.qkv, normalised(x, 1e-5));
    Matrix<double> attended = Matrix<double>::Zero(tokens, channels);
    for (Index i = 0; i < tokens; ++i) {
      for (Index j = 0; j < tokens; ++j) {
        for (Index c = 0; c < channels; ++c) {
          const Index first = c / width * width;
          double local = 0, global = 0;
          for (Index s = first; s < first + width; ++s) {
            const double q = qkv(i, s), k = qkv(j, channels + s);
            local += q * k;
            global += (q * block.global_qk.weight(0, s) + block.global_qk.bias(0, s)) *
                      (k * block.global_qk.weight(1, s) + block.global_qk.bias(1, s));
          }
          double weight = 0;
          if (i / chunk == j / chunk && (!causal || j <= i)) {
            weight += std::pow(std::max(local / static_cast<double>(chunk), 0.0), 2);
          }
          if (!causal) {
            weight += global / static_cast<double>(tokens);
          } else if (j / chunk < i / chunk) {
            weight += global / static_cast<double>(chunk);
          }
          attended(i, c) += weight * qkv(j, 2 * channels + c);
        }
      }
    }
    Workspace<double> workspace;
    Matrix<double> after;
    workspace.observe([&](const std::string& path, ConstView<double> value) {
      if (path == "proj_out") {
        after = value;
      }
    });
    block.forward(x, Sequences::single(tokens), workspace);
    const Matrix<double> expected = affine(block.proj_out, attended);
    EXPECT_LT((after - expected).cwiseAbs().maxCoeff(), 1e-12 * expected.cwiseAbs().maxCoeff());
  }
}

TEST(TransformerBlock, OfBertBaseHasItsParameters) {
  EXPECT_EQ(parameter_count(TransformerBlock<float>(TransformerBlockConfig{.channels = 768})), 7087872);
}

TEST(TransformerBlock, RefusesWhatMakesNoSense) {
  EXPECT_THROW(TransformerBlock<float>(TransformerBlockConfig{.channels = 10, .heads = 3}), ArgumentError);
  EXPECT_THROW(TransformerBlock<float>(TransformerBlockConfig{.channels = 12, .heads = 3, .chunk = 0}), ArgumentError);
  const TransformerBlock<float> block(TransformerBlockConfig{.channels = 12, .heads = 3});
  Workspace<float> workspace;
  EXPECT_THROW(block.forward(Matrix<float>::Zero(3, 11), Sequences::single(3), workspace), ShapeError);
  EXPECT_THROW(block.forward(Matrix<float>::Zero(3, 12), Sequences::single(4), workspace), ShapeError);
}

}  // namespace
