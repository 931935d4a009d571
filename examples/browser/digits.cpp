// Reads drawn digits, shows what the model's gates do, and learns a writer's handwriting.

#include <algorithm>
#include <optional>

#include "gated/models/gmlp.hpp"
#include "gated/models/inspect.hpp"
#include "gated/models/prepare.hpp"
#include "gated/ops/softmax.hpp"
#include "gated/train.hpp"
#include "ink.hpp"
#include "page.hpp"
#include "train_digits/distort.hpp"

namespace {

using gated::Index, gated::Matrix;
using Model = gated::GmlpImageClassifier<float>;

/// A model with its packed weights.
struct Reader {
  Model model;
  gated::PreparedWeights<float> weights;
  gated::Workspace<float> workspace{};
  std::vector<Matrix<float>> at_rest{};  ///< the gates for a black picture, computed on first use

  explicit Reader(Model m) : model(std::move(m)), weights(gated::prepare(model)) { workspace.use(weights); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  /// The probabilities of the ten digits.
  Matrix<float> read(const Matrix<float>& picture) {
    Matrix<float> input = picture;
    gated::scale_pixels<float>(input, model.config);
    Matrix<float> y = model.forward(input, workspace);
    gated::softmax<float>(y, workspace);
    return y;
  }

  /// The gate of each block, patches × channels.
  std::vector<Matrix<float>> gates(const Matrix<float>& picture) {
    std::vector<Matrix<float>> seen;
    workspace.set_hook([&](const std::string& path, gated::ConstView<float> output) {
      if (path.ends_with(".gate.proj")) {
        seen.push_back(output);
      }
    });
    read(picture);
    workspace.set_hook(nullptr);
    return seen;
  }
};

/// The purpose of a drawing: training, measuring accuracy, or rehearsal against forgetting.
enum class Use { learn, measure, rehearse };

struct Drawing {
  Matrix<float> picture;
  Index label;
  Use use;
};

/// A training run on the writer's drawings.
struct Lesson {
  static constexpr Index steps = 40, batch = 10;  // a few seconds

  gated::Training<Model> training;
  gated::Tape<float> tape{};
  std::vector<std::size_t> learned{}, rehearsed{};

  Lesson(const Model& model, const std::vector<Drawing>& drawings) : training(config(), model, gated::Random(1)) {
    for (std::size_t i = 0; i < drawings.size(); ++i) {
      if (drawings[i].use != Use::measure) {
        (drawings[i].use == Use::learn ? learned : rehearsed).push_back(i);
      }
    }
    gated::require<gated::ArgumentError>(!learned.empty(), "there is nothing to learn from. Draw a digit first.");
  }

  static gated::TrainingConfig<Model> config() {
    return {.optimizer = {.learning_rate = 3e-3},
            .schedule = {.form = gated::ScheduleForm::cosine, .warmup = 5, .steps = steps},
            .clip_norm = 1.0};
  }

  /// One step. Half of the batch is drawn from the writer's drawings, half from those kept for rehearsal, if any; all are
  /// distorted at random.
  double step(const std::vector<Drawing>& drawings) {
    const auto& model = training.model.config;
    Matrix<float> inputs(batch, ink::side * ink::side);
    std::vector<Index> labels;
    for (Index i = 0; i < batch; ++i) {
      const auto& pool = i % 2 == 0 || rehearsed.empty() ? learned : rehearsed;
      const auto pick = static_cast<std::size_t>(training.random.uniform() * static_cast<double>(pool.size()));
      const Drawing& drawing = drawings[pool[pick]];
      digits::distort(drawing.picture, model.image, {.shift = 1.5, .turn = 0.12, .scale = 0.1}, training.random, inputs.row(i));
      labels.push_back(drawing.label);
    }
    gated::scale_pixels<float>(inputs, model);
    return training.step([&](const Model& current, Model& gradient) {
      tape.begin(current, gradient, training.random);
      return tape.backward(cross_entropy(tape, record(tape, current, tape.constant(inputs)), labels));
    });
  }
};

std::optional<Reader> shipped, taught;
std::optional<Lesson> lesson;
std::vector<Drawing> drawings;
Matrix<float> picture = Matrix<float>::Zero(1, ink::side* ink::side);  // the picture classified last

/// Adds a row to the answer.
void add(const Matrix<float>& row) {
  page::answer.numbers.insert(page::answer.numbers.end(), row.data(), row.data() + row.size());
}

/// The current model: the taught one if there is one, else the shipped one.
Reader& reader() { return taught ? *taught : page::expect_open(shipped); }

/// Adds two counts to the answer: the drawings with this use that the model recognizes, and all drawings with this use.
void add_share_right(Reader& model, Use use) {
  float right = 0, count = 0;
  for (const Drawing& drawing : drawings) {
    if (drawing.use == use) {
      Index best = 0;
      model.read(drawing.picture).row(0).maxCoeff(&best);
      right += best == drawing.label ? 1 : 0;
      count += 1;
    }
  }
  page::answer.numbers.insert(page::answer.numbers.end(), {right, count});
}

}  // namespace

/// Loads the model from its file's bytes in page::input.
PAGE_EXPORT(int, open)() {
  return page::respond([] { shipped.emplace(page::load<Model>("mnist.safetensors")); });
}

/// Classifies the strokes in page::input. Output: the probabilities of the ten digits, and the picture.
PAGE_EXPORT(int, classify)() {
  return page::respond([] {
    picture = ink::picture_of(page::input_numbers());
    add(reader().read(picture));
    add(picture);
  });
}

/// Compares the gates for the last picture of classify() with those for a black picture. Output for each block: the difference
/// at each patch (mean over the channels), the patch where its magnitude is largest, and that patch's row of W.
PAGE_EXPORT(int, gates)() {
  return page::respond([] {
    Reader& by = reader();
    if (by.at_rest.empty()) {
      by.at_rest = by.gates(Matrix<float>::Zero(1, ink::side * ink::side));
    }
    const std::vector<Matrix<float>> gates = by.gates(picture);
    for (std::size_t block = 0; block < gates.size(); ++block) {
      const gated::Vector<float> movement = (gates[block] - by.at_rest[block]).rowwise().mean();
      Index patch = 0;
      movement.cwiseAbs().maxCoeff(&patch);
      add(movement.transpose());
      page::answer.numbers.push_back(static_cast<float>(patch));
      add(by.model.trunk.blocks[block].gate.proj.weight.row(patch));
    }
  });
}

/// Stores the strokes in page::input as a drawing of the digit `label`, for the purpose `use`.
PAGE_EXPORT(int, keep)(int label, int use) {
  return page::respond([&] {
    drawings.push_back({ink::picture_of(page::input_numbers()), Index{label}, static_cast<Use>(use)});
  });
}

/// Forgets the drawings, and the taught model.
PAGE_EXPORT(int, forget)() {
  return page::respond([] {
    drawings.clear();
    lesson.reset();
    taught.reset();
  });
}

/// Runs one training step; the first call starts the lesson. Output: the steps done, the total number of steps, and the loss.
PAGE_EXPORT(int, teach)() {
  return page::respond([] {
    if (!lesson) {
      lesson.emplace(page::expect_open(shipped).model, drawings);
    }
    const double loss = lesson->step(drawings);
    page::answer.numbers = {static_cast<float>(lesson->training.steps_done()), static_cast<float>(Lesson::steps),
                            static_cast<float>(loss)};
  });
}

/// Ends the lesson: the taught model becomes the current one. Output: pairs (recognized, all) for the held-out drawings before
/// and after the lesson, then for the rehearsed ones before and after.
PAGE_EXPORT(int, end_lesson)() {
  return page::respond([] {
    taught.emplace(lesson ? std::move(lesson->training.model) : page::expect_open(shipped).model);
    lesson.reset();
    for (const Use use : {Use::measure, Use::rehearse}) {
      add_share_right(*shipped, use);
      add_share_right(*taught, use);
    }
  });
}
