#pragma once

#include <charconv>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string_view>
#include <type_traits>

#include "gated/core/error.hpp"
#include "gated/io/parse_number.hpp"

namespace examples {

/// A command line that makes no sense.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline constexpr int most_threads = 256;

/// The words of a command line, one after the other.
///
///     for (CommandLine line(count, arguments); line.next();) {
///       if (line.word() == "--threads") {
///         threads = line.number(1, most_threads);
///       } else if …
///
/// Errors: UsageError, naming the option, for a value that is missing or makes no sense.
class CommandLine {
 public:
  CommandLine(int count, char** arguments) : count_(count), arguments_(arguments) {}

  /// Goes on to the next word, if there is one.
  bool next() {
    if (at_ + 1 >= count_) {
      return false;
    }
    word_ = arguments_[++at_];
    return true;
  }

  std::string_view word() const { return word_; }

  /// The value of the option that is the current word: whatever follows it.
  std::string_view any_value() {
    gated::require<UsageError>(at_ + 1 < count_, word_, " needs a value.");
    return arguments_[++at_];
  }

  /// The same, neither empty nor another option.
  std::string_view value() {
    const std::string_view following = at_ + 1 < count_ ? arguments_[at_ + 1] : "";
    gated::require<UsageError>(!following.empty() && !following.starts_with("--"), word_, " needs a value.");
    return any_value();
  }

  /// A value that is a number from `lowest` to `largest`.
  template <class Number>
  Number number(Number lowest, Number largest) {
    const std::string_view text = value();
    Number result{};
    bool is_number = false;
    if constexpr (std::is_integral_v<Number>) {
      const char* const end = text.data() + text.size();
      const auto [stop, error] = std::from_chars(text.data(), end, result);
      is_number = error == std::errc{} && stop == end;
    } else {
      is_number = gated::parse_number(text, result);
    }
    if (!is_number || !(result >= lowest && result <= largest)) {
      gated::raise<UsageError>(word_, " ", text, ": expected a ", std::is_integral_v<Number> ? "whole " : "", "number from ",
                               lowest, " to ", largest, ".");
    }
    return result;
  }

 private:
  int count_;
  char** arguments_;
  int at_ = 0;
  std::string_view word_;
};

/// What main() does: parses the command line, shows the usage if asked to, and runs. Returns the exit code: that of `run`, 2
/// with the usage for a command line that makes no sense, 1 with the message for any other error.
template <class Parse, class Run>
int run_main(const char* program, const char* usage, const Parse& parse, const Run& run) {
  try {
    const auto options = parse();
    if (options.help) {
      std::fputs(usage, stdout);
      return 0;
    }
    return run(options);
  } catch (const UsageError& error) {
    std::fprintf(stderr, "%s: %s\n\n%s", program, error.what(), usage);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    return 1;
  }
}

}  // namespace examples
