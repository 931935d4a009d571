#include <gtest/gtest.h>

#include <vector>

#include "files.hpp"
#include "gated/io/prepared_model.hpp"
#include "gated/models/flash.hpp"
#include "gated/models/gau_presets.hpp"
#include "gated/models/gmlp.hpp"
#include "gated/ops/bf16_products.hpp"
#include "gated/ops/int8_products.hpp"
#include "tests/core/allocations.hpp"
#include "tests/layers/literal.hpp"

namespace gated::mapped_model_test {
namespace {

using test::random_matrix;
using test::same_bits;
using test::temporary;

using Text = GmlpLanguageModel<float>;

const std::vector<Index> tokens{1, 2, 3, 44, 0, 7, 8, 9, 10};

template <class T>
GmlpLanguageModel<T> text_model(const HeadForm head = HeadForm::tied) {
  GmlpLanguageModel<T> model(
      {.vocabulary = 45,
       .head = {.form = head},
       .trunk = {.length = 9, .channels = 40, .hidden = 70, .depth = 2, .causal = true, .attention_width = 5}});
  test::randomize(model, 1);
  return model;
}

/// Expects that `opened` and `loaded`, run in `plain`, have bit-equal outputs: on batches with one and three threads, and in
/// decode steps.
template <class Model, class T = typename Model::Scalar>
void expect_bits_of(const Model& loaded, Workspace<T>& plain, const PreparedModel<Model>& opened) {
  Workspace<T> workspace, threaded(Threads{3});
  for (Workspace<T>* const with_weights : {&workspace, &threaded}) {
    with_weights->use(opened.weights);
    with_weights->use(plain.product_engine());
  }
  const auto sequences = Sequences::of_lengths({5, 4});
  const Matrix<T> expected = loaded.forward(tokens, sequences, plain);
  EXPECT_TRUE(same_bits(opened.model.forward(tokens, sequences, workspace), expected));
  EXPECT_TRUE(same_bits(opened.model.forward(tokens, sequences, threaded), expected));
  auto state = opened.model.start(), other = loaded.start();
  Matrix<T> logits(1, 45), wanted(1, 45);
  for (const Index token : tokens) {
    opened.model.step(token, state, logits, workspace);
    loaded.step(token, other, wanted, plain);
    EXPECT_TRUE(same_bits(logits, wanted));
  }
}

template <class Model>
void expect_bits_of(const Model& loaded, const PreparedModel<Model>& opened) {
  Workspace<typename Model::Scalar> plain;
  expect_bits_of(loaded, plain, opened);
}

/// A copy of a file in memory, `offset` bytes after an aligned address.
struct Bytes {
  Bytes(const std::filesystem::path& path, std::size_t offset) {
    const std::string content = test::read_text(path);
    memory.resize(content.size() / sizeof(double) + 2);
    auto* const start = reinterpret_cast<std::byte*>(memory.data()) + offset;
    std::memcpy(start, content.data(), content.size());
    bytes = {start, content.size()};
  }
  std::vector<double> memory;
  std::span<std::byte> bytes;
};

TEST(MappedModel, EqualsTheLoadedModelAfterItsFileIsDeleted) {
  for (const auto head : {HeadForm::tied, HeadForm::untied}) {
    const auto path = temporary("text.safetensors");
    save_model(text_model<float>(head), path);
    const Text loaded = load_model<Text>(path);
    auto opened = load_mapped<Text>(path);
    std::filesystem::remove(path);
    const auto moved = std::move(opened);
    EXPECT_EQ(moved.weights.bytes(), 0u);  // nothing is packed
    EXPECT_GT(moved.weights.count(), 8u);
    expect_bits_of(loaded, moved);
  }
  const auto path = temporary("double.safetensors");
  save_model(text_model<double>(), path);
  expect_bits_of(load_model<GmlpLanguageModel<double>>(path), load_mapped<GmlpLanguageModel<double>>(path));
}

TEST(PreparedModel, PacksAnyFileInAnyFormat) {
  const auto path = temporary("formats.safetensors");
  for (const auto stored : {WeightFormat::float32, WeightFormat::bf16, WeightFormat::int8}) {
    save_model(text_model<float>(), path, stored);
    for (const auto format : {WeightFormat::float32, WeightFormat::bf16, WeightFormat::int8, WeightFormat::int8_rows}) {
      Text expected = load_model<Text>(path);
      round_weights(expected, format);
      const auto opened = load_prepared<Text>(path, format);
      expect_bits_of(expected, opened);
      EXPECT_EQ(opened.weights.bytes(), prepare(expected, format).bytes());
    }
  }
  save_model(text_model<double>(), path);
  EXPECT_THROW(load_prepared<GmlpLanguageModel<double>>(path, WeightFormat::int8), ArgumentError);
}

TEST(PreparedModel, MultipliesTheCodesOfItsFile) {
  const auto path = temporary("codes.safetensors");
  for (const auto format : {WeightFormat::int8, WeightFormat::int8_rows}) {
    SCOPED_TRACE(name_of(format));
    save_model(text_model<float>(), path, format);
    const Text loaded = load_model<Text>(path);
    const auto prepared = prepare(loaded, format);
    Workspace<float> plain;
    plain.use(int8_products());
    plain.use(prepared);
    for (const auto& opened : {load_prepared<Text>(path), load_mapped<Text>(path)}) {
      expect_bits_of(loaded, plain, opened);
      EXPECT_EQ(opened.weights.bytes(), prepared.bytes());
    }
    const auto sequences = Sequences::of_lengths({5, 4});
    const Matrix<float> in_integers = loaded.forward(tokens, sequences, plain);
    plain.use(nullptr);
    EXPECT_FALSE(same_bits(loaded.forward(tokens, sequences, plain), in_integers));
  }
}

TEST(MappedModel, MapsModelsOfOtherKinds) {
  const auto path = temporary("others.safetensors");
  GmlpImageClassifier<float> images(
      {.image = {6, 4}, .patch = {3, 2}, .image_channels = 2, .classes = 3, .trunk = {.channels = 36, .hidden = 40}});
  test::randomize(images, 1);
  save_model(images, path);
  const auto opened = load_mapped<GmlpImageClassifier<float>>(path);
  Workspace<float> plain, workspace;
  workspace.use(opened.weights);
  const Matrix<float> x = random_matrix<float>(3, 48, 6);
  EXPECT_TRUE(same_bits(opened.model.forward(x, workspace), images.forward(x, plain)));

  FlashLanguageModel<float> flash(
      {.vocabulary = 45,
       .trunk = {.depth = 2,
                 .block = flash_presets::lucidrains({.channels = 70, .query_key = 8, .chunk = 4, .causal = true})}});
  test::randomize(flash, 1);
  save_model(flash, path);
  expect_bits_of(flash, load_mapped<FlashLanguageModel<float>>(path));
}

TEST(MappedModel, ReadsTheFileInPlace) {
  const auto path = temporary("text.safetensors");
  save_model(text_model<float>(HeadForm::untied), path);
  const Bytes file(path, 0);
  const auto opened = load_mapped<Text>(SafetensorsFile::parse(file.bytes));
  Workspace<float> workspace;
  workspace.use(opened.weights);
  const auto run = [&] { return opened.model.forward(tokens, Sequences::single(9), workspace); };
  const Matrix<float> before = run();
  const auto parsed = SafetensorsFile::parse(file.bytes);
  for (const char* const name : {"embedding.weight", "trunk.blocks.1.proj_in.weight"}) {
    const auto tensor = parsed.tensor(name).bytes;
    const std::size_t row = sizeof(float) * 40 * 44;  // row 44 is in the last panel; in the embedding, it is the last token
    std::byte& sign = file.bytes[static_cast<std::size_t>(tensor.data() - file.bytes.data()) + row + 3];
    sign ^= std::byte{0x80};
    EXPECT_FALSE(same_bits(run(), before)) << name;
    sign ^= std::byte{0x80};
    EXPECT_TRUE(same_bits(run(), before));
  }
}

TEST(MappedModel, VerifiesTheChecksumOnlyOnRequest) {
  const auto path = temporary("text.safetensors");
  save_model(text_model<float>(HeadForm::untied), path);
  const Bytes file(path, 0);
  const auto parsed = SafetensorsFile::parse(file.bytes, "text");
  const auto tensor = parsed.tensor("embedding.weight").bytes;
  EXPECT_NO_THROW(parsed.verify());
  file.bytes[static_cast<std::size_t>(tensor.data() - file.bytes.data()) + 4] ^= std::byte{1};
  EXPECT_NO_THROW((void)load_mapped<Text>(parsed)) << "load_mapped() does not verify the checksum";
  for (const auto& message : {test::message_of<FileError>([&] { parsed.verify(); }),
                              test::message_of<FileError>([&] { (void)load_model<Text>(parsed); }),
                              test::message_of<FileError>([&] { (void)load_prepared<Text>(parsed); })}) {
    EXPECT_TRUE(message.starts_with("text: the file is damaged: its checksum")) << message;
  }
  auto model = text_model<float>(HeadForm::untied);
  const auto before = model;
  EXPECT_THROW(load_parameters(model, parsed), FileError);
  expect_bits_of(before, {model, {}});
}

TEST(MappedModel, PacksWhatItCannotReadInPlace) {
  const auto path = temporary("text.safetensors");
  save_model(text_model<float>(), path);
  const Text loaded = load_model<Text>(path);
  const Bytes shifted(path, 1);
  const auto unaligned = load_mapped<Text>(SafetensorsFile::parse(shifted.bytes));
  EXPECT_EQ(unaligned.weights.bytes(), load_prepared<Text>(path).weights.bytes());
  expect_bits_of(loaded, unaligned);

  const auto widened = load_mapped<GmlpLanguageModel<double>>(path);
  EXPECT_GT(widened.weights.bytes(), 0u);
  expect_bits_of(load_model<GmlpLanguageModel<double>>(path), widened);
  for (const auto format : {WeightFormat::bf16, WeightFormat::int8}) {
    save_model(text_model<float>(), path, format);
    const auto small = load_mapped<Text>(path);
    EXPECT_TRUE(small.weights.is_quantized());
    expect_bits_of(load_model<Text>(path), small);
  }
}

TEST(MappedModel, Bf16ProductsEqualThoseOfALoadedModel) {
  const auto path = temporary("text.safetensors");
  save_model(text_model<float>(), path);
  const Text loaded = load_model<Text>(path);
  const auto opened = load_mapped<Text>(path);
  Workspace<float> plain, workspace;
  workspace.use(opened.weights);
  plain.use(bf16_products());
  workspace.use(bf16_products());
  const Sequences one = Sequences::single(9);
  EXPECT_TRUE(same_bits(opened.model.forward(tokens, one, workspace), loaded.forward(tokens, one, plain)));
}

TEST(MappedModel, AWarmStepAllocatesNothing) {
  const auto path = temporary("text.safetensors");
  save_model(text_model<float>(), path);
  const auto opened = load_mapped<Text>(path);
  Workspace<float> workspace;
  workspace.use(opened.weights);
  auto state = opened.model.start();
  Matrix<float> logits(1, 45);
  opened.model.step(1, state, logits, workspace);
  EXPECT_EQ(test::allocations_during([&] { opened.model.step(2, state, logits, workspace); }), 0);
}

TEST(MappedModel, RefusesWhatPreparedModelsRefuse) {
  const auto path = temporary("text.safetensors");
  save_model(text_model<float>(), path);
  const auto opened = load_mapped<Text>(path);
  Workspace<float> plain;
  EXPECT_TRUE(test::message_of<ArgumentError>([&] {
                (void)opened.model.forward(tokens, Sequences::single(9), plain);
              }).ends_with("Pass the PreparedWeights of load_prepared() or load_mapped() to Workspace::use()."));
  EXPECT_THROW(save_model(opened.model, path), ArgumentError);
  EXPECT_THROW((void)prepare(opened.model), ArgumentError);
  using Flash = FlashLanguageModel<float>;
  EXPECT_EQ(test::message_of<FileError>([&] { (void)load_mapped<Flash>(path); }),
            test::message_of<FileError>([&] { (void)load_model<Flash>(path); }));
}

TEST(MappedFile, ReadsReleasedPagesAgain) {
  const auto path = temporary("pages");
  test::write_text(path, std::string(100000, 'x'));
  const MappedFile file(path);
  const auto whole = file.bytes();
  for (const auto part : {whole, whole.subspan(5, 50000), whole.subspan(3, 10), whole.subspan(whole.size())}) {
    file.release(part);
    EXPECT_TRUE(std::all_of(whole.begin(), whole.end(), [](std::byte b) { return b == std::byte{'x'}; }));
  }
  const std::vector<std::byte> other(100000, std::byte{'y'});
  file.release(other);
  EXPECT_TRUE(std::all_of(other.begin(), other.end(), [](std::byte b) { return b == std::byte{'y'}; })) << "not of this file";
}

}  // namespace
}  // namespace gated::mapped_model_test
