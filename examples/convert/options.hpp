#pragma once

#include <string>
#include <vector>

namespace inspect {

/// The command line.
struct Options {
  std::string file;
};

/// Parses the command line.
/// Errors: those of examples::parse().
Options parse_options(int count, char** arguments);

/// The command line of gated_signature.
struct SignatureOptions {
  std::vector<std::string> files;
};

/// Parses it.
/// Errors: those of examples::parse().
SignatureOptions parse_signature_options(int count, char** arguments);

}  // namespace inspect
