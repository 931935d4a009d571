#pragma once

// CLI11 takes seconds to compile, so each example includes this header in options.cpp only.

#include <CLI/CLI.hpp>
#include <limits>
#include <string>
#include <type_traits>

#include "common/run_main.hpp"
#include "common/timm_model.hpp"
#include "gated/core/error.hpp"

namespace examples {

inline constexpr int most_threads = 256;

/// Adds an option that takes a number from `lowest` to `largest`. `T` is Number, or a std::optional or std::vector of it.
template <class T, class Number>
CLI::Option* add_number(CLI::App& app, const std::string& name, T& value, Number lowest, Number largest,
                        const std::string& description) {
  // CLI::Range would accept NaN, and would read -1 as a large unsigned number.
  const auto in_range = [lowest, largest](const std::string& given) {
    Number number{};
    const bool sign = std::is_unsigned_v<Number> && given.starts_with("-");
    return !sign && CLI::detail::lexical_cast(given, number) && number >= lowest && number <= largest
               ? std::string()
               : gated::text("expected a ", std::is_integral_v<Number> ? "whole " : "", "number from ", lowest, " to ", largest,
                             ", got ", given, ".");
  };
  const bool all = lowest == Number{} && largest == std::numeric_limits<Number>::max();
  CLI::Option* const option = app.add_option(name, value, description)
                                  ->check(CLI::Validator(in_range, ""))
                                  ->type_name(all ? std::string("UINT") : CLI::Range(lowest, largest).get_description());
  if constexpr (std::is_same_v<T, Number>) {
    option->capture_default_str();
  }
  return option;
}

/// Adds an option or, if its name has no dashes, a positional argument. Its value is a path or other text, which must not be
/// empty or begin with "--". `T` is a string or a path, or a std::optional or std::vector of either.
template <class T>
CLI::Option* add_name(CLI::App& app, const std::string& name, T& value, const std::string& kind,
                      const std::string& description) {
  const auto given = [](const std::string& text) {
    return text.empty() || text.starts_with("--") ? gated::text("expected a value, got \"", text, "\".") : std::string();
  };
  return app.add_option(name, value, description)->check(CLI::Validator(given, ""))->type_name(kind);
}

/// Adds --threads.
inline void add_threads(CLI::App& app, int& threads, const std::string& description = "threads to use") {
  add_number(app, "--threads", threads, 1, most_threads, description);
}

/// Adds --config and --preset.
void add_timm_model(CLI::App& app, TimmModel& timm);

/// Parses the command line. If an option that takes one value is repeated, the last value counts.
///
/// Errors: UsageError for an unknown option (the message names the nearest) and a missing or invalid value; Help for --help.
void parse(CLI::App& app, int count, char** arguments);

}  // namespace examples
