#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "gated/io/model_file.hpp"
#include "tests/io/files.hpp"
#include "tests/train/regression.hpp"

#if defined(__unix__) || defined(__APPLE__)
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>
#endif

namespace gated::training_file_test {
namespace {

using test::expect_error;
using test::regress;
using test::Regression;
using test::same_parameters;
using test::temporary;

template <class T>
TrainingConfig<Regression<T>> busy_config() {
  return {.model = {.in = 5, .out = 3},
          .optimizer = {.learning_rate = 1.0 / 30, .weight_decay = 0.1, .groups = {{.path = "layer.bias", .frozen = false}}},
          .schedule = {.form = ScheduleForm::cosine, .warmup = 5, .steps = 40, .final_fraction = 0.1},
          .clip_norm = 0.5,
          .average_decay = 0.9,
          .micro_batches = 2};
}

/// The losses of the next `steps` steps, as bit patterns.
template <class T>
std::vector<std::uint64_t> losses_of(Training<Regression<T>>& training, Index steps) {
  std::vector<std::uint64_t> losses;
  for (Index i = 0; i < steps; ++i) {
    losses.push_back(std::bit_cast<std::uint64_t>(regress(training)));
  }
  return losses;
}

template <class T>
void expect_same(const Training<Regression<T>>& a, const Training<Regression<T>>& b) {
  EXPECT_TRUE(same_parameters(a, b)) << "model, moments or average";
  EXPECT_EQ(to_json(a.config()), to_json(b.config())) << "settings, steps or generator";
}

template <class T>
void expect_goes_on_bit_for_bit(const TrainingConfig<Regression<T>>& config) {
  const auto path = temporary("run.safetensors");
  Training<Regression<T>> never_stopped(config, Random(3));
  losses_of(never_stopped, 12);
  save_model(never_stopped, path);
  auto resumed = load_model<Training<Regression<T>>>(path);
  EXPECT_EQ(resumed.steps_done(), 12);
  expect_same(resumed, never_stopped);
  EXPECT_EQ(losses_of(resumed, 20), losses_of(never_stopped, 20));
  expect_same(resumed, never_stopped);
}

TEST(TrainingFile, ResumesBitForBit) {
  expect_goes_on_bit_for_bit<float>(busy_config<float>());
  expect_goes_on_bit_for_bit<double>(busy_config<double>());
  expect_goes_on_bit_for_bit<float>({});
}

TEST(TrainingFile, NamesItsContents) {
  const auto path = temporary("run.safetensors");
  Training<Regression<float>> training(busy_config<float>(), Random(3));
  losses_of(training, 2);
  save_model(training, path);
  const SafetensorsFile file(path);
  EXPECT_EQ(file.metadata().at("architecture"), "gated.Training<test.Regression>");
  EXPECT_NE(file.metadata().at("config").find("\"progress\":{\"steps\":2,\"random\":["), std::string::npos);
  for (const char* const name :
       {"model.layer.weight", "optimizer.first.layer.weight", "optimizer.second.layer.bias", "average.layer.bias"}) {
    EXPECT_TRUE(file.contains(name)) << name;
  }
  EXPECT_EQ(file.tensors().size(), 8u);
}

TEST(TrainingFile, CannotBeSavedDuringAStep) {
  const auto path = temporary("run.safetensors");
  Training<Regression<float>> training(busy_config<float>(), Random(3));
  training.accumulate(test::RegressionLoss<float>{training.random});
  expect_error<ArgumentError>([&] { save_model(training, path); }, {"between accumulate() and update()"});
  EXPECT_FALSE(std::filesystem::exists(path));
}

/// A different model with the same configuration and parameters.
struct Cousin : Regression<float> {
  using Regression<float>::Regression;
  static constexpr const char* architecture = "test.Cousin";
};

TEST(TrainingFile, IsRefusedForAnotherConfigOrModel) {
  const auto path = temporary("run.safetensors");
  Training<Regression<float>> training(busy_config<float>(), Random(3));
  losses_of(training, 2);
  save_model(training, path);
  auto wanted = busy_config<float>();
  wanted.model.out = 4;
  wanted.optimizer.beta2 = 0.98;
  expect_error<ArgumentError>(
      [&] { load_model<Training<Regression<float>>>(path).expect_same_run(wanted); },
      {"model.out is 3 in the file, expected 4", "optimizer.beta2 is 0.999 in the file, expected 0.98"});
  expect_error<FileError>([&] { load_model<Training<Cousin>>(path); },
                          {"the file holds a \"gated.Training<test.Regression>\", expected the architecture "
                           "\"gated.Training<test.Cousin>\""});
  expect_error<FileError>([&] { load_model<Regression<float>>(path); }, {"expected the architecture \"test.Regression\""});
}

TEST(TrainingFile, IsNeverQuantized) {
  const Training<Regression<float>> training(busy_config<float>(), Random(3));
  expect_error<ArgumentError>([&] { save_model(training, temporary("run.safetensors"), WeightFormat::int8_rows); },
                              {"a training run cannot be saved in int8-rows", "its result() in int8-rows"});
}

TEST(TrainingFile, IsRefusedWithAnInvalidGenerator) {
  const auto path = temporary("run.safetensors");
  const Training<Regression<float>> training({}, Random(3));
  auto config = training.config();
  config.progress.random = {};
  save_parameters(training, path, {{"architecture", training.architecture}, {"config", to_json(config)}});
  expect_error<ArgumentError>([&] { load_model<Training<Regression<float>>>(path); }, {"progress.random is all zero"});
}

TEST(TrainingFile, IsRefusedIfTruncated) {
  const auto path = temporary("run.safetensors");
  save_model(Training<Regression<float>>(busy_config<float>(), Random(3)), path);
  const std::string whole = test::read_text(path);
  const auto cut = temporary("cut.safetensors");
  for (const std::size_t size : {std::size_t{0}, std::size_t{9}, whole.size() / 2, whole.size() - 1}) {
    test::write_text(cut, std::string_view(whole).substr(0, size));
    EXPECT_THROW(load_model<Training<Regression<float>>>(cut), FileError) << size << " bytes";
  }
}

#if defined(__unix__) || defined(__APPLE__)

TEST(TrainingFile, SurvivesAFullDisk) {
  const auto path = temporary("run.safetensors");
  Training<Regression<float>> training({.model = {.in = 16, .out = 5000}}, Random(3));
  save_model(training, path);
  const std::string before = test::read_text(path);
  losses_of(training, 1);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{before.size() / 2, limit.rlim_max};  // writes beyond half the file fail, as on a full disk
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string message;
  try {
    save_model(training, path);
  } catch (const FileError& error) {
    message = error.what();
  }
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(message.find("run.safetensors: cannot write"), std::string::npos) << message;
  EXPECT_EQ(test::read_text(path), before);
  EXPECT_EQ(test::files_beside(path), 1u) << "no partial file is left";
  EXPECT_EQ(load_model<Training<Regression<float>>>(path).steps_done(), 0);
  save_model(training, path);
  EXPECT_EQ(load_model<Training<Regression<float>>>(path).steps_done(), 1);
}

using SavedTraining = Training<Regression<float>>;

TrainingConfig<Regression<float>> long_config() {
  auto config = busy_config<float>();
  config.model = {.in = 16, .out = 500};
  config.schedule.steps = 100000;
  return config;
}

/// Resumes from the file, or starts a training run if there is no file, as a restarted program does.
SavedTraining start_or_resume(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) {
    return SavedTraining(long_config(), Random(3));
  }
  auto training = load_model<SavedTraining>(path);
  training.expect_same_run(long_config());
  return training;
}

TEST(TrainingFile, SurvivesBeingKilledAtAnyMoment) {
  const auto path = temporary("run.safetensors");
  Index last_step = 0;
  for (int round = 0; round < 6 || (last_step == 0 && round < 100); ++round) {
    const auto lifetime = std::chrono::milliseconds(1 + 7 * round + 3 * round * round);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {  // trains forever and saves every step
      try {
        auto training = start_or_resume(path);
        for (;;) {
          regress(training);
          save_model(training, path);
        }
      } catch (...) {
        _exit(1);
      }
    }
    std::this_thread::sleep_for(lifetime);
    ASSERT_EQ(kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "the child failed before it was killed";
    const Index step = start_or_resume(path).steps_done();
    EXPECT_GE(step, last_step);
    last_step = step;
  }
  EXPECT_GT(last_step, 0) << "no child saved a step";
  SavedTraining resumed = start_or_resume(path);
  SavedTraining never_stopped(long_config(), Random(3));
  losses_of(never_stopped, last_step);
  expect_same(resumed, never_stopped);
  EXPECT_EQ(losses_of(resumed, 10), losses_of(never_stopped, 10));
  expect_same(resumed, never_stopped);
}

#endif

}  // namespace
}  // namespace gated::training_file_test
