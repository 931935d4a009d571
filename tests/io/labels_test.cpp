#include "gated/io/labels.hpp"

#include <gtest/gtest.h>

#include "files.hpp"
#include "gated/io/model_file.hpp"
#include "gated/io/safetensors_writer.hpp"

namespace gated::labels_test {
namespace {

std::vector<std::string> labels_in(const std::map<std::string, std::string>& metadata) {
  const auto path = test::temporary("labels.safetensors");
  write_safetensors(path, {}, metadata);
  return labels_of(SafetensorsFile(path));
}

TEST(Labels, RoundTripThroughAModelFile) {
  const std::vector<std::string> labels{"robin", "wren \"small\"", "Zaunkönig", ""};
  Random random(1);
  const GmlpImageClassifier<float> model(
      {.image = {4, 4}, .patch = {2, 2}, .classes = 4, .trunk = {.channels = 4, .hidden = 8}}, random);
  const auto path = test::temporary("birds.safetensors");
  save_model(model, path, {{"labels", labels_text(labels)}});
  EXPECT_EQ(labels_of(SafetensorsFile(path)), labels);
  EXPECT_NO_THROW(load_model<GmlpImageClassifier<float>>(path));
}

TEST(Labels, MustBeUtf8) {
  test::expect_error<ArgumentError>(
      [] {
        labels_text({"a", "caf\xe9"});
      },
      {"labels_text: the string \"caf\xe9\" is not valid UTF-8"});
}

TEST(Labels, AreReadFromATimmConfig) {
  EXPECT_EQ(labels_in({{"config", R"({"architecture": "gmlp_s16_224", "label_names": ["cat", "dog"]})"}}),
            (std::vector<std::string>{"cat", "dog"}));
}

TEST(Labels, AreOptional) {
  EXPECT_TRUE(labels_in({}).empty());
  EXPECT_TRUE(labels_in({{"config", "{}"}}).empty());
  EXPECT_TRUE(labels_in({{"config", "[]"}}).empty());
}

TEST(Labels, RefuseAnythingButAListOfStrings) {
  for (const char* const wrong : {"{}", "3", "[1]", "[\"a\", [\"b\"]]", "[\"a\"", ""}) {
    EXPECT_THROW(labels_in({{"labels", wrong}}), FileError) << wrong;
  }
  test::expect_error<FileError>(
      [] {
        labels_in({{"labels", "[\"a\", 7]"}});
      },
      {"labels: class 1 has a label that is not a string"});
}

}  // namespace
}  // namespace gated::labels_test
