#pragma once

#include <iosfwd>
#include <vector>

#include "training.hpp"

namespace papers {

/// The forms that a paper compares.
struct Table {
  const char* name;
  std::vector<Form> (*forms)(const Setup&);
};

// One list per file, so they compile in parallel.
std::vector<Table> gmlp_tables();
std::vector<Table> flash_tables();
std::vector<Table> task_tables();

/// FLASH, §4: prints the time of a step by length, with the same number of bytes per step, as CSV.
void print_times(const Setup& setup, int threads, std::ostream& out);

}  // namespace papers
