#include "gated/io/text_transformer.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "attention_files.hpp"
#include "gated/io/prepared_model.hpp"
#include "gated/models/text_presets.hpp"

namespace gated::io_text_transformer_test {
namespace {

using test::expect_loads;
using test::listed;
using test::Names;
using test::random_layer;
using test::refuses;
using test::saved;

constexpr const char* llama = R"({"model_type": "llama", "vocab_size": 11, "hidden_size": 16, "intermediate_size": 20,
  "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2)";

TextTransformerConfig llama_with(const std::string& more) { return llama_config(text(llama, more, "}")); }

void write_text(const std::filesystem::path& path, const std::string& contents) { std::ofstream(path) << contents; }

TEST(TextNames, LlamaFilesHaveSeparateProjections) {
  const auto config = llama_with("");
  const auto model = random_layer<TextTransformer<float>>(config);
  const SafetensorsFile file = saved(model, llama_names(config));
  Names names{"lm_head.weight [11, 16]", "model.embed_tokens.weight [11, 16]", "model.norm.weight [16]"};
  for (const std::string i : {"0.", "1."}) {
    const std::string layer = "model.layers." + i;
    names.insert("model.trunk.blocks." + i + "tokens.mixer.rotary.frequencies [2]");  // a constant; the original computes it
    for (const std::string tensor :
         {"input_layernorm.weight [16]", "post_attention_layernorm.weight [16]", "self_attn.q_proj.weight [16, 16]",
          "self_attn.k_proj.weight [8, 16]", "self_attn.v_proj.weight [8, 16]", "self_attn.o_proj.weight [16, 16]",
          "mlp.gate_proj.weight [20, 16]", "mlp.up_proj.weight [20, 16]", "mlp.down_proj.weight [16, 20]"}) {
      names.insert(layer + tensor);
    }
  }
  EXPECT_EQ(listed(file), names);
  expect_loads(model, file, llama_names(config));
}

TEST(TextNames, EveryKindOfModelIsSavedAndLoaded) {
  for (const char* const more : {R"(, "attention_bias": true, "mlp_bias": true)", R"(, "head_dim": 6)",
                                 R"(, "model_type": "qwen2")", R"(, "model_type": "qwen3", "head_dim": 4)",
                                 R"(, "model_type": "qwen3", "headwise_attn_output_gate": true, "qkv_bias": true)",
                                 R"(, "model_type": "qwen3", "head_dim": 2, "elementwise_attn_output_gate": true)"}) {
    SCOPED_TRACE(more);
    std::string fields = llama;
    if (std::string_view(more).find("model_type") != std::string_view::npos) {
      fields.replace(0, fields.find("\"vocab_size"), "{");
    }
    const auto config = llama_config(text(fields, more, "}"));
    const auto model = random_layer<TextTransformer<float>>(config);
    expect_loads(model, saved(model, llama_names(config)), llama_names(config));
  }
}

TEST(TextNames, RefusesSoManyGroupsThatTheirRulesWouldFillMemory) {
  NameMap names;
  const Index groups = Index{1} << 40;
  EXPECT_THROW(
      detail::add_llama_attention(names, "", "", {.queries = groups, .keys = groups, .groups = groups, .gates = groups}),
      FileError);
}

TEST(TextNames, StackedWeightsOfWrongSizesAreRefused) {
  const auto config = llama_with("");
  NameMap names = llama_names(config);
  names.rules.insert(names.rules.begin(),
                     NameMap::Rule{.ours = "trunk.blocks.*.tokens.mixer.qkv", .theirs = "", .pieces = {{"q", 16}, {"k", 8}}});
  EXPECT_TRUE(refuses<ArgumentError>(
      [&] {
        (void)names.in_file("trunk.blocks.0.tokens.mixer.qkv.weight", {32, 16});
      },
      "NameMap: trunk.blocks.0.tokens.mixer.qkv.weight has 32 rows, but its pieces in the file have 24."));
}

TEST(TextNames, QuantizedStackedWeightsKeepTheirCodes) {
  using Model = TextTransformer<float>;
  const std::vector<Index> ids{3, 1, 4, 1, 5};
  for (const char* const more : {"", R"(, "headwise_attn_output_gate": true)", R"(, "elementwise_attn_output_gate": true)"}) {
    std::string fields = llama;
    fields.replace(fields.find("\"llama\""), 7, *more == '\0' ? "\"llama\"" : "\"qwen3\"");
    const auto config = llama_config(text(fields, *more == '\0' ? "" : R"(, "head_dim": 4)", more, "}"));
    const auto model = random_layer<Model>(config);
    for (const WeightFormat format : {WeightFormat::bf16, WeightFormat::int8, WeightFormat::int8_rows}) {
      SCOPED_TRACE(text(more, " ", name_of(format)));
      const auto path = test::temporary("codes.safetensors");
      save_parameters(model, path, {{"architecture", Model::architecture}, {"config", to_json(config)}}, llama_names(config),
                      {}, format);
      const SafetensorsFile file(path);
      for (const char* const name : {"q_proj", "k_proj", "v_proj"}) {
        EXPECT_EQ(file.tensor(text("model.layers.1.self_attn.", name, ".weight")).dtype,
                  format == WeightFormat::bf16 ? Dtype::BF16 : Dtype::I8);
      }
      Model rounded = model;
      round_weights(rounded, format);
      Workspace<float> plain, packed, opened;
      EXPECT_TRUE(test::same_bits(load_model<Model>(path).forward(ids, Sequences::single(5), plain),
                                  rounded.forward(ids, Sequences::single(5), plain)));
      const auto weights = prepare(model, format);
      packed.use(weights);
      const auto from_file = load_prepared<Model>(path);
      opened.use(from_file.weights);
      EXPECT_TRUE(test::same_bits(from_file.model.forward(ids, Sequences::single(5), opened),
                                  model.forward(ids, Sequences::single(5), packed)));
      EXPECT_EQ(from_file.weights.bytes(), weights.bytes());
    }
  }
}

TEST(TextNames, MappedAndPreparedModelsEqualTheLoadedOne) {
  using Model = TextTransformer<float>;
  const auto expect_same = [](const Model& model, const NameMap& names) {
    const auto path = test::temporary("named.safetensors");
    save_parameters(model, path, {{"architecture", Model::architecture}, {"config", to_json(model.config)}}, names);
    const std::vector<Index> ids{3, 1, 4, 1, 5};
    Workspace<float> workspace;
    const Matrix<float> expected = model.forward(ids, Sequences::single(5), workspace);
    EXPECT_TRUE(test::same_bits(load_model<Model>(path).forward(ids, Sequences::single(5), workspace), expected));
    const auto mapped = load_mapped<Model>(path), prepared = load_prepared<Model>(path);
    for (const auto* const opened : {&mapped, &prepared}) {
      Workspace<float> own;
      own.use(opened->weights);
      EXPECT_TRUE(test::same_bits(opened->model.forward(ids, Sequences::single(5), own), expected));
    }
  };
  {
    const auto config = llama_with("");
    const auto path = test::temporary("halves.safetensors");
    save_parameters(random_layer<Model>(config), path, {{"architecture", Model::architecture}, {"config", to_json(config)}},
                    llama_names(config), Dtype::BF16);
    const auto model = load_model<Model>(path);
    const auto opened = load_prepared<Model>(path);
    Workspace<float> own, plain;
    own.use(opened.weights);
    const std::vector<Index> ids{3, 1, 4};
    EXPECT_TRUE(
        test::same_bits(opened.model.forward(ids, Sequences::single(3), own), model.forward(ids, Sequences::single(3), plain)));
    EXPECT_EQ(opened.weights.bytes(), prepare(model, WeightFormat::bf16).bytes()) << "stacked weights stay in bf16";
  }
  for (const char* const more : {"", R"(, "tie_word_embeddings": true)"}) {
    const auto config = llama_with(more);
    expect_same(random_layer<Model>(config), llama_names(config));
  }
  expect_same(random_layer<Model>(modernbert_config(R"({"vocab_size": 11, "hidden_size": 8, "intermediate_size": 6,
      "num_hidden_layers": 2, "num_attention_heads": 2, "architectures": ["ModernBertForMaskedLM"]})")),
              modernbert_names());
}

/// The metadata of a file with gated's own configuration.
std::map<std::string, std::string> own_metadata(const TextTransformerConfig& config) {
  return {{"architecture", TextTransformer<float>::architecture}, {"config", to_json(config)}};
}

/// Expects that load_model(), load_mapped() and load_prepared() open `path` as `model`.
void expect_opens(const std::filesystem::path& path, const TextTransformer<float>& model) {
  using Model = TextTransformer<float>;
  Workspace<float> workspace;
  const std::vector<Index> ids{3, 1, 4, 1, 5};
  const auto output = [&](const Model& of, Workspace<float>& with) {
    return of.config.head.form == HeadForm::none ? of.pooled(ids, Sequences::of_lengths({3, 2}), with)
                                                 : of.forward(ids, Sequences::single(5), with);
  };
  const Matrix<float> expected = output(model, workspace);
  const auto loaded = load_model<Model>(path);
  EXPECT_EQ(to_json(loaded.config), to_json(model.config));
  EXPECT_TRUE(test::same_bits(output(loaded, workspace), expected));
  const auto mapped = load_mapped<Model>(path), prepared = load_prepared<Model>(path);
  for (const auto* const opened : {&mapped, &prepared}) {
    Workspace<float> own;
    own.use(opened->weights);
    EXPECT_TRUE(test::same_bits(output(opened->model, own), expected));
  }
}

TEST(TextNames, GatesNeedNoQueryNorms) {
  for (const char* const gate : {"headwise", "elementwise"}) {
    for (const char* const prefix : {"", "inner."}) {
      SCOPED_TRACE(text(gate, " ", prefix));
      std::string fields = llama;
      fields.replace(fields.find("\"llama\""), 7, "\"qwen3\"");
      const auto config =
          llama_config(text(fields, R"(, "head_dim": 4, "use_qk_norm": false, ")", gate, R"(_attn_output_gate": true})"));
      const auto model = random_layer<TextTransformer<float>>(config);
      NameMap names = llama_names(config);
      names.prefix = prefix;
      const auto path = test::temporary("gates.safetensors");
      save_parameters(model, path, own_metadata(config), names);
      expect_opens(path, model);
    }
  }
}

TEST(TextNames, RefusesMoreKeyHeadsThanRows) {
  auto config = llama_with("");
  config.trunk.block.token_mixer.gate = AttentionGate::per_head;
  const auto path = test::temporary("heads.safetensors");
  const auto metadata = [&](Index heads) {
    auto wrong = config;
    wrong.trunk.block.token_mixer.heads = wrong.trunk.block.token_mixer.key_value_heads = heads;
    return own_metadata(wrong);
  };
  save_parameters(random_layer<TextTransformer<float>>(config), path, metadata(9), llama_names(config));
  EXPECT_TRUE(refuses<ArgumentError>([&] { (void)load_model<TextTransformer<float>>(path); },
                                     "the configuration has 9 key heads, but the keys in the file have 8 rows."));
  constexpr Index most = std::numeric_limits<Index>::max();
  save_parameters(random_layer<TextTransformer<float>>(config), path, metadata(most), llama_names(config));
  EXPECT_TRUE(refuses<ArgumentError>([&] { (void)load_model<TextTransformer<float>>(path); }, " key heads, but the keys"));
}

TEST(TextConfig, ReadsTheOptionsOfEachModel) {
  const auto mistral = llama_config(R"({"model_type": "mistral", "vocab_size": 7, "hidden_size": 8, "intermediate_size": 4,
      "num_hidden_layers": 1, "num_attention_heads": 2, "sliding_window": 5})");
  EXPECT_EQ(mistral.trunk.block.token_mixer.reach(), 4);
  EXPECT_EQ(mistral.head.form, HeadForm::untied);
  EXPECT_EQ(mistral.final_norm_eps, 1e-6);
  const auto ministral = llama_config(R"({"model_type": "mistral", "vocab_size": 7, "hidden_size": 8, "intermediate_size": 4,
      "num_hidden_layers": 2, "num_attention_heads": 2, "sliding_window": 5,
      "layer_types": ["full_attention", "sliding_attention"]})");
  EXPECT_EQ(ministral.trunk.of(0).token_mixer.reach(), unlimited_reach);
  EXPECT_EQ(ministral.trunk.of(1).token_mixer.reach(), 4);
  const auto qwen = llama_config(R"({"model_type": "qwen2", "vocab_size": 7, "hidden_size": 8, "intermediate_size": 4,
      "num_hidden_layers": 3, "num_attention_heads": 2, "sliding_window": 5, "use_sliding_window": true,
      "max_window_layers": 1, "rope_parameters": {"rope_theta": 5e5, "rope_type": "default"}})");
  EXPECT_EQ(qwen.trunk.kinds, (std::vector<Index>{0, 1, 1}));
  EXPECT_EQ(qwen.trunk.of(0).token_mixer.window, 0);
  EXPECT_EQ(qwen.trunk.of(2).token_mixer.window, 5);
  EXPECT_EQ(qwen.trunk.of(2).token_mixer.rotary_base, 5e5);
  EXPECT_TRUE(qwen.trunk.block.token_mixer.bias);
  EXPECT_FALSE(qwen.trunk.block.token_mixer.out_bias);
  const auto bert = modernbert_config(R"({"model_type": "modernbert", "num_hidden_layers": 3, "local_rope_theta": null,
      "layer_types": ["sliding_attention", "full_attention", "sliding_attention"], "sliding_window": 3})");
  EXPECT_EQ(bert.trunk.kinds, (std::vector<Index>{2, 0, 1}));
  EXPECT_EQ(bert.trunk.of(0).token_mixer.reach(), 3);
  EXPECT_EQ(bert.trunk.of(0).token_norm, NormForm::none);
  EXPECT_EQ(bert.trunk.of(2).token_mixer.rotary_base, 160000);
}

TEST(TextConfig, PublishedFilesGiveThePresets) {
  namespace decoders = decoder_presets;
  const auto decoder = [](const TextTransformerConfig& preset, const std::string& fields) {
    EXPECT_EQ(to_json(llama_config("{" + fields + "}")), to_json(preset)) << fields;
  };
  decoder(decoders::smollm2_135m(), R"("model_type": "llama", "vocab_size": 49152, "hidden_size": 576, "head_dim": null,
      "intermediate_size": 1536, "num_hidden_layers": 30, "num_attention_heads": 9, "num_key_value_heads": 3,
      "rope_theta": 100000, "rms_norm_eps": 1e-05, "tie_word_embeddings": true, "attention_bias": false, "mlp_bias": false)");
  decoder(decoders::tinyllama_1_1b(), R"("model_type": "llama", "vocab_size": 32000, "hidden_size": 2048,
      "intermediate_size": 5632, "num_hidden_layers": 22, "num_attention_heads": 32, "num_key_value_heads": 4,
      "rope_theta": 10000.0, "rms_norm_eps": 1e-05, "tie_word_embeddings": false)");
  decoder(decoders::qwen2_5_0_5b(), R"("model_type": "qwen2", "vocab_size": 151936, "hidden_size": 896,
      "intermediate_size": 4864, "num_hidden_layers": 24, "num_attention_heads": 14, "num_key_value_heads": 2,
      "rope_theta": 1000000.0, "rms_norm_eps": 1e-06, "tie_word_embeddings": true, "sliding_window": 32768,
      "use_sliding_window": false)");
  decoder(decoders::qwen3_0_6b(), R"("model_type": "qwen3", "vocab_size": 151936, "hidden_size": 1024,
      "intermediate_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8,
      "head_dim": 128, "rope_theta": 1000000, "rms_norm_eps": 1e-06, "tie_word_embeddings": true, "sliding_window": null)");
  decoder(decoders::mistral_7b(), R"("model_type": "mistral", "vocab_size": 32000, "hidden_size": 4096,
      "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
      "rope_theta": 10000.0, "rms_norm_eps": 1e-05, "tie_word_embeddings": false, "sliding_window": 4096)");
  auto granite = encoder_presets::granite_embedding_small_r2();
  EXPECT_TRUE(granite.unit_length);  // stated in modules.json
  granite.unit_length = false;
  EXPECT_EQ(to_json(modernbert_config(R"({"model_type": "modernbert", "vocab_size": 50368, "hidden_size": 384,
      "intermediate_size": 1536, "num_hidden_layers": 12, "num_attention_heads": 12, "global_attn_every_n_layers": 3,
      "local_attention": 128, "global_rope_theta": 80000, "local_rope_theta": 10000.0, "norm_eps": 1e-05,
      "classifier_pooling": "cls"})")),
            to_json(granite));
}

TEST(TextConfig, AMissingTypeIsThatOfTheClass) {
  const auto mistral = llama_config(R"({"architectures": ["MistralForCausalLM"], "vocab_size": 7, "hidden_size": 8,
      "intermediate_size": 4, "num_hidden_layers": 1, "num_attention_heads": 2, "sliding_window": 5})");
  EXPECT_EQ(mistral.trunk.block.token_mixer.window, 5);
  const auto bert = text_transformer_config(R"({"architectures": ["ModernBertForMaskedLM"], "num_hidden_layers": 1})");
  EXPECT_FALSE(bert.trunk.block.token_mixer.causal);
}

TEST(TextConfig, ReadsRotaryBasesPerKindOfLayer) {
  const auto bases = [](const std::string& fields) {
    const auto config = modernbert_config(text(R"({"num_hidden_layers": 3, )", fields, "}"));
    return std::pair(config.trunk.of(0).token_mixer.rotary_base, config.trunk.of(1).token_mixer.rotary_base);
  };
  EXPECT_EQ(bases(R"("rope_parameters": {"full_attention": {"rope_theta": 5}, "sliding_attention": {"rope_theta": 7}})"),
            std::pair(5.0, 7.0));
  EXPECT_EQ(bases(R"("rope_parameters": {"full_attention": {"rope_theta": 5}})"), std::pair(5.0, 10000.0));
  EXPECT_EQ(bases(R"("rope_parameters": {"sliding_attention": {"rope_theta": 7}})"), std::pair(160000.0, 7.0));
  EXPECT_EQ(bases(R"("global_rope_theta": 3, "rope_parameters": {"full_attention": {"rope_type": "default"},
                     "sliding_attention": null})"),
            std::pair(3.0, 10000.0));
}

TEST(TextConfig, SlidingWindowOverridesLocalAttention) {
  const auto config = modernbert_config(R"({"num_hidden_layers": 2, "local_attention": 128, "sliding_window": 3})");
  EXPECT_EQ(config.trunk.of(1).token_mixer.reach(), 3);
  const auto null = modernbert_config(R"({"num_hidden_layers": 2, "local_attention": 10, "sliding_window": null})");
  EXPECT_EQ(null.trunk.of(1).token_mixer.reach(), 5);
}

TEST(TextConfig, NullMeansTheDefault) {
  const auto config = llama_with(R"(, "attention_bias": null, "tie_word_embeddings": null, "mlp_bias": null)");
  EXPECT_EQ(to_json(config), to_json(llama_with("")));
}

TEST(TextNames, AModelWithoutAHeadIgnoresTheFilesHead) {
  using Model = TextTransformer<float>;
  const auto path = test::temporary("headless.safetensors");
  const auto config = llama_with(""), bare = llama_with(R"(, "architectures": ["LlamaModel"])");
  ASSERT_EQ(config.head.form, HeadForm::untied);
  const auto model = random_layer<Model>(config);
  save_parameters(model, path, {}, llama_names(config));
  Model opened(bare);
  load_parameters(opened, SafetensorsFile(path), llama_names(bare));
  EXPECT_EQ(opened.embedding.weight, model.embedding.weight);
}

TEST(TextNames, AnEncoderWithoutAHeadIgnoresTheFilesHead) {
  using Model = TextTransformer<float>;
  const std::string fields = R"({"vocab_size": 11, "hidden_size": 8, "intermediate_size": 6, "num_hidden_layers": 2,
      "num_attention_heads": 2, "architectures": )";
  const auto bare = modernbert_config(fields + R"(["ModernBertModel"]})");
  for (const char* const kind : {"ModernBertForMaskedLM", "ModernBertForSequenceClassification"}) {
    const auto path = test::temporary("headless.safetensors");
    const auto config = modernbert_config(text(fields, "[\"", kind, "\"]}"));
    const auto model = random_layer<Model>(config);
    save_parameters(model, path, {}, text_names(config));
    Model opened(bare);
    load_parameters(opened, SafetensorsFile(path), text_names(bare));
    EXPECT_EQ(opened.embedding.weight, model.embedding.weight);
  }
}

TEST(TextConfig, NamesTheUnsupportedField) {
  EXPECT_TRUE(refuses<ArgumentError>(
      [] { (void)text_transformer_config(R"({"model_type": "gemma2"})"); },
      "config.json: model_type = \"gemma2\", expected one of llama, mistral, qwen2, qwen3, modernbert."));
  EXPECT_TRUE(refuses<ArgumentError>(
      [] { (void)llama_config(R"({"model_type": "llama", "architectures": ["LlamaForTokenClassification"]})"); },
      "architectures = "));
  EXPECT_TRUE(refuses<ArgumentError>([] { (void)llama_config(R"({"model_type": "llama"})"); }, "vocab_size is missing"));
  EXPECT_TRUE(refuses<ArgumentError>(
      [] { (void)llama_with(R"(, "rope_scaling": {"rope_type": "llama3", "factor": 8})"); },
      "config.json: rope_scaling: rope_type = \"llama3\", but only plain rotary embeddings are supported."));
  EXPECT_TRUE(refuses<ArgumentError>([] { (void)llama_with(R"(, "rope_parameters": {"rope_type": "yarn"})"); },
                                     "rope_parameters: rope_type = \"yarn\""));
  for (const auto& [fields, message] :
       {std::pair{R"(, "rope_scaling": {"factor": 4})", "rope_scaling: factor = 4"},
        std::pair{R"(, "rope_scaling": "linear")", "rope_scaling is \"linear\", expected a JSON object"},
        std::pair{R"(, "rope_parameters": {"partial_rotary_factor": 0.5})", "rope_parameters: partial_rotary_factor = 0.5"},
        std::pair{R"(, "rope_parameters": {"full_attention": {"rope_type": "yarn"}})", "rope_parameters: full_attention = "},
        std::pair{R"(, "rope_scaling": {"rope_theta": 5})", "rope_scaling: rope_theta = 5, expected in rope_parameters."},
        std::pair{R"(, "auto_map": {"AutoModel": "a.B"})", "auto_map = {\"AutoModel\":\"a.B\"}, but models with Python code"},
        std::pair{R"(, "is_causal": false)", "is_causal = false"},
        std::pair{R"(, "sliding_window": -1)", "sliding_window = -1, expected 0 to 2147483647"},
        std::pair{R"(, "architectures": ["Qwen2ForCausalLM"])",
                  "architectures = [\"Qwen2ForCausalLM\"], expected LlamaForCausalLM or LlamaModel."}}) {
    EXPECT_TRUE(refuses<ArgumentError>([more = fields] { (void)llama_with(more); }, message));
  }
  for (const auto& [fields, message] :
       {std::pair{R"("rope_theta": 5)",
                  "config.json: rope_parameters: rope_theta = 5, but this model has rotary parameters per "
                  "kind of layer: full_attention and sliding_attention."},
        std::pair{R"("full_attention": {}, "rope_type": "default")", "rope_parameters: rope_type = \"default\", but"},
        std::pair{R"("sliding_attention": {"rope_type": "yarn"})", "rope_parameters: sliding_attention: rope_type = \"yarn\""},
        std::pair{R"("full_attention": 5)", "rope_parameters: full_attention is 5, expected a JSON object"}}) {
    EXPECT_TRUE(refuses<ArgumentError>(
        [more = fields] { (void)modernbert_config(text(R"({"rope_parameters": {)", more, "}}")); }, message));
  }
  EXPECT_TRUE(refuses<ArgumentError>([] { (void)modernbert_config(R"({"num_hidden_layers": 3000000000})"); },
                                     "num_hidden_layers = 3000000000, expected at most 100000"));
  EXPECT_TRUE(refuses<ArgumentError>([] { (void)modernbert_config(R"({"sliding_window": 6000000000000000000})"); },
                                     "sliding_window = 6000000000000000000"));
  EXPECT_TRUE(refuses<ArgumentError>([] { (void)modernbert_config(R"({"quantization_config": {}})"); }, "quantization_config"));
  EXPECT_TRUE(refuses<ArgumentError>([] { (void)llama_with(R"(, "quantization_config": {})"); }, "quantization_config"));
  EXPECT_TRUE(refuses<ArgumentError>([] { (void)llama_with(R"(, "hidden_act": "xielu")"); }, "hidden_act = \"xielu\""));
  EXPECT_TRUE(refuses<ArgumentError>([] { (void)modernbert_config(R"({"num_hidden_layers": 1, "layer_types": ["chunked"]})"); },
                                     "layer_types has \"chunked\""));
}

TEST(TextTransformerFolder, OpensOneFileOrSeveral) {
  const auto folder = test::temporary("llama");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const auto config = llama_with(R"(, "tie_word_embeddings": true)");
  const auto model = random_layer<TextTransformer<float>>(config);
  write_text(folder / "config.json", text(llama, R"(, "tie_word_embeddings": true})"));
  save_parameters(model, folder / "model.safetensors", {}, llama_names(config));
  const auto expect_same = [&] {
    const auto loaded = load_text_transformer<float>(folder);
    Workspace<float> workspace;
    const std::vector<Index> ids{3, 1, 4, 1, 5};
    EXPECT_TRUE(test::same_bits(loaded.forward(ids, Sequences::single(5), workspace),
                                model.forward(ids, Sequences::single(5), workspace)));
  };
  expect_same();

  std::vector<TensorToWrite> parts[2];
  std::string map;
  {
    const SafetensorsFile file(folder / "model.safetensors");
    std::size_t i = 0;
    for (const auto& [name, entry] : file.tensors()) {
      parts[i % 2].push_back({name, entry.dtype, entry.shape, entry.bytes});
      map += text(map.empty() ? "" : ", ", "\"", name, "\": \"part-", i++ % 2, ".safetensors\"");
    }
    write_safetensors(folder / "part-0.safetensors", parts[0], {});
    write_safetensors(folder / "part-1.safetensors", parts[1], {});
  }
  std::filesystem::remove(folder / "model.safetensors");
  write_text(folder / "model.safetensors.index.json", text("{\"weight_map\": {", map, "}}"));
  expect_same();
  std::filesystem::remove(folder / "part-1.safetensors");
  EXPECT_TRUE(refuses<FileError>([&] { (void)load_text_transformer<float>(folder); }, "part-1.safetensors: "));
  write_text(folder / "model.safetensors.index.json", R"({"weight_map": {}})");
  EXPECT_TRUE(
      refuses<FileError>([&] { (void)load_text_transformer<float>(folder); }, "index.json: \"weight_map\" lists no tensors."));
  write_text(folder / "model.safetensors.index.json", R"({"weight_map": {"x": "../part-0.safetensors"}})");
  EXPECT_TRUE(refuses<FileError>([&] { (void)load_text_transformer<float>(folder); }, "is not in a file of this folder"));
  std::filesystem::remove(folder / "config.json");
  EXPECT_TRUE(refuses<FileError>([&] { (void)load_text_transformer<float>(folder); }, "config.json: there is no such file."));
  std::filesystem::remove_all(folder);
}

/// Writes a small ModernBERT of the class `architecture` as a folder, with an empty folder 1_Pooling.
std::filesystem::path modernbert_folder(const char* architecture) {
  const auto folder = test::temporary(architecture);
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder / "1_Pooling");
  const std::string json = text(R"({"model_type": "modernbert", "vocab_size": 11, "hidden_size": 8, "intermediate_size": 6,
      "num_hidden_layers": 2, "num_attention_heads": 2, "architectures": [")",
                                architecture, "\"]}");
  const auto config = modernbert_config(json);
  write_text(folder / "config.json", json);
  save_parameters(random_layer<TextTransformer<float>>(config), folder / "model.safetensors", {}, text_names(config));
  return folder;
}

TEST(TextTransformerFolder, ReadsPoolingOfSentenceTransformers) {
  const auto folder = modernbert_folder("ModernBertModel");
  EXPECT_EQ(load_text_transformer<float>(folder).config.pooling, TextPooling::first);
  EXPECT_FALSE(load_text_transformer<float>(folder).config.unit_length);
  write_text(folder / "1_Pooling" / "config.json", R"({"pooling_mode_cls_token": false, "pooling_mode_mean_tokens": true})");
  write_text(folder / "modules.json", R"([{"type": "sentence_transformers.models.Transformer"},
      {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
      {"type": "sentence_transformers.sentence_transformer.modules.normalize.Normalize"}])");
  EXPECT_EQ(load_text_transformer<float>(folder).config.pooling, TextPooling::mean);
  EXPECT_TRUE(load_text_transformer<float>(folder).config.unit_length);
  for (const auto& [json_text, pooling] :
       {std::pair{R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false})", TextPooling::first},
        std::pair{R"({"pooling_mode": "cls"})", TextPooling::first},
        std::pair{R"({"pooling_mode": ["mean"]})", TextPooling::mean},
        std::pair{R"({"word_embedding_dimension": 8})", TextPooling::mean}}) {
    write_text(folder / "1_Pooling" / "config.json", json_text);
    EXPECT_EQ(load_text_transformer<float>(folder).config.pooling, pooling) << json_text;
  }
  for (const auto& [json_text, message] : {std::pair{R"({"pooling_mode_lasttoken": true})", "pooling_mode_lasttoken = true"},
                                           std::pair{R"({"pooling_mode": "lasttoken"})", "pooling_mode = \"lasttoken\""},
                                           std::pair{R"({"pooling_mode_cls_token": true})", "are both true"}}) {
    write_text(folder / "1_Pooling" / "config.json", json_text);
    EXPECT_TRUE(refuses<ArgumentError>([&] { (void)load_text_transformer<float>(folder); }, message));
  }
  write_text(folder / "1_Pooling" / "config.json", R"({"pooling_mode": "mean"})");
  write_text(folder / "modules.json", R"([{"type": "models.Pooling"}])");
  EXPECT_EQ(load_text_transformer<float>(folder).config.pooling, TextPooling::mean) << "without a path";
  write_text(folder / "modules.json", R"([{"type": "models.Pooling", "path": "2_Pooling"}])");
  EXPECT_TRUE(refuses<FileError>([&] { (void)load_text_transformer<float>(folder); }, "2_Pooling"));
  for (const auto& [module, message] : {std::pair{R"("type": "sentence_transformers.models.Dense")", "models.Dense"},
                                        std::pair{R"("type": "models.Pooling", "path": "../1_Pooling")",
                                                  "modules.json: path = \"../1_Pooling\", expected a folder of the model."},
                                        std::pair{R"("path": "1_Pooling")", "modules.json: a module has no type."}}) {
    write_text(folder / "modules.json", text("[{", module, "}]"));
    EXPECT_TRUE(refuses<ArgumentError>([&] { (void)load_text_transformer<float>(folder); }, message));
  }
  std::filesystem::remove_all(folder);
}

TEST(TextTransformerFolder, AClassifierKeepsItsOwnPooling) {
  const auto folder = modernbert_folder("ModernBertForSequenceClassification");
  const auto config = load_text_transformer<float>(folder).config;
  write_text(folder / "1_Pooling" / "config.json", R"({"pooling_mode": "mean"})");
  write_text(folder / "modules.json", R"([{"type": "models.Pooling", "path": "1_Pooling"}, {"type": "models.Normalize"}])");
  EXPECT_EQ(to_json(load_text_transformer<float>(folder).config), to_json(config));
  std::filesystem::remove_all(folder);
}

TEST(PackedTextTransformer, OpensLikeItsFolder) {
  using Model = TextTransformer<float>;
  const std::string decoder = text(llama, R"(, "rope_theta": 50, "rms_norm_eps": 1e-3})");
  const auto config = llama_config(decoder);
  const auto model = random_layer<Model>(config);
  const auto path = test::temporary("packed.safetensors");
  save_parameters(model, path, {{"architecture", Model::architecture}, {"config.json", decoder}}, llama_names(config));
  expect_opens(path, model);

  const std::string encoder = R"({"model_type": "modernbert", "vocab_size": 11, "hidden_size": 8, "intermediate_size": 6,
      "num_hidden_layers": 2, "num_attention_heads": 2, "architectures": ["ModernBertModel"]})";
  auto pooled = modernbert_config(encoder);
  pooled.pooling = TextPooling::mean;
  pooled.unit_length = true;
  const auto embedder = random_layer<Model>(pooled);
  const std::map<std::string, std::string> metadata{
      {"architecture", Model::architecture},
      {"config.json", encoder},
      {"modules.json", R"([{"type": "a.Transformer", "path": ""}, {"type": "a.Pooling", "path": "./my_pooling/"},
                           {"type": "a.Normalize"}])"},
      {"my_pooling/config.json", R"({"pooling_mode": "mean"})"}};
  save_parameters(embedder, path, metadata, modernbert_names());
  expect_opens(path, embedder);
}

TEST(PackedTextTransformer, ErrorsNameTheFileAndTheField) {
  using Model = TextTransformer<float>;
  const auto model = random_layer<Model>(llama_with(""));
  const auto path = test::temporary("packed.safetensors");
  const auto expect_refused = [&](std::map<std::string, std::string> metadata, const std::string& message) {
    metadata.emplace("architecture", Model::architecture);
    save_parameters(model, path, metadata, llama_names(model.config));
    EXPECT_TRUE(refuses<Error>([&] { (void)load_model<Model>(path); }, message));
  };
  const std::string plain = text(llama, "}");
  expect_refused({{"config.json", text(llama, R"(, "hidden_act": "xielu"})")}},
                 "packed.safetensors: config.json: hidden_act = \"xielu\", which is not supported.");
  expect_refused({{"config.json", "{"}}, "packed.safetensors: config.json: ");
  expect_refused({{"config.json", plain}, {"modules.json", R"([{"type": "a.Pooling", "path": "b"}])"}},
                 "packed.safetensors: b/config.json: there is no such file.");
  expect_refused({{"config.json", plain}, {"modules.json", "{}"}}, "packed.safetensors: modules.json: expected a JSON array.");
  expect_refused({{"modules.json", "[]"}}, "packed.safetensors: no configuration in the metadata.");
  expect_refused({{"config.json", text(llama, R"(, "num_hidden_layers": 1})")}}, "config.json: ");
  std::string deeper = plain;
  deeper.replace(deeper.find("\"num_hidden_layers\": 2"), 22, "\"num_hidden_layers\": 3");
  expect_refused({{"config.json", deeper}}, "model.layers.2.");
}

}  // namespace
}  // namespace gated::io_text_transformer_test
