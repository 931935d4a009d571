#include "options.hpp"

#include "common/command_line.hpp"

namespace text {

using examples::UsageError, gated::require;

Options parse_options(int count, char** arguments) {
  constexpr auto largest_index = std::numeric_limits<gated::Index>::max();
  Options options;
  CLI::App app(
      "Continues a text, byte by byte, with a language model over bytes that train_text has made. Ctrl-C stops after the "
      "current byte.",
      "generate_text");
  CLI::Option* const checkpoint = examples::add_name(app, "checkpoint", options.checkpoint, "FILE.safetensors",
                                                     "the model (one that has read the King James Bible)");
  app.add_option("--prompt", options.prompt, "the text to continue (a newline, which is not shown)");
  examples::add_number(app, "--tokens", options.tokens, gated::Index{0}, largest_index, "bytes to generate, 0 until Ctrl-C");
  examples::add_number(app, "--temperature", options.sampling.temperature, 0.0, 1e9,
                       "below 1 sharpens, above 1 flattens, 0 takes the most\nprobable byte");
  examples::add_number(app, "--top-k", options.sampling.top_k, gated::Index{0}, largest_index,
                       "choose among the K most probable bytes, 0 for all");
  examples::add_number(app, "--top-p", options.sampling.top_p, 0.0, 1.0,
                       "then among the most probable ones that together reach this\nprobability, which is more than 0");
  examples::add_number(app, "--seed", options.seed, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max(),
                       "of the random choices");
  examples::add_threads(app, options.threads);
  CLI::Option* const random =
      app.add_option("--random", options.random,
                     "instead: a small model with random weights, which shows\nthe speed and writes noise")
          ->check(CLI::IsMember({"gmlp", "toeplitz", "flash"}))
          ->excludes(checkpoint);
  examples::add_name(app, "--save", options.save, "FILE", "write that model as a checkpoint")->needs(random);
  examples::parse(app, count, arguments);

  require<UsageError>(options.sampling.top_p > 0, "--top-p: 0: expected more than 0, or no byte is left.");
  return options;
}

}  // namespace text
