#include "gated/io/lucidrains_flash.hpp"

#include <gtest/gtest.h>

#include "attention_files.hpp"
#include "gated/models/flash.hpp"
#include "gated/models/gau_presets.hpp"

namespace gated::lucidrains_flash_test {
namespace {

using test::changed;
using test::expect_error;
using test::expect_loads;
using test::listed;
using test::Names;
using test::random_layer;
using test::saved;

TEST(LucidrainsFlash, AGauHasTheNamesOfTheOriginal) {
  auto config = gau_presets::lucidrains({.channels = 6, .query_key = 8});
  auto model = random_layer<GatedAttentionUnit<float>>(config);
  const SafetensorsFile file = saved(model, lucidrains_gau_names());
  EXPECT_EQ(listed(file),
            (Names{"norm.weight [6]", "norm.bias [6]", "rel_pos_bias.relative_attention_bias.weight [32, 1]",
                   "to_hidden.0.weight [24, 6]", "to_hidden.0.bias [24]", "to_qk.0.weight [8, 6]", "to_qk.0.bias [8]",
                   "offsetscale.gamma [2, 8]", "offsetscale.beta [2, 8]", "to_out.0.weight [6, 12]", "to_out.0.bias [6]"}));
  expect_loads(model, file, lucidrains_gau_names());

  config.norm = NormForm::scale_norm;
  const auto scaled = random_layer<GatedAttentionUnit<double>>(config);
  const SafetensorsFile other = saved(scaled, lucidrains_gau_names());
  EXPECT_EQ(listed(other).count("norm.g [1]"), 1U);
  EXPECT_EQ(listed(other).count("norm.weight [6]"), 0U);
  expect_loads(scaled, other, lucidrains_gau_names());
}

TEST(LucidrainsFlash, AFlashHasTheNamesOfTheOriginal) {
  const auto model = random_layer<MixedChunkAttention<float>>(
      {.channels = 6, .value = 12, .query_key = 8, .chunk = 4, .rotary = Rotary::interleaved, .rotary_dimensions = 4});
  const SafetensorsFile file = saved(model, lucidrains_flash_names());
  EXPECT_EQ(listed(file), (Names{"norm.weight [6]", "norm.bias [6]", "rel_pos_bias.relative_attention_bias.weight [32, 1]",
                                 "to_hidden.0.weight [24, 6]", "to_hidden.0.bias [24]", "to_qk.0.weight [8, 6]",
                                 "to_qk.0.bias [8]", "qk_offset_scale.gamma [4, 8]", "qk_offset_scale.beta [4, 8]",
                                 "rotary_pos_emb.freqs [2]", "to_out.weight [6, 12]", "to_out.bias [6]"}));
  expect_loads(model, file, lucidrains_flash_names());
}

FlashLanguageModelConfig transformer() {
  return {.vocabulary = 11,
          .position = PositionForm::sinusoid,
          .head = {.form = HeadForm::untied, .bias = true},
          .trunk = {.depth = 2, .block = flash_presets::lucidrains({.channels = 6, .query_key = 8, .chunk = 4})}};
}

TEST(LucidrainsFlash, AFlashTransformerHasTheNamesOfTheOriginal) {
  const auto model = random_layer<FlashLanguageModel<float>>(transformer());
  const SafetensorsFile file = saved(model, lucidrains_flash_transformer_names());
  Names expected{"token_emb.weight [11, 6]", "abs_pos_emb.scale [1]",      "abs_pos_emb.inv_freq [3]", "to_logits.0.weight [6]",
                 "to_logits.0.bias [6]",     "to_logits.1.weight [11, 6]", "to_logits.1.bias [11]"};
  for (const std::string layer : {"layers.0.", "layers.1."}) {
    for (const char* name :
         {"norm.g [1]", "rel_pos_bias.relative_attention_bias.weight [32, 1]", "to_hidden.0.weight [24, 6]",
          "to_hidden.0.bias [24]", "to_qk.0.weight [8, 6]", "to_qk.0.bias [8]", "qk_offset_scale.gamma [4, 8]",
          "qk_offset_scale.beta [4, 8]", "rotary_pos_emb.freqs [4]", "to_out.weight [6, 12]", "to_out.bias [6]"}) {
      expected.insert(layer + name);
    }
  }
  EXPECT_EQ(listed(file), expected);
  expect_loads(model, file, lucidrains_flash_transformer_names());
}

TEST(LucidrainsFlash, ComputesFrequenciesIfTheFileHasNone) {
  auto model = random_layer<FlashLanguageModel<float>>(transformer());
  const FlashLanguageModel<float> fresh(model.config);
  for (auto& block : model.trunk.blocks) {
    block.rotary.frequencies *= 1.001F;  // differ from the computed values, as after rounding or training
  }
  model.position.frequencies *= 0.999F;
  const NameMap names = lucidrains_flash_transformer_names();
  const SafetensorsFile file = saved(model, names);
  expect_loads(model, file, names);

  FlashLanguageModel<float> loaded(model.config);
  load_parameters(loaded, changed(file, {"abs_pos_emb.inv_freq", "layers.0.rotary_pos_emb.freqs"}), names);
  EXPECT_EQ(loaded.position.frequencies, fresh.position.frequencies);
  EXPECT_EQ(loaded.trunk.blocks[0].rotary.frequencies, fresh.trunk.blocks[0].rotary.frequencies);
  EXPECT_EQ(loaded.trunk.blocks[1].rotary.frequencies, model.trunk.blocks[1].rotary.frequencies);
  EXPECT_EQ(loaded.embedding.weight, model.embedding.weight);
}

TEST(LucidrainsFlash, LoadsSharedFrequenciesStoredOnce) {
  auto model = random_layer<FlashLanguageModel<float>>(transformer());
  for (auto& block : model.trunk.blocks) {
    block.rotary.frequencies *= 0.5F;
  }
  const NameMap names = lucidrains_flash_transformer_names();
  expect_loads(model, changed(saved(model, names), {"layers.1.rotary_pos_emb.freqs"}), names);
}

TEST(LucidrainsFlash, ErrorsUseTheNamesInTheFile) {
  const auto model = random_layer<FlashLanguageModel<float>>(transformer());
  const NameMap names = lucidrains_flash_transformer_names();
  const SafetensorsFile file = saved(model, names);
  const Vector<float> five = Vector<float>::Ones(5);
  FlashLanguageModel<float> loaded(model.config);
  const FlashLanguageModel<float> fresh(model.config);
  const SafetensorsFile broken =
      changed(file, {"layers.1.norm.g", "layers.0.rotary_pos_emb.freqs"}, {{"layers.1.norm.gain", "layers.1.norm.g"}},
              {test::tensor_of("layers.0.rotary_pos_emb.freqs", five, {5})});
  expect_error<FileError>([&] { load_parameters(loaded, broken, names); },
                          {"names of FLASH-pytorch", "1 missing, 1 unexpected, 1 mis-shaped", "layers.1.norm.g",
                           "layers.0.rotary_pos_emb.freqs", "layers.1.norm.gain [1]: unexpected"});
  test::expect_equal(loaded, fresh);
}

}  // namespace
}  // namespace gated::lucidrains_flash_test
