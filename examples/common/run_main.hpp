#pragma once

#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>

namespace examples {

/// An invalid command line.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Thrown for --help, with the text to show.
struct Help {
  std::string text;
};

/// The body of main(): calls `run` with the parsed command line and prints errors to stderr. Returns the exit code: that of
/// `run`, 0 after --help, 2 for an invalid command line, 1 for any other error.
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
    std::fprintf(stderr, "%s: out of memory.\n", program);
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    return 1;
  }
}

}  // namespace examples
