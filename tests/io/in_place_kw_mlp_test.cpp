#include "gated/io/in_place_kw_mlp.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "gated/io/model_file.hpp"
#include "gated/models/presets.hpp"
#include "tests/core/allocations.hpp"
#include "tests/core/numbers.hpp"
#include "tests/io/files.hpp"

namespace gated::in_place_kw_mlp_test {
namespace {

using test::expect_error;
using test::temporary;
using Model = GmlpImageClassifier<float>;

GmlpImageClassifierConfig small() {
  GmlpImageClassifierConfig config = kw_mlp(5);
  config.image = {19, 11};
  config.patch = {1, 11};
  config.trunk.channels = 24;
  config.trunk.hidden = 34;
  config.trunk.depth = 3;
  return config;
}

/// A model with weights far from their initial values.
Model model_of(const GmlpImageClassifierConfig& config) {
  Random random(7);
  Model model(config, random);
  for_each_parameter([&](const ParameterInfo&, auto values) { fill_uniform(values, 0.6, random); }, model);
  return model;
}

std::vector<std::byte> bytes_of(const std::filesystem::path& path) {
  const MappedFile file(path);
  return {file.bytes().begin(), file.bytes().end()};
}

/// The scores of an InPlaceKwMlp with exactly the required memory. Expects no allocation.
Matrix<float> in_place(std::span<const std::byte> file, const GmlpImageClassifierConfig& config, const Matrix<float>& image) {
  std::vector<std::byte> memory(InPlaceKwMlp::required_bytes(config));
  Matrix<float> scores(1, config.classes);
  const long allocations = test::allocations_during([&] {
    InPlaceKwMlp model(file, config, memory);
    model.forward(image, scores);
    model.forward(image, scores);
  });
  EXPECT_EQ(allocations, 0);
  return scores;
}

void expect_same_bits(const GmlpImageClassifierConfig& config, std::optional<Dtype> dtype, WeightFormat format) {
  const auto file = temporary("model.safetensors");
  save_parameters(model_of(config), file, {{"architecture", Model::architecture}, {"config", to_json(config)}}, {}, dtype,
                  format);
  const Matrix<float> image = test::random_matrix<float>(config.image.height, config.image.width, 3);
  const Matrix<float> flat = Eigen::Map<const Matrix<float>>(image.data(), 1, image.size());
  Workspace<float> workspace;
  const Matrix<float> expected = load_model<Model>(file).forward(flat, workspace);
  EXPECT_GT(expected.cwiseAbs().maxCoeff(), 0.1F);
  EXPECT_EQ(in_place(bytes_of(file), config, image), expected);
}

TEST(InPlaceKwMlp, EqualsTheModelBitForBit) {
  for (const std::optional<Dtype> dtype : {std::optional<Dtype>(), std::optional(Dtype::BF16)}) {
    for (const WeightFormat format : {WeightFormat::float32, WeightFormat::bf16, WeightFormat::int8, WeightFormat::int8_rows}) {
      expect_same_bits(small(), dtype, format);
    }
  }
}

TEST(InPlaceKwMlp, EqualsAModelOfPublishedSizeBitForBit) { expect_same_bits(kw_mlp(), Dtype::BF16, WeightFormat::int8); }

TEST(InPlaceKwMlp, NeedsNoMoreMemoryWithManyTokensOrWidePatchesWithAnyKernels) {
  const KernelForm chosen = kernels();
  for (const KernelForm form : available_kernels()) {
    use_kernels(form);
    GmlpImageClassifierConfig config = kw_mlp();
    config.image.height = 128;
    config.trunk.depth = 1;
    expect_same_bits(config, {}, WeightFormat::float32);
    config = small();
    config.image.width = config.patch.width = 1024;
    expect_same_bits(config, {}, WeightFormat::float32);
  }
  use_kernels(chosen);
}

TEST(InPlaceKwMlp, RefusesTooLittleMemory) {
  EXPECT_LT(InPlaceKwMlp::required_bytes(kw_mlp()), 200'000U);
  const auto file = temporary("model.safetensors");
  save_model(model_of(small()), file);
  const auto bytes = bytes_of(file);
  std::vector<std::byte> memory(InPlaceKwMlp::required_bytes(small()) - 1);
  expect_error<MemoryError>([&] { InPlaceKwMlp(bytes, small(), memory); },
                            {"InPlaceKwMlp: the memory has", "expected required_bytes()"});
  memory.resize(0);
  expect_error<MemoryError>([&] { InPlaceKwMlp(bytes, small(), memory); }, {"InPlaceKwMlp: the memory has 0 bytes"});
}

TEST(InPlaceKwMlp, RefusesUnsupportedConfigsAndShapes) {
  const auto file = temporary("model.safetensors");
  save_model(model_of(small()), file);
  const auto bytes = bytes_of(file);
  std::vector<std::byte> memory(InPlaceKwMlp::required_bytes(kw_mlp()));
  const auto refused = [&](auto change) {
    GmlpImageClassifierConfig config = small();
    change(config);
    InPlaceKwMlp model(bytes, config, memory);
  };
  expect_error<ArgumentError>([&] { refused([](auto& c) { c.trunk.causal = true; }); },
                              {"InPlaceKwMlp: the configuration is not"});
  expect_error<ArgumentError>([&] { refused([](auto& c) { c.patch = {19, 1}; }); }, {"InPlaceKwMlp: the configuration is not"});
  expect_error<ArgumentError>([&] { refused([](auto& c) { c.trunk.hidden = 33; }); }, {"an even hidden"});
  expect_error<FileError>([&] { refused([](auto& c) { c.trunk.depth = 4; }); },
                          {"trunk.blocks.3.proj_in.weight: the file has 0 × 0"});
  expect_error<FileError>([&] { refused([](auto& c) { c.classes = 6; }); },
                          {"head.weight: the file has 5 × 24 values, expected 6 × 24"});
  InPlaceKwMlp model(bytes, small(), memory);
  Matrix<float> image(18, 11), scores(1, 5);
  expect_error<ShapeError>([&] { model.forward(image, scores); },
                           {"InPlaceKwMlp: the image is 18 × 11, expected 19 tokens × 11."});
  const Matrix<float> wide = Matrix<float>::Zero(19, 1024);
  expect_error<ShapeError>([&] { model.forward(wide.leftCols(11), scores); }, {"part of a matrix with rows of 1024 values"});
}

TEST(InPlaceKwMlp, RefusesDamagedFiles) {
  const auto file = temporary("model.safetensors");
  save_model(model_of(small()), file);
  const auto whole = bytes_of(file);
  std::vector<std::byte> memory(InPlaceKwMlp::required_bytes(small()));
  for (std::size_t size = 0; size < whole.size(); size = size < 4000 ? size + 13 : size + 997) {
    expect_error<FileError>([&] { InPlaceKwMlp(std::span(whole).first(size), small(), memory); }, {"file"});
  }
  for (std::size_t i = 0; i < 3000; ++i) {  // a changed byte is either refused or harmless
    auto damaged = whole;
    damaged[i * 7919 % 6000] = static_cast<std::byte>(i * 31);
    try {
      InPlaceKwMlp model(damaged, small(), memory);
      Matrix<float> image = Matrix<float>::Zero(19, 11), scores(1, 5);
      model.forward(image, scores);
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace gated::in_place_kw_mlp_test
