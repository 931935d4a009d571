/// measure_tables [--quick] [--threads N] [table ...]: prints the named tables as CSV, by default all tables.

#include <algorithm>
#include <string>
#include <vector>

#include "tables.hpp"

namespace {

struct Table {
  const char* name;
  void (*print)(const bench::TableOptions&);
};

constexpr Table tables[] = {{"opening", bench::table_of_openings},  // must run first: it measures peak memory
                            {"lengths", bench::table_of_lengths},      {"blocks", bench::table_of_blocks},
                            {"streaming", bench::table_of_streaming},  {"threads", bench::table_of_threads},
                            {"busy", bench::table_of_busy_machines},   {"spatial", bench::table_of_spatial_forms},
                            {"crossover", bench::table_of_crossovers}, {"weights", bench::table_of_weights},
                            {"products", bench::table_of_products},    {"int8_forms", bench::table_of_int8_forms},
                            {"callbacks", bench::table_of_callbacks},  {"arithmetic", bench::table_of_arithmetic}};

}  // namespace

int main(int count, char** arguments) try {
  bench::TableOptions options;
  std::vector<std::string> names;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    if (argument == "--quick") {
      options.quick = true;
    } else if (argument == "--threads" && i + 1 < count) {
      options.threads = bench::usable_threads(arguments[++i]);
    } else if (std::any_of(std::begin(tables), std::end(tables), [&](const Table& t) { return t.name == argument; })) {
      names.push_back(argument);
    } else {
      std::cerr << "usage: measure_tables [--quick] [--threads N] [lengths | blocks | streaming | threads | busy | spatial | "
                   "crossover | weights | products | int8_forms | callbacks | arithmetic | opening ...]\n";
      return 2;
    }
  }
  std::cout << "table,series,x,quantity,value\n";
  bench::print_row("machine", "peak", options.threads.count(), "GFLOP/s", 1e-9 * bench::peak(options.threads));
  for (const Table& table : tables) {
    if (names.empty() || std::find(names.begin(), names.end(), table.name) != names.end()) {
      table.print(options);
    }
  }
} catch (const std::exception& error) {
  std::cerr << "measure_tables: " << error.what() << '\n';
  return 1;
}
