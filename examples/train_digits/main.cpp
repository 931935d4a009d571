// train_digits: trains a classifier of scanned digits from scratch, with any mixer of tokens. See README.md.

#include "common/run_main.hpp"
#include "mixers.hpp"
#include "options.hpp"

int main(int count, char** arguments) {
  return examples::run_main(
      "train_digits", [&] { return digits::parse_options(count, arguments); },
      [](const digits::Options& options) { return digits::mixer_named(options.mixer).train(options); });
}
