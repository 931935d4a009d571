#pragma once

#include <time.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "gated/core/error.hpp"
#include "gated/core/parallel.hpp"

/// @file
/// Trains models by one protocol: chooses each model's hyperparameters on the validation part, then measures three seeds on the
/// test part. Runs train in parallel, one thread each, and finished runs are saved.

namespace papers {

using gated::Index;

/// Hyperparameters chosen for each form.
struct Recipe {
  double rate = 4e-3;    ///< the peak learning rate
  double warmup = 0.05;  ///< fraction of the steps

  auto operator<=>(const Recipe&) const = default;
};

/// One training run.
struct Run {
  static constexpr int tuning = 0;  ///< seed of the tuning runs, which choose a recipe on the validation part

  std::string form;
  Recipe recipe;
  Index steps;
  int seed;

  auto operator<=>(const Run&) const = default;
};

/// A value measured at step `x` of a run.
struct Row {
  Index x;
  std::string quantity;
  double value;
};
using Rows = std::vector<Row>;

/// The quantity by which recipes are chosen: the lowest value wins.
inline constexpr const char* result = "result";

inline double value_of(const Rows& rows, const std::string& quantity) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.quantity == quantity; });
  return found == rows.end() ? std::numeric_limits<double>::infinity() : found->value;
}

/// A model to train, and its row in a table. Runs are stored under the form's name, so forms of the same name must have equal
/// configurations. After changing a configuration, delete runs.csv.
struct Form {
  std::string name;
  Index steps;                            ///< training steps of a final run, which is measured on the test part
  std::function<Rows(const Run&)> train;  ///< trains a run and returns its measurements, including `result`
  std::vector<double> warmups;            ///< warm-ups to try
  Index tuning_steps;                     ///< steps of a tuning run
};

/// Values for Form::warmups.
inline const std::vector<double> plain_warmups = {0.05}, attention_warmups = {0.05, 0.2};

/// The finished runs, in a CSV file. A finished run ends with a row for its duration; rows of interrupted runs are dropped.
class Results {
 public:
  static constexpr const char* header = "form,rate,warmup,steps,seed,x,quantity,value";

  explicit Results(std::filesystem::path path) : path_(std::move(path)) {
    std::ifstream file(path_);
    std::string line;
    gated::require<gated::FileError>(!std::getline(file, line) || line == header, path_.string(), ": the first line is \"",
                                     line, "\", expected \"", header, "\". Move the file elsewhere.");
    std::map<Run, Rows> begun;
    while (std::getline(file, line)) {
      std::istringstream cells(line);
      std::vector<std::string> cell;
      for (std::string one; std::getline(cells, one, ',');) {
        cell.push_back(one);
      }
      if (cell.size() != 8) {
        continue;  // cut off
      }
      const Run run{cell[0], {std::stod(cell[1]), std::stod(cell[2])}, std::stol(cell[3]), std::stoi(cell[4])};
      begun[run].push_back({std::stol(cell[5]), cell[6], std::stod(cell[7])});
      if (cell[6] == end_of_run) {
        runs_[run] = std::exchange(begun[run], {});
      }
    }
    file.close();
    std::vector<Run> all;
    for (const auto& [run, rows] : runs_) {
      all.push_back(run);
    }
    write_table(path_, all);
  }

  const Rows* find(const Run& run) const {
    const auto found = runs_.find(run);
    return found == runs_.end() ? nullptr : &found->second;
  }

  /// Stores a finished run in memory and in the file.
  void add(const Run& run, Rows rows, double seconds) {
    rows.push_back({run.steps, end_of_run, seconds});
    runs_[run] = std::move(rows);
    std::ofstream file(path_, std::ios::app);
    file << text_of(run);
    gated::require<gated::FileError>(static_cast<bool>(file.flush()), "cannot write ", path_.string());
  }

  /// Writes `runs` to a file. An existing file is replaced only after all runs are written.
  void write_table(const std::filesystem::path& path, const std::vector<Run>& runs) const {
    const std::filesystem::path unfinished = path.string() + ".tmp";
    std::ofstream file(unfinished);
    file << header << '\n';
    for (const Run& run : runs) {
      file << text_of(run);
    }
    file.close();
    gated::require<gated::FileError>(static_cast<bool>(file), "cannot write ", unfinished.string());
    std::filesystem::rename(unfinished, path);
  }

 private:
  static constexpr const char* end_of_run = "seconds";

  std::string text_of(const Run& run) const {
    std::ostringstream text;
    text.precision(std::numeric_limits<double>::digits10);
    for (const Row& row : runs_.at(run)) {
      text << run.form << ',' << run.recipe.rate << ',' << run.recipe.warmup << ',' << run.steps << ',' << run.seed << ','
           << row.x << ',' << row.quantity << ',' << row.value << '\n';
    }
    return text.str();
  }

  std::filesystem::path path_;
  std::map<Run, Rows> runs_;
};

/// Options of the protocol.
struct Protocol {
  int threads = 1;                                 ///< runs trained in parallel
  int seeds = 3;                                   ///< seeds per form on the test part
  std::vector<double> rates = {1e-3, 2e-3, 4e-3};  ///< learning rates to start with
  bool widen = true;                               ///< while the best rate is the lowest or highest tried, tries one beyond it
};

using FormRun = std::pair<const Form*, Run>;

/// Processor time of the calling thread, in seconds. Other programs' work is not counted.
inline double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Trains the `wanted` runs that have no results yet, `threads` at a time.
inline void train_all(const std::vector<FormRun>& wanted, int threads, Results& results) {
  std::vector<FormRun> runs;
  std::copy_if(wanted.begin(), wanted.end(), std::back_inserter(runs), [&](const auto& r) { return !results.find(r.second); });
  std::mutex mutex;
  std::string failure;
  std::size_t done = 0;
  gated::parallel_for(gated::Threads{threads}, static_cast<Index>(runs.size()), [&](Index i, Index) {
    const auto& [form, run] = runs[static_cast<std::size_t>(i)];
    try {
      const double start = thread_seconds();
      Rows rows = form->train(run);
      const double seconds = thread_seconds() - start;
      const std::lock_guard lock(mutex);
      std::fprintf(stderr, "%3zu of %zu  %-28s rate %-8g warm-up %-5g seed %d  %8.4f  %5.0f s\n", ++done, runs.size(),
                   run.form.c_str(), run.recipe.rate, run.recipe.warmup, run.seed, value_of(rows, result), seconds);
      results.add(run, std::move(rows), seconds);
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex);
      failure += run.form + ": " + error.what() + '\n';
    }
  });
  gated::require<gated::Error>(failure.empty(), failure);
}

/// The tuning runs of a form: one for each rate and warm-up.
inline std::vector<FormRun> tuning_runs(const Form& form, const std::set<double>& rates) {
  std::vector<FormRun> runs;
  for (const double rate : rates) {
    for (const double warmup : form.warmups) {
      runs.push_back({&form, {form.name, {rate, warmup}, form.tuning_steps, Run::tuning}});
    }
  }
  return runs;
}

/// Trains `forms` by the protocol. Returns the tuning runs and the runs on the test part.
inline std::vector<Run> train_forms(const std::vector<Form>& forms, const Protocol& protocol, Results& results) {
  std::vector<std::set<double>> rates(forms.size(), {protocol.rates.begin(), protocol.rates.end()});
  std::vector<Recipe> best(forms.size());
  std::vector<FormRun> tuning;
  for (bool changed = true; changed;) {
    tuning.clear();
    for (std::size_t i = 0; i < forms.size(); ++i) {
      const auto runs = tuning_runs(forms[i], rates[i]);
      tuning.insert(tuning.end(), runs.begin(), runs.end());
    }
    train_all(tuning, protocol.threads, results);
    changed = false;
    for (std::size_t i = 0; i < forms.size(); ++i) {
      double least = std::numeric_limits<double>::infinity();
      for (const auto& [form, run] : tuning_runs(forms[i], rates[i])) {
        if (const double reached = value_of(*results.find(run), result); reached < least) {
          best[i] = run.recipe;
          least = reached;
        }
      }
      gated::require<gated::Error>(std::isfinite(least), forms[i].name, ": every recipe diverged.");
      const double rate = best[i].rate;
      if (protocol.widen && (rate == *rates[i].begin() || rate == *rates[i].rbegin())) {
        changed = rates[i].insert(rate == *rates[i].begin() ? rate / 2 : rate * 2).second || changed;
      }
    }
  }
  std::vector<FormRun> finals;
  for (std::size_t i = 0; i < forms.size(); ++i) {
    for (int seed = 1; seed <= protocol.seeds; ++seed) {
      finals.push_back({&forms[i], {forms[i].name, best[i], forms[i].steps, seed}});
    }
  }
  train_all(finals, protocol.threads, results);
  std::vector<Run> all;
  for (const auto& runs : {tuning, finals}) {
    for (const auto& [form, run] : runs) {
      all.push_back(run);
    }
  }
  return all;
}

}  // namespace papers
