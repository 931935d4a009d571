#pragma once

#include <iosfwd>
#include <vector>

#include "training.hpp"

namespace papers {

/// A table's name, and a function that returns its rows (Forms).
struct Table {
  const char* name;
  std::vector<Form> (*forms)(const Setup&);
};

// Each function is defined in its own source file, so the files compile in parallel.
std::vector<Table> gmlp_tables();
std::vector<Table> flash_tables();
std::vector<Table> task_tables();

/// Prints, as CSV, the time of a training step at several sequence lengths, with the same number of bytes per step (FLASH, §4).
void print_times(const Setup& setup, int threads, std::ostream& out);

}  // namespace papers
