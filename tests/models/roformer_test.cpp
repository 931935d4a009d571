#include "gated/models/roformer.hpp"

#include <gtest/gtest.h>

#include "gated/io/bs_roformer.hpp"
#include "gated/io/safetensors_writer.hpp"
#include "tests/io/attention_files.hpp"
#include "tests/promises.hpp"

namespace gated::roformer_test {
namespace {

using test::expect_promises;
using test::random_layer;

RoformerConfig small(bool rotary, NormForm norm) {
  return {.trunk = roformer_layers({.channels = 6, .depth = 2, .heads = 3, .head_width = 4, .hidden = 10, .rotary = rotary}),
          .norm = norm};
}

TEST(Roformer, KeepsItsPromises) {
  expect_promises<Roformer>(small(true, NormForm::l2_norm));
  expect_promises<Roformer>(small(false, NormForm::none));
}

TEST(Roformer, HasThePublishedParameterCounts) {
  const auto count = [](Index depth) {
    const detail::HollowWeights hollow;
    return parameter_count(Roformer<float>({.trunk = roformer_layers({.channels = 512, .depth = depth})}));
  };
  EXPECT_EQ(count(2) - count(1), 3'153'416);  // a layer
  EXPECT_EQ(count(24), 75'682'496);           // all layers of the published model, and one norm
}

TEST(Roformer, TwoTransformersLoadFromOneFile) {
  const auto over_time = random_layer<Roformer<float>>(small(true, NormForm::none), 1),
             over_bands = random_layer<Roformer<float>>(small(true, NormForm::none), 2);
  const auto names_at = [](const char* prefix) {
    NameMap names = bs_roformer_names();
    names.prefix = prefix;
    return names;
  };
  const auto time_path = test::temporary("time.safetensors"), bands_path = test::temporary("bands.safetensors"),
             path = test::temporary("both.safetensors");
  save_parameters(over_time, time_path, {}, names_at("layers.3.0."));
  save_parameters(over_bands, bands_path, {}, names_at("layers.3.1."));
  {
    const SafetensorsFile parts[] = {SafetensorsFile(time_path), SafetensorsFile(bands_path)};
    std::vector<TensorToWrite> tensors;
    for (const SafetensorsFile& part : parts) {
      for (const auto& [name, entry] : part.tensors()) {
        tensors.push_back({name, entry.dtype, entry.shape, entry.bytes});
      }
    }
    write_safetensors(path, tensors, {});
  }
  const SafetensorsFile file(path);
  EXPECT_TRUE(file.contains("layers.3.0.layers.1.0.to_qkv.weight"));
  NameMap time_names = names_at("layers.3.0."), band_names = names_at("layers.3.1.");
  time_names.ignored = {"layers.3.1"};
  band_names.ignored = {"layers.3.0"};
  test::expect_loads(over_time, file, time_names);
  test::expect_loads(over_bands, file, band_names);
}

}  // namespace
}  // namespace gated::roformer_test
