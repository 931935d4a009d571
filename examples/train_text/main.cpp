// train_text: trains a byte-level language model on any text. See README.md.

#include <cstdio>

#include "common/output_file.hpp"
#include "common/run_main.hpp"
#include "corpus.hpp"
#include "options.hpp"
#include "train.hpp"

namespace {

int run(const text::Options& options) {
  examples::expect_place_for(options.out);
  const text::Corpus corpus(options.texts.empty() ? text::default_texts() : text::text_files(options.texts));
  std::printf("  texts     %zu files: %zu bytes to learn from, %zu held out\n", corpus.documents().size(),
              corpus.training_bytes(), corpus.held_out_bytes());
  return text::train(options, corpus);
}

}  // namespace

int main(int count, char** arguments) {
  return examples::run_main(
      "train_text", [&] { return text::parse_options(count, arguments); }, run);
}
