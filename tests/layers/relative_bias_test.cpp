#include "gated/layers/relative_bias.hpp"

#include <gtest/gtest.h>

#include "literal_attention.hpp"

namespace gated::relative_bias_test {
namespace {

using test::refuses;

template <class T>
class RelativeBiasOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(RelativeBiasOf, Scalars, );

TYPED_TEST(RelativeBiasOf, LooksUpTheOffsetOfEachPair) {
  using T = TypeParam;
  for (const RelativeBiasForm form : {RelativeBiasForm::t5, RelativeBiasForm::toeplitz}) {
    for (const bool causal : {false, true}) {
      RelativeBias<T> bias(form, causal, T(2.5), 150);
      test::randomize(bias, 1);
      for (const Index n : {1, 2, 40, 150}) {
        Workspace<T> workspace;
        const auto frame = workspace.frame();
        const T* const relative = bias.for_length(n, workspace);
        for (Index i = 0; i < n; ++i) {
          for (Index j = 0; j < n; ++j) {
            ASSERT_TRUE(test::close(relative[j - i], literal::relative(bias, i, j, causal, 2.5), 1e-6L))
                << name_of(form) << " of " << i << ", " << j;
          }
        }
      }
    }
  }
}

TEST(RelativeBias, HasTheParametersOfItsForm) {
  EXPECT_EQ(parameter_count(RelativeBias<float>(RelativeBiasForm::none, false, 1, 9)), 0);
  EXPECT_EQ(parameter_count(RelativeBias<float>(RelativeBiasForm::t5, false, 1, 9)), 32);
  EXPECT_EQ(parameter_count(RelativeBias<float>(RelativeBiasForm::toeplitz, false, 1, 9)), 17);
  Workspace<float> workspace;
  const auto frame = workspace.frame();
  EXPECT_EQ(RelativeBias<float>(RelativeBiasForm::none, false, 1, 9).for_length(4, workspace), nullptr);
}

TEST(RelativeBias, RefusesSequencesLongerThanAToeplitzBias) {
  const RelativeBias<float> bias(RelativeBiasForm::toeplitz, false, 1, 9);
  EXPECT_EQ(bias.longest(), 9);
  EXPECT_NO_THROW(bias.expect_length("f", 9));
  EXPECT_TRUE(
      refuses<ShapeError>([&] { bias.expect_length("f", 10); },
                          "f: a sequence has 10 tokens, but the Toeplitz bias holds 9 positions. Build the Toeplitz bias "
                          "with a larger max_length, or choose relative_bias = t5 or none."));
  EXPECT_NO_THROW(RelativeBias<float>(RelativeBiasForm::t5, false, 1, 0).expect_length("f", 1000000));
  EXPECT_TRUE(refuses<ArgumentError>([] { RelativeBias<float>(RelativeBiasForm::toeplitz, false, 1, 0); }, "max_length = 0"));
  for (const Index positions : {Count::most, Count::most / 2, Count::most / 4}) {
    EXPECT_TRUE(
        refuses<MemoryError>([&] { RelativeBias<float>(RelativeBiasForm::toeplitz, false, 1, positions); }, "RelativeBias: "));
  }
}

}  // namespace
}  // namespace gated::relative_bias_test
