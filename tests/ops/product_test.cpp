#include "gated/ops/product.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gated/layers/layer.hpp"
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

  Matrix<T> of(const Epilogue<Batch<T>>& epilogue, const Vector<T>& b) {
    const auto frame = workspace.frame();
    Batch<T> run(workspace, Sequences::single(20));
    return run[product(run, RunMatrix<T>(input_view<T>(input)), weight, b, epilogue)];
  }
};

/// A product as a layer, so that a hook sees it.
template <class T>
struct Projection : Layer<Projection<T>> {
  static constexpr const char* name = "Projection";
  const Matrix<T>* weight;
  const Vector<T>* bias;
  Projection(const Matrix<T>& weight_, const Vector<T>& bias_) : weight(&weight_), bias(&bias_) {}
  static constexpr auto fields() { return Fields(); }
  Contract contract() const { return {.in = weight->cols(), .out = weight->rows(), .sees = Sees::itself}; }
  auto apply(auto& run, auto x, auto then) const { return product(run, x, *weight, *bias, std::move(then)); }
};

using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ProductOf, Scalars, );

TYPED_TEST(ProductOf, MultipliesByTheTransposedWeight) {
  using T = TypeParam;
  Matrix<T> expected(20, 13);
  matmul(this->input, transposed(this->weight), expected, this->workspace, {.bias = this->bias.data()});
  EXPECT_TRUE(same_bits(this->of({}, this->bias), expected));
  matmul(this->input, transposed(this->weight), expected, this->workspace);
  EXPECT_TRUE(same_bits(this->of({}, this->none), expected));
}

TYPED_TEST(ProductOf, HooksSeeThePlainProduct) {
  using T = TypeParam;
  const RunMatrix<T> other(input_view<T>(this->joined));
  const Matrix<T> plain = this->of({}, this->bias);
  const Vector<T> scale = test::random_vector<T>(13, 5);
  using E = Epilogue<Batch<T>>;
  for (const E& epilogue :
       {E{}, E{.added = other}, E{.activation = Activation::gelu}, E{.gate = other}, E{.scale = scale.data()},
        E{.residual = other},
        E{.activation = Activation::silu, .gate = other, .residual = other, .residual_scale = scale.data()}}) {
    const Matrix<T> expected = this->of(epilogue, this->bias);
    std::vector<Matrix<T>> seen;
    this->workspace.set_hook([&](const std::string&, ConstView<T> output) { seen.emplace_back(output); });
    EXPECT_TRUE(same_bits(this->of(epilogue, this->bias), expected));
    EXPECT_TRUE(seen.empty()) << "hooks see only the outputs of layers";
    {
      const auto frame = this->workspace.frame();
      Batch<T> run(this->workspace, Sequences::single(20));
      const Projection<T> layer(this->weight, this->bias);
      EXPECT_TRUE(same_bits(run[run(layer, input_view<T>(this->input), epilogue)], expected));
    }
    this->workspace.set_hook(nullptr);
    ASSERT_EQ(seen.size(), 1u);
    EXPECT_TRUE(same_bits(seen[0], plain));
  }
}

TYPED_TEST(ProductOf, NeverOverwritesItsInput) {
  using T = TypeParam;
  const Matrix<T> square = random_matrix<T>(7, 7, 6), expected = this->input * square.transpose();
  const auto frame = this->workspace.frame();
  Batch<T> run(this->workspace, Sequences::single(20));
  RunMatrix<T> x = run.owned(RunMatrix<T>(input_view<T>(this->input)));
  const T* const place = x.data;
  const auto with_itself = product(run, x, square, this->none, {.residual = x});
  EXPECT_NE(with_itself.data, place);
  EXPECT_LE((run[with_itself] - expected - this->input).cwiseAbs().maxCoeff(), T(1e-5));
  const auto y = product(run, std::move(x), square, this->none, {});
  EXPECT_NE(y.data, place);
  EXPECT_LE((run[y] - expected).cwiseAbs().maxCoeff(), T(1e-5));
}

TYPED_TEST(ProductOf, RefusesMismatchedShapes) {
  using T = TypeParam;
  const Matrix<T> narrow = this->joined.leftCols(12);
  EXPECT_EQ(test::message_of<ShapeError>([&] { this->of({.gate = RunMatrix<T>(input_view<T>(narrow))}, this->bias); }),
            "Epilogue: gate is 20 × 12, expected 20 × 13, the shape of the result.");
  this->weight = random_matrix<T>(13, 8, 2);
  EXPECT_EQ(test::message_of<ShapeError>([&] { this->of({}, this->bias); }),
            "matmul: a is 20 × 7 and b is 8 × 13, expected columns of a = rows of b.");
}

}  // namespace
}  // namespace gated::product_test
