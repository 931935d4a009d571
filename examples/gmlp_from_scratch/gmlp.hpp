#pragma once

#include <Eigen/Core>
#include <cmath>

/// @file
/// A gMLP block (arXiv:2105.08050, §2) in plain Eigen, written for readability. Rows are tokens, columns are channels.

namespace scratch {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

/// LayerNorm: each token has mean 0 and variance 1, then each channel is scaled and shifted.
struct Norm {
  Vector weight, bias;
  double eps;

  Matrix operator()(Matrix x) const {
    for (Eigen::Index t = 0; t < x.rows(); ++t) {
      x.row(t).array() -= x.row(t).mean();
      x.row(t) /= std::sqrt(x.row(t).squaredNorm() / static_cast<double>(x.cols()) + eps);
    }
    return (x * weight.asDiagonal()).rowwise() + bias.transpose();
  }
};

/// The same linear map for each token.
struct Linear {
  Matrix weight;
  Vector bias;

  Matrix operator()(const Matrix& x) const { return (x * weight.transpose()).rowwise() + bias.transpose(); }
};

inline double gelu(double z) { return z / 2 * (1 + std::erf(z / std::sqrt(2.0))); }

/// The parameters of a block.
struct Block {
  Norm norm;
  Linear in;  ///< U: hidden × channels
  Norm gate_norm;
  Matrix spatial;  ///< W: tokens × tokens
  Vector spatial_bias;
  Linear out;  ///< V: channels × hidden / 2
};

/// The intermediate results of a block.
struct Trace {
  Matrix norm, in, gate_norm, spatial, gated, y;
};

/// y = x + V (u ⊙ (W norm(v) + b)), where u and v are the halves of gelu(U norm(x)).
inline Trace run(const Block& block, const Matrix& x) {
  Trace trace;
  trace.norm = block.norm(x);
  trace.in = block.in(trace.norm);
  const Matrix z = trace.in.unaryExpr(&gelu);
  const Eigen::Index half = z.cols() / 2;
  trace.gate_norm = block.gate_norm(z.rightCols(half));
  trace.spatial = (block.spatial * trace.gate_norm).colwise() + block.spatial_bias;  // the only step that mixes tokens
  trace.gated = z.leftCols(half).cwiseProduct(trace.spatial);
  trace.y = x + block.out(trace.gated);
  return trace;
}

}  // namespace scratch
