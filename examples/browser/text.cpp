// Continues a text byte by byte, as the example `generate_text` does.

#include <optional>

#include "common/safe_text.hpp"
#include "common/text_context.hpp"
#include "gated/models/flash.hpp"
#include "gated/models/sampling.hpp"
#include "page.hpp"

namespace {

using gated::Index;
using Model = gated::FlashLanguageModel<float>;

/// A model with its packed weights.
struct Opened {
  Model model;
  gated::PreparedWeights<float> weights;

  explicit Opened(Model m) : model(std::move(m)), weights(gated::prepare(model)) {}
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
};

/// The text being generated.
struct Writing {
  text::Context<Model> context;
  gated::Sampler<float> sampler;
  text::SafeText safe{};

  Writing(const Opened& by, double temperature, std::uint64_t seed)
      : context(by.model, by.weights, 1), sampler(256, {.temperature = temperature}, gated::Random(seed)) {}
};

std::optional<Opened> opened;
std::optional<Writing> writing;

}  // namespace

/// Loads the model file whose bytes are in page::input.
PAGE_EXPORT(int, open)() {
  return page::respond([] { opened.emplace(page::load<Model>("bible.int8.safetensors")); });
}

/// Reads the prompt from page::input. `percent` is the temperature in hundredths.
PAGE_EXPORT(int, begin)(int percent, unsigned seed) {
  return page::respond([=] {
    const Opened& by = page::expect_open(opened);
    std::vector<Index> prompt;
    for (const std::byte byte : page::input) {
      prompt.push_back(std::to_integer<Index>(byte));
    }
    if (prompt.empty()) {
      prompt.push_back('\n');
    }
    writing.emplace(by, static_cast<double>(percent) / 100, seed);
    writing->context.add(prompt);
  });
}

/// Generates one byte. Output: the text to show, empty until a character is complete.
PAGE_EXPORT(int, next)() {
  return page::respond([] {
    Writing& by = page::expect_open(writing);
    const Index token = by.sampler(by.context.logits());
    by.context.add(gated::Tokens(&token, 1));
    page::answer.text = by.safe.add(static_cast<unsigned char>(token));
  });
}
