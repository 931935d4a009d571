#pragma once

#include <string>

namespace inspect {

/// The command line.
struct Options {
  std::string file;
};

/// Reads the command line. Errors: examples::UsageError for an unknown option, and unless there is one file.
Options parse_options(int count, char** arguments);

}  // namespace inspect
