#include "gated/layers/norm.hpp"

#include <gtest/gtest.h>

#include "literal_attention.hpp"

namespace gated {
namespace {

using test::is_untouched;
using test::near;
using test::random_matrix;
using test::refuses;
using test::same_bits;
using test::untouched;
using test::wide;

constexpr NormForm forms[]{NormForm::none, NormForm::layer_norm, NormForm::scale_norm, NormForm::scale_norm_rsqrt,
                           NormForm::rms};

template <class T>
class NormOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(NormOf, Scalars, );

TYPED_TEST(NormOf, EveryFormEqualsItsFormulaAlsoInPlace) {
  using T = TypeParam;
  for (const NormForm form : forms) {
    Norm<T> norm(form, 13, 1e-3);
    test::randomize(norm, 1);
    Matrix<T> x = random_matrix<T>(9, 13, 2, 0.1), y(9, 13);
    Workspace<T> workspace;
    norm.forward(x, y, workspace);
    EXPECT_TRUE(near(y, literal::norm(norm, wide(x)))) << name_of(form);
    norm.forward(x, x, workspace);
    EXPECT_TRUE(same_bits(x, y)) << name_of(form);
  }
}

TEST(Norm, HasTheParametersOfItsForm) {
  const Index expected[]{0, 26, 1, 1, 0};
  for (std::size_t i = 0; i < std::size(forms); ++i) {
    EXPECT_EQ(parameter_count(Norm<float>(forms[i], 13, 1e-5)), expected[i]) << name_of(forms[i]);
  }
}

TEST(Norm, RefusesOtherShapesBeforeWriting) {
  for (const NormForm form : forms) {
    const Norm<float> norm(form, 4, 1e-5);
    Workspace<float> workspace;
    Matrix<float> y = untouched<float>(3, 4), narrow = untouched<float>(3, 3);
    EXPECT_THROW(norm.forward(Matrix<float>::Ones(3, 5), y, workspace), ShapeError);
    EXPECT_THROW(norm.forward(Matrix<float>::Ones(2, 4), y, workspace), ShapeError);
    EXPECT_THROW(norm.forward(Matrix<float>::Ones(3, 4), narrow, workspace), ShapeError);
    EXPECT_TRUE(is_untouched(y));
    EXPECT_TRUE(is_untouched(narrow));
  }
  EXPECT_TRUE(refuses<ArgumentError>([] { Norm<float>(NormForm::rms, 0, 1e-5); }, "channels = 0"));
  EXPECT_TRUE(refuses<ArgumentError>([] { Norm<float>(NormForm::rms, 4, -1.0); }, "eps = -1"));
}

}  // namespace
}  // namespace gated
