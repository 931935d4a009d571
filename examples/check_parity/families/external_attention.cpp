#include "gated/layers/external_attention.hpp"

#include "../inputs.hpp"
#include "gated/layers/external_attention_head.hpp"

namespace parity {

namespace external_attention {

/// The configuration of EAMLP's Attention: the hidden width is coef·dim, with coef·num_heads heads; coef defaults to 4.
gated::ExternalAttentionConfig config_of(const CaseFile& file) {
  const auto& a = file.arguments();
  const auto coefficient = argument<Index>(a, "coef", 4), channels = argument<Index>(a, "dim", 0);
  return {.channels = channels,
          .heads = coefficient * argument<Index>(a, "num_heads", 8),
          .hidden = coefficient * channels,
          .memories = argument<Index>(a, "k", 256 / coefficient)};
}

gated::NameMap names(const std::string& ours, const std::string& theirs) {
  gated::NameMap names{.origin = "EANet"};
  names.add(ours, theirs,
            {{"query", "trans_dims"},
             {"key_bias", "linear_0.bias"},
             {"key", "linear_0.weight"},
             {"value_bias", "linear_1.bias"},
             {"value", "linear_1.weight"},
             {"proj_out", "proj"}});
  return names;
}

template <class T>
Result<T> run_attention(const CaseFile& file) {
  gated::ExternalAttention<T> layer(config_of(file));
  return run_layer<T>(file, layer, names("", ""));
}

template <class T>
using Block = gated::MixerBlock<gated::ExternalAttention<T>, gated::FeedForward<T>>;

template <class T>
Result<T> run_block(const CaseFile& file) {
  const auto attention = config_of(file);
  const auto ratio = argument(file.arguments(), "mlp_ratio", 4.0);
  Block<T> block({.channels = attention.channels,
                  .token_mixer = attention,
                  .channel_mixer = {.hidden = static_cast<Index>(static_cast<double>(attention.channels) * ratio)}});
  gated::NameMap all = names("tokens.mixer.", "attn.");
  all.add("", "",
          {{"tokens.norm", "norm1"},
           {"channels.norm", "norm2"},
           {"channels.mixer.proj_in", "mlp.fc1"},
           {"channels.mixer.proj_out", "mlp.fc2"}});
  return run_layer<T>(file, block, all);
}

/// Transposes each image from rows × columns to columns × rows.
template <class T>
Matrix<T> turned(const Matrix<T>& m, Index images, Index rows, Index columns) {
  Matrix<T> result(images * columns, rows);
  for (Index b = 0; b < images; ++b) {
    result.middleRows(b * columns, columns) =
        Eigen::Map<const Matrix<T>>(m.data() + b * rows * columns, rows, columns).transpose();
  }
  return result;
}

/// EANet's head: its convolutions are 1 × 1, so each pixel is a token.
template <class T>
Result<T> run_head(const CaseFile& file) {
  const auto& shape = file.shape("input");  // images, channels, height, width
  const Index images = shape.at(0), channels = shape.at(1), pixels = shape.at(2) * shape.at(3);
  gated::ExternalAttentionHead<T> head({.channels = channels, .memories = argument<Index>(file.arguments(), "k", 64)});
  const auto as_kernel = gated::ShapeForm::append_one;
  gated::NameMap names{.origin = "EANet",
                       .rules = {{"attention.query.weight", "conv1.weight", gated::ShapeForm::append_two_ones},
                                 {"attention.query.bias", "conv1.bias"},
                                 {"attention.key", "linear_0.weight", as_kernel},
                                 {"attention.value", "linear_1.weight", as_kernel},
                                 {"attention.proj_out", "conv2.0", gated::ShapeForm::append_two_ones},
                                 {"norm.mean", "conv2.1.running_mean"},
                                 {"norm.variance", "conv2.1.running_var"},
                                 {"norm", "conv2.1"}},
                       .ignored = {"conv2.1.num_batches_tracked"}};
  file.load(head, names);
  const Matrix<T> x = turned(file.matrix<T>("input"), images, channels, pixels);
  const auto sequences = Sequences::uniform(images, pixels);
  Result<T> result;
  gated::Workspace<T> workspace;
  result.output = turned(head.forward(x, sequences, workspace), images, pixels, channels);
  add_gradients<T>(
      result, file, head, names, [&](auto& tape, auto& input) { return record(tape, head, input("input", x), sequences); },
      [&](const Matrix<T>& matrix) { return turned(matrix, images, channels, pixels); }, [](auto&) {});
  return result;
}

constexpr Family families[] = {{"external_attention", "External_attention", run_head<float>, run_head<double>},
                               {"external_attention", "Attention", run_attention<float>, run_attention<double>},
                               {"external_attention", "Block", run_block<float>, run_block<double>}};

}  // namespace external_attention

std::span<const Family> external_attention_families() { return external_attention::families; }

}  // namespace parity
