#include "options.hpp"

#include "common/command_line.hpp"

namespace small {

Options parse_options(int count, char** arguments) {
  Options options;
  CLI::App app(
      "What a model loses when its weights are kept in bf16 or int8, measured on texts or images that it was not trained on; "
      "and "
      "such a model as a file.",
      "quantized_weights");
  examples::add_name(app, "model", options.model, "FILE.safetensors",
                     "a language model over bytes or an image classifier, as save_model()\nwrites it")
      ->required();
  CLI::Option* const texts =
      examples::add_name(app, "--texts", options.texts, "FILE|FOLDER", "measure on the last tenth of each of these files");
  examples::add_name(app, "--images", options.images, "FILE.csv",
                     "measure on the images whose index leaves 4 when divided by 5")
      ->excludes(texts);
  examples::add_number(app, "--max-pixel", options.max_pixel, 1e-6F, 1e9F, "a pixel that is white");
  app.add_flag("--tensors", options.tensors, "a line for each tensor");
  CLI::Option* const format =
      app.add_option("--format", options.format, "of --out")->check(CLI::IsMember({"bf16", "int8", "int8-rows"}));
  CLI::Option* const out = examples::add_name(app, "--out", options.out, "FILE", "write the model in this format");
  out->needs(format);
  format->needs(out);
  examples::add_threads(app, options.threads);
  examples::parse(app, count, arguments);
  return options;
}

}  // namespace small
