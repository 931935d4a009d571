#include "options.hpp"

#include <charconv>
#include <string_view>

namespace gates {

const char* const usage =
    "usage: visualize_gates [CHECKPOINT.safetensors] [options]\n"
    "\n"
    "Draws the spatial weights of a gMLP or aMLP and says how translation-invariant and how local they are.\n"
    "Without a checkpoint: the digits model of examples/classify_digits.\n"
    "\n"
    "  --out PREFIX              pictures are PREFIX_block0.png, ... (gates)\n"
    "  --block K                 only this block\n"
    "  --rows I,J,...            only the filters of these tokens, enlarged\n"
    "  --attention random|FILE   also the attention maps of an aMLP, for a random input or for the first line of a CSV file:\n"
    "                            pixels from 0 to 1, channel by channel and row by row, or token ids\n"
    "  --help                    show this text\n";

namespace {

gated::Index whole_number(std::string_view option, std::string_view text) {
  gated::Index value = -1;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || value < 0) {
    gated::raise<examples::UsageError>(option, " ", text, ": expected a whole number from 0 on.");
  }
  return value;
}

std::vector<gated::Index> whole_numbers(std::string_view option, std::string_view list) {
  std::vector<gated::Index> values;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    values.push_back(whole_number(option, list.substr(begin, end - begin)));
    begin = end + 1;
  }
  return values;
}

}  // namespace

Options parse_options(int count, char** arguments) {
  Options options;
  bool named = false;
  for (examples::CommandLine line(count, arguments); line.next();) {
    const std::string_view option = line.word();
    if (option == "--out") {
      options.out = line.value();
    } else if (option == "--block") {
      options.block = whole_number(option, line.value());
    } else if (option == "--rows") {
      options.rows = whole_numbers(option, line.value());
    } else if (option == "--attention") {
      options.attention = line.value();
    } else if (option == "--help" || option == "-h") {
      options.help = true;
    } else if (!option.starts_with("-") && !named) {
      options.checkpoint = option;
      named = true;
    } else {
      gated::raise<examples::UsageError>(option.starts_with("-") ? "unknown option " : "a second checkpoint: ", option, ".");
    }
  }
  return options;
}

}  // namespace gates
