#include "gated/ops/elementwise.hpp"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "gated/core/settings.hpp"
#include "tests/ops/op.hpp"

namespace gated::elementwise_test {
namespace {

using test::expect_op;
using test::message_of;
using test::random_matrix;
using test::same_bits;

/// A run over four rows of eleven columns, which are given to `f` with two other matrices.
template <class F>
void in_a_batch(const F& f) {
  const auto a = random_matrix<double>(4, 11, 1), b = random_matrix<double>(4, 11, 2);
  Workspace<double> workspace;
  const auto frame = workspace.frame();
  Batch<double> run(workspace, Sequences::single(4));
  f(run, a, b);
}

/// Expects of op(run, to) that it gives y, at a place where it is wanted, and writes nothing around it.
template <class Op>
void expect_result(Batch<double>& run, const Matrix<double>& y, const Op& op) {
  EXPECT_TRUE(same_bits(run[op(Rows<double>())], y));
  Matrix<double> larger = Matrix<double>::Constant(7, 15, -7);
  const Rows<double> place = larger.block(1, 2, 4, 11);
  EXPECT_EQ(op(place).data, place.data);
  EXPECT_TRUE(same_bits(run[place], y));
  run[place].setConstant(-7);
  EXPECT_TRUE((larger.array() == -7).all());
}

TEST(Elementwise, OpsAreTheirFormulas) {
  in_a_batch([](Batch<double>& run, const Matrix<double>& a, const Matrix<double>& b) {
    const auto x = input_rows<double>(a), other = input_rows<double>(b);
    const Vector<double> factors = test::random_vector<double>(11, 3);
    expect_result(run, a.cwiseMax(0), [&](Rows<double> to) { return activate(run, x, Activation::relu, to); });
    expect_result(run, a.cwiseProduct(b), [&](Rows<double> to) { return multiply(run, x, other, to); });
    expect_result(run, a + b, [&](Rows<double> to) { return add(run, x, other, nullptr, to); });
    expect_result(run, 2 * a, [&](Rows<double> to) { return scale(run, x, number(2.0), to); });
    const Matrix<double> sum = run[add(run, x, other, factors.data())];
    EXPECT_LE((sum - a - b * factors.asDiagonal()).cwiseAbs().maxCoeff(), 1e-14);
  });
}

TEST(Elementwise, TheIdentityCopiesNothing) {
  in_a_batch([](Batch<double>& run, const Matrix<double>& a, const Matrix<double>&) {
    EXPECT_EQ(activate(run, input_rows<double>(a), Activation::identity).data, a.data());
  });
}

TEST(Elementwise, MayBeReadAndWrittenInOnePlace) {
  in_a_batch([](Batch<double>& run, Matrix<double> a, const Matrix<double>& b) {
    const Matrix<double> product = a.cwiseProduct(b);
    const Rows<double> x(a);
    multiply(run, x, input_rows<double>(b), x);
    EXPECT_TRUE(same_bits(a, product));
    activate(run, x, Activation::relu, x);
    EXPECT_TRUE(same_bits(a, Matrix<double>(product.cwiseMax(0))));
  });
}

TEST(Elementwise, RefusesDifferentShapes) {
  in_a_batch([](Batch<double>& run, const Matrix<double>& a, const Matrix<double>& b) {
    const auto x = input_rows<double>(a), narrow = input_rows<double>(b.leftCols(3)), low = input_rows<double>(b.topRows(2));
    EXPECT_EQ(message_of<ShapeError>([&] { add(run, x, narrow); }), "add: a is 4 × 11 and b is 4 × 3, expected equal shapes.");
    EXPECT_EQ(message_of<ShapeError>([&] { multiply(run, low, x); }),
              "multiply: a is 2 × 11 and b is 4 × 11, expected equal shapes.");
  });
}

TEST(Elementwise, ActivatesRowsOfAnyWidth) {
  for (Index columns = 1; columns <= 40; ++columns) {
    const Matrix<float> x = random_matrix<float>(37, columns, 5);
    Matrix<float> larger = Matrix<float>::Constant(39, columns + 3, -7);
    Workspace<float> workspace;
    const auto frame = workspace.frame();
    Batch<float> run(workspace, Sequences::single(37));
    activate(run, input_rows<float>(x), Activation::relu2, Rows<float>(larger.block(1, 2, 37, columns)));
    const Matrix<float> positive = x.cwiseMax(0);
    EXPECT_TRUE(same_bits(Matrix<float>(larger.block(1, 2, 37, columns)), Matrix<float>(positive.cwiseProduct(positive))))
        << columns;
    larger.block(1, 2, 37, columns).setConstant(-7);
    EXPECT_TRUE((larger.array() == -7).all()) << columns;
  }
}

TEST(Elementwise, EveryActivationIsAnOp) {
  for (const auto& [activation, name] : names_of(Activation{})) {
    SCOPED_TRACE(name);
    expect_op([act = activation](auto& run, const auto& x, const auto& to) { return activate(run, x, act, to); },
              {.in = 11, .out = 11});
  }
}

/// A learned scale per channel.
template <class T>
struct Factors {
  using Scalar = T;
  Vector<T> factors;
  explicit Factors(Index count) : factors(test::random_vector<T>(count, 5)) {}
  static constexpr auto fields() { return std::tuple{field("factors", &Factors::factors, Role::norm)}; }
};

TEST(Elementwise, GatingSumsAndScalesAreOps) {
  const auto gate = [](auto& run, const auto& x, const auto& to) {
    return multiply(run, run.columns(x, 0, 5), run.columns(x, 5, 5), to);
  };
  const auto square = [](auto& run, const auto& x, const auto& to) { return multiply(run, x, x, to); };
  const auto sum = [](auto& run, const auto& x, const auto& to) {
    return add(run, run.columns(x, 0, 5), run.columns(x, 5, 5), nullptr, to);
  };
  expect_op(gate, {.in = 10, .out = 5});
  expect_op(square, {.in = 10, .out = 10});
  expect_op(sum, {.in = 10, .out = 5});
  expect_op<Factors>(5,
                     [](auto& run, const auto& p, const auto& x, const auto& to) {
                       return add(run, run.columns(x, 0, 5), run.columns(x, 5, 5), p.factors.data(), to);
                     },
                     {.in = 10, .out = 5});
  expect_op(
      [](auto& run, const auto& x, const auto& to) {
        using T = typename std::remove_cvref_t<decltype(run)>::Scalar;
        static const auto factors = [] {
          std::array<T, 10> numbers{};
          std::iota(numbers.begin(), numbers.end(), T{2});
          return numbers;
        }();
        return scale(run, x, per_channel(factors.data()), to);
      },
      {.in = 10, .out = 10});
}

}  // namespace
}  // namespace gated::elementwise_test
