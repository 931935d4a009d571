#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "case_file.hpp"

namespace parity {

/// One number array that the original computed, and ours: both float and double.
struct Outcome {
  std::string_view tensor;  ///< "output", "block0_output", …; the double result is the tensor with "_f64" behind it
  gated::Matrix<float> in_float;
  gated::Matrix<double> in_double;
};

/// A family of cases: which class of which original, and how to run such a case here.
struct Family {
  std::string_view family;      ///< as in the case file's metadata
  std::string_view class_name;  ///< likewise
  std::vector<Outcome> (*run)(const CaseFile&);
};

/// Every family that this tool can run. To add one: write a function `run` beside the others and list it here.
std::span<const Family> families();

/// The family of `file`, or nullptr.
const Family* find_family(const CaseFile& file);

// families/timm.cpp
std::vector<Outcome> run_timm_gmlp(const CaseFile& file);

}  // namespace parity
