#pragma once

#include <string>

namespace inspect {

/// The command line.
struct Options {
  std::string file;
};

/// Parses the command line.
/// Errors: those of examples::parse().
Options parse_options(int count, char** arguments);

}  // namespace inspect
