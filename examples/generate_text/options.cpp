#include "options.hpp"

#include <limits>
#include <string_view>

namespace text {

const char* const usage =
    "usage: generate_text CHECKPOINT.safetensors [options]\n"
    "       generate_text --random gmlp|flash [--save FILE.safetensors] [options]\n"
    "\n"
    "Continues a text, byte by byte, with a gMLP or FLASH language model over bytes. Ctrl-C stops after the current byte.\n"
    "\n"
    "  --prompt TEXT        the text to continue (a newline, which is not shown)\n"
    "  --tokens N           bytes to generate, 0 until Ctrl-C (256)\n"
    "  --temperature X      below 1 sharpens, above 1 flattens, 0 takes the most probable byte (1)\n"
    "  --top-k K            choose among the K most probable bytes, 0 for all (0)\n"
    "  --top-p P            then among the most probable ones that together reach this probability (1)\n"
    "  --seed S             of the random choices (1)\n"
    "  --threads T          threads to use (1)\n"
    "  --random gmlp|flash  no checkpoint: a small model with random weights, which shows the speed and writes noise\n"
    "  --save FILE          write that model as a checkpoint\n"
    "  --help               show this text\n";

using examples::UsageError, gated::raise, gated::require;

Options parse_options(int count, char** arguments) {
  constexpr auto largest_index = std::numeric_limits<gated::Index>::max();
  Options options;
  for (examples::CommandLine line(count, arguments); line.next();) {
    const std::string_view option = line.word();
    if (option == "--prompt") {
      options.prompt = line.any_value();
    } else if (option == "--tokens") {
      options.tokens = line.number(gated::Index{0}, largest_index);
    } else if (option == "--temperature") {
      options.sampling.temperature = line.number(0.0, 1e9);
    } else if (option == "--top-k") {
      options.sampling.top_k = line.number(gated::Index{0}, largest_index);
    } else if (option == "--top-p") {
      options.sampling.top_p = line.number(0.0, 1.0);
      require<UsageError>(options.sampling.top_p > 0, option, " 0: expected more than 0, or no byte is left.");
    } else if (option == "--seed") {
      options.seed = line.number(std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max());
    } else if (option == "--threads") {
      options.threads = line.number(1, examples::most_threads);
    } else if (option == "--random") {
      options.random = line.value();
      require<UsageError>(options.random == "gmlp" || options.random == "flash", option, " ", options.random,
                          ": expected gmlp or flash.");
    } else if (option == "--save") {
      options.save = line.value();
    } else if (option == "--help" || option == "-h") {
      options.help = true;
    } else if (option.starts_with("-") || option.empty() || !options.checkpoint.empty()) {
      raise<UsageError>(option.starts_with("-") ? "unknown option " : "a second checkpoint: ", option, ".");
    } else {
      options.checkpoint = option;
    }
  }
  if (!options.help) {
    require<UsageError>(options.checkpoint.empty() != options.random.empty(),
                        options.random.empty() ? "which checkpoint? Give one, or --random gmlp or --random flash."
                                               : "a checkpoint and --random exclude each other.");
    require<UsageError>(options.save.empty() || !options.random.empty(), "--save writes the model that --random makes.");
  }
  return options;
}

}  // namespace text
