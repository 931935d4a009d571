// train_text: trains a language model over bytes on any text. See README.md.

#include <cstdio>
#include <string>

#include "corpus.hpp"
#include "gated/io/safetensors.hpp"
#include "options.hpp"
#include "train.hpp"

namespace {

/// Whether the training to start or to resume is one of FLASH.
bool is_flash(const text::Options& options) {
  if (options.resume.empty()) {
    return options.model == "flash";
  }
  const gated::SafetensorsFile file(options.resume);
  const auto architecture = file.metadata().find("architecture");
  return architecture != file.metadata().end() && architecture->second == "gated.Training<gated.FlashLanguageModel>";
}

int run(const text::Options& options) {
  const bool flash = is_flash(options);
  const text::Corpus corpus(options.texts.empty() ? text::default_texts() : text::text_files(options.texts));
  std::printf("  texts     %zu files: %zu bytes to learn from, %zu held out\n", corpus.documents().size(),
              corpus.training_bytes(), corpus.held_out_bytes());
  return flash ? text::train_flash(options, corpus) : text::train_gmlp(options, corpus);
}

}  // namespace

int main(int count, char** arguments) {
  return examples::run_main(
      "train_text", text::usage, [&] { return text::parse_options(count, arguments); }, run);
}
