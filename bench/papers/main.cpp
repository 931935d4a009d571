/// compare_forms: trains the model variants (forms) that the papers compare, and writes one CSV file per table. See `usage`
/// below and README.md.

#include <iostream>
#include <stdexcept>

#include "tables.hpp"

namespace papers {

namespace {

constexpr const char* usage =
    "usage: compare_forms [--quick] [--threads N] [--seeds N] [--table NAME]... [--form NAME]... [--out FOLDER] [texts...]\n"
    "       --threads  number of training runs in parallel\n"
    "       --out      folder for runs.csv (the finished runs) and the tables; default: .\n"
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

int run(int count, char** arguments) {
  Setup setup;
  Protocol protocol;
  std::vector<std::string> names, wanted;
  std::vector<std::filesystem::path> texts;
  std::vector<Table> tables = gmlp_tables();
  for (const auto& more : {flash_tables(), task_tables()}) {
    tables.insert(tables.end(), more.begin(), more.end());
  }
  const auto known = [&](const std::string& name) {
    return name == "time" || std::any_of(tables.begin(), tables.end(), [&](const Table& table) { return table.name == name; });
  };
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    const char* const next = i + 1 < count ? arguments[i + 1] : "";
    if (argument == "--quick") {
      setup.quick = true;
    } else if (argument == "--threads") {
      protocol.threads = number_in(argument, next), ++i;
    } else if (argument == "--seeds") {
      protocol.seeds = number_in(argument, next), ++i;
    } else if (argument == "--table" && known(next)) {
      names.emplace_back(next), ++i;
    } else if (argument == "--form" && *next != '\0') {
      wanted.emplace_back(next), ++i;
    } else if (argument == "--out" && *next != '\0') {
      setup.folder = next, ++i;
    } else if (argument == "--list") {
      for (const Table& table : tables) {
        std::cout << table.name << '\n';
      }
      std::cout << "time\n";
      return 0;
    } else if (argument.starts_with("--")) {
      std::cerr << usage;
      return 2;
    } else {
      texts.emplace_back(argument);
    }
  }
  if (setup.quick) {
    protocol.seeds = 1;
    protocol.rates = {4e-3};
    protocol.widen = false;
  }
  setup.corpus = std::make_shared<const text::Corpus>(texts.empty() ? text::default_texts() : text::text_files(texts));
  std::filesystem::create_directories(setup.folder);
  const std::filesystem::path kept = setup.folder / (setup.quick ? "quick_runs.csv" : "runs.csv");
  if (setup.quick) {
    std::filesystem::remove(kept);
  }
  Results results(kept);
  std::set<std::string> trained;
  for (const Table& table : tables) {
    if (!names.empty() && std::find(names.begin(), names.end(), table.name) == names.end()) {
      continue;
    }
    std::vector<Form> forms = table.forms(setup);
    std::erase_if(forms, [&](const Form& form) {
      return !wanted.empty() && std::find(wanted.begin(), wanted.end(), form.name) == wanted.end();
    });
    if (!forms.empty()) {
      std::fprintf(stderr, "%s\n", table.name);
      results.write_table(setup.folder / (std::string(table.name) + ".csv"), train_forms(forms, protocol, results));
    }
    for (const Form& form : forms) {
      trained.insert(form.name);
    }
  }
  for (const std::string& form : wanted) {
    gated::require<gated::ArgumentError>(trained.count(form) > 0, "--form ", form, ": these tables have no such form.");
  }
  if (wanted.empty() && (names.empty() || std::find(names.begin(), names.end(), "time") != names.end())) {
    std::ofstream out(setup.folder / "time.csv");
    out << Results::header << '\n';
    print_times(setup, protocol.threads, out);
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
