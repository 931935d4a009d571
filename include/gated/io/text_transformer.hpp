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

  /// Raises ArgumentError for a quantized checkpoint.
  void expect_no_codes() const {
    expect("quantization_config", {nullptr}, "but quantized checkpoints from other libraries are not supported.");
  }
  /// A size in a required field.
  Index size(const char* key) const {
    require<ArgumentError>(find_set(key) != nullptr, where(), ": ", key, " is missing.");
    return get(key, Index{0});
  }
  /// The model's type: `model_type` or, if that is absent, the type of the class in `architectures`, or "llama".
  /// Errors: ArgumentError if `architectures` names a class of another type.
  std::string model() const {
    std::string type = get("model_type", std::string());
    for (const auto& [other, prefix] :
         {std::pair{"llama", "Llama"}, std::pair{"mistral", "Mistral"}, std::pair{"qwen2", "Qwen2"},
          std::pair{"qwen3", "Qwen3"}, std::pair{"modernbert", "ModernBert"}}) {
      for (const char* const suffix : {"Model", "ForCausalLM", "ForMaskedLM", "ForSequenceClassification"}) {
        if (states(prefix + std::string(suffix))) {
          require<ArgumentError>(type.empty() || type == other, where(), ": model_type = \"", printable(type),
                                 "\", but architectures names ", prefix, suffix, ", whose type is ", other, ".");
          type = other;
        }
      }
    }
    return type.empty() ? "llama" : type;
  }
  /// num_hidden_layers. Its bound keeps lists of layers small even if the file is malformed.
  Index depth(Index missing) const {
    const Index depth = get("num_hidden_layers", missing);
    require<ArgumentError>(depth <= 100'000, where(), ": num_hidden_layers = ", depth, ", expected at most 100000.");
    return depth;
  }
  /// The number of tokens in the field `key`.
  Index tokens(const char* key, Index missing) const {
    constexpr Index most = 2'147'483'647;
    const Index tokens = get_set(key, missing);
    require<ArgumentError>(0 <= tokens && tokens <= most, where(), ": ", key, " = ", tokens, ", expected 0 to ", most, ".");
    return tokens;
  }
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
    require<ArgumentError>(rope.is_object(), where(), ": ", key, " = ", shown_json(rope), ", expected an object.");
    const auto expect_default = [&](const char* field, const Scalar& plain, const char* shown) {
      const Json* const value = rope.find(field);
      require<ArgumentError>(value == nullptr || value->is_null() || is(*value, plain), where(), ": ", key, ".", field, " = ",
                             value == nullptr ? "" : shown_json(*value), ", expected ", shown,
                             ": other frequencies are not supported.");
    };
    expect_default("rope_type", "default", "\"default\"");
    expect_default("type", "default", "\"default\"");
    expect_default("factor", 1.0, "1");
    expect_default("partial_rotary_factor", 1.0, "1");
    for (const auto& [kind, value] : rope.entries()) {
      require<ArgumentError>(!value.is_object(), where(), ": ", key, ".", printable(kind),
                             " is an object, but this model's layers have the same frequencies.");
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
  const Index window = f.tokens("sliding_window", f.find("sliding_window") == nullptr ? 4096 : 0);
  if (model == "mistral") {
    s.window = window;
  } else if (model != "llama" && f.get("use_sliding_window", false)) {
    s.window = window;
    s.windowed = f.is_gated() ? std::vector<bool>() : f.windowed(s.depth);
    const Index global = f.get_set("max_window_layers", Index{28});
    for (Index i = 0; !f.is_gated() && std::ssize(s.windowed) < s.depth; ++i) {
      s.windowed.push_back(i >= global);
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
  f.expect_no_codes();
  f.expect("is_causal", {true, nullptr}, "expected true: only causal decoders are supported.");
  const std::string model = f.model();
  const bool per_head = f.get("headwise_attn_output_gate", false), per_channel = f.get("elementwise_attn_output_gate", false);
  const bool attention_bias = f.is_gated() ? f.get("qkv_bias", false) : model != "mistral" && f.get("attention_bias", false);
  DecoderSizes s{.vocabulary = f.size("vocab_size"),
                 .channels = f.size("hidden_size"),
                 .hidden = f.size("intermediate_size"),
                 .depth = f.depth(f.size("num_hidden_layers")),
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
  f.expect_no_codes();
  f.expect("classifier_pooling", {"cls", "mean"}, "expected \"cls\" or \"mean\".");
  const bool is_classifier = f.states("ModernBertForSequenceClassification");
  const double global_base = f.rotary_base("global_rope_theta", 160000, "full_attention");
  const Index depth = f.depth(22);
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
                     ? 2 * f.tokens("sliding_window", 64)
                     : f.tokens("local_attention", 128),
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

/// The pooling in the configuration of sentence-transformers' Pooling module: `pooling_mode` or, in older files, a flag per
/// mode. Errors: ArgumentError, naming the field, unless it is the first token or the mean.
inline TextPooling pooling_in(const std::filesystem::path& path) {
  const char* const why = "but only the first token and the mean are supported.";
  const MappedFile text_file(path);
  const ConfigFields f(text_of(text_file), path.string());
  if (const Json* mode = f.find_set("pooling_mode")) {
    if (mode->is_array() && mode->elements().size() == 1) {
      mode = &mode->elements().front();
    }
    require<ArgumentError>(mode->is("cls") || mode->is("mean"), path.string(), ": pooling_mode = ", shown_json(*mode), ", ",
                           why);
    return mode->is("mean") ? TextPooling::mean : TextPooling::first;
  }
  for (const char* const other : {"pooling_mode_max_tokens", "pooling_mode_mean_sqrt_len_tokens",
                                  "pooling_mode_weightedmean_tokens", "pooling_mode_lasttoken"}) {
    f.expect(other, {false, nullptr}, why);
  }
  const bool first = f.get("pooling_mode_cls_token", false), mean = f.get("pooling_mode_mean_tokens", !first);
  require<ArgumentError>(first != mean, path.string(), ": pooling_mode_cls_token and pooling_mode_mean_tokens are both ",
                         first ? "true" : "false", ", expected one of them to be true.");
  return mean ? TextPooling::mean : TextPooling::first;
}

/// Reads how a sentence-transformers model pools its tokens into an embedding, from the files beside its `config.json`.
/// Errors: ArgumentError for a module other than Transformer, Pooling and Normalize; those of pooling_in().
inline void read_pooling(const std::filesystem::path& folder, TextTransformerConfig& config) {
  const std::filesystem::path pooling = folder / "1_Pooling" / "config.json", modules = folder / "modules.json";
  std::error_code error;
  if (!std::filesystem::exists(modules, error)) {
    if (std::filesystem::exists(pooling, error)) {
      config.pooling = pooling_in(pooling);
    }
    return;
  }
  const MappedFile text_file(modules);
  const Json list = parse_json<ArgumentError>(text_of(text_file), modules.string(), 16);
  require<ArgumentError>(list.is_array(), modules.string(), ": expected a JSON array.");
  for (const Json& module : list.elements()) {
    const Json* const type = module.is_object() ? module.find("type") : nullptr;
    require<ArgumentError>(type != nullptr && type->is_string(), modules.string(), ": a module has no type.");
    const std::string name = type->text().substr(type->text().rfind('.') + 1);  // its package differs between versions
    require<ArgumentError>(name == "Transformer" || name == "Pooling" || name == "Normalize", modules.string(),
                           ": type = ", shown_json(*type), ", but only Transformer, Pooling and Normalize are supported.");
    if (name == "Pooling") {
      const Json* const path = module.find("path");
      config.pooling = pooling_in(path != nullptr && path->is_string() ? folder / path->text() / "config.json" : pooling);
    }
    config.unit_length = config.unit_length || name == "Normalize";
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
