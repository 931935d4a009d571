#include "gated/ops/bf16_products.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "gated/layers/spatial_projection.hpp"
#include "gated/models/gmlp.hpp"
#include "gated/models/prepare.hpp"
#include "tests/core/allocations.hpp"
#include "tests/core/numbers.hpp"
#include "tests/ops/plain_tiles.hpp"

namespace gated::bf16_products_test {
namespace {

using test::random_matrix;
using test::same_bits;

Matrix<float> rounded(const Matrix<float>& x) {
  return x.unaryExpr([](float number) { return static_cast<float>(static_cast<Eigen::bfloat16>(number)); });
}

::testing::AssertionResult is_product(const Matrix<float>& y, const Matrix<float>& a, const Matrix<float>& b) {
  const Matrix<double> left = rounded(a).cast<double>(), right = rounded(b).cast<double>();
  const Matrix<double> expected = left * right, sizes = left.cwiseAbs() * right.cwiseAbs();
  const double epsilon = std::numeric_limits<float>::epsilon() * static_cast<double>(std::max<Index>(a.cols(), 1));
  for (Index i = 0; i < y.rows(); ++i) {
    for (Index j = 0; j < y.cols(); ++j) {
      if (const auto result = test::close(static_cast<double>(y(i, j)), expected(i, j), epsilon * sizes(i, j)); !result) {
        return ::testing::AssertionFailure() << "at (" << i << ", " << j << "): " << result.message();
      }
    }
  }
  return ::testing::AssertionSuccess();
}

Matrix<float> product_in(Workspace<float>& workspace, const Operand<float>& a, const Operand<float>& b) {
  Matrix<float> y = Matrix<float>::Constant(a.rows, b.columns, std::numeric_limits<float>::quiet_NaN());
  matmul(a, b, y, workspace);
  return y;
}

/// A fixture for tests that need a CPU with bf16 products.
class Bf16Product : public ::testing::Test {
 protected:
  Bf16Product() { workspace.use(bf16_products()); }
  void SetUp() override {
    if (bf16_products() == nullptr) {
      GTEST_SKIP() << "no AVX512-BF16, or other kernels are in use";
    }
  }

  Matrix<float> product(const Operand<float>& a, const Operand<float>& b) { return product_in(workspace, a, b); }

  Workspace<float> workspace;
};

TEST_F(Bf16Product, MultipliesRoundedFactorsForEveryShape) {
  for (const Index rows : {0, 1, 2, 3, 6, 13, 14, 15, 31}) {
    for (const Index columns : {0, 1, 15, 16, 17, 31, 32, 33, 70}) {
      for (const Index depth : {0, 1, 2, 3, 30, 31, 32, 33, 65}) {
        const Matrix<float> a = random_matrix<float>(rows, depth, 1), b = random_matrix<float>(depth, columns, 2);
        const Matrix<float> at = a.transpose(), bt = b.transpose();
        const auto shape = text(rows, " × ", depth, " · ", depth, " × ", columns);
        const Matrix<float> by_columns = product(transposed(at), b);  // first, while scratch holds another a
        const Matrix<float> plain = product(a, b);
        ASSERT_TRUE(is_product(plain, a, b)) << shape;
        ASSERT_TRUE(same_bits(by_columns, plain)) << shape << ", a transposed";
        Matrix<float> spread = Matrix<float>::Constant(rows, 2 * depth, 7);
        spread(Eigen::all, Eigen::seqN(0, depth, 2)) = a;
        ASSERT_TRUE(same_bits(product(Operand<float>(spread.data(), rows, depth, 2 * depth, 2), b), plain))
            << shape << ", every second column of a matrix";
        ASSERT_TRUE(same_bits(product(a, transposed(bt)), plain)) << shape << ", b transposed";
        ASSERT_TRUE(same_bits(product(transposed(at), transposed(bt)), plain)) << shape << ", both transposed";
      }
    }
  }
}

TEST_F(Bf16Product, RoundsToNearestTiesToEvenAndDenormalsToZero) {
  const float step = 1.0f / 128;  // spacing of bf16 numbers just above 1
  Matrix<float> a(1, 6);
  a << 1 + step / 2, 1 + 3 * step / 2, 1 + step * 0.51f, -1 - step / 2, 1e-40f, 3;
  const Matrix<float> identity = Matrix<float>::Identity(6, 6);
  Matrix<float> expected(1, 6);
  expected << 1, 1 + 2 * step, 1 + step, -1, 0, 3;
  EXPECT_TRUE(same_bits(product(a, identity), expected));
  EXPECT_TRUE(same_bits(product(identity, transposed(a)), Matrix<float>(expected.transpose())));
}

TEST_F(Bf16Product, ComputesEachRowIndependently) {
  const Matrix<float> a = random_matrix<float>(41, 53, 12), b = random_matrix<float>(53, 67, 13);
  const Matrix<float> whole = product(a, b);
  for (Index count = 1; count <= a.rows(); ++count) {
    for (const Index i : {Index{0}, (a.rows() - count) / 2, a.rows() - count}) {
      ASSERT_TRUE(same_bits(product(ConstView<float>(a.middleRows(i, count)), b), whole.middleRows(i, count))) << count;
    }
  }
}

TEST_F(Bf16Product, IsBitEqualForAnyNumberOfThreads) {
  const Matrix<float> a = random_matrix<float>(1030, 201, 10), b = random_matrix<float>(201, 230, 11);
  const Matrix<float> row = random_matrix<float>(1, 2000, 12), square = random_matrix<float>(2000, 2000, 13);
  const Matrix<float> one = product(a, b), one_row = product(row, square);
  ASSERT_TRUE(is_product(one, a, b));
  for (const int threads : {2, 3}) {
    Workspace<float> several(Threads{threads});
    several.use(bf16_products());
    EXPECT_TRUE(same_bits(product_in(several, a, b), one)) << threads;
    EXPECT_TRUE(same_bits(product_in(several, row, square), one_row)) << threads;
  }
}

TEST_F(Bf16Product, ReadsPreparedWeightsOfEveryFormat) {
  Random random(3);
  for (const Index in : {31, 64}) {
    Linear<float> layer(in, 70, false);
    fill_normal(layer.weight, 1, random);
    for (const WeightFormat format : {WeightFormat::float32, WeightFormat::bf16, WeightFormat::int8, WeightFormat::int8_rows}) {
      Linear<float> decoded = layer;
      round_weights(decoded, format);
      const auto prepared = prepare(layer, format);
      Workspace<float> with_weights;
      with_weights.use(bf16_products());
      with_weights.use(prepared);
      for (const Index rows : {1, 2, 33}) {
        const auto x = random_matrix<float>(rows, in, 4);
        EXPECT_TRUE(same_bits(product_in(with_weights, x, transposed(layer.weight)), product(x, transposed(decoded.weight))))
            << name_of(format) << ", " << rows << " rows of " << in;
      }
    }
  }
}

TEST_F(Bf16Product, SkipsColumnsPastTheDiagonal) {
  const Matrix<float> a = random_matrix<float>(40, 8, 1), b = random_matrix<float>(8, 100, 2);
  const Matrix<float> whole = product(a, b);
  Matrix<float> y = Matrix<float>::Zero(40, 100);
  matmul(a, b, y, workspace, {.wanted = 3});
  for (Index i = 0; i < 40; ++i) {
    EXPECT_TRUE(same_bits(y.row(i).head(4 + i), whole.row(i).head(4 + i)));
  }
}

/// Above its diagonal, `hidden` is NaN. At last, so is the row of b that only its last row reads.
TEST_F(Bf16Product, MultipliesTriangles) {
  if (bf16_kernels<float>()->corner == nullptr) {
    GTEST_SKIP() << "with AMX, triangles stay in float";
  }
  for (const Index rows : {1, 2, 13, 14, 15, 40}) {
    for (const Index diagonal : {0, 1, 2, 5}) {
      const Index depth = rows + diagonal;
      Matrix<float> a = random_matrix<float>(rows, depth, 1), hidden = a;
      Matrix<float> b = random_matrix<float>(depth, 35, 2);
      for (Index i = 0; i < rows; ++i) {
        a.row(i).tail(depth - diagonal - i - 1).setZero();
        hidden.row(i).tail(depth - diagonal - i - 1).setConstant(std::numeric_limits<float>::quiet_NaN());
      }
      const auto shape = text(rows, " rows, diagonal ", diagonal);
      const Matrix<float> whole = product(a, b);
      ASSERT_TRUE(is_product(whole, a, b)) << shape;
      ASSERT_TRUE(same_bits(product(lower<float>(hidden, diagonal), b), whole)) << shape;
      const Matrix<float> back = random_matrix<float>(rows, 35, 3), at = a.transpose();
      ASSERT_TRUE(same_bits(product(lower<float>(a, diagonal).transposed(), back), product(at, back))) << shape;
      const Index last = rows - 1;
      const Operand<float> row = lower<float>(ConstView<float>(hidden.row(last)), diagonal + last);
      ASSERT_TRUE(same_bits(product(row, b), whole.row(last))) << shape << ", one row";
      b.row(depth - 1).setConstant(std::numeric_limits<float>::quiet_NaN());  // only the last row of a reads it
      ASSERT_TRUE(same_bits(product(lower<float>(hidden, diagonal), b).topRows(last), whole.topRows(last))) << shape << ", NaN";
    }
  }
}

TEST_F(Bf16Product, RunsAWholeModel) {
  Random random(1);
  const Gmlp<float> model({.length = 19, .channels = 48, .hidden = 96, .depth = 3, .attention_width = 16}, random);
  const auto x = random_matrix<float>(3 * 19, 48, 2);
  Workspace<float> in_float;
  const Matrix<float> exact = model.forward(x, Sequences::uniform(3, 19), in_float);
  const Matrix<float> y = model.forward(x, Sequences::uniform(3, 19), workspace);
  const double error = static_cast<double>((y - exact).norm() / exact.norm());
  EXPECT_LE(error, 0.02);
  EXPECT_GE(error, 1e-5) << "computed in float";
  for (Index b = 0; b < 3; ++b) {  // each sequence alone is bit-equal to the batch
    const Matrix<float> alone = model.forward(ConstView<float>(x.middleRows(19 * b, 19)), Sequences::single(19), workspace);
    EXPECT_TRUE(same_bits(alone, y.middleRows(19 * b, 19)));
  }
  Matrix<float> again(y.rows(), y.cols());
  const auto sequences = Sequences::uniform(3, 19);
  EXPECT_EQ(test::allocations_during([&] { model.forward(x, sequences, again, workspace); }), 0);
  EXPECT_TRUE(same_bits(again, y));
}

TEST_F(Bf16Product, StreamsEqualTheBatchBitForBit) {
  Random random(1);
  const Gmlp<float> model({.length = 19, .channels = 48, .hidden = 96, .depth = 2, .causal = true, .attention_width = 16},
                          random);
  const auto x = random_matrix<float>(19, 48, 2);
  const Matrix<float> batch = model.forward(x, Sequences::single(19), workspace);
  Matrix<float> y(19, 48);
  auto state = model.start();
  for (const auto& [first, count] : {std::pair<Index, Index>{0, 7}, {7, 1}, {8, 1}, {9, 10}}) {
    model.extend(x.middleRows(first, count), state, y.middleRows(first, count), workspace);
  }
  EXPECT_TRUE(same_bits(y, batch));
}

TEST_F(Bf16Product, LeavesWindowsAndCausalToeplitzWeightsInFloat) {
  const auto stays_float = [&](const Operand<float>& a, const Matrix<float>& b) {
    Workspace<float> in_float;
    return same_bits(product(a, b), product_in(in_float, a, b));
  };
  const Index length = 9;
  const Matrix<float> b = random_matrix<float>(length, 20, 2);
  Matrix<float> attention = Matrix<float>::Zero(length, length);
  for (Index i = 0; i < length; ++i) {
    attention.row(i).segment(std::max<Index>(i - 3, 0), std::min<Index>(i, 3) + 1).setConstant(0.3f);
  }
  const MatrixMap<float> weights(attention.data(), length, length, Eigen::OuterStride<>(length));
  EXPECT_TRUE(stays_float(detail::band<float>(weights, 0, true, 3), b));
  EXPECT_TRUE(stays_float(detail::band<float>(weights, 0, true, 3).transposed(), b));
  EXPECT_EQ(stays_float(detail::band<float>(weights, 0, true, unlimited_reach), b), bf16_kernels<float>()->corner == nullptr);
  for (const SpatialForm form : {SpatialForm::dense, SpatialForm::toeplitz}) {
    Random random(1);
    SpatialProjection<float> layer({.length = length, .causal = true, .form = form});
    fill_normal(layer.weight, 1, random);
    Workspace<float> scratch;
    const auto frame = scratch.frame();
    const bool expected = form == SpatialForm::toeplitz || bf16_kernels<float>()->corner == nullptr;
    EXPECT_EQ(stays_float(layer.parameters().rows(0, 0, length, length, scratch), b), expected) << name_of(form);
  }
}

TEST(Bf16ProductElsewhere, FallsBackToFloat) {
  const Matrix<float> a = random_matrix<float>(17, 23, 1), b = random_matrix<float>(23, 40, 2);
  const KernelForm before = kernels();
  use_kernels(available_kernels().back());
  const auto* const engine = bf16_products();
  for (const KernelForm form : available_kernels()) {
    use_kernels(form);
    Workspace<float> in_float, in_bf16;
    in_bf16.use(engine);  // an engine of the best form, used with every form
    const bool is_float = same_bits(product_in(in_bf16, a, b), product_in(in_float, a, b));
    EXPECT_EQ(is_float, bf16_products() == nullptr);
    const bool stays = is_float || bf16_kernels<float>()->corner == nullptr;
    EXPECT_EQ(same_bits(product_in(in_bf16, lower<float>(a, 0), b), product_in(in_float, lower<float>(a, 0), b)), stays);
  }
  use_kernels(before);
}

#if GATED_HAS_AMX_KERNELS && GATED_HAS_BF16_KERNELS
template <Index Rows>
void expect_amx_product(Index pairs) {
  const Index width = 32, stride = pairs + 3;
  const auto pairs_of = [](std::uint64_t seed, Index count) {  // each holds two random values in bf16
    const Matrix<float> values = random_matrix<float>(1, 2 * count, seed);
    std::vector<float> words(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto half = [&](std::size_t at) {
        return static_cast<std::uint32_t>(
            Eigen::numext::bit_cast<std::uint16_t>(static_cast<Eigen::bfloat16>(values.data()[at])));
      };
      words[i] = Eigen::numext::bit_cast<float>(half(2 * i) | half(2 * i + 1) << 16);
    }
    return words;
  };
  const auto a = pairs_of(1, Rows * stride), panel = pairs_of(2, pairs * width);
  const auto value = [](float word, int odd) {
    const auto bits = Eigen::numext::bit_cast<std::uint32_t>(word);
    return Eigen::numext::bit_cast<float>(odd != 0 ? bits & 0xffff0000u : bits << 16);
  };
  std::vector<float> tile(static_cast<std::size_t>(Rows * width), 77.0f);
  avx512_bf16::multiply_by_tiles<test::PlainTiles, Rows>(pairs, a.data(), stride, panel.data(), tile.data());
  for (Index row = 0; row < Rows; ++row) {
    for (Index column = 0; column < width; ++column) {
      float expected = 0;
      for (Index first = 0; first < pairs; first += 16) {
        float of[2] = {0, 0};
        for (Index k = first; k < std::min(first + 16, pairs); ++k) {
          for (const int odd : {0, 1}) {
            of[odd] = std::fma(value(a[static_cast<std::size_t>(row * stride + k)], odd),
                               value(panel[static_cast<std::size_t>(k * width + column)], odd), of[odd]);
          }
        }
        expected += of[0] + of[1];
      }
      ASSERT_EQ(tile[static_cast<std::size_t>(row * width + column)], expected) << Rows << " rows, " << pairs << " pairs";
    }
  }
}

TEST(Bf16Kernels, TileProductsForAmx) {
  for (const Index pairs : {0, 1, 7, 15, 16, 17, 33, 48}) {
    expect_amx_product<32>(pairs);
    expect_amx_product<16>(pairs);
    expect_amx_product<8>(pairs);
    expect_amx_product<4>(pairs);
    expect_amx_product<2>(pairs);
    expect_amx_product<1>(pairs);
  }
}
#endif

}  // namespace
}  // namespace gated::bf16_products_test
