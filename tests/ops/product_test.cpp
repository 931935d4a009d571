#include "gated/ops/product.hpp"

#include <gtest/gtest.h>

#include "gated/core/layer.hpp"
#include "tests/core/numbers.hpp"

namespace gated::product_test {
namespace {

using test::random_matrix;
using test::same_bits;

template <class T>
class ProductOf : public ::testing::Test {
 protected:
  Matrix<T> input = random_matrix<T>(20, 7, 1), weight = random_matrix<T>(13, 7, 2), joined = random_matrix<T>(20, 13, 3);
  Vector<T> bias = test::random_vector<T>(13, 4), none;
  Workspace<T> workspace;

  Matrix<T> of(const Fused<Batch<T>>& fused, const Vector<T>& b) {
    const auto frame = workspace.frame();
    Batch<T> run(workspace, Sequences::single(20));
    return run[product(run, input_rows<T>(input), weight, b, fused, {})];
  }
};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ProductOf, Scalars, );

TYPED_TEST(ProductOf, IsThatOfATransposedWeightWithABiasOrWithout) {
  using T = TypeParam;
  Matrix<T> expected(20, 13);
  matmul(this->input, transposed(this->weight), expected, this->workspace, {.bias = this->bias.data()});
  EXPECT_TRUE(same_bits(this->of({}, this->bias), expected));
  matmul(this->input, transposed(this->weight), expected, this->workspace);
  EXPECT_TRUE(same_bits(this->of({}, this->none), expected));
}

TYPED_TEST(ProductOf, IsShownAloneAndStaysTheSameBits) {
  using T = TypeParam;
  const auto other = input_rows<T>(this->joined);
  const Matrix<T> plain = this->of({}, this->bias);
  const Vector<T> scale = test::random_vector<T>(13, 5);
  using F = Fused<Batch<T>>;
  for (const F& fused : {F{}, F{.added = other}, F{.activation = Activation::gelu}, F{.gate = other}, F{.residual = other},
                         F{.activation = Activation::silu, .gate = other, .residual = other, .residual_scale = &scale}}) {
    const Matrix<T> expected = this->of(fused, this->bias);
    std::vector<Matrix<T>> seen;
    this->workspace.observe([&](const std::string&, ConstView<T> output) { seen.emplace_back(output); });
    EXPECT_TRUE(same_bits(this->of(fused, this->bias), expected));
    this->workspace.observe(nullptr);
    ASSERT_EQ(seen.size(), fused.is_plain() ? 0u : 1u) << "a plain one is its layer's to show";
    EXPECT_TRUE(seen.empty() || same_bits(seen[0], plain));
  }
}

TYPED_TEST(ProductOf, IsNotWrittenOverItsOwnFactor) {
  using T = TypeParam;
  const Matrix<T> square = random_matrix<T>(7, 7, 6), expected = this->input * square.transpose();
  const auto frame = this->workspace.frame();
  Batch<T> run(this->workspace, Sequences::single(20));
  const Rows<T> x(this->input), y = product(run, x, square, this->none, {}, x);
  EXPECT_NE(y.data, x.data);
  EXPECT_LE((run[y] - expected).cwiseAbs().maxCoeff(), T(1e-5));
}

TYPED_TEST(ProductOf, RefusesSizesThatDoNotFit) {
  using T = TypeParam;
  const Matrix<T> narrow = this->joined.leftCols(12);
  EXPECT_EQ(test::message_of<ShapeError>([&] { this->of({.gate = input_rows<T>(narrow)}, this->bias); }),
            "Fused: gate is 20 × 12, expected 20 × 13, the shape of the result.");
  this->weight = random_matrix<T>(13, 8, 2);
  EXPECT_EQ(test::message_of<ShapeError>([&] { this->of({}, this->bias); }),
            "matmul: a is 20 × 7 and b is 8 × 13, expected as many columns of a as rows of b.");
}

}  // namespace
}  // namespace gated::product_test
