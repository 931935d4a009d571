#pragma once

#include <cmath>
#include <iostream>
#include <string_view>

#include "flops.hpp"
#include "measure.hpp"
#include "works.hpp"

/// @file
/// Time and memory by length, position and threads, as lines of CSV: table,series,x,quantity,value.

namespace bench {

struct TableOptions {
  Threads threads{most_threads()};
  bool quick = false;  ///< only checks that everything works

  int turns() const { return quick ? 1 : 7; }
};

inline void print_row(std::string_view table, std::string_view series, Index x, std::string_view quantity, double value) {
  std::cout << table << ',' << series << ',' << x << ',' << quantity << ',' << value << std::endl;
}

/// Measures the seconds per call of `f`. Repeats short calls, which keeps caches warm.
template <class F>
Measurement time_of(const TableOptions& options, F f) {
  return [f, at_least = options.quick ? 0 : 0.05] { return seconds_per_call(at_least, f); };
}

/// Measures the peak flops per second. Tables report throughput relative to the best of several such measurements.
inline Measurement peak_of(const Threads& threads) {
  return [threads] { return measure_peak(threads, 3); };
}

inline double best(const std::vector<double>& peaks) { return *std::max_element(peaks.begin(), peaks.end()); }

/// A trunk and its input.
template <class Model>
struct TrunkCase {
  const char* name;
  Index count, length;
  Model model;
  gated::Sequences sequences;
  gated::Matrix<float> x;

  TrunkCase(const char* name_, const typename Model::Config& config, Index count_, Index length_, Index channels)
      : name(name_),
        count(count_),
        length(length_),
        model(started(config)),
        sequences(gated::Sequences::uniform(count, length)),
        x(gated::Matrix<float>::Random(count * length, channels)) {}

  double flops() const { return flops_of(model, count, length); }

 private:
  static Model started(const typename Model::Config& config) {
    gated::Random random(1);
    return Model(config, random);
  }
};

/// Calls `f(trunk)` for the trunks that several tables measure.
template <class F>
void for_each_trunk(const TableOptions& options, bool causal_flash, const F& f) {
  auto small = gmlp_s16(), language = gmlp_nlp();
  auto flash = flash_trunk(causal_flash);
  if (options.quick) {
    small.depth = 2;
    language.depth = flash.depth = 1;
  }
  using Gmlp = gated::Gmlp<float>;
  f(TrunkCase<Gmlp>("gMLP-S/16 batch 1", small, 1, small.length, small.channels));
  f(TrunkCase<Gmlp>("gMLP-S/16 batch 8", small, 8, small.length, small.channels));
  f(TrunkCase<Gmlp>("gMLP NLP batch 1", language, 1, language.length, language.channels));
  f(TrunkCase<Gmlp>("gMLP NLP batch 8", language, 8, language.length, language.channels));
  f(TrunkCase<gated::Flash<float>>(causal_flash ? "FLASH causal n 4096" : "FLASH n 4096", flash, 1, 4096,
                                   flash.block.channels));
}

template <class Model>
double megabytes(const Model& model) {
  return 1e-6 * sizeof(float) * static_cast<double>(gated::parameter_count(model));
}

inline double megabytes(std::size_t bytes) { return 1e-6 * static_cast<double>(bytes); }

/// Times and memory of gMLP-base, with the share of its spatial projections in time and flops, by length.
void table_of_lengths(const TableOptions&);

/// Times and scratch memory of a Transformer block, two gated attention units and two FLASH layers, by length.
void table_of_blocks(const TableOptions&);

/// Tokens per second of streaming, by position.
void table_of_streaming(const TableOptions&);

/// Times and scratch memory of trunks, by number of threads.
void table_of_threads(const TableOptions&);

/// gMLP-S/16 on one thread and on several, on an idle machine and beside a program that keeps one processor busy.
void table_of_busy_machines(const TableOptions&);

/// The slowest of a million audio callbacks, on one thread.
void table_of_callbacks(const TableOptions&);

/// Decoding with weights in float, bf16 and int8, and with int8 matmul, by number of threads.
void table_of_weights(const TableOptions&);

/// Times of trunks and of a training step with matmul in float and in bf16, by number of threads.
void table_of_products(const TableOptions&);

/// The time of trunks with int8 products relative to float, by instruction set, with and without VNNI, on one thread.
void table_of_int8_forms(const TableOptions&);

/// The slow-down of Arithmetic::portable relative to Arithmetic::fastest, by instruction set, on one thread.
void table_of_arithmetic(const TableOptions&);

/// Ways to open a large model: time to open, time to the first result, and memory.
void table_of_openings(const TableOptions&);

/// Time and memory of each form of spatial projection, by length.
void table_of_spatial_forms(const TableOptions&);

/// Times of Toeplitz weights with matmul and with the FFT, by length. Shows from which length the FFT is faster.
void table_of_crossovers(const TableOptions&);

}  // namespace bench
