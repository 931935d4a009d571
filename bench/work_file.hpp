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
/// The work that peers/make_work.py writes, and how a program that has loaded one takes its turns.

namespace bench {

/// One work: weights, input, expected output, and what it is.
struct WorkFile {
  gated::SafetensorsFile tensors;
  nlohmann::json config;

  explicit WorkFile(const std::string& path) : tensors(path), config(nlohmann::json::parse(tensors.metadata().at("config"))) {}

  gated::Sequences sequences() const { return gated::Sequences::uniform(config.at("batch"), config.at("tokens")); }

  /// Fills `model` from the tensors `model.*`, each of which is used.
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

  /// Reads the input.
  void read_input(std::span<float> x) const { tensors.read<float>("input", x); }

  /// How far y is from the expected output, relative to its largest number; a NaN if one is in y.
  double error_of(std::span<const float> y) const {
    const auto expected = tensors.read<double>("output");
    gated::require<gated::ShapeError>(expected.size() == y.size(), "output has ", expected.size(), " numbers, expected ",
                                      y.size(), ".");
    double error = 0, largest = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      error = worse(error, std::abs(static_cast<double>(y[i]) - expected[i]));
      largest = std::max(largest, std::abs(expected[i]));
    }
    return error / largest;
  }

  /// The larger error, and a NaN for good.
  static double worse(double a, double b) { return std::isnan(a) || b <= a ? a : b; }
};

/// Says in a line of JSON that a runtime is ready, and what else is in `ready`; then, for each line with a number of runs that
/// it reads, another with the milliseconds that they took, after one that is not counted, and what `beside(times)` adds.
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
