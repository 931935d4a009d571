// train_digits: trains an image classifier on scanned digits or other images, with any token mixer. See README.md.

#include "common/run_main.hpp"
#include "data.hpp"
#include "mixers.hpp"
#include "options.hpp"

int main(int count, char** arguments) {
  return examples::run_main(
      "train_digits", [&] { return digits::parse_options(count, arguments); },
      [](const digits::Options& options) {
        return digits::mixer_named(options.mixer).train(options, digits::read_data(options));
      });
}
