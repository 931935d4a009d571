#pragma once

#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>

namespace examples {

/// A command line that makes no sense.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Thrown for --help: what to show.
struct Help {
  std::string text;
};

/// What main() does: parses the command line and runs. Returns the exit code: that of `run`; 0 for --help; 2 with a message for
/// a command line that makes no sense; 1 with the message for any other error.
template <class Parse, class Run>
int run_main(const char* program, const Parse& parse, const Run& run) {
  try {
    return run(parse());
  } catch (const Help& help) {
    std::fputs(help.text.c_str(), stdout);
    return 0;
  } catch (const UsageError& error) {
    std::fprintf(stderr, "%s: %s\n%s --help shows all options.\n", program, error.what(), program);
    return 2;
  } catch (const std::filesystem::filesystem_error& error) {
    std::fprintf(stderr, "%s: %s: %s.\n", program, error.path1().string().c_str(), error.code().message().c_str());
    return 1;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "%s: there is not enough memory.\n", program);
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    return 1;
  }
}

}  // namespace examples
