// Compiled twice, with and without exceptions and RTTI. Both programs must print the same values and the same error.

#include <cstdio>
#include <cstdlib>
#include <gated/train.hpp>

namespace {

using gated::Index;

const std::vector<Index> text{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8};

void print(const char* name, gated::ConstView<float> numbers) {
  std::printf("%s:", name);
  for (Index i = 0; i < numbers.rows(); ++i) {
    std::printf(" %a", static_cast<double>(numbers.row(i).cwiseAbs().sum()));
  }
  std::printf("\n");
}

template <class Model>
void run(const char* name, const Model& model) {
  gated::Workspace<float> workspace;
  const auto logits = model.forward(text, gated::Sequences::single(12), workspace);
  print(name, logits);

  auto state = model.start();
  gated::Matrix<float> last(1, logits.cols());
  for (const Index token : text) {
    model.step(token, state, last, workspace);
  }
  print("step by step", last);
}

template <class Model>
void train(const char* name, const typename Model::Config& config) {
  gated::Training<Model> training({.model = config}, gated::Random(1));
  gated::Tape<float> tape;
  for (int i = 0; i < 2; ++i) {
    const double loss = training.step([&](const Model& model, Model& gradient) {
      tape.begin(model, gradient);
      const auto logits = record(tape, model, text, gated::Sequences::single(12));
      return tape.backward(cross_entropy(tape, logits, text));
    });
    std::printf("loss of %s: %a\n", name, loss);
  }
  run(name, training.model);
}

[[noreturn]] void refuse(const char* message) {
  std::printf("refused: %s\n", message);
  std::exit(0);
}

}  // namespace

int main() {
  using Gmlp = gated::GmlpLanguageModel<float>;
  using Flash = gated::FlashLanguageModel<float>;
  const Gmlp::Config gmlp{
      .vocabulary = 11, .trunk = {.length = 12, .channels = 8, .hidden = 16, .depth = 2, .causal = true, .attention_width = 4}};
  train<Gmlp>("aMLP", gmlp);
  train<Flash>("FLASH", {.vocabulary = 11,
                         .position = gated::PositionForm::sinusoid,
                         .trunk = {.depth = 2, .block = gated::flash_presets::lucidrains({.channels = 8})}});

  const std::vector<Index> too_long(13);
  gated::Workspace<float> workspace;
  const Gmlp model(gmlp);
#if GATED_HAS_EXCEPTIONS
  try {
    model.forward(too_long, gated::Sequences::single(13), workspace);
  } catch (const gated::ShapeError& error) {
    refuse(error.what());
  }
#else
  gated::set_error_handler(&refuse);
  model.forward(too_long, gated::Sequences::single(13), workspace);
#endif
  std::puts("a text of 13 tokens was not refused");
  return 1;
}
