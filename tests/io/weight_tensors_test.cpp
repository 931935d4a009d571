#include "gated/io/weight_tensors.hpp"

#include <gtest/gtest.h>

#include "files.hpp"
#include "gated/io/prepared_model.hpp"
#include "gated/models/flash.hpp"
#include "gated/models/gau_presets.hpp"
#include "gated/models/gmlp.hpp"
#include "tests/layers/literal.hpp"

namespace gated::weight_tensors_test {
namespace {

using test::expect_error;
using test::random_matrix;
using test::same_bits;
using test::temporary;

using Text = GmlpLanguageModel<float>;

Text text_model() {
  Text model({.vocabulary = 45,
              .trunk = {.length = 9, .channels = 40, .hidden = 70, .depth = 2, .causal = true, .attention_width = 5}});
  test::randomize(model, 1);
  return model;
}

const std::vector<Index> tokens{1, 2, 3, 44, 0, 7, 8, 9, 10};
constexpr WeightFormat small_formats[] = {WeightFormat::bf16, WeightFormat::int8, WeightFormat::int8_rows};

template <class Model>
bool same_parameters(const Model& a, const Model& b) {
  bool same = true;
  for_each_parameter(
      [&](const ParameterInfo&, auto x, auto y) { same &= std::memcmp(x.data(), y.data(), x.size_bytes()) == 0; }, a, b);
  return same;
}

TEST(WeightTensors, AModelLoadsWithRoundedWeights) {
  const auto path = temporary("small.safetensors"), whole = temporary("whole.safetensors");
  const Text model = text_model();
  save_model(model, whole);
  for (const WeightFormat format : small_formats) {
    Text rounded = model;
    round_weights(rounded, format);
    save_model(model, path, format);
    EXPECT_TRUE(same_parameters(load_model<Text>(path), rounded));
    EXPECT_LT(std::filesystem::file_size(path), std::filesystem::file_size(whole));
  }
}

TEST(WeightTensors, HaveTheDocumentedNamesAndShapes) {
  const auto path = temporary("named.safetensors");
  save_model(text_model(), path, WeightFormat::int8);
  const SafetensorsFile file(path);
  const TensorEntry& weight = file.tensor("trunk.blocks.1.proj_out.weight");
  const TensorEntry& scale = file.tensor("trunk.blocks.1.proj_out.weight.scale");
  EXPECT_EQ(weight.dtype, Dtype::I8);
  EXPECT_EQ(weight.shape, (std::vector<Index>{40, 35}));
  EXPECT_EQ(scale.dtype, Dtype::F32);
  EXPECT_EQ(scale.shape, (std::vector<Index>{40, 2}));
  EXPECT_EQ(file.tensor("trunk.blocks.0.gate.proj.weight").dtype, Dtype::F32);  // spatial weights are not quantized
  // Decodes the tensors by the formula in the file comment of weight_tensors.hpp.
  const auto q = file.read<std::int8_t>("trunk.blocks.1.proj_out.weight");
  const auto s = file.read<float>("trunk.blocks.1.proj_out.weight.scale");
  const Text model = load_model<Text>(file);
  const Matrix<float>& w = model.trunk.blocks[1].proj_out.weight;
  for (std::size_t i = 0; i < q.size(); ++i) {
    EXPECT_EQ(w.data()[i], static_cast<float>(q[i]) * s[i / 35 * 2 + i % 35 / 32]);
  }
  save_model(text_model(), path, WeightFormat::bf16);
  EXPECT_EQ(SafetensorsFile(path).tensor("embedding.weight").dtype, Dtype::BF16);
}

TEST(WeightTensors, APreparedModelEqualsTheLoadedOneBitForBit) {
  const auto path = temporary("prepared.safetensors");
  const Text model = text_model();
  for (const WeightFormat format : {WeightFormat::float32, WeightFormat::bf16, WeightFormat::int8, WeightFormat::int8_rows}) {
    save_model(model, path, format);
    const Text loaded = load_model<Text>(path);
    auto opened = load_prepared<Text>(path);
    auto state = opened.model.start();  // continues after the move
    const auto moved = std::move(opened);
    EXPECT_EQ(moved.weights.is_quantized(), format != WeightFormat::float32);
    Workspace<float> plain, workspace;
    workspace.use(moved.weights);
    const auto sequences = Sequences::of_lengths({5, 4});
    EXPECT_TRUE(same_bits(moved.model.forward(tokens, sequences, workspace), loaded.forward(tokens, sequences, plain)));
    auto other = loaded.start();
    Matrix<float> logits(1, 45), expected(1, 45);
    for (const Index token : tokens) {
      moved.model.step(token, state, logits, workspace);
      loaded.step(token, other, expected, plain);
      EXPECT_TRUE(same_bits(logits, expected));
    }
  }
  // A double model loads any of these files and decodes weights to double.
  const auto loaded = load_model<GmlpLanguageModel<double>>(path);
  const auto opened = load_prepared<GmlpLanguageModel<double>>(path);
  Workspace<double> plain, workspace;
  workspace.use(opened.weights);
  EXPECT_TRUE(same_bits(opened.model.forward(tokens, Sequences::single(9), workspace),
                        loaded.forward(tokens, Sequences::single(9), plain)));
}

TEST(WeightTensors, PreparedImageAndFlashModelsEqualTheLoadedOnes) {
  const auto path = temporary("others.safetensors");
  GmlpImageClassifier<float> images({.image = {6, 4},
                                     .patch = {3, 2},
                                     .image_channels = 2,
                                     .classes = 3,
                                     .trunk = {.channels = 36, .hidden = 40, .spatial = SpatialForm::toeplitz}});
  test::randomize(images, 1);
  FlashLanguageModel<float> flash(
      {.vocabulary = 45,
       .trunk = {.depth = 2, .block = flash_presets::lucidrains({.channels = 70, .query_key = 8, .chunk = 4})}});
  test::randomize(flash, 1);
  for (const WeightFormat format : small_formats) {
    Workspace<float> plain, workspace;
    save_model(images, path, format);
    const auto opened = load_prepared<GmlpImageClassifier<float>>(path);
    workspace.use(opened.weights);
    const Matrix<float> x = random_matrix<float>(3, 48, 6);
    EXPECT_TRUE(same_bits(opened.model.forward(x, workspace), load_model<GmlpImageClassifier<float>>(path).forward(x, plain)));
    save_model(flash, path, format);
    const auto text = load_prepared<FlashLanguageModel<float>>(path);
    workspace.use(text.weights);
    EXPECT_TRUE(same_bits(text.model.forward(tokens, Sequences::single(9), workspace),
                          load_model<FlashLanguageModel<float>>(path).forward(tokens, Sequences::single(9), plain)));
  }
}

TEST(WeightTensors, FollowANameMap) {
  const auto path = temporary("parts.safetensors");
  const NameMap halves{.rules = {{"trunk.blocks.0.proj_in", "both.in", ShapeForm::same, {}, false, 0, 2},
                                 {"trunk.blocks.1.proj_in", "both.in", ShapeForm::same, {}, false, 1, 2}}};
  const Text model = text_model();
  for (const WeightFormat format : small_formats) {
    save_parameters(model, path, {}, halves, std::nullopt, format);
    EXPECT_EQ(SafetensorsFile(path).tensor("both.in.weight").shape, (std::vector<Index>{140, 40}));
    Text rounded = model, loaded(model.config);
    round_weights(rounded, format);
    load_parameters(loaded, SafetensorsFile(path), halves);
    EXPECT_TRUE(same_parameters(loaded, rounded));
  }
}

TEST(WeightTensors, APreparedModelRefusesUnsupportedCalls) {
  const auto path = temporary("refusals.safetensors");
  save_model(text_model(), path, WeightFormat::int8);
  const auto opened = load_prepared<Text>(path);
  Workspace<float> plain;
  const Sequences one = Sequences::single(9);
  const std::string remedy =
      "is stored outside the model. Pass the PreparedWeights of load_prepared() or load_mapped() to Workspace::use().";
  EXPECT_TRUE(test::message_of<ArgumentError>([&] { (void)opened.model.forward(tokens, one, plain); }).ends_with(remedy));
  const Text copy = opened.model;
  Workspace<float> workspace;
  workspace.use(opened.weights);
  EXPECT_TRUE(test::message_of<ArgumentError>([&] { (void)copy.forward(tokens, one, workspace); }).ends_with(remedy));
  EXPECT_EQ(test::message_of<ArgumentError>([&] { save_model(opened.model, path); }),
            "save_parameters: embedding.weight is stored outside the model, by load_prepared() or load_mapped(). Save a model "
            "from load_model().");
  EXPECT_EQ(test::message_of<ArgumentError>([&] { (void)prepare(opened.model); }),
            "prepare: embedding.weight is stored outside the model, by load_prepared() or load_mapped(). Prepare a model from "
            "load_model().");
  EXPECT_NO_THROW((void)load_model<Text>(path));  // the file is unchanged
}

TEST(WeightTensors, CodesWithOneScalePerRowAreKeptInBothInt8Formats) {
  const auto path = temporary("foreign.safetensors");
  const std::vector<std::int8_t> codes{-128, 64, 3, -5, 100, 7};  // not as gated encodes: -128, and no ±127
  const std::vector<float> scales{0.013F, 0.01F}, two{0.1F, -0.2F}, six{1, 2, 3, 4, 5, 6}, three{1, 2, 3};
  const auto floats = [](const char* name, std::vector<Index> shape, const std::vector<float>& values) {
    return TensorToWrite{name, Dtype::F32, std::move(shape), std::as_bytes(std::span(values))};
  };
  using Model = FeedForward<float>;
  write_safetensors(
      path,
      {{"proj_in.weight", Dtype::I8, {2, 3}, std::as_bytes(std::span(codes))},
       floats("proj_in.weight.scale", {2, 1}, scales),
       floats("proj_in.bias", {2}, two),
       floats("proj_out.weight", {3, 2}, six),
       floats("proj_out.bias", {3}, three)},
      {{"architecture", Model::architecture}, {"config", to_json(FeedForwardConfig{.channels = 3, .hidden = 2})}});
  const Matrix<float> x = test::random_matrix<float>(4, 3, 1);
  const auto hidden = [&](const auto& model, Workspace<float>& workspace) {  // proj_out is rounded to the format
    return model.proj_in.forward(x, workspace);
  };
  Workspace<float> plain;
  const Matrix<float> expected = hidden(load_model<Model>(path), plain);
  for (const WeightFormat format : {WeightFormat::int8, WeightFormat::int8_rows}) {
    const auto opened = load_prepared<Model>(path, format);
    Workspace<float> workspace;
    workspace.use(opened.weights);
    EXPECT_TRUE(test::same_bits(hidden(opened.model, workspace), expected)) << name_of(format);
  }
}

TEST(WeightTensors, RefusesFilesWithoutMatchingScales) {
  const auto path = temporary("broken.safetensors");
  const std::vector<std::byte> codes(6);
  const std::vector<float> two{1, 2}, four{1, 2, 3, 4}, infinite{1, INFINITY}, zeros(2);
  Linear<float> layer(3, 2);
  const auto write = [&](std::vector<TensorToWrite> tensors) {
    tensors.push_back({"bias", Dtype::F32, {2}, std::as_bytes(std::span(zeros))});
    write_safetensors(path, std::move(tensors));
  };
  const auto load = [&](std::vector<TensorToWrite> tensors) {
    write(std::move(tensors));
    return test::message_of<FileError>([&] { load_parameters(layer, SafetensorsFile(path)); });
  };
  const TensorToWrite weight{"weight", Dtype::I8, {2, 3}, codes};
  const auto scales = [](const std::vector<float>& values, std::vector<Index> shape) {
    return TensorToWrite{"weight.scale", Dtype::F32, std::move(shape), std::as_bytes(std::span(values))};
  };
  const auto says = [](const std::string& message, const char* fault) {
    return message.find(text("weight: expected [2, 3], got ", fault)) != std::string::npos
               ? ::testing::AssertionSuccess()
               : ::testing::AssertionFailure() << message;
  };
  EXPECT_TRUE(says(load({weight}), "I8 without the scale tensor weight.scale"));
  EXPECT_TRUE(says(load({weight, scales(four, {2, 2})}), "I8 with scales F32 [2, 2], expected F32 [2, 1]"));
  EXPECT_TRUE(says(load({weight, scales(two, {2})}), "I8 with scales F32 [2], expected F32 [2, 1]"));
  EXPECT_TRUE(says(load({weight, scales(infinite, {2, 1})}), "I8 with a scale of inf"));
  EXPECT_TRUE(is_unset(layer.weight(0, 0)));  // nothing was loaded
  write({weight, scales(two, {2, 1})});
  load_parameters(layer, SafetensorsFile(path));
  EXPECT_EQ(layer.weight, (Matrix<float>::Zero(2, 3)));
}

}  // namespace
}  // namespace gated::weight_tensors_test
