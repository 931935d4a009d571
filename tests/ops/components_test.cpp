#include <gtest/gtest.h>

#include "gated/ops/activation.hpp"
#include "gated/ops/norm.hpp"
#include "gated/ops/token_shift.hpp"
#include "tests/core/numbers.hpp"
#include "tests/ops/on_vectors.hpp"
#include "tests/reference/components.hpp"

namespace gated::components_test {
namespace {

template <class T>
class ComponentsIn : public ::testing::Test {
 protected:
  static constexpr long double tolerance = sizeof(T) == 4 ? 1e-6L : 1e-12L;

  /// Expects that f(input) equals the original code's output up to `tolerance` · (1 + |expected|).
  template <class F>
  static void expect_output(const std::string& name, const F& f) {
    const Matrix<T> got = f(test::component<T>(name + ".input"));
    const Matrix<double> expected = test::component<double>(name + ".output_f64");
    ASSERT_EQ(got.rows(), expected.rows());
    ASSERT_EQ(got.cols(), expected.cols());
    ASSERT_GT(got.size(), 0);
    for (Index i = 0; i < got.rows(); ++i) {
      for (Index j = 0; j < got.cols(); ++j) {
        ASSERT_TRUE(test::close(got(i, j), expected(i, j), tolerance * (1 + std::fabs(expected(i, j)))))
            << name << " at (" << i << ", " << j << ")";
      }
    }
  }

  template <class Activation>
  static void expect_activation(const std::string& name, const Activation& activation) {
    expect_output(name, [&](const Matrix<T>& x) -> Matrix<T> {
      const std::vector<T> input(x.data(), x.data() + x.size());
      const std::vector<T> output = test::on_vectors([&](auto v) { return activation.value(v); }, input);
      return Eigen::Map<const Matrix<T>>(output.data(), x.rows(), x.cols());
    });
  }

  static void expect_layer_norm(const std::string& name, double eps) {
    expect_output(name, [&](const Matrix<T>& x) {
      Matrix<T> y(x.rows(), x.cols());
      normalize<T>(x, {.form = NormForm::layer_norm, .eps = eps}, y, Workspace<T>());
      return y;
    });
  }

  static void expect_token_shift(const std::string& name, Index amount, bool causal) {
    expect_output(name, [&](const Matrix<T>& x) {
      Matrix<T> y(x.rows(), x.cols());
      token_shift<T>(x, Sequences::single(x.rows()), {.amount = amount, .causal = causal}, y);
      return y;
    });
  }
};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ComponentsIn, Scalars, );

TYPED_TEST(ComponentsIn, GeluMatchesTheOriginal) { this->expect_activation("gelu_erf", Gelu{}); }
TYPED_TEST(ComponentsIn, SiluMatchesTheOriginal) { this->expect_activation("silu", Silu{}); }
TYPED_TEST(ComponentsIn, SquaredReluMatchesTheOriginal) { this->expect_activation("relu_squared", Relu2{}); }
TYPED_TEST(ComponentsIn, LaplaceMatchesTheOriginal) { this->expect_activation("laplace_attn_fn", Laplace{}); }

TYPED_TEST(ComponentsIn, LayerNormMatchesTheOriginal) {
  this->expect_layer_norm("layernorm_eps1e-5_noaffine", 1e-5);
  this->expect_layer_norm("layernorm_eps1e-6_noaffine", 1e-6);
}

TYPED_TEST(ComponentsIn, TokenShiftMatchesTheOriginal) {
  this->expect_token_shift("lucid_preshift_0_1_2_dim8", 2, true);
  this->expect_token_shift("lucid_preshift_-1_0_1_dim8", 1, false);
}

}  // namespace
}  // namespace gated::components_test
