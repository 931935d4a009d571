#include "options.hpp"

#include "common/command_line.hpp"

namespace digits {

Options parse_options(int count, char** arguments) {
  Options options;
  CLI::App app("Classifies small images with a gMLP. Without options, uses the digits and the checkpoint beside the source.",
               "classify_digits");
  examples::add_name(app, "--data", options.data, "FILE.csv",
                     "one image per line: its pixels, channel by channel, row by row,\nthen its class, counted from 0");
  examples::add_name(app, "--model", options.model, "FILE.safetensors",
                     "an image classifier; its file states the image size, channels\nand normalization");
  examples::add_number(app, "--max-pixel", options.max_pixel, 1e-6F, 1e6F, "the value of a white pixel in the CSV");
  examples::add_name(app, "--mnist", options.mnist, "FOLDER",
                     "instead of --data: MNIST's test images, from the files in\nthis folder")
      ->excludes("--data")
      ->excludes("--max-pixel");
  app.add_flag("--all", options.all, "classify every line, not only those with index % 5 == 4");
  examples::add_threads(app, options.threads);
  examples::add_name(app, "--svg", options.svg, "FILE", "write a picture of the learned spatial weights");
  app.add_flag("--ascii", options.ascii, "draw the digits in plain ASCII");
  examples::parse(app, count, arguments);
  if (app.count("--data") + app.count("--mnist") + app.count("--model") + app.count("--max-pixel") > 0) {
    options.expected.clear();
  }
  return options;
}

}  // namespace digits
