#include "gated/io/junnyu.hpp"

#include <gtest/gtest.h>

#include "attention_files.hpp"
#include "gated/models/flash.hpp"
#include "gated/models/gau_presets.hpp"

namespace gated::junnyu_test {
namespace {

using test::changed;
using test::Copy;
using test::expect_error;
using test::expect_loads;
using test::listed;
using test::Names;
using test::random_layer;
using test::saved;

GatedAttentionUnitConfig flash_quad_unit() {
  return gau_presets::flash_quad_junnyu({.channels = 6, .max_length = 16, .query_key = 8});
}
GatedAttentionUnitConfig gau_alpha_unit() { return gau_presets::gau_alpha({.channels = 6, .query_key = 8}); }

GauEncoderConfig flash_quad(bool with_head) {
  return gau_presets::flash_quad_encoder({.vocabulary = 11, .depth = 1, .masked_words = with_head}, flash_quad_unit());
}

GauEncoderConfig gau_alpha(bool with_head) {
  return gau_presets::gau_alpha_encoder({.vocabulary = 11, .depth = 1, .masked_words = with_head}, gau_alpha_unit());
}

FlashLanguageModelConfig flash(bool with_head) {
  return {.vocabulary = 11,
          .position = PositionForm::sinusoid,
          .head = {.form = with_head ? HeadForm::tied : HeadForm::none, .bias = true},
          .trunk = {.depth = 1, .block = flash_presets::junnyu({.channels = 6, .query_key = 8, .chunk = 4})}};
}

Names with_prefix(const std::string& prefix, const Names& names, const Names& more = {}) {
  Names all = more;
  for (const std::string& name : names) {
    all.insert(prefix + name);
  }
  return all;
}

const Names flash_quad_body{"embeddings.word_embeddings.weight [11, 6]",
                            "embeddings.token_type_embeddings.weight [2, 6]",
                            "embeddings.scaledsin_scalar [1]",
                            "embeddings.scaledsin_embeddings [16, 6]",
                            "embeddings.LayerNorm.scala [1]",
                            "encoder.layer.0.uv.weight [32, 6]",
                            "encoder.layer.0.uv.bias [32]",
                            "encoder.layer.0.weight [2, 8]",
                            "encoder.layer.0.bias [2, 8]",
                            "encoder.layer.0.o.weight [6, 12]",
                            "encoder.layer.0.o.bias [6]",
                            "encoder.layer.0.w [31]",
                            "encoder.layer.0.LayerNorm.scala [1]"};
const Names flash_quad_head{"cls.predictions.bias [11]", "cls.predictions.transform.dense.weight [6, 6]",
                            "cls.predictions.transform.dense.bias [6]", "cls.predictions.transform.LayerNorm.scala [1]"};
const std::string own_frequencies = "trunk.blocks.0.rotary.frequencies";  // not stored by the original

/// A copy of `file` with `prefix` before the names of the body, as in the file of a whole model.
SafetensorsFile with_prefix(const std::string& prefix, const SafetensorsFile& file) {
  Names removed;
  std::vector<Copy> copies;
  for (const auto& [name, entry] : file.tensors()) {
    if (!name.starts_with("cls.")) {
      removed.insert(name);
      copies.push_back({prefix + name, name});
    }
  }
  return changed(file, removed, copies);
}

const std::vector<std::int64_t> positions{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
const Matrix<float> unused = Matrix<float>::Ones(1, 8);

TensorToWrite position_ids(const std::string& name) { return {name, Dtype::I64, {1, 16}, std::as_bytes(std::span(positions))}; }

TEST(JunnyuFlashQuad, HasTheNamesOfTheOriginal) {
  const auto model = random_layer<GauEncoder<float>>(flash_quad(false));
  const SafetensorsFile file = saved(model, flash_quad_names());
  EXPECT_EQ(listed(changed(file, {own_frequencies})), flash_quad_body);
  expect_loads(model, file, flash_quad_names());
  expect_loads(model,
               changed(file, {own_frequencies}, {},
                       {position_ids("embeddings.position_ids"), test::tensor_of("encoder.layer.0.a", unused, {1, 8}),
                        test::tensor_of("encoder.layer.0.b", unused, {1, 8})}),
               flash_quad_names());

  auto config = flash_quad(false);
  config.embedding_norm = config.trunk.block.norm = NormForm::layer_norm;
  const auto other = random_layer<GauEncoder<double>>(config);
  const SafetensorsFile with_layer_norm = saved(other, flash_quad_names());
  for (const char* name : {"embeddings.LayerNorm.weight [6]", "embeddings.LayerNorm.bias [6]",
                           "encoder.layer.0.LayerNorm.weight [6]", "encoder.layer.0.LayerNorm.bias [6]"}) {
    EXPECT_EQ(listed(with_layer_norm).count(name), 1U) << name;
  }
  expect_loads(other, with_layer_norm, flash_quad_names());
}

TEST(JunnyuFlashQuad, MaskedModelLoadsTiedAndUnusedTensors) {
  const auto model = random_layer<GauEncoder<float>>(flash_quad(true));
  const NameMap names = flash_quad_names();
  const SafetensorsFile file = saved(model, names);
  EXPECT_EQ(listed(changed(file, {"flash_quad." + own_frequencies})),
            with_prefix("flash_quad.", flash_quad_body, flash_quad_head));
  expect_loads(model,
               changed(file, {"flash_quad." + own_frequencies},
                       {{"cls.predictions.decoder.weight", "flash_quad.embeddings.word_embeddings.weight"},
                        {"cls.predictions.decoder.bias", "cls.predictions.bias"}},
                       {position_ids("flash_quad.embeddings.position_ids"),
                        test::tensor_of("flash_quad.encoder.layer.0.a", unused, {1, 8}),
                        test::tensor_of("flash_quad.encoder.layer.0.b", unused, {1, 8})}),
               names);
}

TEST(JunnyuFlashQuad, ComputesThePositionTableIfTheFileHasNone) {
  auto model = random_layer<GauEncoder<float>>(flash_quad(false));
  const GauEncoder<float> fresh(model.config);
  model.position.table *= 1.01F;
  const SafetensorsFile file = saved(model, flash_quad_names());
  expect_loads(model, file, flash_quad_names());
  GauEncoder<float> loaded(model.config);
  load_parameters(loaded, changed(file, {"embeddings.scaledsin_embeddings"}), flash_quad_names());
  EXPECT_EQ(loaded.position.table, fresh.position.table);
  EXPECT_EQ(loaded.position.scale, model.position.scale);
}

TEST(JunnyuFlashQuad, LoadsASingleLayer) {
  const auto unit = random_layer<GatedAttentionUnit<float>>(flash_quad_unit());
  const SafetensorsFile file = saved(unit, flash_quad_gau_names());
  EXPECT_EQ(listed(changed(file, {"rotary.frequencies"})),
            (Names{"uv.weight [32, 6]", "uv.bias [32]", "weight [2, 8]", "bias [2, 8]", "o.weight [6, 12]", "o.bias [6]",
                   "w [31]", "LayerNorm.scala [1]"}));
  expect_loads(unit, changed(file, {"rotary.frequencies"}, {}, {test::tensor_of("a", unused, {1, 8})}), flash_quad_gau_names());
}

const Names flash_body{"embeddings.word_embeddings.weight [11, 6]",
                       "embeddings.scale [1]",
                       "encoder.layers.0.norm.g [1]",
                       "encoder.layers.0.to_hidden.0.weight [24, 6]",
                       "encoder.layers.0.to_hidden.0.bias [24]",
                       "encoder.layers.0.to_qk.0.weight [8, 6]",
                       "encoder.layers.0.to_qk.0.bias [8]",
                       "encoder.layers.0.qk_offset_scale.weight [4, 8]",
                       "encoder.layers.0.qk_offset_scale.bias [4, 8]",
                       "encoder.layers.0.rel_pos_bias.relative_attention_bias.weight [32, 1]",
                       "encoder.layers.0.rotary_pos_emb.freqs [4]",
                       "encoder.layers.0.to_out.weight [6, 12]",
                       "encoder.layers.0.to_out.bias [6]"};

TEST(JunnyuFlash, HasTheNamesOfTheOriginal) {
  const auto model = random_layer<FlashLanguageModel<float>>(flash(false));
  const SafetensorsFile file = saved(model, junnyu_flash_names());
  const SafetensorsFile original = changed(file, {"position.frequencies"});
  EXPECT_EQ(listed(original), flash_body);
  expect_loads(model, original, junnyu_flash_names());
  expect_loads(model, file, junnyu_flash_names());
}

TEST(JunnyuFlash, MaskedModelLoadsTiedTensors) {
  const auto model = random_layer<FlashLanguageModel<float>>(flash(true));
  const NameMap names = junnyu_flash_names();
  const SafetensorsFile file = saved(model, names);
  EXPECT_EQ(listed(changed(file, {"flash.position.frequencies"})),
            with_prefix("flash.", flash_body,
                        {"cls.predictions.LayerNorm.weight [6]", "cls.predictions.LayerNorm.bias [6]",
                         "cls.predictions.decoder.bias [11]"}));
  expect_loads(model,
               changed(file, {"flash.position.frequencies"},
                       {{"cls.predictions.decoder.weight", "flash.embeddings.word_embeddings.weight"},
                        {"cls.predictions.bias", "cls.predictions.decoder.bias"}},
                       {position_ids("flash.embeddings.position_ids")}),
               names);
}

const Names gau_alpha_body{"embeddings.word_embeddings.weight [11, 6]",    "embeddings.token_type_embeddings.weight [2, 6]",
                           "encoder.layer.0.gau.i_dense.weight [32, 6]",   "encoder.layer.0.gau.o_dense.weight [6, 12]",
                           "encoder.layer.0.gau.q_scaleoffset.weight [8]", "encoder.layer.0.gau.k_scaleoffset.weight [8]"};

TEST(GauAlpha, HasTheNamesOfTheOriginalWithSeparateScales) {
  const auto model = random_layer<GauEncoder<float>>(gau_alpha(false));
  const SafetensorsFile file = saved(model, gau_alpha_names());
  EXPECT_EQ(listed(changed(file, {own_frequencies})), gau_alpha_body);
  expect_loads(model, file, gau_alpha_names());
  const auto q = file.read<float>("encoder.layer.0.gau.q_scaleoffset.weight");
  const auto k = file.read<float>("encoder.layer.0.gau.k_scaleoffset.weight");
  const Matrix<float>& ours = model.trunk.blocks[0].offset_scale.weight;
  EXPECT_TRUE(std::equal(q.begin(), q.end(), ours.row(0).data()));
  EXPECT_TRUE(std::equal(k.begin(), k.end(), ours.row(1).data()));
}

TEST(GauAlpha, BiasesHaveTheNamesOfTheOriginal) {
  auto config = gau_alpha(false);
  config.trunk.block.bias = config.trunk.block.offset_bias = true;
  const auto model = random_layer<GauEncoder<double>>(config);
  const SafetensorsFile file = saved(model, gau_alpha_names());
  Names expected = gau_alpha_body;
  expected.insert({"encoder.layer.0.gau.i_dense.bias [32]", "encoder.layer.0.gau.o_dense.bias [6]",
                   "encoder.layer.0.gau.q_scaleoffset.bias [8]", "encoder.layer.0.gau.k_scaleoffset.bias [8]"});
  EXPECT_EQ(listed(changed(file, {own_frequencies})), expected);
  expect_loads(model, file, gau_alpha_names());
}

TEST(GauAlpha, MaskedModelLoadsItsTiedTensor) {
  const auto model = random_layer<GauEncoder<float>>(gau_alpha(true));
  const NameMap names = gau_alpha_names();
  const SafetensorsFile file = saved(model, names);
  EXPECT_EQ(listed(changed(file, {own_frequencies})), gau_alpha_body) << "the head has no parameters";
  expect_loads(model, file, names);
  expect_loads(model,
               changed(with_prefix("gau_alpha.", file), {"gau_alpha." + own_frequencies},
                       {{"cls.predictions.decoder.weight", "gau_alpha.embeddings.word_embeddings.weight"}},
                       {position_ids("gau_alpha.embeddings.position_ids")}),
               names);
}

TEST(GauAlpha, LoadsASingleLayer) {
  const auto unit = random_layer<GatedAttentionUnit<float>>(gau_alpha_unit());
  const SafetensorsFile file = saved(unit, gau_alpha_layer_names());
  EXPECT_EQ(listed(changed(file, {"rotary.frequencies"})),
            (Names{"gau.i_dense.weight [32, 6]", "gau.o_dense.weight [6, 12]", "gau.q_scaleoffset.weight [8]",
                   "gau.k_scaleoffset.weight [8]"}));
  expect_loads(unit, file, gau_alpha_layer_names());
}

TEST(GauAlpha, NamesAMissingPartOfAStack) {
  const auto model = random_layer<GauEncoder<float>>(gau_alpha(false));
  const SafetensorsFile file = changed(saved(model, gau_alpha_names()), {"encoder.layer.0.gau.k_scaleoffset.weight"});
  GauEncoder<float> loaded(model.config);
  expect_error<FileError>([&] { load_parameters(loaded, file, gau_alpha_names()); },
                          {"1 missing, 0 unexpected", "encoder.layer.0.gau.k_scaleoffset.weight"});
  test::expect_equal(loaded, GauEncoder<float>(model.config));
}

/// Expects that a body loads from its own file, and from the file of a whole model, in which its names have a prefix. Both
/// files must also load if all their names begin with `module.`.
template <class Model>
void expect_both_files(const typename Model::Config& config, const NameMap& names) {
  const auto model = random_layer<Model>(config);
  const SafetensorsFile file = saved(model, names);
  EXPECT_FALSE(file.tensors().begin()->first.starts_with(names.body));
  expect_loads(model, file, names);
  expect_loads(model, with_prefix(names.body, file), names);
  NameMap wrapped = names;
  wrapped.prefix = "module.";
  expect_loads(model, with_prefix("module.", file), wrapped);
  expect_loads(model, with_prefix("module." + names.body, file), wrapped);
}

TEST(Junnyu, LoadsABodyFromItsFileOrAWholeModelsFile) {
  expect_both_files<GauEncoder<float>>(flash_quad(false), flash_quad_names());
  expect_both_files<FlashLanguageModel<float>>(flash(false), junnyu_flash_names());
  expect_both_files<GauEncoder<float>>(gau_alpha(false), gau_alpha_names());
}

TEST(Junnyu, ErrorsUseTheNamesInTheFile) {
  const NameMap names = flash_quad_names();
  const std::string tensor = "encoder.layer.0.o.bias", prefixed = "flash_quad." + tensor;
  const auto model = random_layer<GauEncoder<float>>(flash_quad(false));
  const SafetensorsFile body = saved(model, names), larger = with_prefix("flash_quad.", body);
  GauEncoder<float> loaded(model.config);
  expect_error<FileError>([&] { load_parameters(loaded, changed(body, {tensor}), names); },
                          {"1 missing, 0 unexpected", "(in the file: " + tensor + "): expected [6], missing"});
  expect_error<FileError>([&] { load_parameters(loaded, changed(larger, {prefixed}), names); },
                          {"1 missing, 0 unexpected", "(in the file: " + prefixed + "): expected [6], missing"});
  expect_error<FileError>(
      [&] {
        load_parameters(loaded, changed(larger, {prefixed}, {{tensor, prefixed}}), names);
      },
      {"1 missing, 1 unexpected", "missing; nearest in the file: " + tensor, "\n  " + tensor + " [6]: unexpected"});
  const auto with_head = random_layer<GauEncoder<float>>(flash_quad(true));
  expect_error<FileError>([&] { load_parameters(loaded, saved(with_head, names), names); },
                          {"0 missing, 4 unexpected", "cls.predictions.bias [11]: unexpected"});
  test::expect_equal(loaded, GauEncoder<float>(model.config));
}

}  // namespace
}  // namespace gated::junnyu_test
