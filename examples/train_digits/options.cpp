#include "options.hpp"

#include <limits>
#include <string_view>

namespace digits {

const char* const usage =
    "usage: train_digits [options]\n"
    "\n"
    "Trains a gMLP on scanned digits, from scratch. Ctrl-C stops after the current epoch and saves the training.\n"
    "\n"
    "  --out FOLDER     where to write the model, the training and the pictures (.)\n"
    "  --epochs N       how often to see every digit (80; with --resume as often as the file says)\n"
    "  --seed S         of all random choices (1)\n"
    "  --threads N      threads to use (1); they change the time and nothing else\n"
    "  --resume FILE    go on with a training that was stopped, or, with more --epochs, with one that was finished\n"
    "  --stop-after N   stop after epoch N, as Ctrl-C does\n"
    "  --help           show this text\n";

Options parse_options(int count, char** arguments) {
  constexpr gated::Index most_epochs = 1'000'000;
  Options options;
  for (examples::CommandLine line(count, arguments); line.next();) {
    const std::string_view option = line.word();
    if (option == "--out") {
      options.out = line.value();
    } else if (option == "--epochs") {
      options.epochs = line.number(gated::Index{1}, most_epochs);
    } else if (option == "--seed") {
      options.seed = line.number(std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max());
    } else if (option == "--threads") {
      options.threads = line.number(1, examples::most_threads);
    } else if (option == "--resume") {
      options.resume = line.value();
    } else if (option == "--stop-after") {
      options.stop_after = line.number(gated::Index{1}, most_epochs);
    } else if (option == "--help" || option == "-h") {
      options.help = true;
    } else {
      gated::raise<examples::UsageError>(option.starts_with("-") ? "unknown option " : "not an option: ", option, ".");
    }
  }
  return options;
}

}  // namespace digits
