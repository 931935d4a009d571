#include <string>

#include "../inputs.hpp"
#include "gated/io/text_transformer.hpp"

namespace parity {

namespace text_transformers {

/// The case's configuration as a config.json that names the model's class.
std::string config_json(const CaseFile& file) {
  auto json = file.arguments();
  json["architectures"] = {file.class_name()};
  return json.dump();
}

template <class T>
Result<T> run_llama_attention(const CaseFile& file) {
  auto json = file.arguments();
  json.erase("architectures");
  const auto config = gated::llama_config(json.dump(), file.name());
  gated::SelfAttention<T> layer(config.trunk.block.sized_token_mixer());
  return run_layer<T>(file, layer, gated::llama_attention_names(layer.config));
}

/// A padded batch without its padding. `rows` are the tokens' rows in the padded batch.
struct Unpadded {
  std::vector<Index> tokens, rows;
  std::vector<Index> lengths;
  Index all;  ///< rows of the padded batch

  explicit Unpadded(const CaseFile& file) : all(file.shape("input").at(0) * file.shape("input").at(1)) {
    const auto ids = ids_of(file, "input");
    const auto mask = mask_of(file);
    const Index length = file.shape("input").at(1);
    lengths.resize(static_cast<std::size_t>(file.shape("input").at(0)));
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (mask.empty() || mask[i] != 0) {
        tokens.push_back(ids[i]);
        rows.push_back(static_cast<Index>(i));
        ++lengths[i / static_cast<std::size_t>(length)];
      }
    }
  }
  Sequences sequences() const { return Sequences::of_lengths(lengths); }
  /// x with rows of zeros where the padding was.
  template <class T>
  Matrix<T> padded(const Matrix<T>& x) const {
    Matrix<T> y = Matrix<T>::Zero(all, x.cols());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      y.row(rows[i]) = x.row(static_cast<Index>(i));
    }
    return y;
  }
  template <class T>
  Matrix<T> without_padding(const Matrix<T>& x) const {
    Matrix<T> y(static_cast<Index>(rows.size()), x.cols());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      y.row(static_cast<Index>(i)) = x.row(rows[i]);
    }
    return y;
  }
};

/// Runs `model` on the batch. Keeps the first block's output.
template <class T>
Result<T> run_unpadded(const gated::TextTransformer<T>& model, const Unpadded& batch, gated::Workspace<T>& workspace) {
  Result<T> result;
  workspace.set_hook(result.keep("trunk.blocks.0"));
  result.output = batch.padded(model.forward(batch.tokens, batch.sequences(), workspace));
  workspace.set_hook({});
  result.block0_output = batch.padded(result.block0_output);
  return result;
}

/// Runs a decoder on the case's batch without its padding.
template <class T>
Result<T> run_llama(const CaseFile& file) {
  const auto config = gated::llama_config(config_json(file), file.name());
  const auto names = gated::llama_names(config);
  gated::TextTransformer<T> model(config);
  file.load(model, names);
  const Unpadded batch(file);
  const auto sequences = batch.sequences();
  gated::Workspace<T> workspace;
  Result<T> result = run_unpadded(model, batch, workspace);
  add_gradients<T>(
      result, file, model, names, [&](auto& tape, auto&) { return record(tape, model, batch.tokens, sequences); },
      [&](Matrix<T> cotangent) { return batch.without_padding(cotangent); }, [](gated::TextTransformer<T>&) {});
  return result;
}

/// Runs a ModernBERT on the case's batch without its padding.
template <class T>
Result<T> run_modernbert(const CaseFile& file) {
  const auto config = gated::modernbert_config(config_json(file), file.name());
  const bool is_classifier = file.class_name() == "ModernBertForSequenceClassification";
  gated::TextTransformer<T> model(config);
  const auto names = gated::modernbert_names();
  file.load(model, names);
  const Unpadded batch(file);
  const auto sequences = batch.sequences();
  gated::Workspace<T> workspace;
  Result<T> result = run_unpadded(model, batch, workspace);
  if (is_classifier) {
    result.output = model.pooled(batch.tokens, sequences, workspace);
  }
  for (const auto& [name, pooling] :
       {std::pair("output_cls", gated::TextPooling::first), {"output_mean", gated::TextPooling::mean}}) {
    if (file.has(name)) {
      model.config.pooling = pooling;
      result.others.emplace_back(name, model.pooled(batch.tokens, sequences, workspace));
    }
  }
  add_gradients<T>(
      result, file, model, names,
      [&](auto& tape, auto&) {
        if (is_classifier) {
          gated::Recording<T> run(tape, sequences);
          return model.apply_pooled(run, batch.tokens, {});
        }
        return record(tape, model, batch.tokens, sequences);
      },
      [&](Matrix<T> cotangent) { return is_classifier ? cotangent : batch.without_padding(cotangent); },
      [](gated::TextTransformer<T>&) {});
  return result;
}

constexpr Family families[] = {
    {"llama", "LlamaModel", run_llama<float>, run_llama<double>},
    {"llama", "LlamaForCausalLM", run_llama<float>, run_llama<double>},
    {"llama", "MistralModel", run_llama<float>, run_llama<double>},
    {"llama", "MistralForCausalLM", run_llama<float>, run_llama<double>},
    {"llama", "Qwen2Model", run_llama<float>, run_llama<double>},
    {"llama", "Qwen2ForCausalLM", run_llama<float>, run_llama<double>},
    {"llama", "Qwen3Model", run_llama<float>, run_llama<double>},
    {"llama", "Qwen3ForCausalLM", run_llama<float>, run_llama<double>},
    {"gated_attention", "Qwen3Attention", run_llama_attention<float>, run_llama_attention<double>},
    {"gated_attention", "Qwen3Model", run_llama<float>, run_llama<double>},
    {"gated_attention", "Qwen3ForCausalLM", run_llama<float>, run_llama<double>},
    {"modernbert", "ModernBertModel", run_modernbert<float>, run_modernbert<double>},
    {"modernbert", "ModernBertForMaskedLM", run_modernbert<float>, run_modernbert<double>},
    {"modernbert", "ModernBertForSequenceClassification", run_modernbert<float>, run_modernbert<double>}};

}  // namespace text_transformers

std::span<const Family> text_transformer_families() { return text_transformers::families; }

}  // namespace parity
