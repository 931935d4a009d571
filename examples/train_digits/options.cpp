#include "options.hpp"

#include "common/command_line.hpp"
#include "mixers.hpp"

namespace digits {

Options parse_options(int count, char** arguments) {
  constexpr gated::Index most_epochs = 1'000'000;
  Options options;
  CLI::App app(
      "Trains a gMLP on scanned digits, from scratch, or a model with another mixer of patches. Ctrl-C stops after\nthe "
      "current "
      "epoch and saves the training.",
      "train_digits");
  std::string mixers = "what mixes the patches:";
  std::vector<std::string> names;
  for (const Mixer& mixer : all_mixers()) {
    mixers += "\n" + std::string(mixer.name) + ": " + mixer.what;
    names.emplace_back(mixer.name);
  }
  app.add_option("--mixer", options.mixer, mixers)->check(CLI::IsMember(names))->type_name("NAME")->capture_default_str();
  auto* const mnist =
      app.add_option("--mnist", options.mnist, "train on MNIST, whose four files are in this folder (see\nfetch_mnist.sh)")
          ->type_name("FOLDER");
  app.add_flag("--validate", options.validate,
               "hold out the last 5000 training images of MNIST, and leave\nthe test images alone")
      ->needs(mnist);
  examples::add_name(app, "--out", options.out, "FOLDER", "where to write the model, the training and the pictures (.)");
  examples::add_number(app, "--epochs", options.epochs, gated::Index{1}, most_epochs,
                       "how often to see every digit (80, of MNIST 40; with --resume\nas often as the file says)");
  examples::add_number(app, "--seed", options.seed, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max(),
                       "of all random choices");
  examples::add_threads(app, options.threads, "threads to use; they change the time and nothing else");
  examples::add_name(app, "--resume", options.resume, "FILE",
                     "go on with a training that was stopped, or, with more\n--epochs, with one that was finished");
  examples::add_number(app, "--stop-after", options.stop_after, gated::Index{1}, most_epochs,
                       "stop after this epoch, as Ctrl-C does")
      ->default_str("");
  examples::parse(app, count, arguments);
  return options;
}

}  // namespace digits
