#include "gated/io/hugging_face.hpp"
#include "gated/models/fnet.hpp"

#include "../inputs.hpp"

namespace parity {

namespace hf_fnet {

gated::FnetSizes sizes_of(const CaseFile& file) {
  const auto& a = file.arguments();
  return {.channels = argument<Index>(a, "hidden_size", 768),
          .hidden = argument<Index>(a, "intermediate_size", 3072),
          .depth = argument<Index>(a, "num_hidden_layers", 12),
          .vocabulary = argument<Index>(a, "vocab_size", 32000),
          .max_length = argument<Index>(a, "max_position_embeddings", 512),
          .token_types = argument<Index>(a, "type_vocab_size", 4)};
}

void set_block(const CaseFile& file, gated::FnetBlockConfig& block) {
  block.norm_eps = argument(file.arguments(), "layer_norm_eps", 1e-12);
  block.channel_mixer.activation = activation(file.arguments(), "hidden_act", "gelu_new");
}

template <class T>
Result<T> run_encoder(const CaseFile& file) {
  auto config = gated::fnet_encoder(sizes_of(file));
  set_block(file, config.block);
  gated::FnetEncoder<T> encoder(config);
  return run_layer<T>(file, encoder, gated::fnet_encoder_names());
}

template <class T, gated::FnetHead head>
Result<T> run_fnet(const CaseFile& file) {
  auto config = gated::fnet(head, sizes_of(file));
  set_block(file, config.trunk.block);
  config.embedding_norm_eps = config.head.norm_eps = config.trunk.block.norm_eps;
  config.head.activation = config.trunk.block.channel_mixer.activation;
  gated::Fnet<T> model(config);
  const auto types = ids_of(file, "token_type_ids");
  Result<T> result = run_model<T>(file, model, gated::fnet_names(), types);
  for (const char* second : {"pooler_output", "seq_relationship_logits"}) {
    if (file.has(second)) {
      gated::Workspace<T> workspace;
      result.others.emplace_back(second, model.pooled(ids_of(file, "input"), sequences_of(file), workspace, types));
    }
  }
  return result;
}

using gated::FnetHead;

constexpr Family families[] = {
    {"hf_fnet", "FNetEncoder", run_encoder<float>, run_encoder<double>},
    {"hf_fnet", "FNetModel", run_fnet<float, FnetHead::none>, run_fnet<double, FnetHead::none>},
    {"hf_fnet", "FNetForMaskedLM", run_fnet<float, FnetHead::masked_words>, run_fnet<double, FnetHead::masked_words>},
    {"hf_fnet", "FNetForPreTraining", run_fnet<float, FnetHead::pretraining>, run_fnet<double, FnetHead::pretraining>}};

}  // namespace hf_fnet

std::span<const Family> hf_fnet_families() { return hf_fnet::families; }

}  // namespace parity
