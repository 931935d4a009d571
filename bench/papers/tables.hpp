#pragma once

#include <iosfwd>
#include <vector>

#include "training.hpp"

namespace papers {

/// A table: its name, and the forms that it compares.
struct Table {
  const char* name;
  std::vector<Form> (*forms)(const Setup&);
};

// One list per file, so they compile in parallel.
std::vector<Table> gmlp_tables();
std::vector<Table> flash_tables();
std::vector<Table> task_tables();

/// FLASH, §4: prints as CSV the time of a training step by sequence length, at the same number of bytes per step.
void print_times(const Setup& setup, int threads, std::ostream& out);

}  // namespace papers
