#pragma once

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "gated/io/config_fields.hpp"
#include "gated/io/mapped_file.hpp"
#include "gated/io/model_file.hpp"
#include "gated/io/text_names.hpp"

/// @file
/// Published text transformers with their `config.json`: Llama, Mistral, Qwen2, Qwen3, gated attention and ModernBERT.

namespace gated {

namespace detail {

/// The fields of a text model's config.json, as transformers writes it.
class TextFields : public ConfigFields {
 public:
  using ConfigFields::ConfigFields;

  /// A size in a required field.
  Index size(const char* key) const {
    require<ArgumentError>(find_set(key) != nullptr, where(), ": ", key, " is missing.");
    return get(key, Index{0});
  }
  std::string model() const { return get("model_type", std::string("llama")); }
  /// True for a gated attention model, whose model_type is also "qwen3".
  bool is_gated() const {
    return find("headwise_attn_output_gate") != nullptr || find("elementwise_attn_output_gate") != nullptr;
  }

  Activation activation(const char* key, const char* missing) const {
    expect(key, {"silu", "swish", "gelu", "relu", "gelu_new", "gelu_pytorch_tanh", "tanh"}, "which is not supported.");
    const std::string word = get(key, std::string(missing));
    return word == "gelu_new" || word == "gelu_pytorch_tanh" ? Activation::gelu_tanh
           : word == "swish"                                 ? Activation::silu
                                                             : *value_named<Activation>(word);
  }

  /// The rotary base: the field `key`, or `rope_parameters` in newer files, which may set one base per `kind` of layer.
  /// Errors: ArgumentError for rotary embeddings that are scaled or partial.
  double rotary_base(const char* key, double missing, const char* kind = nullptr) const {
    const char* const why = "but only plain rotary embeddings are supported.";
    if (const Json* const scaling = find_set("rope_scaling")) {
      expect_plain(*scaling, "rope_scaling");
    }
    expect("partial_rotary_factor", {1.0, nullptr}, why);
    const Json* parameters = find_set("rope_parameters");
    if (parameters != nullptr && kind != nullptr && parameters->find(kind) != nullptr) {
      parameters = parameters->find(kind);
    }
    double base = get_set(key, missing);
    if (parameters != nullptr && !parameters->is_null()) {
      expect_plain(*parameters, "rope_parameters");
      if (const Json* const stated = parameters->find("rope_theta")) {
        read_json(*stated, base, "rope_parameters.rope_theta", where());
      }
    }
    return base;
  }

  /// For each layer, true if its entry in `layer_types` is "sliding_attention"; empty if the file has no such list.
  std::vector<bool> windowed(Index depth) const {
    std::vector<bool> windowed;
    const auto types = get_set("layer_types", std::vector<std::string>());
    for (const std::string& type : types) {
      require<ArgumentError>(type == "full_attention" || type == "sliding_attention", where(), ": layer_types has \"", type,
                             "\", expected full_attention or sliding_attention.");
      windowed.push_back(type == "sliding_attention");
    }
    require<ArgumentError>(types.empty() || std::ssize(types) == depth, where(), ": layer_types has ", types.size(),
                           " entries, expected num_hidden_layers = ", depth, ".");
    return windowed;
  }

 private:
  void expect_plain(const Json& rope, const char* key) const {
    for (const char* const kind : {"rope_type", "type"}) {
      const Json* const type = rope.is_object() ? rope.find(kind) : &rope;
      require<ArgumentError>(type == nullptr || type->is("default"), where(), ": ", key, ".", kind, " = ",
                             type == nullptr ? "" : shown_json(*type),
                             ", expected \"default\": other frequencies are not supported.");
    }
  }
};

/// The head of the model class that the file names; HeadForm::none for a class without a head.
inline HeadForm llama_head(const TextFields& f) {
  for (const char* const bare : {"LlamaModel", "Qwen2Model", "Qwen3Model", "MistralModel"}) {
    if (f.states(bare)) {
      return HeadForm::none;
    }
  }
  return f.get("tie_word_embeddings", false) ? HeadForm::tied : HeadForm::untied;
}

/// Sets a decoder's sliding window, and which layers use it.
inline void read_windows(const TextFields& f, DecoderSizes& s) {
  const std::string model = f.model();
  const Index window = f.get_set("sliding_window", Index{f.find("sliding_window") == nullptr ? 4096 : 0});
  if (model == "mistral") {
    s.window = window;
  } else if (model != "llama" && f.get("use_sliding_window", false)) {
    s.window = window;
    s.windowed = f.is_gated() ? std::vector<bool>() : f.windowed(s.depth);
    for (Index i = 0; !f.is_gated() && std::ssize(s.windowed) < s.depth; ++i) {
      s.windowed.push_back(i >= f.get_set("max_window_layers", Index{28}));
    }
  }
}

}  // namespace detail

/// Converts the `config.json` of a Llama, Mistral, Qwen2, Qwen3 or gated attention model. Missing fields have transformers'
/// defaults; fields that do not change the result are ignored.
/// Errors: ArgumentError, naming the field, for other models and for unsupported options.
inline TextTransformerConfig llama_config(std::string_view json, const std::string& where = "config.json") {
  const detail::TextFields f(json, where);
  f.expect_type({"llama", "mistral", "qwen2", "qwen3"});
  f.expect_architecture({"LlamaForCausalLM", "LlamaModel", "MistralForCausalLM", "MistralModel", "Qwen2ForCausalLM",
                         "Qwen2Model", "Qwen3ForCausalLM", "Qwen3Model"});
  f.expect("quantization_config", {nullptr}, "but quantized checkpoints from other libraries are not supported.");
  const std::string model = f.model();
  const bool per_head = f.get("headwise_attn_output_gate", false), per_channel = f.get("elementwise_attn_output_gate", false);
  const bool attention_bias = f.is_gated() ? f.get("qkv_bias", false) : model != "mistral" && f.get("attention_bias", false);
  DecoderSizes s{.vocabulary = f.size("vocab_size"),
                 .channels = f.size("hidden_size"),
                 .hidden = f.size("intermediate_size"),
                 .depth = f.size("num_hidden_layers"),
                 .heads = f.size("num_attention_heads"),
                 .key_value_heads = f.get_set("num_key_value_heads", Index{0}),
                 .head_width = f.get_set("head_dim", Index{model == "qwen3" ? 128 : 0}),
                 .rotary_base = f.rotary_base("rope_theta", 10000),
                 .eps = f.get("rms_norm_eps", 1e-6),
                 .head = detail::llama_head(f),
                 .activation = f.activation("hidden_act", "silu"),
                 .bias = model == "qwen2" || attention_bias,
                 .out_bias = model != "qwen2" && attention_bias,
                 .hidden_bias = model == "llama" && f.get("mlp_bias", false),
                 .query_key_norm = model == "qwen3" && f.get("use_qk_norm", true),
                 .gate = per_head      ? AttentionGate::per_head
                         : per_channel ? AttentionGate::per_channel
                                       : AttentionGate::none};
  detail::read_windows(f, s);
  return transformer_decoder(s);
}

/// Converts the `config.json` of a ModernBertModel, ModernBertForMaskedLM or ModernBertForSequenceClassification.
/// Errors: ArgumentError, naming the field, for other models and for unsupported options.
inline TextTransformerConfig modernbert_config(std::string_view json, const std::string& where = "config.json") {
  const detail::TextFields f(json, where);
  f.expect_type({"modernbert"});
  f.expect_architecture({"ModernBertModel", "ModernBertForMaskedLM", "ModernBertForSequenceClassification"});
  f.expect("classifier_pooling", {"cls", "mean"}, "expected \"cls\" or \"mean\".");
  const bool is_classifier = f.states("ModernBertForSequenceClassification");
  const double global_base = f.rotary_base("global_rope_theta", 160000, "full_attention");
  const Index depth = f.get("num_hidden_layers", Index{22});
  const auto labels = f.find_set("id2label");
  return transformer_encoder(
      {.vocabulary = f.get("vocab_size", Index{50368}),
       .channels = f.get("hidden_size", Index{768}),
       .hidden = f.get("intermediate_size", Index{1152}),
       .depth = depth,
       .heads = f.get("num_attention_heads", Index{12}),
       .global_every = f.get("global_attn_every_n_layers", Index{3}),
       .local = f.windowed(depth),
       .window = f.find_set("local_attention") == nullptr && f.find_set("sliding_window") != nullptr
                     ? 2 * f.get("sliding_window", Index{64})
                     : f.get("local_attention", Index{128}),
       .global_base = global_base,
       .local_base = f.rotary_base(
           "local_rope_theta",
           f.find("local_rope_theta") != nullptr && f.find_set("local_rope_theta") == nullptr ? global_base : 10000.0,
           "sliding_attention"),
       .eps = f.get("norm_eps", 1e-5),
       .activation = f.activation("hidden_activation", "gelu"),
       .norm_bias = f.get("norm_bias", false),
       .attention_bias = f.get("attention_bias", false),
       .hidden_bias = f.get("mlp_bias", false),
       .head = is_classifier                       ? EncoderHead::classifier
               : f.states("ModernBertForMaskedLM") ? EncoderHead::masked_words
                                                   : EncoderHead::none,
       .decoder = f.get("tie_word_embeddings", true) ? HeadForm::tied : HeadForm::untied,
       .decoder_bias = f.get("decoder_bias", true),
       .classes = labels != nullptr && labels->is_object() ? static_cast<Index>(labels->entries().size())
                                                           : f.get("num_labels", Index{2}),
       .pooling = f.get("classifier_pooling", std::string("cls")) == "mean" ? TextPooling::mean : TextPooling::first,
       .head_activation = f.activation("classifier_activation", "gelu"),
       .head_bias = f.get("classifier_bias", false)});
}

/// Converts a `config.json` with llama_config() or modernbert_config(), depending on its model_type.
/// Errors: ArgumentError, naming model_type, for other models; those of llama_config() and modernbert_config().
inline TextTransformerConfig text_transformer_config(std::string_view json, const std::string& where = "config.json") {
  const detail::TextFields f(json, where);
  f.expect_type({"llama", "mistral", "qwen2", "qwen3", "modernbert"});
  return f.model() == "modernbert" ? modernbert_config(json, where) : llama_config(json, where);
}

/// The tensors of a published model, from `folder`/model.safetensors or, if there is a model.safetensors.index.json, from all
/// files that it lists.
/// Errors: FileError for a file that is missing or malformed, and for an index that lists a file outside of the folder.
inline SafetensorsFile open_safetensors(const std::filesystem::path& folder) {
  const std::filesystem::path index = folder / "model.safetensors.index.json";
  std::error_code error;
  if (!std::filesystem::exists(index, error)) {
    return SafetensorsFile(folder / "model.safetensors");
  }
  const MappedFile text_file(index);
  const auto json = detail::parse_json<FileError>(text_of(text_file), index.string(), 16);
  const detail::Json* const map = json.is_object() ? json.find("weight_map") : nullptr;
  require<FileError>(map != nullptr && map->is_object(), index.string(), ": there is no object \"weight_map\".");
  std::vector<std::string> names;
  for (const auto& [tensor, file] : map->entries()) {
    require<FileError>(file.is_string() && std::filesystem::path(file.text()).filename() == file.text(), index.string(), ": ",
                       printable(tensor), " is not in a file of this folder.");
    names.push_back(file.text());
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::vector<SafetensorsFile> files;
  for (const std::string& name : names) {
    files.emplace_back(folder / name);
  }
  return SafetensorsFile::join(files, index.string());
}

namespace detail {

/// Reads how a sentence-transformers model pools its tokens into an embedding, from the files beside its `config.json`.
inline void read_pooling(const std::filesystem::path& folder, TextTransformerConfig& config) {
  const std::filesystem::path pooling = folder / "1_Pooling" / "config.json", modules = folder / "modules.json";
  std::error_code error;
  if (std::filesystem::exists(pooling, error)) {
    const MappedFile text_file(pooling);
    const ConfigFields f(text_of(text_file), pooling.string());
    for (const char* const other : {"pooling_mode_max_tokens", "pooling_mode_mean_sqrt_len_tokens",
                                    "pooling_mode_weightedmean_tokens", "pooling_mode_lasttoken"}) {
      f.expect(other, {false, nullptr}, "but only the first token and the mean are supported.");
    }
    config.pooling = f.get("pooling_mode_mean_tokens", false) ? TextPooling::mean : TextPooling::first;
  }
  if (std::filesystem::exists(modules, error)) {
    const MappedFile text_file(modules);
    const Json list = parse_json<ArgumentError>(text_of(text_file), modules.string(), 16);
    for (std::size_t i = 0; list.is_array() && i < list.elements().size(); ++i) {
      const Json* const type = list.elements()[i].find("type");
      config.unit_length = config.unit_length || (type != nullptr && type->is("sentence_transformers.models.Normalize"));
    }
  }
}

}  // namespace detail

/// Loads the text transformer in a folder with `config.json` and its weights, as published on Hugging Face.
///
///     const auto model = load_text_transformer<float>("SmolLM2-135M");
///
/// The model's pooled() computes sentence-transformers' embeddings if the folder configures their pooling. The model reads
/// token ids; it has no tokenizer.
/// Errors: those of text_transformer_config(), open_safetensors() and load_parameters(). Cost: one pass over the files.
template <class T>
TextTransformer<T> load_text_transformer(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "config.json";
  const MappedFile text_file(path);
  TextTransformerConfig config = text_transformer_config(text_of(text_file), path.string());
  detail::read_pooling(folder, config);
  const SafetensorsFile file = open_safetensors(folder);
  TextTransformer<T> model = [&] {
    const ParameterBudget budget = budget_of(file);
    return TextTransformer<T>(config);
  }();
  const bool is_encoder = !config.trunk.block.token_mixer.causal;
  load_parameters(model, file, is_encoder ? modernbert_names() : llama_names(config));
  return model;
}

}  // namespace gated
