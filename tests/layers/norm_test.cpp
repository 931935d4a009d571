#include "gated/layers/norm.hpp"

#include "literal_attention.hpp"
#include "tests/promises.hpp"

namespace gated::norm_test {
namespace {

using test::message_of;
using test::near;
using test::random_matrix;
using test::refuses;
using test::same_bits;
using test::wide;

constexpr NormForm forms[]{NormForm::none,    NormForm::layer_norm, NormForm::layer_norm_no_bias, NormForm::rms_norm,
                           NormForm::l2_norm, NormForm::scale_norm, NormForm::scale_norm_rsqrt,   NormForm::rms,
                           NormForm::affine};

template <class T>
class NormOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(NormOf, Scalars, );

TEST(Norm, KeepsItsPromises) {
  for (const NormForm form : forms) {
    for (const Index channels : {1, 19}) {
      SCOPED_TRACE(text(name_of(form), " of ", channels));
      test::expect_promises([&](auto zero) { return Norm<decltype(zero)>(channels, 1e-3, form); });
    }
  }
}

TYPED_TEST(NormOf, DefaultsToLayerNorm) {
  using T = TypeParam;
  Norm<T> layer(2, 0.0);
  layer.weight << 1, 10;
  layer.bias << 0, 100;
  Matrix<T> x(2, 2);
  x << 1, 3,  //
      6, 2;
  Matrix<double> expected(2, 2);
  expected << -1, 110,  //
      1, 90;
  Workspace<T> workspace;
  EXPECT_TRUE(near(layer.forward(x, workspace), expected));
}

TYPED_TEST(NormOf, EveryFormEqualsItsFormulaAtAnyWidth) {
  using T = TypeParam;
  Workspace<T> workspace;
  for (const NormForm form : forms) {
    for (const Index channels : {1, 2, 7, 13, 16, 33, 100}) {
      for (const double deviation : {0.1, 3.0}) {
        Norm<T> norm(channels, 1e-3, form);
        test::randomize(norm, 1);
        const auto x = random_matrix<T>(35, channels, 2, deviation);
        EXPECT_TRUE(near(norm.forward(x, workspace), literal::norm(norm, wide(x)))) << name_of(form) << " of " << channels;
      }
    }
  }
}

TYPED_TEST(NormOf, MapsAConstantTokenToTheBias) {
  using T = TypeParam;
  Norm<T> layer(8, 1e-5);
  test::randomize(layer, 1);
  Workspace<T> workspace;
  EXPECT_TRUE(same_bits(layer.forward(Matrix<T>::Constant(1, 8, 4), workspace), layer.bias.transpose()));
}

TYPED_TEST(NormOf, PropagatesNaN) {
  using T = TypeParam;
  Workspace<T> workspace;
  for (const NormForm form : {NormForm::layer_norm, NormForm::scale_norm_rsqrt, NormForm::rms}) {
    auto x = random_matrix<T>(3, 6, 1);
    x(1, 2) = std::numeric_limits<T>::quiet_NaN();
    EXPECT_TRUE(Norm<T>(6, 1e-5, form).forward(x, workspace).row(1).array().isNaN().any()) << name_of(form);
  }
}

TEST(Norm, StartsWithUnitScaleAndZeroShift) {
  const Norm<float> layer(5, 1e-6);
  EXPECT_EQ(layer.form, NormForm::layer_norm);
  EXPECT_TRUE((layer.weight.array() == 1).all());
  EXPECT_TRUE((layer.bias.array() == 0).all());
  EXPECT_EQ(layer.eps, 1e-6);
  EXPECT_EQ(layer.channels, 5);
  EXPECT_EQ(Norm<float>(5, 1e-6, NormForm::scale_norm).gain[0], 1);
}

TEST(Norm, CanBeBuiltFromItsChannelsAlone) {
  const Norm<float> norm(8);
  EXPECT_EQ(norm.form, NormForm::layer_norm);
  EXPECT_EQ(norm.eps, Norm<float>().eps);
  EXPECT_EQ(norm.weight.size(), 8);
  EXPECT_FALSE((std::is_convertible_v<Index, Norm<float>>)) << "explicitly only";
}

TEST(Norm, HasTheParametersOfItsForm) {
  const Index expected[]{0, 26, 13, 13, 13, 1, 1, 0, 26};
  for (std::size_t i = 0; i < std::size(forms); ++i) {
    EXPECT_EQ(parameter_count(Norm<float>(13, 1e-5, forms[i])), expected[i]) << name_of(forms[i]);
  }
}

TEST(Norm, ExplainsMismatchedShapes) {
  const Norm<float> layer(4, 1e-5);
  Workspace<float> workspace;
  Matrix<float> y(2, 4);
  EXPECT_EQ(message_of<ShapeError>([&] { layer.forward(Matrix<float>::Zero(2, 5), y, workspace); }),
            "Norm::forward: x has 5 columns, expected in = 4 (a matrix is tokens × channels, one row per token).");
}

TEST(Norm, RefusesZeroChannelsAndNegativeEps) {
  for (const NormForm form : forms) {
    EXPECT_TRUE(refuses<ArgumentError>([&] { Norm<float>(0, 1e-5, form); }, "channels = 0"));
    EXPECT_TRUE(refuses<ArgumentError>([&] { Norm<float>(-1, 1e-5, form); }, "channels = -1"));
    EXPECT_TRUE(refuses<ArgumentError>([&] { Norm<float>(4, -1.0, form); }, "eps = -1"));
  }
}

}  // namespace
}  // namespace gated::norm_test
