#include "options.hpp"

#include "common/command_line.hpp"

namespace small {

Options parse_options(int count, char** arguments) {
  Options options;
  CLI::App app("Measures how much accuracy a model loses in bf16 and int8 on held-out data, and writes quantized checkpoints.",
               "quantized_weights");
  examples::add_name(app, "model", options.model, "FILE.safetensors",
                     "a byte-level language model, an image classifier or a\nforecaster from save_model()")
      ->required();
  CLI::Option* const texts =
      examples::add_name(app, "--texts", options.texts, "FILE|FOLDER", "measure on the last tenth of each of these files");
  examples::add_name(app, "--images", options.images, "FILE.csv", "measure on the images with index % 5 == 4")->excludes(texts);
  examples::add_name(app, "--mnist", options.mnist, "FOLDER", "measure on MNIST's test images, from the files in this folder")
      ->excludes(texts)
      ->excludes("--images");
  examples::add_name(app, "--series", options.series, "FILE.csv", "measure forecasts of the last tenth of the last column")
      ->excludes(texts);
  examples::add_number(app, "--max-pixel", options.max_pixel, 1e-6F, 1e9F, "the value of a white pixel");
  app.add_flag("--tensors", options.tensors, "print a line per tensor");
  CLI::Option* const format =
      app.add_option("--format", options.format, "the format of --out")->check(CLI::IsMember({"bf16", "int8", "int8-rows"}));
  CLI::Option* const out = examples::add_name(app, "--out", options.out, "FILE", "write the model in this format");
  out->needs(format);
  format->needs(out);
  examples::add_threads(app, options.threads);
  examples::parse(app, count, arguments);
  return options;
}

}  // namespace small
