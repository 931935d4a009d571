#include "options.hpp"

#include <string_view>

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
    "  --png FILE                draw the learned spatial weights there\n"
    "  --ascii                   draw the digits in plain ASCII\n"
    "  --help                    show this text\n";

Options parse_options(int count, char** arguments) {
  Options options;
  for (examples::CommandLine line(count, arguments); line.next();) {
    const std::string_view option = line.word();
    if (option == "--data") {
      options.data = line.value();
      options.expected.clear();
    } else if (option == "--model") {
      options.model = line.value();
      options.expected.clear();
    } else if (option == "--max-pixel") {
      options.max_pixel = line.number(1e-6F, 1e6F);
      options.expected.clear();
    } else if (option == "--threads") {
      options.threads = line.number(1, examples::most_threads);
    } else if (option == "--png") {
      options.png = line.value();
    } else if (option == "--all") {
      options.all = true;
    } else if (option == "--ascii") {
      options.ascii = true;
    } else if (option == "--help" || option == "-h") {
      options.help = true;
    } else {
      gated::raise<examples::UsageError>("unknown option ", option, ".");
    }
  }
  return options;
}

}  // namespace digits
