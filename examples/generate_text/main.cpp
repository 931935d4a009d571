// generate_text: continues a text, byte by byte, with a language model from a checkpoint. See README.md.

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "byte_model.hpp"
#include "common/interrupt.hpp"
#include "common/run_main.hpp"
#include "common/safe_text.hpp"
#include "common/text_context.hpp"
#include "options.hpp"

namespace {

using gated::Index;
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// Prints `shown` and flushes stdout, so that each character appears at once.
void write(const std::string& shown) {
  std::fputs(shown.c_str(), stdout);
  gated::require<gated::FileError>(std::fflush(stdout) == 0, "cannot write the text.");
}

/// Generation with the library: prefills the prompt, then repeatedly samples a token, feeds it to the model and prints it.
template <class Model>
int generate(const gated::PreparedModel<Model>& opened, const text::Options& options) {
  const Model& model = opened.model;
  text::SafeText safe;
  std::vector<Index> prompt;
  for (const char byte : options.prompt) {
    prompt.push_back(static_cast<unsigned char>(byte));
    write(safe.add(static_cast<unsigned char>(byte)));
  }
  if (prompt.empty()) {
    prompt.push_back('\n');
  }
  constexpr Index unlimited = gated::State<float>::unlimited;
  const auto read = static_cast<Index>(prompt.size());
  text::Context context(model, opened.weights, options.threads,
                        options.tokens == 0 || options.tokens > unlimited - read ? unlimited : read + options.tokens);
  const auto beginning = Clock::now();
  context.add(prompt);
  const double prefill = milliseconds_since(beginning);

  gated::Sampler<float> sampler(256, options.sampling, gated::Random(options.seed));
  double time = 0;  // ms spent on sampling and decoding, not on printing
  Index count = 0;
  while (examples::stop_signal == 0 && (options.tokens == 0 || count < options.tokens)) {
    const auto start = Clock::now();
    const Index token = sampler(context.logits());
    context.add(gated::Tokens(&token, 1));
    time += milliseconds_since(start);
    ++count;
    write(safe.add(static_cast<unsigned char>(token)));
  }
  write(safe.finish() + "\n");

  if (context.restarts() > 0) {
    const Index longest = model.longest();
    std::fprintf(stderr, "note: the text exceeded the model's length (%td tokens) %d time%s; only the last %td were kept.\n",
                 longest, context.restarts(), context.restarts() > 1 ? "s" : "", std::max<Index>(longest / 2, 1));
  }
  const double each = time / static_cast<double>(std::max<Index>(count, 1));
  std::fprintf(stderr, "%td tokens%s, %.3f ms/token, %.0f tokens/s; prefill %.1f ms (prompt of %zu); state %zu bytes\n", count,
               examples::stop_signal != 0 ? " until stopped" : "", each, each > 0 ? 1000 / each : 0, prefill, prompt.size(),
               context.state_bytes());
  return 0;
}

int run(const text::Options& options) {
  const bool random = !options.random.empty();
  const text::ByteModel model = random ? text::random_model(options.random) : text::open_model(options.checkpoint);
  if (random) {
    std::fputs("note: random weights. The text is noise; only the speed is meaningful.\n", stderr);
  }
  if (!options.save.empty()) {
    text::save(model, options.save);
    std::fprintf(stderr, "note: saved as %s\n", options.save.string().c_str());
  }
  examples::stop_when_asked();
  return std::visit([&](const auto& m) { return generate(m, options); }, model);
}

}  // namespace

int main(int count, char** arguments) {
  return examples::run_main(
      "generate_text", [&] { return text::parse_options(count, arguments); }, run);
}
