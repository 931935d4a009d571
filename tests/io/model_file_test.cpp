#include "gated/io/model_file.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "files.hpp"
#include "gated/gated.hpp"
#include "gated/train/training.hpp"
#include "tests/layers/literal.hpp"

namespace gated::model_file_test {
namespace {

using test::expect_error;
using test::random_matrix;
using test::same_bits;
using test::temporary;

/// A configuration in which no option has its default value.
GmlpConfig odd_trunk() {
  return {.length = 9,
          .channels = 6,
          .hidden = 8,
          .depth = 2,
          .gate = GateForm::multiplicative,
          .spatial = SpatialForm::toeplitz,
          .length_policy = LengthPolicy::slice,
          .causal = true,
          .heads = 2,
          .attention_width = 3,
          .attention_bias = true,
          .token_shift = 1,
          .norm_position = NormPosition::post,
          .activation = Activation::silu,
          .gate_activation = Activation::tanh,
          .norm_eps = 1e-4,
          .gate_norm_eps = 1e-3,
          .drop_path = 0.25};
}

GmlpImageClassifierConfig odd_classifier() {
  return {.image = {8, 4},
          .patch = {2, 2},
          .image_channels = 1,
          .classes = 3,
          .pooling = Pooling::class_token,
          .stem_norm = true,
          .pre_logits = true,
          .norm_eps = 1e-4,
          .pixel_mean = 0.25,
          .pixel_deviation = 0.125,
          .trunk = odd_trunk()};
}

GmlpLanguageModelConfig odd_language_model() {
  return {.vocabulary = 11,
          .token_types = 2,
          .position = PositionForm::sinusoid_table,
          .max_length = 7,
          .embedding_norm = NormForm::scale_norm,
          .embedding_norm_eps = 1e-3,
          .head = {.form = HeadForm::untied,
                   .dense = true,
                   .activation = Activation::tanh,
                   .norm = NormForm::scale_norm_rsqrt,
                   .norm_eps = 1e-4,
                   .bias = true},
          .trunk = odd_trunk()};
}

template <class Model>
Model random_model(const typename Model::Config& config) {
  Model model(config);
  test::randomize(model, 1);
  return model;
}

TEST(ModelFile, RoundTripsAnImageClassifier) {
  const auto model = random_model<GmlpImageClassifier<float>>(odd_classifier());
  const auto path = temporary("classifier.safetensors");
  save_model(model, path, {{"note", "hello"}});
  const auto loaded = load_model<GmlpImageClassifier<float>>(path);
  EXPECT_EQ(to_json(loaded.config), to_json(model.config));
  const auto images = random_matrix<float>(2, 32, 2);
  Workspace<float> workspace;
  EXPECT_TRUE(same_bits(loaded.forward(images, workspace), model.forward(images, workspace)));
  EXPECT_EQ(SafetensorsFile(path).metadata().at("note"), "hello");
  EXPECT_EQ(SafetensorsFile(path).metadata().at("architecture"), "gated.ImageClassifier<gated.Stack<gated.GmlpBlock>>");
}

TEST(ModelFile, RoundTripsALanguageModelInBothPrecisions) {
  const auto model = random_model<GmlpLanguageModel<double>>(odd_language_model());
  const auto path = temporary("language.safetensors");
  save_model(model, path);
  const auto loaded = load_model<GmlpLanguageModel<double>>(path);
  EXPECT_EQ(to_json(loaded.config), to_json(model.config));
  const std::vector<Index> ids{1, 10, 3};
  Workspace<double> workspace;
  const Matrix<double> logits = model.forward(ids, Sequences::single(3), workspace);
  EXPECT_TRUE(same_bits(loaded.forward(ids, Sequences::single(3), workspace), logits));
  const auto rounded = load_model<GmlpLanguageModel<float>>(path);
  Workspace<float> narrow;
  EXPECT_TRUE(test::near(rounded.forward(ids, Sequences::single(3), narrow), logits));
}

/// Expects that a trunk or a single layer round-trips through a file.
template <class Model>
void expect_given_back(const typename Model::Config& config) {
  SCOPED_TRACE(Model::architecture);
  const auto model = random_model<Model>(config);
  const auto path = temporary("network.safetensors");
  save_model(model, path);
  const auto loaded = load_model<Model>(path);
  EXPECT_EQ(to_json(loaded.config), to_json(model.config));
  for_each_parameter([](const ParameterInfo& info, auto a,
                        auto b) { EXPECT_TRUE(std::ranges::equal(std::as_bytes(a), std::as_bytes(b))) << info.path(); },
                     loaded, model);
}

TEST(ModelFile, RoundTripsTrunksLayersAndCombinations) {
  expect_given_back<Gmlp<float>>(odd_trunk());
  expect_given_back<Flash<float>>({.depth = 2, .block = {.channels = 4, .value = 8, .query_key = 2}});
  expect_given_back<GatedAttentionUnit<double>>({.channels = 4, .value = 8, .query_key = 2});
  expect_given_back<MixedChunkAttention<float>>({.channels = 4, .value = 8, .query_key = 2, .chunk = 3});
  expect_given_back<GatedCrossAttention<float>>({.channels = 4, .value = 8, .query_key = 2});
  expect_given_back<TransformerBlock<double>>({.channels = 4, .token_mixer = {.heads = 2}});
  expect_given_back<LanguageModel<Stack<TransformerBlock<float>>>>(
      {.vocabulary = 5, .pad_token = 3, .trunk = {.depth = 2, .block = {.channels = 4, .token_mixer = {.heads = 2}}}});
}

TEST(ModelFile, RoundTripsTheTrainingOfATrunk) {
  Training<Gmlp<float>> training({.model = odd_trunk()}, Random(1));
  const auto path = temporary("trunk_training.safetensors");
  save_model(training, path);
  const auto loaded = load_model<Training<Gmlp<float>>>(path);
  EXPECT_EQ(to_json(loaded.config()), to_json(training.config()));
  EXPECT_EQ(SafetensorsFile(path).metadata().at("architecture"), "gated.Training<gated.Stack<gated.GmlpBlock>>");
}

TEST(ModelFile, ReadsFilesOfTimm) {
  const std::string config =
      R"({"architecture": "timm.gmlp", "img_size": 8, "patch_size": 4, "embed_dim": 6, "num_blocks": 2, "num_classes": 3})";
  const auto model = random_model<GmlpImageClassifier<float>>(timm_config(config));
  const auto path = temporary("timm.safetensors");
  save_parameters(model, path, {{"config", config}}, timm_names());
  const auto loaded = load_model<GmlpImageClassifier<float>>(path);
  const auto images = random_matrix<float>(2, 192, 2);
  Workspace<float> workspace;
  EXPECT_TRUE(same_bits(loaded.forward(images, workspace), model.forward(images, workspace)));
  expect_error<FileError>([&] { load_model<GmlpLanguageModel<float>>(path); },
                          {"the file holds a \"timm.gmlp\", expected the architecture "
                           "\"gated.LanguageModel<gated.Stack<gated.GmlpBlock>>\""});
}

TEST(ModelFile, RefusesAnotherKindOfModel) {
  const auto path = temporary("language.safetensors");
  save_model(random_model<GmlpLanguageModel<float>>(odd_language_model()), path);
  expect_error<FileError>([&] { load_model<GmlpImageClassifier<float>>(path); },
                          {path.string(),
                           "the file holds a \"gated.LanguageModel<gated.Stack<gated.GmlpBlock>>\", expected the architecture "
                           "\"gated.ImageClassifier<gated.Stack<gated.GmlpBlock>>\""});
}

TEST(ModelFile, DistinguishesTrainingRunsFromModels) {
  using Model = Gmlp<float>;
  const Training<Model> training({.model = odd_trunk()}, Random(1));
  const auto run = temporary("run.safetensors"), model = temporary("model.safetensors");
  save_model(training, run);
  save_model(training.model, model);
  expect_error<FileError>([&] { load_model<Model>(run); },
                          {run.string(), "It is a training run of that model: load_model<Training<Model>>() opens it",
                           "save_model(training.result(), path)"});
  expect_error<FileError>([&] { load_model<Training<Model>>(model); },
                          {model.string(), "It is the model alone: start a training run from it"});
  const std::string other = test::error_of<FileError>([&] { load_model<Flash<float>>(run); });
  EXPECT_EQ(other.find("It is"), std::string::npos) << other;
}

TEST(ModelFile, RefusesMetadataWithReservedKeys) {
  const auto model = random_model<Gmlp<float>>(odd_trunk());
  const auto path = temporary("mine.safetensors");
  for (const std::string key : {"config", "architecture", "gated.checksum"}) {
    expect_error<ArgumentError>([&] { save_model(model, path, {{key, "mine"}}); }, {"metadata contains \"" + key + "\""});
    EXPECT_FALSE(std::filesystem::exists(path));
  }
}

TEST(ModelFile, RefusesAnEmptyPath) {
  expect_error<FileError>([] { save_model(random_model<Gmlp<float>>(odd_trunk()), ""); },
                          {"the path is empty. Name the file to write."});
  expect_error<FileError>([] { load_model<Gmlp<float>>(""); }, {"the path is empty. Name the file to read."});
}

TEST(ModelFile, RefusesEveryFlippedBit) {
  const auto model = random_model<GmlpBlock<float>>({.length = 2, .channels = 2, .hidden = 4});
  const auto path = temporary("whole.safetensors");
  save_model(model, path, {{"note", "the caller's text"}});
  std::string content = test::read_text(path);
  const auto bytes = std::as_bytes(std::span(content));
  load_model<GmlpBlock<float>>(SafetensorsFile::parse(bytes));
  const std::size_t key = content.find("gated.checksum");
  for (std::size_t bit = 0; bit < 8 * content.size(); ++bit) {
    if (bit / 8 >= key && bit / 8 < key + std::string("gated.checksum").size()) {
      continue;  // changes the name of a metadata entry, not the weights
    }
    char& byte = content[bit / 8];
    const char before = byte;
    byte = static_cast<char>(byte ^ (1 << bit % 8));
    bool refused = false;
    try {
      load_model<GmlpBlock<float>>(SafetensorsFile::parse(bytes));
    } catch (const Error&) {
      refused = true;
    }
    EXPECT_TRUE(refused) << "bit " << bit % 8 << " of byte " << bit / 8;
    byte = before;
  }
}

TEST(ModelFile, RefusesAFileWithoutAConfiguration) {
  const auto path = temporary("bare.safetensors");
  save_parameters(random_model<GmlpLanguageModel<float>>(odd_language_model()), path);
  expect_error<FileError>([&] { load_model<GmlpLanguageModel<float>>(path); },
                          {path.string(), "no configuration in the metadata", "load_parameters()"});
}

TEST(ModelFile, ReportsFilesThatDoNotNameTheirModel) {
  const auto model = random_model<GmlpLanguageModel<float>>(odd_language_model());
  const auto path = temporary("nameless.safetensors");
  save_parameters(model, path, {{"config", to_json(model.config)}});
  expect_error<FileError>([&] { load_model<GmlpLanguageModel<float>>(path); },
                          {"names no architecture in its metadata",
                           "expected the architecture \"gated.LanguageModel<gated.Stack<gated.GmlpBlock>>\"", "save_model()"});
}

TEST(ModelFile, RefusesInvalidConfigurations) {
  const auto model = random_model<GmlpLanguageModel<float>>(odd_language_model());
  const auto load_with = [&](const std::string& architecture, const std::string& config) {
    const auto path = temporary("bad.safetensors");
    save_parameters(model, path, {{"architecture", architecture}, {"config", config}});
    load_model<GmlpLanguageModel<float>>(path);
  };
  for (const char* const config :
       {"", "{", "[]", "null", R"({"vocabulary": "11"})", R"({"vocab": 11})", R"({"vocabulary": 1.5})", R"({"vocabulary": -1})",
        R"({"vocabulary": 11, "trunk": {"length": 9, "channels": 6, "hidden": 7}})",
        R"({"vocabulary": 11, "trunk": {"length": 9, "channels": 6, "hidden": 8, "depth": -1}})",
        R"({"vocabulary": 11, "trunk": {"spatial": "sparse"}})"}) {
    EXPECT_THROW(load_with("gated.LanguageModel<gated.Stack<gated.GmlpBlock>>", config), ArgumentError) << config;
  }
  EXPECT_THROW(load_with("somebody.Else", to_json(model.config)), FileError);
  EXPECT_THROW(load_with("", "{}"), FileError);
  EXPECT_THROW(load_with("", "nonsense"), FileError);
  EXPECT_THROW(load_with("", R"({"architecture": 5})"), FileError);
}

/// Loads a file with the tensors of `model` and a configuration patched with `hostile`.
template <class Model>
void load_with(const Model& model, const std::string& hostile) {
  auto config = nlohmann::json::parse(to_json(configuration_of(model)));
  config.merge_patch(nlohmann::json::parse(hostile));
  const auto path = temporary("hostile.safetensors");
  save_parameters(model, path, {{"architecture", Model::architecture}, {"config", config.dump()}});
  load_model<Model>(path);
}

TEST(ModelFile, BuildsNoModelFarLargerThanTheFile) {
  const auto expect_refused = [](const auto& model, const std::string& hostile) {
    SCOPED_TRACE(hostile);
    expect_error<FileError>([&] { load_with(model, hostile); },
                            {"needs far more values than the ", " in the file. The model was not built."});
  };
  const auto expect_contradiction = [](const auto& model, const std::string& hostile) {  // refused before any allocation
    SCOPED_TRACE(hostile);
    EXPECT_THROW(load_with(model, hostile), ArgumentError);
  };
  const std::string sizes[] = {"1000000000", "4294967296", "9223372036854775806"};
  const auto text = random_model<GmlpLanguageModel<float>>(odd_language_model());
  const auto image = random_model<GmlpImageClassifier<float>>(odd_classifier());
  const FlashLanguageModel<float> flash({.vocabulary = 7, .trunk = {.block = {.channels = 4, .value = 8, .query_key = 2}}});
  const GauEncoder<float> gau(
      {.vocabulary = 7, .trunk = {.block = {.channels = 4, .value = 8, .query_key = 2, .max_length = 5}}});
  const Training<GmlpLanguageModel<float>> training({.model = odd_language_model(), .average_decay = 0.5}, Random(1));
  for (const std::string& size : sizes) {
    expect_contradiction(text, R"({"trunk": {"heads": )" + size + "}}");
    for (const char* const key : {"length", "channels", "hidden", "depth", "attention_width"}) {
      const std::string trunk = R"("trunk": {")" + std::string(key) + R"(": )" + size + "}";
      expect_refused(text, "{" + trunk + "}");
      expect_refused(training, R"({"model": {)" + trunk + "}}");
    }
    expect_refused(text, R"({"vocabulary": )" + size + "}");
    expect_refused(image, R"({"classes": )" + size + "}");
    if (size != sizes[2]) {  // for the largest size, the number of pixels overflows
      expect_refused(image, R"({"image_channels": )" + size + "}");
    }
    const std::string square = R"({"height": )" + size + R"(, "width": )" + size + "}";
    expect_contradiction(image, R"({"image": )" + square + "}");
    expect_contradiction(image, R"({"patch": )" + square + "}");
    expect_refused(flash, R"({"position": "sinusoid_table", "max_length": )" + size + "}");
    expect_refused(gau, R"({"token_types": )" + size + "}");
    expect_refused(gau, R"({"trunk": {"block": {"relative_bias": "toeplitz", "max_length": )" + size + "}}}");
    for (const char* const key : {"channels", "value", "query_key"}) {
      const std::string block = R"({"trunk": {"block": {")" + std::string(key) + R"(": )" + size + "}}}";
      expect_refused(gau, block);
      expect_refused(flash, block);
    }
    expect_refused(gau, R"({"trunk": {"depth": )" + size + "}}");
    expect_refused(flash, R"({"trunk": {"depth": )" + size + "}}");
  }
  const std::string square = R"({"height": 1000000000, "width": 1000000000})", follows = R"("trunk": {"length": 0})";
  expect_refused(image, R"({"image": )" + square + ", " + follows + "}");
  expect_refused(image, R"({"image": )" + square + R"(, "patch": )" + square + ", " + follows + "}");
  expect_refused(text, R"({"trunk": {"heads": 1000000000, "hidden": 2000000000}})");
}

TEST(ModelFile, ListsMismatchesIfItBuildsTheModel) {
  expect_error<FileError>(
      [] { load_with(random_model<GmlpLanguageModel<float>>(odd_language_model()), R"({"vocabulary": 10000})"); },
      {"embedding.weight: expected [10000, 6], got [11, 6]"});
}

TEST(ModelFile, RefusesHugeSizesThatNeedNoMemory) {
  const std::string most = "9223372036854775807";
  const GmlpImageClassifier<float> image(
      {.image = {4, 4}, .patch = {2, 2}, .image_channels = 1, .classes = 2, .trunk = {.channels = 2, .hidden = 2, .depth = 0}});
  EXPECT_THROW(load_with(image, R"({"image": {"height": 4611686018427387904, "width": 4611686018427387904}})"), ArgumentError);
  const auto text = random_model<GmlpLanguageModel<float>>(odd_language_model());
  EXPECT_THROW(load_with(text, R"({"trunk": {"token_shift": )" + most + "}}"), ArgumentError);
  const FlashLanguageModel<float> flash({.vocabulary = 7, .trunk = {.block = {.channels = 4, .value = 8, .query_key = 2}}});
  EXPECT_THROW(load_with(flash, R"({"trunk": {"block": {"chunk": )" + most + "}}}"), ArgumentError);
  EXPECT_THROW(load_with(flash, R"({"trunk": {"block": {"rotary": "half", "rotary_base": -1}}})"), ArgumentError);
}

TEST(ModelFile, RefusesTensorsThatDoNotFitTheConfiguration) {
  const auto model = random_model<GmlpLanguageModel<float>>(odd_language_model());
  GmlpLanguageModelConfig other = odd_language_model();
  other.trunk.heads = 1;
  other.head.form = HeadForm::tied;
  const auto path = temporary("misfit.safetensors");
  save_parameters(model, path,
                  {{"architecture", "gated.LanguageModel<gated.Stack<gated.GmlpBlock>>"}, {"config", to_json(other)}});
  expect_error<FileError>(
      [&] { load_model<GmlpLanguageModel<float>>(path); },
      {"trunk.blocks.*.gate.proj.weight: expected [1, 17], got [2, 17] (2 times)", "head.output.weight [11, 6]: unexpected"});
}

TEST(ModelFile, AFailedLoadLeavesTheModelUnchanged) {
  auto model = random_model<GmlpImageClassifier<float>>(odd_classifier());
  const auto before = model;
  GmlpImageClassifierConfig other = odd_classifier();
  other.classes = 4;  // changes only the last tensor that a load writes
  const auto path = temporary("other.safetensors");
  save_model(GmlpImageClassifier<float>(other), path);
  EXPECT_THROW(load_parameters(model, SafetensorsFile(path)), FileError);
  for_each_parameter([](const ParameterInfo& info, auto a,
                        auto b) { EXPECT_TRUE(std::ranges::equal(std::as_bytes(a), std::as_bytes(b))) << info.path(); },
                     model, before);
}

TEST(ModelFile, RefusesMissingAndTruncatedFiles) {
  EXPECT_THROW(load_model<GmlpLanguageModel<float>>(temporary("absent.safetensors")), FileError);
  const auto path = temporary("whole.safetensors");
  save_model(random_model<GmlpLanguageModel<float>>(odd_language_model()), path);
  const std::string content = test::read_text(path);
  const auto cut = temporary("cut.safetensors");
  for (const std::size_t size : {std::size_t{0}, std::size_t{7}, content.size() / 2, content.size() - 1}) {
    test::write_text(cut, std::string_view(content).substr(0, size));
    EXPECT_THROW(load_model<GmlpLanguageModel<float>>(cut), FileError) << size << " bytes";
  }
}

TEST(ModelFile, RefusesMovedFromModels) {
  const auto path = temporary("moved.safetensors");
  const auto expect_refusal = [&](auto model, std::initializer_list<std::string_view> words) {
    const auto moved = std::move(model);
    expect_error<ArgumentError>([&] { save_model(model, path); }, words);
    EXPECT_FALSE(std::filesystem::exists(path));
    save_model(moved, path);
    std::filesystem::remove(path);
  };
  Random random(1);
  expect_refusal(GmlpImageClassifier<float>(odd_classifier(), random), {"save_model: the model has ", "moved-from"});
  expect_refusal(GmlpLanguageModel<double>(odd_language_model(), random),
                 {"its configuration has ", "embedding.weight [11, 6]", "moved-from"});
  expect_refusal(Gmlp<float>(odd_trunk(), random), {"the model has 0 tensors", "got none, expected blocks.0.", "moved-from"});
  expect_refusal(Training<Gmlp<float>>({.model = odd_trunk(), .average_decay = 0.9}, random), {"blocks.0", "moved-from"});

  Gmlp<float> part(odd_trunk(), random);
  const auto block = std::move(part.blocks[1].proj_out);
  expect_error<ArgumentError>([&] { save_model(part, path); }, {", expected blocks.1.proj_out.weight [6, 8]", "moved-from"});
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace gated::model_file_test
