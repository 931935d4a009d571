#include "options.hpp"

#include "common/command_line.hpp"

namespace text {

using examples::UsageError, gated::require;

Options parse_options(int count, char** arguments) {
  constexpr auto largest_index = std::numeric_limits<gated::Index>::max();
  Options options;
  CLI::App app(
      "Continues a text byte by byte with a byte-level language model from train_text. Ctrl-C stops after the current byte.",
      "generate_text");
  CLI::Option* const checkpoint = examples::add_name(app, "checkpoint", options.checkpoint, "FILE.safetensors",
                                                     "the model (default: one trained on the King James Bible)");
  app.add_option("--prompt", options.prompt, "the text to continue (default: a newline, not shown)");
  examples::add_number(app, "--tokens", options.tokens, gated::Index{0}, largest_index, "bytes to generate; 0: until Ctrl-C");
  examples::add_number(app, "--temperature", options.sampling.temperature, 0.0, 1e9,
                       "below 1 sharpens, above 1 flattens, 0 picks the most\nprobable byte");
  examples::add_number(app, "--top-k", options.sampling.top_k, gated::Index{0}, largest_index,
                       "sample from the K most probable bytes; 0: from all");
  examples::add_number(app, "--top-p", options.sampling.top_p, 0.0, 1.0,
                       "sample from the fewest bytes with at least this total\nprobability, which must be above 0");
  examples::add_number(app, "--seed", options.seed, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max(),
                       "for the random choices");
  examples::add_threads(app, options.threads);
  CLI::Option* const random = app.add_option("--random", options.random,
                                             "use a small model with random weights, to measure the\nspeed; its text is noise")
                                  ->check(CLI::IsMember({"gmlp", "toeplitz", "flash"}))
                                  ->excludes(checkpoint);
  examples::add_name(app, "--save", options.save, "FILE", "write the random model to a checkpoint")->needs(random);
  examples::parse(app, count, arguments);

  require<UsageError>(options.sampling.top_p > 0, "--top-p: expected more than 0, got 0.");
  return options;
}

}  // namespace text
