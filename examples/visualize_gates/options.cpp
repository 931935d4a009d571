#include "options.hpp"

#include "common/command_line.hpp"

namespace gates {

Options parse_options(int count, char** arguments) {
  Options options;
  CLI::App app("Draws the spatial weights of a gMLP or aMLP, and measures how translation-invariant and local they are.",
               "visualize_gates");
  examples::add_name(app, "checkpoint", options.checkpoint, "FILE.safetensors",
                     "the model (default: the digits model of classify_digits)");
  examples::add_timm_model(app, options.timm);
  examples::add_name(app, "--out", options.out, "PREFIX", "pictures are PREFIX_block0.svg, ...")->capture_default_str();
  constexpr auto largest = std::numeric_limits<gated::Index>::max();
  examples::add_number(app, "--block", options.block, gated::Index{0}, largest, "only this block");
  examples::add_number(app, "--rows", options.rows, gated::Index{0}, largest,
                       "only the filters of these tokens, enlarged: I,J,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  examples::add_name(app, "--attention", options.attention, "random|FILE",
                     "also draw the attention maps of an aMLP, for a random input or\n"
                     "for the first line of a CSV file: pixels from 0 to 1, channel\n"
                     "by channel and row by row, or token ids");
  examples::parse(app, count, arguments);
  return options;
}

}  // namespace gates
