#include <gtest/gtest.h>

#include "attention_files.hpp"
#include "gated/io/junnyu.hpp"
#include "gated/models/flash.hpp"
#include "gated/models/gau_presets.hpp"

namespace gated::tied_test {
namespace {

using test::changed;
using test::expect_error;
using test::expect_loads;
using test::random_layer;
using test::saved;

const std::string embeddings = "embeddings.word_embeddings.weight", decoder = "cls.predictions.decoder.weight";

GauEncoder<float> model_with_tied_head() {
  return random_layer<GauEncoder<float>>(gau_presets::gau_alpha_encoder(
      {.vocabulary = 11, .depth = 1, .masked_words = true}, gau_presets::gau_alpha({.channels = 6, .query_key = 8})));
}

TEST(TiedTensors, LoadIfTheCopyIsEqualOrAbsent) {
  const auto model = model_with_tied_head();
  const NameMap names = gau_alpha_names();
  const SafetensorsFile file = saved(model, names);
  EXPECT_FALSE(file.contains(decoder)) << "a shared tensor is saved once";
  expect_loads(model, file, names);
  expect_loads(model, changed(file, {}, {{decoder, embeddings}}), names);
}

TEST(TiedTensors, AreRefusedIfTheCopyDiffers) {
  const auto model = model_with_tied_head();
  const NameMap names = gau_alpha_names();
  const SafetensorsFile file = saved(model, names);
  Matrix<float> drifted = model.embedding.weight;
  drifted(10, 5) = std::nextafter(drifted(10, 5), 100.0F);
  const SafetensorsFile other = changed(file, {}, {}, {test::tensor_of(decoder, drifted, {11, 6})});
  GauEncoder<float> loaded(model.config);
  expect_error<FileError>([&] { load_parameters(loaded, other, names); },
                          {"1 unconvertible", decoder + " [11, 6]: expected to equal " + embeddings});
  test::expect_equal(loaded, GauEncoder<float>(model.config));
}

TEST(TiedTensors, LoadFromTheCopyIfTheOriginalIsAbsent) {
  const auto model = model_with_tied_head();
  const NameMap names = gau_alpha_names();
  expect_loads(model, changed(saved(model, names), {embeddings}, {{decoder, embeddings}}), names);
}

TEST(TiedTensors, ShapeErrorsUseTheTensorNamesInTheFile) {
  const auto model = model_with_tied_head();
  const NameMap names = gau_alpha_names();
  const Matrix<float> wide = Matrix<float>::Ones(11, 7);
  const SafetensorsFile other = changed(saved(model, names), {embeddings}, {}, {test::tensor_of(decoder, wide, {11, 7})});
  GauEncoder<float> loaded(model.config);
  expect_error<FileError>([&] { load_parameters(loaded, other, names); },
                          {"0 missing", "1 mis-shaped", decoder + "): expected [11, 6], got [11, 7]"});
}

TEST(TiedTensors, AreUnexpectedUnderOtherNames) {
  const auto model = model_with_tied_head();
  const NameMap names = gau_alpha_names();
  const SafetensorsFile other = changed(saved(model, names), {}, {{"decoder.weight", embeddings}});
  GauEncoder<float> loaded(model.config);
  expect_error<FileError>([&] { load_parameters(loaded, other, names); },
                          {"1 unexpected", "decoder.weight [11, 6]: unexpected"});
}

TEST(TiedTensors, FollowThePrefixOfTheirNameMap) {
  const NameMap names{.prefix = "model.", .tied = {{"copy", "original"}}};
  EXPECT_EQ(names.tied_to("model.copy"), "model.original");
  EXPECT_EQ(names.tied_to("copy"), "");
  EXPECT_EQ(names.tied_to("model.original"), "");
}

}  // namespace
}  // namespace gated::tied_test
