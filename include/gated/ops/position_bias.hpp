#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "gated/core/elementary.hpp"
#include "gated/core/workspace.hpp"
#include "gated/ops/angles.hpp"

/// @file
/// Relative position biases, which depend on the offset between query and key, and sinusoidal position encodings.
///
/// A relative bias for n × n scores is 2n-1 values, ordered by offset j - i (key minus query) from -(n-1) to n-1. Each row of
/// scores adds n consecutive values.

namespace gated {

/// How distances map to the buckets of T5's bias.
struct T5Buckets {
  bool causal = false;       ///< keys after the query share bucket 0
  Index buckets = 32;        ///< size of the table
  Index max_distance = 128;  ///< this and all greater distances share the last bucket
};

/// T5's bucket (Raffel et al., arXiv:1910.10683) for a query at i and a key at j, with m = i - j.
///
/// If causal, keys after the query share bucket 0 with distance 0; otherwise they use the upper half of the table. In each
/// direction, every bucket of the first half is for one distance; the other buckets widen logarithmically up to
/// `max_distance`.
inline Index t5_bucket(Index m, const T5Buckets& form) {
  Index buckets = form.buckets, offset = 0;
  if (form.causal) {
    m = std::max<Index>(m, 0);
  } else {
    buckets /= 2;
    offset = m < 0 ? buckets : 0;
    m = std::abs(m);
  }
  const Index exact = buckets / 2;
  if (m < exact) {
    return offset + m;
  }
  const double growth = elementary::log(static_cast<double>(m) / static_cast<double>(exact)) /
                        elementary::log(static_cast<double>(form.max_distance) / static_cast<double>(exact));
  // In double, some integers come out slightly too low; 1e-7 restores them. In the originals' float32, none comes out too low.
  const double beyond = std::floor(rounded(growth * static_cast<double>(buckets - exact)) + 1e-7);
  return offset + std::min(exact + static_cast<Index>(beyond), buckets - 1);
}

/// relative[n-1 + (j-i)] = table[t5_bucket(i - j)] · scale, with `form.buckets` values in the table.
template <class T>
void t5_bias(const T* table, const T5Buckets& form, T scale, Index n, T* relative) {
  for (Index offset = -(n - 1); offset <= n - 1; ++offset) {
    relative[n - 1 + offset] = table[t5_bucket(-offset, form)] * scale;
  }
}

/// Backward pass of t5_bias(), where `relative` is ∂relative: adds ∂table to `table`.
template <class T>
void t5_bias_backward(const T5Buckets& form, T scale, Index n, const T* relative, T* table) {
  for (Index offset = -(n - 1); offset <= n - 1; ++offset) {
    table[t5_bucket(-offset, form)] += rounded(relative[n - 1 + offset] * scale);
  }
}

/// Adds sinusoidal positions: y[t] += [sin(p f_0) … sin(p f_{C/2-1}), cos(p f_0) …] · scale, with position p = first + t and
/// `frequencies` f.
template <class T>
void add_sinusoid(const Vector<T>& frequencies, Index first, T scale, View<T> y) {
  const Index half = frequencies.size();
  for_each_angle(frequencies, first, y.rows(), [&](Index t, Index k, double cosine, double sine) {
    y(t, k) += rounded(static_cast<T>(sine) * scale);
    y(t, half + k) += rounded(static_cast<T>(cosine) * scale);
  });
}

/// Adds sinusoids with the channels of each frequency side by side: y[t] += [sin(p f_0), cos(p f_0), sin(p f_1), …] at position
/// p = first + t (arXiv:1706.03762, §3.5).
template <class T>
void add_interleaved_sinusoid(const Vector<double>& frequencies, Index first, View<T> y) {
  for_each_angle(frequencies, first, y.rows(), [&](Index t, Index k, double cosine, double sine) {
    y(t, 2 * k) += static_cast<T>(sine);
    y(t, 2 * k + 1) += static_cast<T>(cosine);
  });
}

/// Sets row t of `table` to the interleaved sinusoid of position -o, where o = first + t is an offset (key minus query). As in
/// Transformer-XL (arXiv:1901.02860), -o is positive for keys before the query.
/// Shapes: table has C columns and a row per offset, from `first` ≤ 0 to at most -first.
template <class T>
void offset_sinusoids(const Vector<double>& frequencies, Index first, View<T> table) {
  const Index nearest = std::max<Index>(1 - first - table.rows(), 0);  // the smallest nonnegative distance in the table
  const auto put = [&](Index row, Index k, double cosine, double sine) {
    table(row, 2 * k) = static_cast<T>(sine);
    table(row, 2 * k + 1) = static_cast<T>(cosine);
  };
  for_each_angle(frequencies, nearest, 1 - first - nearest, [&](Index t, Index k, double cosine, double sine) {
    const Index distance = nearest + t;
    put(-first - distance, k, cosine, sine);
    if (distance > 0 && distance - first < table.rows()) {
      put(distance - first, k, cosine, -sine);
    }
  });
}

}  // namespace gated
