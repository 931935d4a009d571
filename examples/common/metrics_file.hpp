#pragma once

#include <charconv>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <limits>
#include <string>

#include "gated/core/error.hpp"
#include "gated/core/matrix.hpp"

namespace examples {

/// A CSV file with a line per training step: step, loss, norm of the gradient before clipping, learning rate.
class MetricsFile {
 public:
  /// Starts the file, or continues it after step `done`: lines of later steps, left by a run that was killed, are dropped.
  /// Writes nothing if `path` is empty.
  /// Errors: FileError.
  MetricsFile(const std::filesystem::path& path, gated::Index done) : path_(path) {
    if (path.empty()) {
      return;
    }
    std::string kept = "step,loss,gradient norm,learning rate\n", line;
    std::ifstream before(path);
    for (std::getline(before, line); done > 0 && std::getline(before, line);) {
      gated::Index step = 0;
      std::from_chars(line.data(), line.data() + line.size(), step);
      kept += step > 0 && step <= done ? line + '\n' : "";
    }
    before.close();
    file_.open(path);
    file_ << std::setprecision(std::numeric_limits<double>::max_digits10) << kept;
    expect_written();
  }

  void add(gated::Index step, double loss, double norm, double rate) {
    if (!path_.empty()) {
      file_ << step << ',' << loss << ',' << norm << ',' << rate << '\n';
      expect_written();
    }
  }

 private:
  void expect_written() {
    gated::require<gated::FileError>(static_cast<bool>(file_.flush()), path_.string(), ": cannot be written.");
  }

  std::filesystem::path path_;
  std::ofstream file_;
};

}  // namespace examples
