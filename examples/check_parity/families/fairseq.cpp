#include "gated/io/fairseq.hpp"

#include <string>

#include "../inputs.hpp"

namespace parity {

namespace fairseq {

using gated::ConvolutionForm;

/// Runs a layer on the file's [time, batch, channels] input. Sets padding rows of the output to 0, as in the file.
template <class T, class Layer>
Result<T> run_time_first(const CaseFile& file, Layer& layer, const gated::NameMap& names) {
  file.load(layer, names);
  const Index time = file.shape("input").at(0), batch = file.shape("input").at(1);
  const auto x = exchange_leading(file.matrix<T>("input"), time, batch);
  const auto sequences = Sequences::uniform(batch, time);
  const auto mask = mask_of(file);
  gated::Workspace<T> workspace;
  Matrix<T> y = layer.forward(x, sequences, workspace, mask);
  for (std::size_t i = 0; i < mask.size(); ++i) {
    if (mask[i] == 0) {
      y.row(static_cast<Index>(i)).setZero();
    }
  }
  Result<T> result{exchange_leading(y, batch, time), {}};
  add_gradients<T>(
      result, file, layer, names,
      [&](auto& tape, auto& input) { return record(tape, layer, input("input", x), sequences, mask); },
      [&](const Matrix<T>& matrix) { return exchange_leading(matrix, time, batch); }, [](Layer&) {});
  return result;
}

/// LightweightConv1dTBC or DynamicConv1dTBC.
template <class T>
Result<T> run_convolution(const CaseFile& file, ConvolutionForm form) {
  const auto& a = file.arguments();
  const auto kernel = argument<Index>(a, "kernel_size", 1), padding = argument<Index>(a, "padding_l", 0);
  const bool dynamic = form == ConvolutionForm::dynamic;
  gated::require<gated::ArgumentError>(padding == kernel - 1 || (kernel % 2 == 1 && padding == kernel / 2),
                                       "padding_l = ", padding, " with ", kernel,
                                       " taps, expected taps - 1, or (taps - 1) / 2 for an odd number of taps");
  gated::require<gated::ArgumentError>(
      !argument(a, "renorm_padding", false) && !argument(a, "in_proj", false) && argument<Index>(a, "query_size", 0) == 0,
      "renorm_padding, in_proj and query_size are not supported");
  gated::LightweightConvolution<T> conv({.channels = a.at("input_size"),
                                         .heads = argument<Index>(a, "num_heads", 1),
                                         .kernel = kernel,
                                         .form = form,
                                         .softmax = argument(a, "weight_softmax", false),
                                         .score_bias = dynamic && argument(a, "bias", false),
                                         .bias = argument(a, dynamic ? "conv_bias" : "bias", false),
                                         .causal = padding == kernel - 1});
  return run_time_first<T>(file, conv, gated::fairseq_convolution_names(form));
}

template <class T>
Result<T> run_lightweight(const CaseFile& file) {
  return run_convolution<T>(file, ConvolutionForm::lightweight);
}
template <class T>
Result<T> run_dynamic(const CaseFile& file) {
  return run_convolution<T>(file, ConvolutionForm::dynamic);
}

/// LightConvEncoderLayer or LightConvDecoderLayer. The names of the layer's arguments begin with `side`.
template <class T>
Result<T> run_block(const CaseFile& file, const std::string& side, bool causal) {
  const auto& a = file.arguments();
  const auto key = [&](const char* name) { return side + name; };
  gated::require<gated::ArgumentError>(!causal || argument(a, "no_encoder_attn", false),
                                       "attention to an encoder is not supported");
  const auto channels = argument<Index>(a, key("embed_dim").c_str(), 0);
  const bool dynamic = argument<std::string>(a, key("conv_type").c_str(), "dynamic") == "dynamic";
  const bool pre = argument(a, key("normalize_before").c_str(), false);
  gated::LightConvBlock<T> block(
      gated::fairseq_block(channels, argument<Index>(a, key("ffn_embed_dim").c_str(), 0),
                           {.hidden = argument<Index>(a, key("conv_dim").c_str(), 0),
                            .heads = argument<Index>(a, key("attention_heads").c_str(), 1),
                            .kernel = a.at("kernel_size"),
                            .form = dynamic ? ConvolutionForm::dynamic : ConvolutionForm::lightweight,
                            .glu = argument(a, key("glu").c_str(), true),
                            .softmax = argument(a, "weight_softmax", true),
                            .causal = causal},
                           pre ? gated::NormPosition::pre : gated::NormPosition::post));
  return run_time_first<T>(file, block, gated::fairseq_block_names(gated::fairseq_layout(file.file(), "model.")));
}

template <class T>
Result<T> run_encoder(const CaseFile& file) {
  return run_block<T>(file, "encoder_", false);
}
template <class T>
Result<T> run_decoder(const CaseFile& file) {
  return run_block<T>(file, "decoder_", true);
}

constexpr Family families[] = {{"light_conv", "LightweightConv1dTBC", run_lightweight<float>, run_lightweight<double>},
                               {"light_conv", "DynamicConv1dTBC", run_dynamic<float>, run_dynamic<double>},
                               {"light_conv", "LightConvEncoderLayer", run_encoder<float>, run_encoder<double>},
                               {"light_conv", "LightConvDecoderLayer", run_decoder<float>, run_decoder<double>}};

}  // namespace fairseq

std::span<const Family> fairseq_families() { return fairseq::families; }

}  // namespace parity
