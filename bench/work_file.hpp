#pragma once

#include <cmath>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "gated/core/sequences.hpp"
#include "gated/io/checkpoint.hpp"
#include "gated/models/gmlp.hpp"
#include "measure.hpp"

/// @file
/// Reads the workloads that peers/make_work.py writes, and runs them on command, so that several programs can take turns.

namespace bench {

/// A workload: weights, input, expected output, and configuration.
struct WorkFile {
  gated::SafetensorsFile tensors;
  nlohmann::json config;

  explicit WorkFile(const std::string& path) : tensors(path), config(nlohmann::json::parse(tensors.metadata().at("config"))) {}

  gated::Sequences sequences() const {
    return config.contains("lengths") ? gated::Sequences::of_lengths(config.at("lengths").get<std::vector<Index>>())
                                      : gated::Sequences::uniform(config.at("batch"), config.at("tokens"));
  }

  /// The ids of all texts, without their padding.
  std::vector<Index> texts() const {
    const auto padded = tensors.read<Index>("input");
    const Index row = config.at("tokens");
    std::vector<Index> ids;
    Index first = 0;
    for (const Index length : config.at("lengths").get<std::vector<Index>>()) {
      ids.insert(ids.end(), padded.begin() + first, padded.begin() + first + length);
      first += row;
    }
    return ids;
  }

  /// Fills `model` from the tensors `model.*`, all of which must be used.
  template <class Model>
  void load(Model& model, gated::NameMap names) const {
    names.prefix = "model." + names.prefix;
    for (const auto& [name, entry] : tensors.tensors()) {
      if (!name.starts_with("model.")) {
        names.ignored.push_back(name);
      }
    }
    gated::load_parameters(model, tensors, names);
  }

  gated::GmlpConfig gmlp() const {
    return {.length = config.at("tokens"),
            .channels = config.at("channels"),
            .hidden = config.at("hidden"),
            .depth = config.at("depth"),
            .causal = config.at("causal")};
  }

  void read_input(std::span<float> x) const { tensors.read<float>("input", x); }

  /// The largest difference of y from the expected output, relative to the largest expected value; NaN if y has a NaN.
  double error_of(std::span<const float> y) const {
    const auto expected = tensors.read<double>("output");
    gated::require<gated::ShapeError>(expected.size() == y.size(), "the model computes ", y.size(),
                                      " elements, but the file's output has ", expected.size(),
                                      ". Write the file with this version's peers/make_work.py.");
    double error = 0, largest = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      error = worse(error, std::abs(static_cast<double>(y[i]) - expected[i]));
      largest = std::max(largest, std::abs(expected[i]));
    }
    return error / largest;
  }

  /// The larger error; NaN if either is NaN.
  static double worse(double a, double b) { return std::isnan(a) || b <= a ? a : b; }
};

/// Prints `ready`, with the error added, as a line of JSON. Then reads run counts from standard input. For each count, calls
/// `beside(turn)` and prints a line of JSON: the milliseconds of each run, and the fields that `beside` returned. `beside` must
/// call `turn()` exactly once: `turn()` does a warm-up run and times the other runs.
inline void take_turns(nlohmann::json ready, double error, const std::function<void()>& run,
                       const std::function<nlohmann::json(const std::function<void()>& turn)>& beside) {
  ready["error"] = std::isfinite(error) ? error : 1e300;  // JSON has no NaN
  std::cout << ready << std::endl;
  for (int runs; std::cin >> runs;) {
    std::vector<double> times;
    nlohmann::json answer = beside([&] { times = time_runs(runs, run); });
    for (double& time : times) {
      time *= 1e3;
    }
    answer["ms"] = times;
    std::cout << answer << std::endl;
  }
}

}  // namespace bench
