#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gated/c/gated.h"
#include "gated/gated.hpp"
#include "gated/io/image_input.hpp"
#include "gated/io/labels.hpp"
#include "gated/io/model_file.hpp"
#include "tests/core/allocations.hpp"
#include "tests/io/files.hpp"
#include "tests/layers/literal.hpp"

// The C functions are in the shared library. The C++ code is this program's own copy of gated, compiled with different flags.
// Bits are compared in portable arithmetic, whose results do not depend on flags.

namespace gated::c_interface_test {
namespace {

using test::temporary;

struct CInterface : testing::Test {
  CInterface() {
    use_arithmetic(Arithmetic::portable);
    EXPECT_EQ(gated_use(nullptr, "portable"), GATED_OK) << gated_last_error();
  }
};

/// Owns a handle: the destructor frees it.
template <class Handle, gated_status (*release)(Handle*)>
struct Held {
  Handle* handle = nullptr;
  Held() = default;
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { EXPECT_EQ(release(handle), GATED_OK) << gated_last_error(); }
};
using HeldModel = Held<gated_model, gated_close>;
using HeldState = Held<gated_state, gated_free>;

#define EXPECT_DONE(call) EXPECT_EQ(call, GATED_OK) << gated_last_error()
#define ASSERT_DONE(call) ASSERT_EQ(call, GATED_OK) << gated_last_error()

gated_source source_of(const std::string& path) {
  gated_source source{};
  source.size = sizeof(source);
  source.path = path.c_str();
  return source;
}
gated_input input_of(const float* values, Index rows) {
  gated_input input{};
  input.size = sizeof(input);
  input.values = values;
  input.rows = rows;
  return input;
}
gated_input input_of(const Matrix<float>& x) {
  gated_input input = input_of(x.data(), x.rows());
  input.columns = x.cols();
  return input;
}
gated_input input_of(const std::vector<Index>& tokens) {
  gated_input input{};
  input.size = sizeof(input);
  input.tokens = tokens.data();
  input.rows = static_cast<Index>(tokens.size());
  return input;
}
gated_output output_in(Matrix<float>& y) {
  gated_output output{};
  output.size = sizeof(output);
  output.values = y.data();
  output.capacity = y.size();
  return output;
}
gated_description describe(const gated_model* model) {
  gated_description about{};
  about.size = sizeof(about);
  EXPECT_DONE(gated_describe(model, &about));
  return about;
}

/// The library's output for `input`. A first call, without memory, returns the output's shape.
Matrix<float> run(const gated_model* model, const gated_input& input) {
  gated_output output{};
  output.size = sizeof(output);
  EXPECT_DONE(gated_run(model, &input, &output));
  Matrix<float> y(output.rows, output.columns);
  output = output_in(y);
  EXPECT_DONE(gated_run(model, &input, &output));
  return y;
}

/// A randomized model, its file, and the model that the library loaded from the file.
template <class Model>
struct Case {
  Model model;
  std::string path;
  HeldModel opened;

  explicit Case(const typename Model::Config& config, const char* name, const std::map<std::string, std::string>& metadata = {})
      : model(config), path(temporary(std::string(name) + ".safetensors").string()) {
    test::randomize(model, 3);
    save_model(model, path, metadata);
    const gated_source source = source_of(path);
    EXPECT_DONE(gated_open(&source, &opened.handle));
  }
  const gated_model* handle() const { return opened.handle; }
};

GmlpImageClassifierConfig small_classifier() {
  return {.image = {8, 8}, .patch = {2, 2}, .image_channels = 3, .classes = 5, .trunk = {.channels = 8, .hidden = 16}};
}
FlashLanguageModel<float>::Config small_flash() {
  return {.vocabulary = 11,
          .trunk = {.depth = 2, .block = {.channels = 16, .value = 16, .query_key = 8, .chunk = 4, .causal = true}}};
}
GmlpLanguageModel<float>::Config small_text() {
  return {.vocabulary = 13,
          .trunk = {.length = 12, .channels = 8, .hidden = 24, .depth = 2, .causal = true, .attention_width = 4}};
}
const std::vector<Index> ids{1, 4, 9, 2, 0, 7, 3};

// --- Numbers ---

TEST_F(CInterface, ClassifiesWithTheSameBitsAsCpp) {
  const Case<GmlpImageClassifier<float>> c(small_classifier(), "c_classifier",
                                           {{"labels", labels_text({"a", "b", "c", "d", "e"})}, {"signature", "0123"}});
  const gated_description about = describe(c.handle());
  EXPECT_STREQ(about.architecture, GmlpImageClassifier<float>::architecture);
  EXPECT_EQ(to_json(c.model.config), about.config);
  EXPECT_EQ(about.reads_tokens, 0);
  EXPECT_EQ(about.columns, 192);
  EXPECT_EQ(about.outputs, 5);
  EXPECT_EQ(about.streams, 0);
  EXPECT_EQ(about.parameters, parameter_count(c.model));
  EXPECT_EQ(about.image_width, 8);
  EXPECT_EQ(about.image_channels, 3);
  ASSERT_EQ(about.label_count, 5);
  EXPECT_STREQ(about.labels[4], "e");
  EXPECT_STREQ(about.signature, "0123");
  const Matrix<float> x = test::random_matrix<float>(3, 192, 1);
  EXPECT_TRUE(test::same_bits(run(c.handle(), input_of(x)), c.model.forward(x)));

  const Image picture{20, 10, 3, std::vector<std::uint8_t>(600, 77)};
  gated_picture taken{};
  taken.size = sizeof(taken);
  taken.pixels = picture.pixels.data();
  taken.width = 20;
  taken.height = 10;
  taken.order = "rgb";
  Matrix<float> row(1, 192);
  gated_output to = output_in(row);
  ASSERT_DONE(gated_prepare_image(c.handle(), &taken, &to));
  EXPECT_TRUE(test::same_bits(row, image_input<float>(picture, c.model.config)));
}

TEST_F(CInterface, RunsRaggedTexts) {
  auto config = small_text();
  config.pooler = true;
  config.classes = 3;
  const Case<GmlpLanguageModel<float>> c(config, "c_text");
  const gated_description about = describe(c.handle());
  EXPECT_EQ(about.reads_tokens, 1);
  EXPECT_EQ(about.vocabulary, 13);
  EXPECT_EQ(about.pooled_outputs, 3);
  EXPECT_EQ(about.longest, 12);
  EXPECT_EQ(about.streams, 1);
  const std::vector<Index> lengths{3, 4};
  gated_input input = input_of(ids);
  input.lengths = lengths.data();
  input.sequences = 2;
  Workspace<float> workspace;
  const Sequences sequences = Sequences::of_lengths(lengths);
  EXPECT_TRUE(test::same_bits(run(c.handle(), input), c.model.forward(ids, sequences, workspace)));
  input.output_rows = GATED_POOLED;
  EXPECT_TRUE(test::same_bits(run(c.handle(), input), c.model.pooled(ids, sequences, workspace)));
}

TEST_F(CInterface, ForecastsWithKnownFutures) {
  const Case<TinyTimeMixer<float>> c(
      {.series = 2, .context = 32, .horizon = 8, .known = {1}, .forecast_mixing = {.enabled = true}}, "c_forecast");
  const Matrix<float> x = test::random_matrix<float>(4, 32, 1), future = test::random_matrix<float>(4, 8, 2);
  gated_input input = input_of(x);
  const gated_input known = input_of(future);
  input.other = &known;
  Workspace<float> workspace;
  const Matrix<float> expected =
      c.model.forward(x, Sequences::uniform(2, 2), workspace, {.future = RunMatrix<float>(input_view<float>(future))});
  EXPECT_TRUE(test::same_bits(run(c.handle(), input), expected));
  input.other = nullptr;
  Matrix<float> y = expected;
  gated_output output = output_in(y);
  EXPECT_EQ(gated_run(c.handle(), &input, &output), GATED_ARGUMENT_ERROR);
  EXPECT_NE(std::strstr(gated_last_error(), "future"), nullptr) << gated_last_error();
  EXPECT_TRUE(test::same_bits(y, expected));
}

TEST_F(CInterface, ReadsAFrequencyTokenPerItem) {
  const Case<TinyTimeMixer<float>> c({.series = 3, .context = 32, .horizon = 8, .resolutions = 4}, "c_frequencies");
  const Matrix<float> x = test::random_matrix<float>(6, 32, 1);
  const std::vector<Index> tokens{3, 1}, lengths{3, 3};
  gated_input input = input_of(x);
  input.tokens = tokens.data();
  Workspace<float> workspace;
  const Matrix<float> expected = c.model.forward(x, Sequences::uniform(2, 3), workspace, {.resolution = tokens});
  EXPECT_TRUE(test::same_bits(run(c.handle(), input), expected));
  input.lengths = lengths.data();
  input.sequences = 2;
  EXPECT_TRUE(test::same_bits(run(c.handle(), input), expected));
}

TEST_F(CInterface, AttendsToOtherSequences) {
  const Case<GatedCrossAttention<float>> c({.channels = 6, .key_channels = 4, .value_channels = 5, .value = 8, .query_key = 4},
                                           "c_cross");
  const Matrix<float> x = test::random_matrix<float>(3, 6, 1), key = test::random_matrix<float>(5, 4, 2),
                      value = test::random_matrix<float>(5, 5, 3);
  gated_input input = input_of(x), keys = input_of(key);
  const gated_input values = input_of(value);
  keys.other = &values;
  input.other = &keys;
  Matrix<float> expected(3, 6);
  Workspace<float> workspace;
  c.model.forward(x, Sequences::single(3), key, value, Sequences::single(5), expected, workspace);
  EXPECT_TRUE(test::same_bits(run(c.handle(), input), expected));

  const std::vector<Index> unused{0, 0, 0, 0, 0};
  gated_input wrong_values = values;
  wrong_values.token_types = unused.data();
  keys.other = &wrong_values;
  gated_output output = output_in(expected);
  EXPECT_EQ(gated_run(c.handle(), &input, &output), GATED_ARGUMENT_ERROR);
  EXPECT_NE(std::strstr(gated_last_error(), "input->other->other may only have values"), nullptr) << gated_last_error();
  keys.other = nullptr;
  keys.tokens = unused.data();
  EXPECT_EQ(gated_run(c.handle(), &input, &output), GATED_ARGUMENT_ERROR);
  EXPECT_NE(std::strstr(gated_last_error(), "input->other->tokens is set"), nullptr) << gated_last_error();
}

TEST_F(CInterface, RunsSeparatorsAndPoseHeads) {
  const MossFormer2Config trunk{
      .depth = 1,
      .block = {.channels = 6, .attention = {.query_key = 4, .chunk = 4, .kernel = 3}, .fsmn = {.inner = 4, .kernel = 3}}};
  const Case<SpeechSeparator<float>> waves({.window = 4, .masks = {.features = 6, .outputs = 6, .speakers = 2, .trunk = trunk}},
                                           "c_waves");
  EXPECT_EQ(describe(waves.handle()).columns, -1);
  EXPECT_EQ(describe(waves.handle()).outputs, -1);
  Workspace<float> workspace;
  const Matrix<float> sound = test::random_matrix<float>(2, 50, 1);
  EXPECT_TRUE(test::same_bits(run(waves.handle(), input_of(sound)), waves.model.forward(sound, workspace)));

  const Case<PoseHead<float>> pose({.feature_channels = 3, .features = {4, 2}, .input = {8, 6}, .key_points = 5, .kernel = 3},
                                   "c_pose");
  const Matrix<float> map = test::random_matrix<float>(2, pose.model.in(), 1);
  EXPECT_TRUE(test::same_bits(run(pose.handle(), input_of(map)), pose.model.forward(map)));
}

// --- Streams ---

TEST_F(CInterface, AStreamCanBeCopiedAndRewound) {
  const Case<GmlpLanguageModel<float>> c(small_text(), "c_stream");
  const Matrix<float> all = c.model.forward(ids);
  HeldState state, branch;
  ASSERT_DONE(gated_start(c.handle(), 0, &state.handle));
  Matrix<float> y(3, 13), last(1, 13);
  gated_input input = input_of(ids);
  gated_output output = output_in(y);
  input.rows = 3;
  ASSERT_DONE(gated_extend(state.handle, &input, &output));
  EXPECT_TRUE(test::same_bits(y, all.topRows(3)));
  ASSERT_DONE(gated_copy(state.handle, &branch.handle));
  input.tokens += 3;
  input.rows = 4;
  input.output_rows = GATED_LAST_ROW;
  for (gated_state* const one : {state.handle, branch.handle}) {
    last.setZero();
    output = output_in(last);
    ASSERT_DONE(gated_extend(one, &input, &output));
    EXPECT_TRUE(test::same_bits(last, all.bottomRows(1)));
  }
  ptrdiff_t position = 0;
  ASSERT_DONE(gated_rewind(state.handle, 3));
  ASSERT_DONE(gated_position(state.handle, &position));
  EXPECT_EQ(position, 3);
  output = output_in(last);
  ASSERT_DONE(gated_extend(state.handle, &input, &output));
  EXPECT_TRUE(test::same_bits(last, all.bottomRows(1)));
  ASSERT_DONE(gated_position(branch.handle, &position));
  EXPECT_EQ(position, 7);
}

TEST_F(CInterface, AStateOutlivesItsModel) {
  const FlashLanguageModel<float>::Config config = small_flash();
  HeldState state;
  Matrix<float> y(7, 11), expected;
  {
    const Case<FlashLanguageModel<float>> c(config, "c_flash");
    ASSERT_DONE(gated_start(c.handle(), 0, &state.handle));
    expected = c.model.forward(ids);
  }
  const gated_input input = input_of(ids);
  gated_output output = output_in(y);
  ASSERT_DONE(gated_extend(state.handle, &input, &output));
  EXPECT_TRUE(test::same_bits(y, expected));
  EXPECT_EQ(gated_rewind(state.handle, 2), GATED_ARGUMENT_ERROR);  // FLASH's state keeps sums, which cannot be rewound
}

TEST_F(CInterface, AWarmCallAllocatesNothing) {
  const Case<FlashLanguageModel<float>> c(small_flash(), "c_warm");
  HeldState state;
  ASSERT_DONE(gated_start(c.handle(), 0, &state.handle));
  Matrix<float> y(1, 11), all(6, 11);
  gated_input input = input_of(ids), batch = input_of(ids);
  input.rows = 1;
  const std::vector<Index> lengths{3, 3};
  batch.rows = 6;
  batch.lengths = lengths.data();
  batch.sequences = 2;
  gated_output output = output_in(y), whole = output_in(all);
  const auto calls = [&] {
    for (int i = 0; i < 9; ++i) {
      EXPECT_EQ(gated_extend(state.handle, &input, &output), GATED_OK);
      EXPECT_EQ(gated_run(c.handle(), &batch, &whole), GATED_OK);
    }
  };
  calls();
  EXPECT_EQ(test::allocations_during(calls), 0);
}

// --- Weights, threads, kernels ---

TEST_F(CInterface, OpensBytesInAnyFormat) {
  const Case<GmlpLanguageModel<float>> c(small_text(), "c_formats");
  const std::string bytes = test::read_text(c.path);
  for (const char* const format : {"bf16", "int8", "int8-rows", "float32"}) {
    GmlpLanguageModel<float> rounded = c.model;
    round_weights(rounded, *value_named<WeightFormat>(format));
    std::string copy = bytes;
    gated_source source{};
    source.size = sizeof(source);
    source.bytes = copy.data();
    source.byte_count = copy.size();
    source.weights = format;
    source.threads = 3;
    HeldModel opened;
    ASSERT_DONE(gated_open(&source, &opened.handle));
    std::fill(copy.begin(), copy.end(), '\0');  // no longer needed
    EXPECT_TRUE(test::same_bits(run(opened.handle, input_of(ids)), rounded.forward(ids))) << format;
    EXPECT_EQ(describe(opened.handle).parameters, parameter_count(c.model));
  }
}

TEST_F(CInterface, MultipliesInInt8) {
  const Case<GmlpImageClassifier<float>> c(small_classifier(), "c_int8");
  gated_source source = source_of(c.path);
  source.weights = "int8-rows";
  source.products = "int8";
  HeldModel opened;
  ASSERT_DONE(gated_open(&source, &opened.handle));
  const Matrix<float> x = test::random_matrix<float>(3, 192, 1);
  Workspace<float> workspace;
  const auto prepared = prepare(c.model, WeightFormat::int8_rows);
  workspace.use(prepared);
  workspace.use(int8_products());
  EXPECT_TRUE(test::same_bits(run(opened.handle, input_of(x)), c.model.forward(x, workspace)));
}

TEST_F(CInterface, RefusesInt8ProductsOfBf16Weights) {
  const Case<GmlpLanguageModel<float>> c(small_text(), "c_bf16");
  save_model(c.model, c.path, WeightFormat::bf16);
  gated_source source = source_of(c.path);
  source.products = "int8";
  gated_model* model = nullptr;
  EXPECT_EQ(gated_open(&source, &model), GATED_ARGUMENT_ERROR);
  EXPECT_NE(std::strstr(gated_last_error(), "Set weights to \"int8-rows\""), nullptr) << gated_last_error();
  source.weights = "int8-rows";
  HeldModel opened;
  EXPECT_DONE(gated_open(&source, &opened.handle));
}

TEST_F(CInterface, StreamsInInt8) {
  const Case<GmlpLanguageModel<float>> c(small_text(), "c_int8_stream");
  gated_source source = source_of(c.path);
  source.weights = "int8-rows";
  source.products = "int8";
  HeldModel opened;
  ASSERT_DONE(gated_open(&source, &opened.handle));
  HeldState state;
  ASSERT_DONE(gated_start(opened.handle, 0, &state.handle));
  const auto prepared = prepare(c.model, WeightFormat::int8_rows);
  Workspace<float> workspace;
  workspace.use(prepared);
  workspace.use(int8_products());
  const Matrix<float> expected = c.model.forward(ids, Sequences::single(static_cast<Index>(ids.size())), workspace);
  EXPECT_FALSE(test::same_bits(expected, c.model.forward(ids)));
  for (std::size_t t = 0; t < ids.size(); ++t) {
    Matrix<float> y(1, expected.cols());
    const std::vector<Index> token{ids[t]};
    const gated_input input = input_of(token);
    gated_output output = output_in(y);
    ASSERT_DONE(gated_extend(state.handle, &input, &output));
    EXPECT_TRUE(test::same_bits(y, expected.middleRows(static_cast<Index>(t), 1))) << "token " << t;
  }
}

TEST_F(CInterface, RefusesBf16ProductsThatWouldStayInFloat) {
  const Case<GmlpImageClassifier<float>> c(small_classifier(), "c_bf16");
  gated_source source = source_of(c.path);
  source.products = "bf16";
  gated_model* model = nullptr;  // portable arithmetic has no products in bf16
  EXPECT_EQ(gated_open(&source, &model), GATED_ARGUMENT_ERROR);
  EXPECT_NE(std::string(gated_last_error()).find("needs AVX512-BF16"), std::string::npos) << gated_last_error();
  EXPECT_EQ(model, nullptr);
}

TEST_F(CInterface, ThreadsShareAModel) {
  const Case<GmlpLanguageModel<float>> c(small_text(), "c_shared");
  const Matrix<float> expected = c.model.forward(ids);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        HeldState state;
        Matrix<float> y(7, 13);
        const gated_input input = input_of(ids);
        gated_output output = output_in(y);
        const bool done = gated_start(c.handle(), 0, &state.handle) == GATED_OK &&
                          gated_extend(state.handle, &input, &output) == GATED_OK && test::same_bits(y, expected) &&
                          gated_run(c.handle(), &input, &output) == GATED_OK && test::same_bits(y, expected);
        wrong += done ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong, 0);
}

TEST_F(CInterface, AStateRefusesASecondThread) {
  const Case<FlashLanguageModel<float>> c(small_flash(), "c_one_thread");
  HeldState state;
  ASSERT_DONE(gated_start(c.handle(), 0, &state.handle));
  std::atomic<Index> extended{0}, other{0};
  const auto work = [&] {
    Matrix<float> y(1, 11);
    gated_input input = input_of(ids);
    input.rows = 1;
    gated_output output = output_in(y);
    for (int i = 0; i < 2000; ++i) {
      const gated_status status = gated_extend(state.handle, &input, &output);
      extended += status == GATED_OK ? 1 : 0;
      other +=
          status != GATED_OK && (status != GATED_HANDLE_ERROR || !std::strstr(gated_last_error(), "another thread")) ? 1 : 0;
    }
  };
  std::thread first(work), second(work);
  first.join();
  second.join();
  ptrdiff_t position = 0;
  ASSERT_DONE(gated_position(state.handle, &position));
  EXPECT_EQ(position, extended);
  EXPECT_EQ(other, 0);
}

TEST_F(CInterface, ChoosesKernelsAndArithmetic) {
  EXPECT_EQ(gated_use("mmx", nullptr), GATED_ARGUMENT_ERROR);
  EXPECT_STREQ(gated_last_error(), "gated_use: kernels is \"mmx\", expected one of scalar, simd128, neon, sse2, avx2, avx512.");
  EXPECT_EQ(gated_use(nullptr, "exact"), GATED_ARGUMENT_ERROR);
  const Case<GmlpLanguageModel<float>> c(small_text(), "c_kernels");
  const Matrix<float> portable = run(c.handle(), input_of(ids));
  EXPECT_DONE(gated_use(nullptr, "fastest"));
  const Matrix<float> fastest = run(c.handle(), input_of(ids));
  EXPECT_DONE(gated_use(nullptr, "portable"));
  EXPECT_TRUE(test::same_bits(run(c.handle(), input_of(ids)), portable));
  EXPECT_LT((portable - fastest).cwiseAbs().maxCoeff(), 1e-4);
}

// --- Invalid calls ---

/// Expects that the last call failed with the status `expected` and a message that contains `part`.
void expect_refusal(gated_status got, gated_status expected, const char* part) {
  EXPECT_EQ(got, expected) << gated_last_error();
  EXPECT_NE(std::strstr(gated_last_error(), part), nullptr) << gated_last_error();
}

TEST_F(CInterface, RefusesWrongHandles) {
  const Case<FlashLanguageModel<float>> c(small_flash(), "c_handles");
  const gated_input input = input_of(ids);
  Matrix<float> y(7, 11);
  gated_output output = output_in(y);
  expect_refusal(gated_run(nullptr, &input, &output), GATED_HANDLE_ERROR, "gated_run: the model is NULL.");
  gated_state* state = nullptr;
  ASSERT_DONE(gated_start(c.handle(), 0, &state));
  expect_refusal(gated_run(reinterpret_cast<gated_model*>(state), &input, &output), GATED_HANDLE_ERROR, "not a handle");
  expect_refusal(gated_extend(reinterpret_cast<gated_state*>(c.opened.handle), &input, &output), GATED_HANDLE_ERROR,
                 "not a handle");
  int invented = 0;
  expect_refusal(gated_close(reinterpret_cast<gated_model*>(&invented)), GATED_HANDLE_ERROR, "not a handle");
  ASSERT_DONE(gated_free(state));
  expect_refusal(gated_extend(state, &input, &output), GATED_HANDLE_ERROR, "gated_extend: the state was freed already.");
  expect_refusal(gated_free(state), GATED_HANDLE_ERROR, "freed already");
  gated_state* next = nullptr;
  ASSERT_DONE(gated_start(c.handle(), 0, &next));  // reuses the slot of `state`
  expect_refusal(gated_free(state), GATED_HANDLE_ERROR, "freed already");
  EXPECT_DONE(gated_free(next));
  EXPECT_DONE(gated_free(nullptr));
  EXPECT_DONE(gated_close(nullptr));
}

TEST_F(CInterface, RefusesWrongSources) {
  gated_model* model = nullptr;
  gated_source source{};
  expect_refusal(gated_open(&source, &model), GATED_ARGUMENT_ERROR, "gated_open: source->size = 0");
  source.size = sizeof(source);
  expect_refusal(gated_open(&source, &model), GATED_ARGUMENT_ERROR, "neither");
  source.path = "no such file";
  expect_refusal(gated_open(&source, &model), GATED_FILE_ERROR, "no such file");
  source.path = "caf\xe9";  // not UTF-8
  expect_refusal(gated_open(&source, &model), GATED_FILE_ERROR, "caf?: ");
  expect_refusal(gated_open(&source, nullptr), GATED_ARGUMENT_ERROR, "model is NULL");
  expect_refusal(gated_open(nullptr, &model), GATED_ARGUMENT_ERROR, "source is NULL");
  source.weights = "int4";
  expect_refusal(gated_open(&source, &model), GATED_ARGUMENT_ERROR, "weights is \"int4\", expected one of float32");
  source.weights = nullptr;
  source.threads = -1;
  expect_refusal(gated_open(&source, &model), GATED_ARGUMENT_ERROR, "threads = -1");
  source.threads = 0;
  source.path = nullptr;
  source.bytes = "not a model";
  source.byte_count = 11;
  expect_refusal(gated_open(&source, &model), GATED_FILE_ERROR, "bytes");
  source.size = sizeof(source) + 8;
  expect_refusal(gated_open(&source, &model), GATED_ARGUMENT_ERROR, "later version");
  EXPECT_EQ(model, nullptr);

  const std::string path = temporary("c_unknown.safetensors").string();
  save_parameters(GmlpBlock<float>({.length = 4, .channels = 4, .hidden = 8}), path);
  source = source_of(path);
  expect_refusal(gated_open(&source, &model), GATED_FILE_ERROR, "no architecture in the metadata");

  const std::string labelled = temporary("c_labels.safetensors").string();
  save_model(GmlpImageClassifier<float>(small_classifier()), labelled, {{"labels", labels_text({"a", "b"})}});
  source = source_of(labelled);
  expect_refusal(gated_open(&source, &model), GATED_FILE_ERROR, "2 labels, but the model has 5 outputs");
}

TEST_F(CInterface, RefusesWrongInputs) {
  const Case<GmlpLanguageModel<float>> c(small_text(), "c_inputs");
  Matrix<float> y = Matrix<float>::Constant(7, 13, 5);
  const auto expect_refused = [&](const gated_input& input, gated_status status, const char* part) {
    gated_output output = output_in(y);
    expect_refusal(gated_run(c.handle(), &input, &output), status, part);
    EXPECT_TRUE((y.array() == 5).all());
  };
  gated_output output = output_in(y);
  expect_refusal(gated_run(c.handle(), nullptr, &output), GATED_ARGUMENT_ERROR, "input is NULL");
  gated_input input = input_of(ids);
  expect_refusal(gated_run(c.handle(), &input, nullptr), GATED_ARGUMENT_ERROR, "output is NULL");
  const std::vector<Index> unknown{1, 99}, long_text(13, 1), lengths{3, -1}, sum{3, 3};
  expect_refused(input_of(unknown), GATED_ARGUMENT_ERROR, "99");
  expect_refused(input_of(long_text), GATED_SHAPE_ERROR, "13");
  input.tokens = nullptr;
  expect_refused(input, GATED_ARGUMENT_ERROR, "tokens is NULL");
  input = input_of(ids);
  input.rows = -1;
  expect_refused(input, GATED_ARGUMENT_ERROR, "rows = -1");
  input = input_of(ids);
  input.values = y.data();
  expect_refused(input, GATED_ARGUMENT_ERROR, "reads tokens");
  input = input_of(ids);
  input.lengths = lengths.data();
  input.sequences = 2;
  expect_refused(input, GATED_ARGUMENT_ERROR, "length");
  input.lengths = sum.data();
  expect_refused(input, GATED_SHAPE_ERROR, "2 sequences × 3 tokens");
  input.lengths = nullptr;
  expect_refused(input, GATED_ARGUMENT_ERROR, "input->sequences = 2, but input->lengths is NULL");
  input = input_of(ids);
  input.output_rows = GATED_LAST_ROW;
  expect_refused(input, GATED_ARGUMENT_ERROR, "gated_extend");
  input = input_of(ids);
  output = output_in(y);
  output.capacity = 90;
  expect_refusal(gated_run(c.handle(), &input, &output), GATED_SHAPE_ERROR, "room for 90 floats, expected 7 × 13 = 91");
  EXPECT_EQ(output.rows, 7);

  gated_state* state = nullptr;
  expect_refusal(gated_start(c.handle(), 13, &state), GATED_SHAPE_ERROR, "capacity = 13");
  expect_refusal(gated_start(c.handle(), -1, &state), GATED_ARGUMENT_ERROR, "-1");
  const Case<GmlpImageClassifier<float>> picture(small_classifier(), "c_no_stream");
  const Matrix<float> x = Matrix<float>::Zero(1, 192);
  input = input_of(x);
  const std::vector<Index> unused{1};
  input.tokens = unused.data();
  output = output_in(y);
  expect_refusal(gated_run(picture.handle(), &input, &output), GATED_ARGUMENT_ERROR, "input->tokens is set");
  input.tokens = nullptr;
  input.output_rows = 77;
  expect_refusal(gated_run(picture.handle(), &input, &output), GATED_ARGUMENT_ERROR, "output_rows = 77");
  input = input_of(x);
  input.other = &input;  // a cycle
  expect_refusal(gated_run(picture.handle(), &input, &output), GATED_ARGUMENT_ERROR, "more than 2 inputs follow");
  expect_refusal(gated_start(picture.handle(), 0, &state), GATED_ARGUMENT_ERROR, "An image is not a sequence");
  EXPECT_EQ(state, nullptr);
  expect_refusal(gated_prepare_image(c.handle(), nullptr, &output), GATED_ARGUMENT_ERROR, "picture is NULL");
  gated_picture taken{};
  taken.size = sizeof(taken);
  taken.order = "rgb";
  expect_refusal(gated_prepare_image(c.handle(), &taken, &output), GATED_ARGUMENT_ERROR, "reads no pictures");
  output = output_in(y);
  expect_refusal(gated_prepare_image(picture.handle(), &taken, &output), GATED_SHAPE_ERROR, "1 × 192");
  std::vector<float> row(192);
  output.values = row.data();
  output.capacity = 192;
  const std::uint8_t pixel[3] = {};
  constexpr Index most = std::numeric_limits<Index>::max();
  taken.pixels = pixel;
  taken.width = taken.height = most;
  expect_refusal(gated_prepare_image(picture.handle(), &taken, &output), GATED_ARGUMENT_ERROR, "pixels, expected");
  taken.width = 1;
  taken.height = 2;
  taken.stride = -most - 1;
  expect_refusal(gated_prepare_image(picture.handle(), &taken, &output), GATED_ARGUMENT_ERROR, "stride");
}

TEST_F(CInterface, ReadsStructsOfEarlierVersions) {
  const Case<FlashLanguageModel<float>> c(small_flash(), "c_sizes");
  gated_input input = input_of(ids);
  input.size = offsetof(gated_input, columns);  // a caller compiled before the later members existed
  input.output_rows = GATED_POOLED;             // beyond `size`: not read
  EXPECT_TRUE(test::same_bits(run(c.handle(), input), c.model.forward(ids)));
  gated_description about{};
  about.size = offsetof(gated_description, labels);
  about.label_count = 77;
  ASSERT_DONE(gated_describe(c.handle(), &about));
  EXPECT_EQ(about.label_count, 77);
  EXPECT_EQ(about.vocabulary, 11);
}

TEST_F(CInterface, ReportsItsVersionAndLastError) {
  EXPECT_EQ(gated_version(), text(GATED_VERSION_MAJOR, ".", GATED_VERSION_MINOR, ".", GATED_VERSION_PATCH));
  EXPECT_EQ(gated_free(reinterpret_cast<gated_state*>(std::uintptr_t{4})), GATED_HANDLE_ERROR);
  std::string in_thread = "?";
  std::thread([&] { in_thread = gated_last_error(); }).join();
  EXPECT_EQ(in_thread, "");
}

}  // namespace
}  // namespace gated::c_interface_test
