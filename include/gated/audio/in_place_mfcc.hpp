#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>

#include "gated/audio/mfcc.hpp"
#include "gated/core/arena.hpp"

/// @file
/// Mel-frequency cepstral coefficients without heap allocations.

namespace gated {

/// mfcc() in memory provided by the caller. Neither the constructor nor operator() allocates, and operator() takes no lock and
/// makes no system call.
///
///     alignas(64) static std::byte memory[120'000];
///     InPlaceMfcc mfcc(keyword_mlp_mfcc(), memory);                    // needs required_bytes(keyword_mlp_mfcc())
///     mfcc(std::span<const std::int16_t>(samples), coefficients);      // 98 × 40: bit-equal to mfcc()
///
/// Samples are floats or 16-bit integers; integers are multiplied by 2⁻¹⁵.
/// Shapes: `coefficients` is options.spectrum.frames(options.samples) × options.coefficients.
/// Errors: those of mfcc(); ShapeError if options.samples = 0 or `coefficients` has the wrong shape; ArgumentError for a
/// transform whose length is odd or has a prime factor above 7; MemoryError from the constructor if the memory is smaller than
/// required_bytes().
/// Cost: that of mfcc(), without building its tables. Not thread-safe. The kernel form (use_kernels()) must
/// not change between construction and use.
class InPlaceMfcc {
 public:
  /// Size of the memory to pass to the constructor, in bytes.
  /// Errors: those of the constructor for invalid options.
  static std::size_t required_bytes(const MfccOptions& options) {
    expect_valid(options);
    const Index bins = options.spectrum.bins(), half = options.spectrum.span() / 2;
    const Index tables = options.spectrum.span() + 3 * (bins + factor_count(half)) + 2 * half + 3 * bins + 7 * options.mels;
    const Index scratch = 2 * vector_width<double>() * half + bins + frames_of(options) * options.mels;
    constexpr Index rounding = 12 * cache_line_bytes / Index{sizeof(double)};
    return sizeof(double) * static_cast<std::size_t>(tables + scratch + rounding);
  }

  /// `memory` must outlive the object.
  InPlaceMfcc(const MfccOptions& options, std::span<std::byte> memory)
      : options_(options), half_(options.spectrum.span() / 2), width_(vector_width<double>()), arena_(memory), tables_(arena_) {
    expect_valid(options);
    require<MemoryError>(memory.size() >= required_bytes(options), "InPlaceMfcc: the memory has ", memory.size(),
                         " bytes, expected required_bytes() = ", required_bytes(options), ".");
    set_transform();
    set_mel_weights();
    cosines_ = arena_.take(4 * options.mels);
    for (Index i = 0; i < 4 * options.mels; ++i) {
      cosines_[i] = Factor::turn(i, 4 * options.mels).c;
    }
  }

  /// Computes the coefficients of the first options.samples samples; zeros are appended if there are fewer.
  template <class Sample>
  void operator()(std::span<const Sample> samples, View<float> coefficients) GATED_NONBLOCKING {
    expect_shape<float>("InPlaceMfcc", "coefficients", coefficients, frames_of(options_), options_.coefficients);
    const auto frame = arena_.frame();
    const Index frames = frames_of(options_), bands = options_.mels;
    double* const levels = arena_.take(frames * bands);
    double* const z = arena_.take(2 * width_ * half_);
    double* const powers = arena_.take(options_.spectrum.bins());
    const double decibel = 10 / elementary::log(10);
    double loudest = decibel * elementary::log(options_.least_power);
    for (Index first = 0; first < frames; first += width_) {
      load(samples, first, std::min(width_, frames - first), z);
      transform(z);
      for (Index r = 0; r < std::min(width_, frames - first); ++r) {
        set_powers(z + r, powers);
        for (Index b = 0; b < bands; ++b) {
          double& level = levels[(first + r) * bands + b];
          level = decibel * elementary::log(std::max(energy(bands_[b], powers), options_.least_power));
          loudest = std::max(loudest, level);
        }
      }
    }
    for (Index f = 0; f < frames; ++f) {
      double* const row = levels + f * bands;
      std::transform(row, row + bands, row,
                     [least = loudest - options_.range](double level) { return std::max(level, least); });
      for (Index k = 0; k < options_.coefficients; ++k) {
        coefficients(f, k) = static_cast<float>(cosine_sum(k, row));
      }
    }
  }

 private:
  using Factor = detail::fourier::Factor<double>;

  /// The first bin of a mel band, and the weights of its bins.
  struct Band {
    Index first, count;
    const double* weights;
  };

  static void expect_valid(const MfccOptions& options) {
    constexpr Where where = "InPlaceMfcc";
    const Index span = options.spectrum.span();
    detail::expect_mfcc(where, options);
    detail::expect_options(where, options.spectrum);
    detail::expect_frame(where, options.samples, span);
    require<ArgumentError>(span % 2 == 0 && detail::fourier::Passes<double>::serve(span / 2), where, ": a frame has ", span,
                           " points, expected an even number without a prime factor above 7. Use mfcc().");
  }
  static Index frames_of(const MfccOptions& options) { return options.spectrum.frames(options.samples); }
  /// An upper bound on the number of twiddle factors of a transform of `points` points.
  static Index factor_count(Index points) {
    Index count = 0;
    detail::fourier::for_each_pass(points, [&](Index radix, Index block) { count += radix + block; });
    return count;
  }

  /// Memory for `count` values in the frame tables_, which lasts as long as this object.
  template <class V>
  V* table(Index count) {
    static_assert(std::is_trivially_copyable_v<V>);
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(V);
    return reinterpret_cast<V*>(arena_.take(static_cast<Index>((bytes + sizeof(double) - 1) / sizeof(double))));
  }

  void set_transform() {
    const Index span = options_.spectrum.span(), length = options_.spectrum.length, before = (span - length) / 2;
    window_ = table<double>(span);
    for (Index i = 0; i < span; ++i) {
      window_[i] = i < before || i >= before + length ? 0 : window_weight(options_.spectrum.window, i - before, length);
    }
    turns_ = table<Factor>(options_.spectrum.bins());
    for (Index k = 0; k < options_.spectrum.bins(); ++k) {
      turns_[k] = Factor::turn(k, span);
    }
    row_of_bin_ = table<Index>(half_);
    Factor* next = factors_ = table<Factor>(factor_count(half_));
    detail::fourier::for_each_pass(half_, [&next](Index radix, Index block) {
      detail::fourier::for_each_factor<double>(radix, block, [&next](const Factor& factor) { *next++ = factor; });
    });
    const auto frame = arena_.frame();
    Index* const order = table<Index>(half_);
    detail::fourier::set_order(half_, order);
    for (Index p = 0; p < half_; ++p) {
      row_of_bin_[order[p]] = p;
    }
  }

  void set_mel_weights() {
    const detail::MelTriangles triangles(
        {.form = options_.mel, .bands = options_.mels, .rate = options_.rate, .fft = options_.spectrum.span()});
    bands_ = table<Band>(options_.mels);
    double* next = table<double>(2 * options_.spectrum.bins());  // each bin is in at most two triangles
    const auto frame = arena_.frame();
    double* const places = arena_.take(triangles.bins());
    for (Index k = 0; k < triangles.bins(); ++k) {
      places[k] = triangles.place(k);
    }
    for (Index b = 0; b < options_.mels; ++b) {
      Band& band = bands_[b];
      band = {0, 0, next};
      triangles.for_each_weight(b, places, [&](Index k, double weight) {
        band.first = band.count == 0 ? k : band.first;
        ++band.count;
        *next++ = weight;
      });
    }
  }

  static double sample_of(float sample) { return static_cast<double>(sample); }
  static double sample_of(std::int16_t sample) { return static_cast<double>(sample) * 0x1p-15; }

  /// Writes the windowed frames first … first + count - 1 to `z` as complex points, one frame per vector lane.
  template <class Sample>
  void load(std::span<const Sample> samples, Index first, Index count, double* z) const {
    const Index known = std::min(static_cast<Index>(samples.size()), options_.samples);
    std::fill_n(z, 2 * width_ * half_, 0.0);
    for (Index r = 0; r < count; ++r) {
      const Index start = (first + r) * options_.spectrum.hop;
      for (Index i = 0; i < std::min(2 * half_, known - start); ++i) {
        z[(i / 2 * 2 + i % 2) * width_ + r] = sample_of(samples[static_cast<std::size_t>(start + i)]) * window_[i];
      }
    }
  }

  void transform(double* z) const {
    const Factor* next = factors_;
    detail::fourier::for_each_pass(half_, [&](Index radix, Index block) {
      const Index m = block / radix, roots = radix % 2 != 0 ? radix : 0;
      kernels<FourierKernels<double>>().fourier_pass(radix, z, half_ / block, m, m, false, next, next + roots);
      next += roots + (m > 1 ? m * (radix - 1) : 0);
    });
  }

  /// Writes |X_k|² for all bins k of a frame. `z` is the start of the frame's lane.
  void set_powers(const double* z, double* powers) const {
    for (Index k = 0; k <= half_; ++k) {
      double re, im;
      const double *const a = z + row_of_bin_[k % half_] * 2 * width_, *const b =
                                                                           z + row_of_bin_[(half_ - k) % half_] * 2 * width_;
      detail::separate(turns_[k], a, b, width_, re, im);
      powers[k] = rounded(re * re) + rounded(im * im);
    }
  }

  static double energy(const Band& band, const double* powers) {
    return ordered_sum(band.count, [&](Index i) { return rounded(band.weights[i] * powers[band.first + i]); });
  }

  /// The dot product of `row` and row k of the orthonormal DCT-II.
  double cosine_sum(Index k, const double* row) const {
    const Index n = options_.mels;
    const double scale = detail::cosine_scale(k, n);
    return ordered_sum(n, [&](Index j) { return rounded(row[j] * rounded(scale * cosines_[k * (2 * j + 1) % (4 * n)])); });
  }

  MfccOptions options_;
  Index half_, width_;
  Arena<double> arena_;
  Arena<double>::Frame tables_;
  double* window_ = nullptr;
  Factor *turns_ = nullptr, *factors_ = nullptr;
  Index* row_of_bin_ = nullptr;
  Band* bands_ = nullptr;
  double* cosines_ = nullptr;
};

}  // namespace gated
