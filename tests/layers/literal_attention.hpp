#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <type_traits>
#include <vector>

#include "gated/layers/gated_attention_unit.hpp"
#include "gated/layers/gated_cross_attention.hpp"
#include "gated/layers/mixed_chunk_attention.hpp"
#include "literal.hpp"
#include "settings_of.hpp"

/// Formulas of the gated attention layers as plain loops in double, one score at a time.

namespace gated::test {

/// Returns one of the arguments at random.
template <class V, class... Vs>
V one_of(Random& random, V first, Vs... others) {
  const std::array options{first, static_cast<V>(others)...};
  return options[static_cast<std::size_t>(random.uniform() * static_cast<double>(options.size()))];
}

/// A layer with random parameters. Parameters of Role::constant keep their values.
template <class Layer>
Layer random_layer(const typename Layer::Config& config, std::uint64_t seed = 1, double deviation = 0.3) {
  const Layer fresh(config);
  Layer layer = fresh;
  randomize(layer, seed, deviation);
  for_each_parameter(
      [](const ParameterInfo& info, auto values, auto original) {
        if (info.role == Role::constant) {
          std::copy(original.begin(), original.end(), values.begin());
        }
      },
      layer, const_cast<Layer&>(fresh));
  return layer;
}

/// A mask in which about three of four entries are 1. The first entry of each sequence is always 1.
inline std::vector<std::uint8_t> random_mask(const Sequences& sequences, std::uint64_t seed) {
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(sequences.total()));
  Random random(seed);
  for (auto& entry : mask) {
    entry = random.uniform() < 0.75 ? 1 : 0;
  }
  for (Index b = 0; b < sequences.count(); ++b) {
    if (sequences.length(b) > 0) {
      mask[static_cast<std::size_t>(sequences.offset(b))] = 1;
    }
  }
  return mask;
}

/// Runs forward() with a new workspace.
template <class Layer, class T = typename Layer::Scalar>
Matrix<T> run(const Layer& layer, const std::type_identity_t<Matrix<T>>& x, const Sequences& sequences, Mask mask = {},
              int threads = 1) {
  Workspace<T> workspace(Threads{threads});
  return layer.forward(x, sequences, workspace, mask);
}

/// Checks that the output of each sequence in a masked ragged batch is bit-equal to its output in a separate call.
template <class Layer>
void expect_ragged_equals_alone(const Layer& layer, const Sequences& sequences, std::uint64_t seed) {
  using T = typename Layer::Scalar;
  const auto x = random_matrix<T>(sequences.total(), layer.config.channels, seed);
  const auto mask = random_mask(sequences, seed + 1);
  const Matrix<T> together = run(layer, x, sequences, mask);
  for (Index b = 0; b < sequences.count(); ++b) {
    const Index offset = sequences.offset(b), length = sequences.length(b);
    const Matrix<T> alone = run(layer, x.middleRows(offset, length), Sequences::single(length),
                                Mask(mask).subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(length)));
    ASSERT_TRUE(same_bits(alone, Matrix<T>(together.middleRows(offset, length)))) << b << ": " << settings_of(layer.config);
  }
}

/// A matrix of equal sentinels: is_untouched() detects any write to it.
template <class T>
Matrix<T> untouched(Index rows, Index columns) {
  return Matrix<T>::Constant(rows, columns, T{77});
}
template <class T>
bool is_untouched(const Matrix<T>& x) {
  return (x.array() == T{77}).all();
}

/// Succeeds if `f` throws an `E` whose message contains `part`.
template <class E, class F>
::testing::AssertionResult refuses(F&& f, const std::string& part) {
  const std::string message = message_of<E>(f);
  if (message.find(part) != std::string::npos) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << "\"" << part << "\" is not in: " << message;
}

}  // namespace gated::test

namespace gated::literal {

using Visible = std::vector<std::uint8_t>;

inline bool hidden(const Visible& mask, Index token) { return !mask.empty() && mask[static_cast<std::size_t>(token)] == 0; }

/// The attention weight of a score; for softmax kernels, before division by the sum of weights.
inline double weigh(ScoreKernel kernel, double score) {
  const auto laplace = [&](double sigma) { return 0.5 * (1 + std::erf((score - std::sqrt(0.5)) / (sigma * std::sqrt(2.0)))); };
  switch (kernel) {
    case ScoreKernel::relu2:
      return score > 0 ? score * score : 0;
    case ScoreKernel::laplace:
      return laplace(std::sqrt(1 / (4 * std::numbers::pi)));
    case ScoreKernel::laplace_legacy:
      return laplace(std::sqrt(0.25 * std::numbers::pi));
    case ScoreKernel::softmax:
    case ScoreKernel::softmax_plus:
      break;
  }
  return std::exp(score);
}

template <class T>
Matrix<double> norm(const Norm<T>& layer, const Matrix<double>& x) {
  Matrix<double> y = x;
  const auto channels = static_cast<double>(x.cols());
  for (Index i = 0; i < x.rows(); ++i) {
    double mean = 0, variance = 0, square = 0;
    for (Index j = 0; j < x.cols(); ++j) {
      mean += x(i, j) / channels;
      square += x(i, j) * x(i, j) / channels;
    }
    for (Index j = 0; j < x.cols(); ++j) {
      variance += (x(i, j) - mean) * (x(i, j) - mean) / channels;
    }
    for (Index j = 0; j < x.cols(); ++j) {
      switch (layer.form) {
        case NormForm::none:
          break;
        case NormForm::layer_norm:
          y(i, j) = (x(i, j) - mean) / std::sqrt(variance + layer.eps) * static_cast<double>(layer.weight(j)) +
                    static_cast<double>(layer.bias(j));
          break;
        case NormForm::layer_norm_no_bias:
          y(i, j) = (x(i, j) - mean) / std::sqrt(variance + layer.eps) * static_cast<double>(layer.weight(j));
          break;
        case NormForm::rms_norm:
          y(i, j) = x(i, j) / std::sqrt(square + layer.eps) * static_cast<double>(layer.weight(j));
          break;
        case NormForm::l2_norm:
          y(i, j) = x(i, j) / std::max(std::sqrt(square * channels), layer.eps) * std::sqrt(channels) *
                    static_cast<double>(layer.weight(j));
          break;
        case NormForm::scale_norm:
          y(i, j) = x(i, j) / std::max(std::sqrt(square), layer.eps) * static_cast<double>(layer.gain(0));
          break;
        case NormForm::scale_norm_rsqrt:
          y(i, j) = x(i, j) / std::sqrt(square + layer.eps) * static_cast<double>(layer.gain(0));
          break;
        case NormForm::rms:
          y(i, j) = x(i, j) / std::sqrt(square + layer.eps);
          break;
        case NormForm::affine:
          y(i, j) = x(i, j) * static_cast<double>(layer.weight(j)) + static_cast<double>(layer.bias(j));
          break;
      }
    }
  }
  return y;
}

/// Rotary embedding: rotates the first r channels of each token by its position in the sequence.
inline Matrix<double> rotate(Matrix<double> x, const Sequences& sequences, Rotary layout, Index r, double base) {
  for (Index b = 0; layout != Rotary::none && b < sequences.count(); ++b) {
    for (Index t = 0; t < sequences.length(b); ++t) {
      for (Index k = 0; k < r / 2; ++k) {
        const double angle = static_cast<double>(t) * std::pow(base, -2.0 * static_cast<double>(k) / static_cast<double>(r));
        const Index row = sequences.offset(b) + t, one = layout == Rotary::half ? k : 2 * k,
                    other = layout == Rotary::half ? k + r / 2 : 2 * k + 1;
        const double x0 = x(row, one), x1 = x(row, other);
        x(row, one) = x0 * std::cos(angle) - x1 * std::sin(angle);
        x(row, other) = x1 * std::cos(angle) + x0 * std::sin(angle);
      }
    }
  }
  return x;
}

/// T5's relative-position bucket of the offset m = i - j, from published tables of each bucket's smallest distance.
inline Index bucket(Index m, bool causal) {
  static const std::vector<Index> two_sided{8, 12, 16, 23, 32, 46, 64, 91};
  static const std::vector<Index> one_sided{16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113};
  const std::vector<Index>& first = causal ? one_sided : two_sided;
  const Index distance = causal ? std::max<Index>(m, 0) : std::abs(m);
  Index result = std::min(distance, first[0] - 1);
  for (const Index start : first) {
    result += distance >= start ? 1 : 0;
  }
  return result + (!causal && m < 0 ? 16 : 0);
}

/// The relative bias of query i and key j. `scale` multiplies the T5 form only.
template <class T>
double relative(const RelativeBias<T>& bias, Index i, Index j, bool causal, double scale) {
  switch (bias.form) {
    case RelativeBiasForm::none:
      return 0;
    case RelativeBiasForm::t5:
      return static_cast<double>(bias.weight(bucket(i - j, causal))) * scale;
    case RelativeBiasForm::toeplitz:
      return static_cast<double>(bias.weight((bias.weight.size() + 1) / 2 - 1 + j - i));
  }
  return 0;
}

struct Projected {
  Matrix<double> u, v, z;
};

template <class T>
Projected project(const GatedProjection<T>& layer, Index value, const Matrix<double>& x) {
  const Matrix<double> hidden = activate(layer.config.activation, linear(layer.hidden, x));
  if (layer.config.layout == ProjectionLayout::fused) {
    return {hidden.leftCols(value), hidden.middleCols(value, value), hidden.rightCols(hidden.cols() - 2 * value)};
  }
  return {hidden.rightCols(value), hidden.leftCols(value), activate(layer.config.activation, linear(*layer.qk, x))};
}

template <class T>
Matrix<double> offset_scale(const OffsetScale<T>& layer, Index row, Matrix<double> z) {
  for (Index i = 0; i < z.rows(); ++i) {
    for (Index j = 0; j < z.cols(); ++j) {
      z(i, j) = z(i, j) * static_cast<double>(layer.weight(row, j)) +
                (layer.bias.size() > 0 ? static_cast<double>(layer.bias(row, j)) : 0);
    }
  }
  return z;
}

/// y + residual.
template <class T>
Matrix<double> add_residual(Matrix<double> y, const Matrix<double>& x, Residual residual, const Vector<T>& scale) {
  for (Index i = 0; residual != Residual::none && i < y.rows(); ++i) {
    for (Index j = 0; j < y.cols(); ++j) {
      y(i, j) += x(i, j) * (residual == Residual::scaled ? static_cast<double>(scale(j)) : 1);
    }
  }
  return y;
}

/// A gated attention unit by its formula. `given` is a bias passed by the caller, or empty.
template <class T>
Matrix<double> attention_unit(const GatedAttentionUnit<T>& layer, const Matrix<double>& x, const Sequences& sequences,
                              const Visible& mask = {}, const Matrix<double>& given = {}) {
  const GatedAttentionUnitConfig& c = layer.config;
  const Projected part = project(layer.projection, c.value, c.norm_position == NormPosition::pre ? norm(layer.norm, x) : x);
  const Index r = c.rotary_dimensions > 0 ? c.rotary_dimensions : c.query_key;
  const Matrix<double> q = rotate(offset_scale(layer.offset_scale, 0, part.z), sequences, c.rotary, r, c.rotary_base);
  const Matrix<double> k = rotate(offset_scale(layer.offset_scale, 1, part.z), sequences, c.rotary, r, c.rotary_base);
  Matrix<double> attended = Matrix<double>::Zero(x.rows(), c.value);
  for (Index b = 0; b < sequences.count(); ++b) {
    const Index n = sequences.length(b), offset = sequences.offset(b);
    double keys = 0;
    for (Index j = 0; j < n; ++j) {
      keys += hidden(mask, offset + j) ? 0 : 1;
    }
    double divisor = 1;
    if (c.score_scale == ScoreScale::length) {
      divisor = static_cast<double>(n);
    } else if (c.score_scale == ScoreScale::max_length) {
      divisor = static_cast<double>(c.max_length);
    } else if (c.score_scale == ScoreScale::sqrt_width) {
      divisor = std::sqrt(static_cast<double>(c.query_key));
    }
    if (c.kernel == ScoreKernel::softmax_plus) {
      divisor *= std::log(512.0) / std::log(keys);
    }
    for (Index i = 0; i < n; ++i) {
      Vector<double> weights = Vector<double>::Zero(n);
      for (Index j = 0; j < n; ++j) {
        if (hidden(mask, offset + j) || (c.causal && j > i)) {
          continue;
        }
        double score = 0;
        for (Index d = 0; d < c.query_key; ++d) {
          score += q(offset + i, d) * k(offset + j, d);
        }
        const double bias =
            relative(layer.relative_bias, i, j, c.causal, c.relative_bias_scale) + (given.size() > 0 ? given(i, j) : 0);
        weights(j) = weigh(c.kernel, c.bias_inside_scale ? (score + bias) / divisor : score / divisor + bias);
      }
      if (is_softmax(c.kernel) && weights.sum() > 0) {
        weights /= weights.sum();
      }
      if (c.divide_by_keys && keys > 0) {
        weights /= keys;
      }
      if (c.mask_mode == MaskMode::keys_and_queries && hidden(mask, offset + i)) {
        weights.setZero();
      }
      for (Index d = 0; d < c.value; ++d) {
        for (Index j = 0; j < n; ++j) {
          attended(offset + i, d) += weights(j) * part.v(offset + j, d);
        }
        attended(offset + i, d) *= part.u(offset + i, d);
      }
    }
  }
  const Matrix<double> out = linear(layer.proj_out, attended);
  if (c.norm_position == NormPosition::res_post) {
    return add_residual(norm(layer.norm, out), x, c.residual, layer.residual_scale);
  }
  const Matrix<double> y = add_residual(out, x, c.residual, layer.residual_scale);
  return c.norm_position == NormPosition::post ? norm(layer.norm, y) : y;
}

/// Gated cross attention by its formula. The mask hides keys.
template <class T>
Matrix<double> cross_attention(const GatedCrossAttention<T>& layer, const Matrix<double>& x, const Sequences& queries,
                               const Matrix<double>& key, const Matrix<double>& value, const Sequences& others,
                               const Visible& mask = {}) {
  const GatedCrossAttentionConfig& c = layer.config;
  const Matrix<double> uq = activate(c.activation, linear(layer.proj_in, norm(layer.norm, x)));
  const Matrix<double> k = activate(c.key_value_activation, linear(layer.proj_key, key));
  const Matrix<double> v = activate(c.key_value_activation, linear(layer.proj_value, value));
  Matrix<double> attended = Matrix<double>::Zero(x.rows(), c.value);
  for (Index b = 0; b < queries.count(); ++b) {
    double keys = 0;
    for (Index j = others.offset(b); j < others.offset(b) + others.length(b); ++j) {
      keys += hidden(mask, j) ? 0 : 1;
    }
    for (Index i = queries.offset(b); i < queries.offset(b) + queries.length(b); ++i) {
      double sum = 0;
      for (Index j = others.offset(b); j < others.offset(b) + others.length(b); ++j) {
        double score = 0;
        for (Index d = 0; d < c.query_key; ++d) {
          score += uq(i, c.value + d) * k(j, d);
        }
        score /= std::sqrt(static_cast<double>(c.query_key));
        score *= c.kernel == ScoreKernel::softmax_plus ? std::log(keys) / std::log(512.0) : 1;
        const double weight = hidden(mask, j) ? 0 : weigh(c.kernel, score);
        sum += weight;
        attended.row(i) += weight * v.row(j);
      }
      attended.row(i) /= is_softmax(c.kernel) && sum > 0 ? sum : 1;
      attended.row(i) = attended.row(i).cwiseProduct(uq.row(i).head(c.value));
    }
  }
  return add_residual(linear(layer.proj_out, attended), x, c.residual, layer.residual_scale);
}

/// The local and global parts of mixed-chunk attention before the gate, and the gate u.
struct Mixed {
  Matrix<double> local, global, u;
};

template <class T>
Mixed mixed_parts(const MixedChunkAttention<T>& layer, const Matrix<double>& x, const Sequences& sequences,
                  const Visible& mask = {}) {
  const MixedChunkAttentionConfig& c = layer.config;
  Matrix<double> z = norm(layer.norm, x);
  if (c.token_shift) {
    const Matrix<double> straight = z;
    for (Index b = 0; b < sequences.count(); ++b) {
      for (Index t = 0; t < sequences.length(b); ++t) {
        for (Index d = 0; 2 * d < c.channels; ++d) {  // the first half of the channels, rounded up
          z(sequences.offset(b) + t, d) = t == 0 ? 0.0 : straight(sequences.offset(b) + t - 1, d);
        }
      }
    }
  }
  const Projected part = project(layer.projection, c.value, z);
  const Index r = c.rotary_dimensions > 0 ? c.rotary_dimensions : c.query_key;
  const auto made = [&](Index row) {
    return rotate(offset_scale(layer.offset_scale, row, part.z), sequences, c.rotary, r, c.rotary_base);
  };
  const bool paper = c.offset_scale_order == OffsetScaleOrder::paper;
  const Matrix<double> quad_q = made(0), quad_k = made(paper ? 1 : 2), lin_q = made(paper ? 2 : 1), lin_k = made(3);

  Mixed mixed{Matrix<double>::Zero(x.rows(), c.value), Matrix<double>::Zero(x.rows(), c.value), part.u};
  const auto g = static_cast<double>(c.chunk);
  for (Index b = 0; b < sequences.count(); ++b) {
    const Index n = sequences.length(b), offset = sequences.offset(b), chunks = (n + c.chunk - 1) / c.chunk;
    for (Index i = 0; i < n; ++i) {
      const Index own = i / c.chunk;
      for (Index j = 0; j < n; ++j) {
        if (hidden(mask, offset + j)) {
          continue;
        }
        double quad = 0, lin = 0;
        for (Index d = 0; d < c.query_key; ++d) {
          quad += quad_q(offset + i, d) * quad_k(offset + j, d);
          lin += lin_q(offset + i, d) * lin_k(offset + j, d);
        }
        if (j / c.chunk == own && !(c.causal && j > i)) {
          const double bias =
              relative(layer.relative_bias, i % c.chunk, j % c.chunk, c.causal, std::sqrt(static_cast<double>(c.query_key)));
          mixed.local.row(offset + i) += weigh(c.kernel, quad / g + bias) * part.v.row(offset + j);
        }
        double share = 0;  // factor of the global score of query i and key j
        if (c.causal) {
          share = j / c.chunk >= own ? 0 : c.reduction == LinearReduction::mean ? 1 / (static_cast<double>(own) * g) : 1 / g;
        } else if (c.reduction == LinearReduction::mean) {
          share = 1 / (static_cast<double>(chunks) * g);
        } else if (c.reduction == LinearReduction::sum || j / c.chunk == own) {
          share = 1 / static_cast<double>(n);
        }
        mixed.global.row(offset + i) += lin * share * part.v.row(offset + j);
      }
    }
  }
  return mixed;
}

template <class T>
Matrix<double> mixed_chunk_attention(const MixedChunkAttention<T>& layer, const Matrix<double>& x, const Sequences& sequences,
                                     const Visible& mask = {}) {
  const Mixed mixed = mixed_parts(layer, x, sequences, mask);
  return x + linear(layer.proj_out, mixed.u.cwiseProduct(mixed.local + mixed.global));
}

}  // namespace gated::literal
