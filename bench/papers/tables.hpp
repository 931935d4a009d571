#pragma once

#include <iosfwd>
#include <vector>

#include "training.hpp"

namespace papers {

/// A table: its name, and its rows.
struct Table {
  const char* name;
  std::vector<Form> (*forms)(const Setup&);
  bool bf16 = false;  ///< trains with bf16_products(), on processors that have them
};

// Each function is defined in its own source file, so the files compile in parallel.
std::vector<Table> gmlp_tables();
std::vector<Table> flash_tables();
std::vector<Table> task_tables();

/// Prints, as CSV, the time of a training step at several sequence lengths, with the same number of bytes per step (FLASH, §4).
void print_times(const Setup& setup, int threads, std::ostream& out);

}  // namespace papers
