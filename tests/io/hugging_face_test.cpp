#include "gated/io/hugging_face.hpp"

#include <gtest/gtest.h>

#include "attention_files.hpp"
#include "gated/models/fnet.hpp"

namespace gated::hugging_face_test {
namespace {

using test::changed;
using test::Copy;
using test::expect_loads;
using test::listed;
using test::Names;
using test::random_layer;
using test::saved;

constexpr FnetSizes small{.channels = 6, .hidden = 10, .depth = 1, .vocabulary = 11, .max_length = 8, .token_types = 4};

const Names layer{"fourier.output.LayerNorm.weight [6]", "fourier.output.LayerNorm.bias [6]",
                  "intermediate.dense.weight [10, 6]",   "intermediate.dense.bias [10]",
                  "output.dense.weight [6, 10]",         "output.dense.bias [6]",
                  "output.LayerNorm.weight [6]",         "output.LayerNorm.bias [6]"};
const Names embeddings{"embeddings.word_embeddings.weight [11, 6]",
                       "embeddings.position_embeddings.weight [8, 6]",
                       "embeddings.token_type_embeddings.weight [4, 6]",
                       "embeddings.LayerNorm.weight [6]",
                       "embeddings.LayerNorm.bias [6]",
                       "embeddings.projection.weight [6, 6]",
                       "embeddings.projection.bias [6]",
                       "pooler.dense.weight [6, 6]",
                       "pooler.dense.bias [6]"};
const Names head{"cls.predictions.bias [11]", "cls.predictions.transform.dense.weight [6, 6]",
                 "cls.predictions.transform.dense.bias [6]", "cls.predictions.transform.LayerNorm.weight [6]",
                 "cls.predictions.transform.LayerNorm.bias [6]"};

Names with_prefix(const std::string& prefix, const Names& names, Names more = {}) {
  for (const std::string& name : names) {
    more.insert(prefix + name);
  }
  return more;
}

TEST(HuggingFaceFnet, EncoderHasTheNamesOfTheOriginal) {
  const auto encoder = random_layer<FnetEncoder<float>>(fnet_encoder(small));
  const SafetensorsFile file = saved(encoder, fnet_encoder_names());
  EXPECT_EQ(listed(file), with_prefix("layer.0.", layer));
  expect_loads(encoder, file, fnet_encoder_names());
}

TEST(HuggingFaceFnet, ModelHasTheNamesOfTheOriginal) {
  const auto model = random_layer<Fnet<float>>(fnet(FnetHead::none, small));
  const SafetensorsFile file = saved(model, fnet_names());
  EXPECT_EQ(listed(file), with_prefix("encoder.layer.0.", layer, embeddings));
  expect_loads(model, file, fnet_names());
}

TEST(HuggingFaceFnet, ModelsWithHeadsHaveTheNamesOfTheOriginal) {
  for (const FnetHead kind : {FnetHead::masked_words, FnetHead::pretraining}) {
    const auto model = random_layer<Fnet<float>>(fnet(kind, small));
    const SafetensorsFile file = saved(model, fnet_names());
    Names names = with_prefix("fnet.encoder.layer.0.", layer, with_prefix("fnet.", embeddings, head));
    if (kind == FnetHead::pretraining) {
      names.insert("cls.seq_relationship.weight [2, 6]");
      names.insert("cls.seq_relationship.bias [2]");
    }
    EXPECT_EQ(listed(file), names);
    expect_loads(model, file, fnet_names());
    // A file can contain either of two tied tensors, or both.
    const std::vector<Copy> copies{{"cls.predictions.decoder.weight", "fnet.embeddings.word_embeddings.weight"},
                                   {"cls.predictions.decoder.bias", "cls.predictions.bias"}};
    expect_loads(model, changed(file, {}, copies), fnet_names());
    expect_loads(model, changed(file, {"cls.predictions.bias"}, copies), fnet_names());
  }
}

}  // namespace
}  // namespace gated::hugging_face_test
