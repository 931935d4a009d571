#include "options.hpp"

#include <charconv>
#include <limits>
#include <string_view>
#include <type_traits>

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

namespace {

using gated::raise, gated::require;

#if defined(_OPENMP)
constexpr int most_threads = 256;
#else
constexpr int most_threads = 1;  // this build has one thread only
#endif

template <class Number>
Number number(std::string_view option, std::string_view text, Number lowest, Number largest) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || !(value >= lowest && value <= largest)) {
    raise<UsageError>(option, " ", text, ": expected a ", std::is_integral_v<Number> ? "whole " : "", "number from ", lowest,
                      " to ", largest, ".");
  }
  return value;
}

}  // namespace

Options parse_options(int count, char** arguments) {
  constexpr auto largest_index = std::numeric_limits<gated::Index>::max();
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string_view option = arguments[i];
    const auto any_value = [&]() -> std::string_view {
      require<UsageError>(i + 1 < count, option, " needs a value.");
      return arguments[++i];
    };
    const auto value = [&]() -> std::string_view {
      const std::string_view next = i + 1 < count ? arguments[i + 1] : "";
      require<UsageError>(!next.empty() && !next.starts_with("--"), option, " needs a value.");
      return any_value();
    };
    if (option == "--prompt") {
      options.prompt = any_value();
    } else if (option == "--tokens") {
      options.tokens = number(option, value(), gated::Index{0}, largest_index);
    } else if (option == "--temperature") {
      options.sampling.temperature = number(option, value(), 0.0, 1e9);
    } else if (option == "--top-k") {
      options.sampling.top_k = number(option, value(), gated::Index{0}, largest_index);
    } else if (option == "--top-p") {
      options.sampling.top_p = number(option, value(), 0.0, 1.0);
      require<UsageError>(options.sampling.top_p > 0, option, " 0: expected more than 0, or no byte is left.");
    } else if (option == "--seed") {
      options.seed = number(option, value(), std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max());
    } else if (option == "--threads") {
      options.threads = number(option, value(), 1, most_threads);
    } else if (option == "--random") {
      options.random = value();
      require<UsageError>(options.random == "gmlp" || options.random == "flash", option, " ", options.random,
                          ": expected gmlp or flash.");
    } else if (option == "--save") {
      options.save = value();
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
