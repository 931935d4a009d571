#include "options.hpp"

#include <charconv>
#include <cmath>

#include "gated/core/error.hpp"

namespace digits {

const char* const usage =
    "usage: classify_digits [options]\n"
    "\n"
    "Classifies small images with a gMLP. Without options: the digits and the checkpoint beside the source.\n"
    "\n"
    "  --data FILE.csv           an image a line: its pixels, channel by channel, row by row, then its class from 0 on\n"
    "  --model FILE.safetensors  an image classifier; image size, channels and normalisation come with it\n"
    "  --max-pixel NUMBER        the value of a white pixel in the CSV (16)\n"
    "  --all                     classify every line, not only those with index % 5 == 4\n"
    "  --threads N               threads to use (1)\n"
    "  --png FILE                where to draw the learned spatial weights (spatial_weights.png)\n"
    "  --ascii                   draw the digits in plain ASCII\n"
    "  --help                    show this text\n";

namespace {

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
    gated::raise<UsageError>(option, " ", text, ": expected a number from ", lowest, " to ", largest, ".");
  }
  return value;
}

}  // namespace

Options parse_options(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string_view option = arguments[i];
    const auto value = [&]() -> std::string_view {
      const std::string_view next = i + 1 < count ? arguments[i + 1] : "";
      gated::require<UsageError>(!next.empty() && !next.starts_with("--"), option, " needs a value.");
      return arguments[++i];
    };
    if (option == "--data") {
      options.data = value();
      options.expected.clear();
    } else if (option == "--model") {
      options.model = value();
      options.expected.clear();
    } else if (option == "--max-pixel") {
      options.max_pixel = number(option, value(), 1e-6F, 1e6F);
      options.expected.clear();
    } else if (option == "--threads") {
      options.threads = number(option, value(), 1, most_threads);
    } else if (option == "--png") {
      options.png = value();
    } else if (option == "--all") {
      options.all = true;
    } else if (option == "--ascii") {
      options.ascii = true;
    } else if (option == "--help" || option == "-h") {
      options.help = true;
    } else {
      gated::raise<UsageError>("unknown option ", option, ".");
    }
  }
  return options;
}

}  // namespace digits
