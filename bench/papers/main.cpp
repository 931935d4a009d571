/// compare_forms: trains the model variants (forms) that the papers compare, and writes one CSV file per table. See `usage`
/// below and README.md.

#include <iostream>
#include <stdexcept>

#include "gated/ops/bf16_products.hpp"
#include "tables.hpp"

namespace papers {

namespace {

constexpr const char* usage =
    "usage: compare_forms [--quick] [--threads N] [--seeds N] [--table NAME]... [--form NAME]... [--out FOLDER] [texts...]\n"
    "       --threads  number of training runs in parallel\n"
    "       --out      folder for runs.csv (the finished runs) and the tables; default: build/papers\n"
    "       compare_forms --list prints the names of the tables\n"
    "Without texts, it trains on the project's own files.\n";

/// Parses the positive number given after an option.
int number_in(const std::string& option, const char* given) {
  std::size_t read = 0;
  int number = 0;
  try {
    number = std::stoi(given, &read);
  } catch (const std::logic_error&) {
  }
  gated::require<gated::ArgumentError>(number > 0 && given[read] == '\0', option, " ", given, ": expected a positive number.");
  return number;
}

/// The command line.
struct Arguments {
  Setup setup;
  Protocol protocol;
  std::vector<std::string> tables, forms;  ///< the names to train; empty for all
  std::vector<std::filesystem::path> texts;
  bool list = false, valid = true;
};

Arguments parse(int count, char** arguments, const std::vector<Table>& tables) {
  Arguments parsed;
  const auto known = [&](const std::string& name) {
    return name == "time" || std::any_of(tables.begin(), tables.end(), [&](const Table& table) { return table.name == name; });
  };
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    const char* const next = i + 1 < count ? arguments[i + 1] : "";
    if (argument == "--quick") {
      parsed.setup.quick = true;
    } else if (argument == "--list") {
      parsed.list = true;
    } else if (argument == "--threads") {
      parsed.protocol.threads = number_in(argument, next), ++i;
    } else if (argument == "--seeds") {
      parsed.protocol.seeds = number_in(argument, next), ++i;
    } else if (argument == "--table" && known(next)) {
      parsed.tables.emplace_back(next), ++i;
    } else if (argument == "--form" && *next != '\0') {
      parsed.forms.emplace_back(next), ++i;
    } else if (argument == "--out" && *next != '\0') {
      parsed.setup.folder = next, ++i;
    } else if (argument.starts_with("--")) {
      parsed.valid = false;
    } else {
      parsed.texts.emplace_back(argument);
    }
  }
  if (parsed.setup.quick) {
    parsed.protocol.seeds = 1;
    parsed.protocol.rates = {4e-3};
    parsed.protocol.widen = false;
  }
  return parsed;
}

/// True if `names` is empty or contains `name`.
bool chosen(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

/// Trains the chosen forms of the chosen tables, and writes these tables.
void train_tables(const std::vector<Table>& tables, const Arguments& arguments) {
  Setup setup = arguments.setup;
  const std::filesystem::path kept = setup.folder / (setup.quick ? "quick_runs.csv" : "runs.csv");
  if (setup.quick) {
    std::filesystem::remove(kept);
  }
  Results results(kept);
  std::set<std::string> trained;
  for (const Table& table : tables) {
    if (!chosen(arguments.tables, table.name)) {
      continue;
    }
    setup.products = table.bf16 ? gated::bf16_products() : nullptr;
    std::vector<Form> forms = table.forms(setup);
    std::erase_if(forms, [&](const Form& form) { return !chosen(arguments.forms, form.name); });
    if (!forms.empty()) {
      std::fprintf(stderr, "%s\n", table.name);
      results.write_table(setup.folder / (std::string(table.name) + ".csv"), train_forms(forms, arguments.protocol, results));
    }
    for (const Form& form : forms) {
      trained.insert(form.name);
    }
  }
  for (const std::string& form : arguments.forms) {
    gated::require<gated::ArgumentError>(trained.count(form) > 0, "--form ", form, ": these tables have no such form.");
  }
}

int run(int count, char** arguments) {
  std::vector<Table> tables = gmlp_tables();
  for (const auto& more : {flash_tables(), task_tables()}) {
    tables.insert(tables.end(), more.begin(), more.end());
  }
  Arguments parsed = parse(count, arguments, tables);
  if (!parsed.valid) {
    std::cerr << usage;
    return 2;
  }
  if (parsed.list) {
    for (const Table& table : tables) {
      std::cout << table.name << '\n';
    }
    std::cout << "time\n";
    return 0;
  }
  Setup& setup = parsed.setup;
  setup.corpus =
      std::make_shared<const text::Corpus>(parsed.texts.empty() ? text::default_texts() : text::text_files(parsed.texts));
  std::filesystem::create_directories(setup.folder);
  train_tables(tables, parsed);
  if (parsed.forms.empty() && chosen(parsed.tables, "time")) {
    std::ofstream out(setup.folder / "time.csv");
    out << Results::header << '\n';
    print_times(setup, parsed.protocol.threads, out);
    gated::require<gated::FileError>(static_cast<bool>(out), "cannot write time.csv");
  }
  return 0;
}

}  // namespace

}  // namespace papers

int main(int count, char** arguments) try { return papers::run(count, arguments); } catch (const std::exception& error) {
  std::cerr << "compare_forms: " << error.what() << '\n';
  return 1;
}
