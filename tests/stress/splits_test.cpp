#include <gtest/gtest.h>

#include <vector>

#include "gated/io/model_file.hpp"
#include "gated/io/prepared_model.hpp"
#include "gated/models/flash.hpp"
#include "gated/models/gau_presets.hpp"
#include "gated/models/gmlp.hpp"
#include "gated/models/prepare.hpp"
#include "gated/ops/int8_products.hpp"
#include "tests/io/files.hpp"
#include "tests/layers/literal.hpp"
#include "tests/ops/restores_kernels.hpp"
#include "tests/stress/stress.hpp"

// Tests portable arithmetic: outputs are bit-equal for every split of sequences into batches, threads and steps, in every form
// of the kernels, and with plain, prepared and mapped weights. With int8 products, they are bit-equal to one another.

namespace gated {
namespace {

using test::from_environment;
using test::same_bits;

constexpr Index channels = 24, longest = 40;

class Splits : public test::RestoresKernels {
 protected:
  Splits() { use_arithmetic(Arithmetic::portable); }
  ~Splits() override { use_arithmetic(Arithmetic::fastest); }
};

Index below(Random& random, std::size_t limit) { return static_cast<Index>(random.bits() % static_cast<std::uint64_t>(limit)); }

/// Expects the same bits from `count` random splits of ten sequences.
template <class Model>
void expect_same_bits(const typename Model::Config& config, long count) {
  Model model(config);
  test::randomize(model, 1);
  const auto path = test::temporary("splits.safetensors");
  save_model(model, path);
  struct OfForm {
    KernelForm form;
    PreparedWeights<float> packed, quantized;
    PreparedModel<Model> mapped;
  };
  std::vector<OfForm> forms;
  for (const KernelForm form : available_kernels()) {
    use_kernels(form);
    forms.push_back({form, prepare(model), prepare(model, WeightFormat::int8_rows), load_mapped<Model>(path)});
  }
  Random random(2);
  std::vector<Matrix<float>> inputs, expected, expected_in_int8;
  for (int i = 0; i < 10; ++i) {
    inputs.push_back(test::random_matrix<float>(1 + below(random, longest), channels, random.bits()));
    Workspace<float> workspace;
    expected.push_back(model.forward(inputs.back(), Sequences::single(inputs.back().rows()), workspace));
    workspace.use(forms.back().quantized);
    workspace.use(int8_products());
    expected_in_int8.push_back(model.forward(inputs.back(), Sequences::single(inputs.back().rows()), workspace));
  }
  long wrong = 0;
  for (long split = 0; split < count; ++split) {
    const OfForm& of = forms[static_cast<std::size_t>(below(random, forms.size()))];
    use_kernels(of.form);
    Workspace<float> workspace(Threads{1 + static_cast<int>(below(random, 3))});
    const Index place = below(random, 4);
    if (place > 0) {
      workspace.use(place == 1 ? of.packed : place == 2 ? of.mapped.weights : of.quantized);
    }
    if (place == 3) {
      workspace.use(int8_products());
    }
    const Model& weights = place == 2 ? of.mapped.model : model;
    const std::vector<Matrix<float>>& right = place == 3 ? expected_in_int8 : expected;
    if (model.contract().streams() && below(random, 3) == 0) {
      const auto one = static_cast<std::size_t>(below(random, inputs.size()));
      const Matrix<float>& x = inputs[one];
      State<float> state = weights.start(x.rows());
      Matrix<float> y(x.rows(), channels);
      for (Index t = 0, step = 0; t < x.rows(); t += step) {
        step = std::min(1 + below(random, 7), x.rows() - t);
        weights.extend(x.middleRows(t, step), state, y.middleRows(t, step), workspace);
      }
      wrong += same_bits(y, right[one]) ? 0 : 1;
      continue;
    }
    std::vector<std::size_t> chosen(1 + static_cast<std::size_t>(below(random, 4)));
    std::vector<Index> lengths;
    for (std::size_t& one : chosen) {
      one = static_cast<std::size_t>(below(random, inputs.size()));
      lengths.push_back(inputs[one].rows());
    }
    const Sequences sequences = Sequences::of_lengths(lengths);
    Matrix<float> x(sequences.total(), channels);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      x.middleRows(sequences.offset(static_cast<Index>(i)), lengths[i]) = inputs[chosen[i]];
    }
    const Matrix<float> y = weights.forward(x, sequences, workspace);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      wrong += same_bits(y.middleRows(sequences.offset(static_cast<Index>(i)), lengths[i]), right[chosen[i]]) ? 0 : 1;
    }
  }
  EXPECT_EQ(wrong, 0) << "of " << count << " splits";
}

TEST_F(Splits, NoSplitChangesABit) {
  const long count = from_environment("GATED_STRESS_SPLITS", 10000) / 7 + 1;
  for (const bool causal : {false, true}) {
    const GmlpConfig gmlp{.length = longest,
                          .channels = channels,
                          .hidden = 40,
                          .depth = 2,
                          .length_policy = LengthPolicy::slice,
                          .causal = causal,
                          .attention_width = 8};
    expect_same_bits<Gmlp<float>>(gmlp, count);
    expect_same_bits<Flash<float>>(
        {.depth = 2, .block = flash_presets::lucidrains({.channels = channels, .query_key = 8, .chunk = 8, .causal = causal})},
        count);
  }
  GmlpConfig toeplitz{
      .length = longest, .channels = channels, .hidden = 40, .depth = 2, .length_policy = LengthPolicy::slice, .causal = true};
  toeplitz.spatial = SpatialForm::toeplitz;
  expect_same_bits<Gmlp<float>>(toeplitz, count);
  expect_same_bits<Gmlp<float>>({.length = longest,
                                 .channels = channels,
                                 .hidden = 640,  // enough multiply-adds that two and three threads share a product
                                 .depth = 1,
                                 .length_policy = LengthPolicy::slice},
                                count / 10);
  toeplitz.fourier_from = 8;  // tests whole sequences only, because streams sum in a different order
  toeplitz.causal = false;
  expect_same_bits<Gmlp<float>>(toeplitz, count);
  expect_same_bits<Stack<GatedAttentionUnit<float>>>(
      {.depth = 2, .block = gau_presets::gau_alpha({.channels = channels, .max_length = longest, .query_key = 8})}, count);
}

}  // namespace
}  // namespace gated
