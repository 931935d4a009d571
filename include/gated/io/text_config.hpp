#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gated/io/config_fields.hpp"
#include "gated/models/text_transformer.hpp"

/// @file
/// The `config.json` of published text transformers: Llama, Mistral, Qwen2, Qwen3, gated attention and ModernBERT.

namespace gated {

namespace detail {

/// A `model_type` of decoders, and its classes without and with a language model's head.
struct DecoderFamily {
  std::string_view type, bare, with_head;
};
inline constexpr DecoderFamily decoder_families[] = {{"llama", "LlamaModel", "LlamaForCausalLM"},
                                                     {"mistral", "MistralModel", "MistralForCausalLM"},
                                                     {"qwen2", "Qwen2Model", "Qwen2ForCausalLM"},
                                                     {"qwen3", "Qwen3Model", "Qwen3ForCausalLM"}};

/// The kinds of layers in `layer_types` and `rope_parameters`.
inline constexpr const char *full_attention = "full_attention", *sliding_attention = "sliding_attention";

/// The fields of a text model's config.json, as transformers writes it.
class TextFields : public ConfigFields {
 public:
  using ConfigFields::ConfigFields;

  /// Raises ArgumentError for a quantized checkpoint.
  void expect_not_quantized() const {
    expect("quantization_config", {nullptr}, "but quantized checkpoints from other libraries are not supported.");
  }
  /// Raises ArgumentError for a model with Python code of its own, unless it is a gated attention model.
  void expect_no_code() const {
    if (!is_gated()) {
      expect("auto_map", {nullptr}, "but models with Python code of their own are not supported.");
    }
  }
  /// A size in a required field.
  Index size(const char* key) const {
    require<ArgumentError>(find_set(key) != nullptr, where(), ": ", key, " is missing.");
    return get(key, Index{0});
  }
  /// The decoders' family that `model_type` names or, if that is absent, the class in `architectures`; Llama if neither does.
  const DecoderFamily& family() const {
    const Json* const type = find("model_type");
    for (const DecoderFamily& one : decoder_families) {
      if (type != nullptr ? type->is(one.type) : states(one.bare) || states(one.with_head)) {
        return one;
      }
    }
    return decoder_families[0];
  }
  /// num_hidden_layers. Its bound keeps lists of layers small even if the file is malformed.
  Index depth(Index missing) const {
    const Index layers = get("num_hidden_layers", missing);
    require<ArgumentError>(layers <= 100'000, where(), ": num_hidden_layers = ", layers, ", expected at most 100000.");
    return layers;
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

  /// The rotary base: the field `key`, or `rope_parameters` in newer files. With a `kind` of layer, that is an object per kind;
  /// a missing kind has the base `key`.
  /// Errors: ArgumentError for rotary embeddings that are scaled or partial.
  double rotary_base(const char* key, double missing, const char* kind = nullptr) const {
    expect_plain(*this, "partial_rotary_factor", 1.0);
    if (find_set("rope_scaling") != nullptr) {
      const ConfigFields scaling = inner("rope_scaling");
      expect_plain(scaling);
      for (const char* const other : {"rope_theta", full_attention, sliding_attention}) {
        scaling.expect(other, {nullptr}, "expected in rope_parameters.");
      }
    }
    const double base = get_set(key, missing);
    if (find_set("rope_parameters") == nullptr) {
      return base;
    }
    const ConfigFields rope = inner("rope_parameters");
    if (kind == nullptr) {
      for (const char* const other : {full_attention, sliding_attention}) {
        rope.expect(other, {nullptr}, "but this model has no rotary parameters per kind of layer.");
      }
      expect_plain(rope);
      return rope.get_set("rope_theta", base);
    }
    for (const auto& [name, value] : find("rope_parameters")->entries()) {
      require<ArgumentError>(name == full_attention || name == sliding_attention, rope.where(), ": ", printable(name), " = ",
                             shown_json(value), ", but this model has rotary parameters per kind of layer: ", full_attention,
                             " and ", sliding_attention, ".");
    }
    if (rope.find_set(kind) == nullptr) {
      return base;
    }
    expect_plain(rope.inner(kind));
    return rope.inner(kind).get_set("rope_theta", base);
  }

  /// For each layer, true if its entry in `layer_types` is "sliding_attention"; empty if the file has no such list.
  std::vector<bool> windowed(Index depth) const {
    std::vector<bool> windowed;
    const auto types = get_set("layer_types", std::vector<std::string>());
    for (const std::string& type : types) {
      require<ArgumentError>(type == full_attention || type == sliding_attention, where(), ": layer_types has \"",
                             printable(type), "\", expected ", full_attention, " or ", sliding_attention, ".");
      windowed.push_back(type == sliding_attention);
    }
    require<ArgumentError>(types.empty() || std::ssize(types) == depth, where(), ": layer_types has ", types.size(),
                           " entries, expected num_hidden_layers = ", depth, ".");
    return windowed;
  }

 private:
  static void expect_plain(const ConfigFields& f, const char* key, const Scalar& plain) {
    f.expect(key, {plain, nullptr}, "but only plain rotary embeddings are supported.");
  }
  static void expect_plain(const ConfigFields& rope) {
    expect_plain(rope, "rope_type", "default");
    expect_plain(rope, "type", "default");
    expect_plain(rope, "factor", 1.0);
    expect_plain(rope, "partial_rotary_factor", 1.0);
  }
};

/// Sets a decoder's sliding window, and which layers use it.
inline void read_windows(const TextFields& f, DecoderSizes& s) {
  const std::string_view model = f.family().type;
  const Index window = f.tokens("sliding_window", f.find("sliding_window") == nullptr ? 4096 : 0);
  if (model == "mistral") {
    s.window = window;
    s.windowed = f.windowed(s.depth);
  } else if (model != "llama" && f.get_set("use_sliding_window", false)) {
    s.window = window;
    s.windowed = f.is_gated() ? std::vector<bool>() : f.windowed(s.depth);
    const Index global = f.get_set("max_window_layers", Index{28});
    for (Index i = 0; !f.is_gated() && std::ssize(s.windowed) < s.depth; ++i) {
      s.windowed.push_back(i >= global);
    }
  }
}

}  // namespace detail

/// Converts the `config.json` of a Llama, Mistral, Qwen2, Qwen3 or gated attention model. The vocabulary, the sizes, the depth
/// and the number of heads are required. Other missing fields have transformers' defaults, except `num_key_value_heads`, which
/// is then the number of heads for every model. Fields that do not change the result are ignored.
/// Errors: ArgumentError, naming the field, for other models and for unsupported options.
inline TextTransformerConfig llama_config(std::string_view json, const std::string& where = "config.json") {
  const detail::TextFields f(json, where);
  f.expect_type({"llama", "mistral", "qwen2", "qwen3"});
  const detail::DecoderFamily& family = f.family();
  f.expect_architecture({family.with_head, family.bare});
  f.expect_not_quantized();
  f.expect_no_code();
  f.expect("is_causal", {true, nullptr}, "expected true: only causal decoders are supported.");
  const std::string_view model = family.type;
  const bool per_head = f.get_set("headwise_attn_output_gate", false),
             per_channel = f.get_set("elementwise_attn_output_gate", false);
  const bool attention_bias =
      f.is_gated() ? f.get_set("qkv_bias", false) : model != "mistral" && f.get_set("attention_bias", false);
  DecoderSizes s{.vocabulary = f.size("vocab_size"),
                 .channels = f.size("hidden_size"),
                 .hidden = f.size("intermediate_size"),
                 .depth = f.depth(f.size("num_hidden_layers")),
                 .heads = f.size("num_attention_heads"),
                 .key_value_heads = f.get_set("num_key_value_heads", Index{0}),
                 .head_width = f.get_set("head_dim", Index{model == "qwen3" ? 128 : 0}),
                 .rotary_base = f.rotary_base("rope_theta", 10000),
                 .eps = f.get("rms_norm_eps", 1e-6),
                 .head = f.states(family.bare)                     ? HeadForm::none
                         : f.get_set("tie_word_embeddings", false) ? HeadForm::tied
                                                                   : HeadForm::untied,
                 .activation = f.activation("hidden_act", "silu"),
                 .bias = model == "qwen2" || attention_bias,
                 .out_bias = model != "qwen2" && attention_bias,
                 .hidden_bias = model == "llama" && f.get_set("mlp_bias", false),
                 .query_key_norm = model == "qwen3" && f.get_set("use_qk_norm", true),
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
  f.expect_not_quantized();
  f.expect_no_code();
  f.expect("classifier_pooling", {"cls", "mean"}, "expected \"cls\" or \"mean\".");
  const bool is_classifier = f.states("ModernBertForSequenceClassification");
  const double global_base = f.rotary_base("global_rope_theta", 160000, detail::full_attention);
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
       .window = f.find_set("sliding_window") != nullptr ? 2 * f.tokens("sliding_window", 64)  // overrides local_attention
                                                         : f.tokens("local_attention", 128),
       .global_base = global_base,
       .local_base = f.rotary_base(
           "local_rope_theta",
           f.find("local_rope_theta") != nullptr && f.find_set("local_rope_theta") == nullptr ? global_base : 10000.0,
           detail::sliding_attention),
       .eps = f.get("norm_eps", 1e-5),
       .activation = f.activation("hidden_activation", "gelu"),
       .norm_bias = f.get("norm_bias", false),
       .attention_bias = f.get_set("attention_bias", false),
       .hidden_bias = f.get_set("mlp_bias", false),
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

/// Converts a `config.json` with llama_config() or modernbert_config(), depending on its model_type or, if that is absent, on
/// its class.
/// Errors: ArgumentError, naming model_type, for other models; those of llama_config() and modernbert_config().
inline TextTransformerConfig text_transformer_config(std::string_view json, const std::string& where = "config.json") {
  const detail::TextFields f(json, where);
  f.expect_type({"llama", "mistral", "qwen2", "qwen3", "modernbert"});
  const bool is_encoder = f.find("model_type") != nullptr ? f.find("model_type")->is("modernbert")
                                                          : f.states("ModernBertModel") || f.states("ModernBertForMaskedLM") ||
                                                                f.states("ModernBertForSequenceClassification");
  return is_encoder ? modernbert_config(json, where) : llama_config(json, where);
}

}  // namespace gated
