// train_distributed JOB FILE runs one rank of a job, which checks its own results. Started by job.cmake.

#include <csignal>
#include <string_view>

#include "gated/io/model_file.hpp"
#include "gated/models/gmlp.hpp"
#include "gated/train/distributed_mpi.hpp"
#include "gated/train/loss.hpp"
#include "gated/train/recording.hpp"

namespace {

using namespace gated;

/// The error of a failed check.
class Failure : public Error {
 public:
  using Error::Error;
};

template <class T>
using Trained = Training<GmlpLanguageModel<T>>;

template <class T>
typename Trained<T>::Config config() {
  return {.model = {.vocabulary = 17,
                    .trunk = {.length = 12, .channels = 16, .hidden = 32, .depth = 2, .causal = true, .attention_width = 8}},
          .optimizer = {.learning_rate = 1e-2},
          .schedule = {.form = ScheduleForm::cosine, .warmup = 2, .steps = 10},
          .clip_norm = 1.0,
          .average_decay = 0.9};
}

/// Random tokens, and targets that are a function of the token. If `ragged`, some targets are ignored.
struct Batch {
  static constexpr Index length = 12;
  std::vector<Index> tokens, targets;

  Batch(Index count, Random& random, bool ragged = false) {
    for (Index i = 0; i < count * length; ++i) {
      tokens.push_back(static_cast<Index>(random.bits() % 17));
      const bool counts = !ragged || (i % 3 != 0 && i < count * length / 2) || i % 5 == 0;
      targets.push_back(counts ? (3 * tokens.back() + 1) % 17 : CrossEntropyOptions{}.ignored);
    }
  }
};

/// The mean loss over the sequences of `share`, and its gradient. Sets `counted` to the number of non-ignored targets.
template <class T>
double loss_of(Tape<T>& tape, const GmlpLanguageModel<T>& model, GmlpLanguageModel<T>& gradient, const Batch& batch,
               MpiWorld::Share share, Index* counted = nullptr) {
  const auto first = static_cast<std::size_t>(share.first * Batch::length);
  const auto count = static_cast<std::size_t>(share.count * Batch::length);
  const Tokens tokens = Tokens(batch.tokens).subspan(first, count);
  const Targets targets = Targets(batch.targets).subspan(first, count);
  if (counted != nullptr) {
    *counted = static_cast<Index>(count) - std::count(targets.begin(), targets.end(), CrossEntropyOptions{}.ignored);
  }
  tape.begin(model, gradient);
  const Variable logits = record(tape, model, tokens, Sequences::uniform(share.count, Batch::length));
  return tape.backward(cross_entropy(tape, logits, targets));
}

/// Expects the same losses in ten steps whether the ranks share each batch or one process computes the whole batch. A batch has
/// `sequences` sequences.
template <class T>
void compare_losses(MpiWorld& world, Index sequences, bool ragged, double tolerance) {
  Trained<T> shared(config<T>(), Random(1)), alone(config<T>(), Random(1));
  Tape<T> tape;
  world.expect_same(shared);
  double first = 0, last = 0;
  for (Index step = 1; step <= 10; ++step) {
    last = shared.step([&](const auto& model, auto& gradient) {
      const Batch batch(sequences, shared.random, ragged);
      Index counted = 0;
      const double loss = loss_of(tape, model, gradient, batch, world.share(sequences), &counted);
      return ragged ? world.all_reduce_mean(gradient, loss, static_cast<double>(counted))
                    : world.all_reduce_mean(gradient, loss);
    });
    const double expected = alone.step([&](const auto& model, auto& gradient) {
      return loss_of(tape, model, gradient, Batch(sequences, alone.random, ragged), {0, sequences});
    });
    require<Failure>(std::abs(last - expected) <= tolerance, "step ", step, ": the loss is ", last, ", expected ", expected,
                     " ± ", tolerance, ".");
    first = step == 1 ? last : first;
  }
  require<Failure>(last < first - 0.01, "the loss went from ", first, " to ", last, ", expected it to decrease.");
  world.expect_same(shared);
}

/// Expects that `f` throws an `E` on every rank, and returns its message. If a rank throws nothing, the job fails or hangs.
template <class E, class F>
std::string expect_on_all(MpiWorld& world, const F& f) {
  std::string message;
  try {
    f();
  } catch (const E& error) {
    message = error.what();
  }
  require<Failure>(!message.empty(), "rank ", world.rank(), " threw no error.");
  return message;
}

/// Expects that all ranks refuse a step, and can continue, if the loss or a gradient element of one rank is not finite.
void not_a_number(MpiWorld& world) {
  Trained<float> training(config<float>(), Random(1));
  const auto step = [&](double loss, float upstream) {
    training.step([&](const auto&, auto& gradient) {
      gradient.embedding.weight.setConstant(0.1F);
      gradient.embedding.weight(1, 2) = upstream;
      return world.all_reduce_mean(gradient, loss);
    });
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const bool sick = world.rank() == 1;
  const auto before = detail::fingerprint(training);
  std::string said = expect_on_all<TrainingError>(world, [&] { step(sick ? std::nan("") : 1.0, 0.1F); });
  require<Failure>(said.find("the loss of micro-batch 1 is nan") != said.npos, "the error is: ", said);
  said = expect_on_all<TrainingError>(world, [&] { step(1.0, sick ? nan : 0.1F); });
  require<Failure>(said.find("embedding.weight[1, 2] = nan") != said.npos, "the error is: ", said);
  require<Failure>(detail::fingerprint(training) == before, "the training has changed.");
  step(1.0, 0.1F);
  require<Failure>(training.steps_done() == 1, "the training cannot continue.");
  world.expect_same(training);
}

/// Expects that weighted means are correct, that a rank may have no data, and that all ranks refuse invalid weights.
void weights(MpiWorld& world) {
  Random random(1);
  GmlpLanguageModel<double> gradient(config<double>().model, random);
  const auto reduce = [&](double value, double weight) {
    for_each_parameter([&](const auto&, auto values) { std::fill(values.begin(), values.end(), value); }, gradient);
    return world.all_reduce_mean(gradient, 10 * value, weight);
  };
  const auto expect = [&](double loss, double value) {
    require<Failure>(loss == 10 * value && gradient.embedding.weight.isConstant(value, 0), "the mean is ", loss, ", expected ",
                     10 * value, ".");
  };
  const bool second = world.rank() == 1;
  expect(reduce(second ? 6.0 : 2.0, second ? 3.0 : 1.0), 5.0);
  expect(reduce(second ? std::nan("") : 2.0, second ? 0.0 : 7.0), 2.0);
  for (const double weight : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    expect_on_all<ArgumentError>(world, [&] { reduce(1, second ? weight : 1.0); });
  }
  const std::string said = expect_on_all<ArgumentError>(world, [&] { reduce(1, 0); });
  require<Failure>(said.find("the weights of the 2 ranks add up to 0, expected") != said.npos, "the error is: ", said);
  const auto none = world.share(1);
  require<Failure>(world.share(7).count == (second ? 4 : 3) && none.count == (second ? 1 : 0), "a share is wrong.");
}

/// Expects that all ranks report the differences between their training runs.
void different_ranks(MpiWorld& world) {
  const bool second = world.rank() == 1;
  const auto refused = [&](const Trained<float>& training, const char* expected) {
    const std::string said = expect_on_all<ArgumentError>(world, [&] { world.expect_same(training); });
    require<Failure>(said.find(expected) != said.npos, "the error is: ", said);
  };
  const Trained<float> start(config<float>(), Random(1));
  Trained<float> other = start;
  other.model.embedding.weight(0, 0) += second ? 1e-6F : 0.0F;
  refused(other, "rank 1 differs in parameters, moments or average.");
  auto settings = config<float>();
  settings.optimizer.beta2 = second ? 0.99 : 0.999;
  refused(Trained<float>(settings, Random(1)), "rank 1 differs in settings, kernels, steps or generator.");
  other = start;
  other.random = Random(second ? 5 : 6);
  refused(other, "rank 1 differs in settings, kernels, steps or generator.");
  world.expect_same(start);
}

/// Rank 1 stops after `steps` steps and calls `then`; rank 0 continues.
template <class F>
void part_after(MpiWorld& world, Index steps, const F& then) {
  Trained<float> training(config<float>(), Random(1));
  while (world.rank() == 0 || training.steps_done() < steps) {
    training.step([&](const auto&, auto& gradient) {
      gradient.embedding.weight.setConstant(0.1F);
      return world.all_reduce_mean(gradient, 1.0);
    });
  }
  then(training);
}

/// Expects an error on every rank if the ranks diverge. In one case, a rank compares training runs while the other reduces
/// gradients; in another, the sizes of their gradients differ.
void parted_ranks(MpiWorld& around) {
  const auto expect_error = [&](const std::string& expected, const auto& f) {
    MpiWorld world;
    const std::string said = expect_on_all<ArgumentError>(around, [&] { f(world); });
    require<Failure>(said.find(expected) != said.npos, "the error is: ", said);
  };
  const Trained<float>::Model model(config<float>().model);
  expect_error(text("rank 0 is at step 4 with ", parameter_count(model), " parameters, rank 1 is in expect_same(). Let every"),
               [](MpiWorld& world) { part_after(world, 3, [&](const auto& training) { world.expect_same(training); }); });
  expect_error("rank 0 is at step 1 with 20 parameters, rank 1 is at step 1 with 24 parameters.", [](MpiWorld& world) {
    Linear<float> gradient(4, world.rank() == 0 ? 5 : 6, false);
    world.all_reduce_mean(gradient, 0);
  });
}

/// Trains, and saves on rank 0 after every step, until rank 1 is killed or throws.
void end_at_step(MpiWorld& world, Index last, const std::string& file, bool killed) {
  Trained<float> training(config<float>(), Random(1));
  Tape<float> tape;
  for (;;) {
    training.step([&](const auto& model, auto& gradient) {
      if (world.rank() == 1 && training.steps_done() == last) {
        killed ? static_cast<void>(std::raise(SIGKILL)) : raise<Failure>("no data on this rank");
      }
      const double loss = loss_of(tape, model, gradient, Batch(8, training.random), world.share(8));
      return world.all_reduce_mean(gradient, loss);
    });
    if (world.rank() == 0) {
      save_model(training, file);
    }
  }
}

/// Expects that the file of a failed job equals, up to rounding, the state of a single-process run after as many steps.
void expect_whole(const std::string& file) {
  auto training = load_model<Trained<float>>(file);
  training.expect_same_run(config<float>());
  require<Failure>(!first_nonfinite(training), "a value is not finite.");
  Tape<float> tape;
  Trained<float> alone(config<float>(), Random(1));
  while (alone.steps_done() < training.steps_done()) {
    alone.step([&](const auto& model, auto& gradient) {
      return loss_of(tape, model, gradient, Batch(8, alone.random), {0, 8});
    });
  }
  const float difference = (alone.model.embedding.weight - training.model.embedding.weight).cwiseAbs().maxCoeff();
  require<Failure>(difference < 1e-3F && alone.random.state() == training.random.state(),
                   "the file is from another training run: ", difference);
  std::printf("the file is intact after %td steps\n", training.steps_done());
}

void run(MpiWorld& world, std::string_view job, const std::string& file) {
  require<Failure>(world.size() == 2, "the job has ", world.size(), " ranks, expected 2.");
  if (job == "same_losses") {
    compare_losses<float>(world, 8, false, 1e-6);
    compare_losses<double>(world, 8, false, 1e-13);
  } else if (job == "different_shares") {
    compare_losses<float>(world, 7, true, 1e-6);
    compare_losses<double>(world, 7, true, 1e-13);
  } else if (job == "not_a_number") {
    not_a_number(world);
  } else if (job == "weights") {
    weights(world);
  } else if (job == "different_ranks") {
    different_ranks(world);
  } else if (job == "parted_ranks") {
    parted_ranks(world);
  } else if (job == "fewer_steps") {
    part_after(world, 10, [](const auto&) {});
  } else {
    end_at_step(world, 20, file, job == "death");
  }
  std::printf("rank %d: passed\n", world.rank());
}

}  // namespace

int main(int argc, char** argv) {
  require<Failure>(argc == 3, "usage: train_distributed JOB FILE");
  const std::string job = argv[1], file = argv[2];
  if (job == "whole") {  // one process, no MPI
    expect_whole(file);
    return 0;
  }
  return run_mpi(argc, argv, [&](MpiWorld& world) { run(world, job, file); });
}
