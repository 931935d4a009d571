#include "gated/ops/int8_products.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "gated/models/gmlp.hpp"
#include "gated/models/prepare.hpp"
#include "tests/core/allocations.hpp"
#include "tests/core/numbers.hpp"
#include "tests/ops/plain_tiles.hpp"
#include "tests/ops/restores_kernels.hpp"

namespace gated::int8_products_test {
namespace {

using test::random_matrix;
using test::same_bits;

constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();

/// a · b, rounded before it is added: `volatile` prevents contraction into a fused multiply-add.
float times(float a, float b) {
  volatile float product = a * b;
  return product;
}

using Int8Product = test::RestoresKernels;

/// x · wᵀ by the formula that int8_products() documents, in 64-bit integers, for groups of `group` columns.
Matrix<float> stated(const Matrix<float>& x, const Matrix<float>& w, Index group) {
  Matrix<float> y(x.rows(), w.rows());
  const auto code = [](float number, float low, float high) {
    return std::llrint(std::clamp(std::nearbyint(number), low, high));
  };
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index j = 0; j < w.rows(); ++j) {
      volatile float sum = 0;
      for (Index first = 0; first < x.cols(); first += group) {
        const Index count = std::min(group, x.cols() - first);
        const auto row = x.row(i).segment(first, count), part = w.row(j).segment(first, count);
        const float low = std::min(0.0f, row.minCoeff()), range = std::max(0.0f, row.maxCoeff()) - low;
        const bool is_zero = range < 0x1p-100f;
        const float m = is_zero ? 0 : 255 / range, s = is_zero ? 0 : range / 255, t = part.cwiseAbs().maxCoeff() / 127;
        const auto zero = code(times(-low, m), 0, 255);
        long long integers = 0;
        for (Index k = 0; k < count; ++k) {
          const auto q = std::clamp<long long>(code(times(row(k), m), -255, 255) + zero, 0, 255);
          integers += (q - zero) * (t == 0 ? 0 : code(part(k) / t, -127, 127));
        }
        sum = sum + times(times(static_cast<float>(integers), t), s);
      }
      y(i, j) = sum;
    }
  }
  return y;
}

Matrix<float> product_in(Workspace<float>& workspace, const Operand<float>& a, const Operand<float>& b) {
  Matrix<float> y = Matrix<float>::Constant(a.rows, b.columns, 77);
  matmul(a, quantizable(b), y, workspace);
  return y;
}

Matrix<float> product(const Operand<float>& a, const Operand<float>& b, Threads threads = {}) {
  Workspace<float> workspace(std::move(threads));
  workspace.use(int8_products());
  return product_in(workspace, a, b);
}

/// All int8 kernels that this machine can run, both with and without dot-product instructions.
std::vector<std::pair<const char*, const Int8Kernels*>> all_kernels() {
#if GATED_CHOOSES_FORM
  std::vector<std::pair<const char*, const Int8Kernels*>> all{{"sse2", &sse2::int8::kernels}};
  const KernelForm best = available_kernels().back();
  if (best >= KernelForm::avx2) {
    all.emplace_back("avx2", &avx2::int8::kernels);
    if (detail::machine_has_avx_vnni) {
      all.emplace_back("avx2_vnni", &avx2_vnni::int8::kernels);
    }
  }
  if (best >= KernelForm::avx512) {
    all.emplace_back("avx512", &avx512::int8::kernels);
    if (detail::machine_has_avx512_vnni) {
      all.emplace_back("avx512_vnni", &avx512_vnni::int8::kernels);
    }
  }
  return all;
#else
  return {{"baseline", &int8_kernels<float>()}, {"without dot products", &GATED_BASELINE::int8::kernels}};
#endif
}

/// x · wᵀ by the kernels of `table`, with all of w in one panel.
Matrix<float> product_by(const Int8Kernels& table, const Matrix<float>& x, const Matrix<float>& w) {
  const Index width = table.columns, depth = x.cols(), words = (depth + 63) / 64 * 16 * table.words;
  AlignedMemory<float> scales(static_cast<std::size_t>(width));
  AlignedMemory<std::int32_t> sums(static_cast<std::size_t>(width));
  AlignedMemory<std::byte> codes(static_cast<std::size_t>((depth + 3) / 4 * 4 * width));
  AlignedMemory<std::uint32_t> rows_of_codes(static_cast<std::size_t>(words * x.rows()));
  std::vector<RowCode> rows;
  for (Index i = 0; i < x.rows(); ++i) {
    table.encode_row(depth, depth, x.data() + i * depth, 1, words, rows_of_codes.data() + i * words, &rows.emplace_back());
  }
  Matrix<float> columns = Matrix<float>::Zero(depth, width);
  columns.leftCols(w.rows()) = w.transpose();
  table.encode_panel(depth, columns.data(), scales.data(), sums.data(), codes.data());
  const QuantizedPanel panel{WeightFormat::int8_rows, depth, scales.data(), sums.data(), codes.data()};
  Matrix<float> tile(table.tiles.front().rows, width), y(x.rows(), w.rows());
  for (Index row = 0; row < x.rows();) {
    const auto tile_of = std::find_if(table.tiles.begin(), table.tiles.end(),
                                      [&](const Int8Kernels::Tile& t) { return t.rows <= x.rows() - row; });
    tile_of->multiply(depth, rows_of_codes.data() + row * words, words, rows.data() + row, panel, tile.data());
    y.middleRows(row, tile_of->rows) = tile.topLeftCorner(tile_of->rows, w.rows());
    row += tile_of->rows;
  }
  return y;
}

TEST(Int8Kernels, EqualTheirFormulaInEveryForm) {
  for (const auto& [name, table] : all_kernels()) {
    for (const Index rows : {1, 2, 5, 14, 31}) {
      for (const Index depth : {1, 3, 4, 5, 31, 32, 65, 200}) {
        for (const Index columns : {Index{1}, table->columns - 1, table->columns}) {
          const Matrix<float> x = random_matrix<float>(rows, depth, 1), w = random_matrix<float>(columns, depth, 2);
          ASSERT_TRUE(same_bits(product_by(*table, x, w), stated(x, w, depth))) << name << ", " << rows << " × " << depth;
        }
      }
    }
  }
}

/// Among half a million values, some are so close to a tie that a fused multiply-add would round them the other way.
TEST(Int8Kernels, RoundProductsBeforeAdding) {
  for (const auto& [name, table] : all_kernels()) {
    const Index width = table->columns;
    const Matrix<float> x = random_matrix<float>((1 << 19) / width, width, 1), w = Matrix<float>::Identity(width, width) * 127;
    EXPECT_TRUE(same_bits(product_by(*table, x, w), stated(x, w, width))) << name;
  }
}

/// The largest codes would saturate 16-bit sums of pairs: 2 · 255 · 127 > 32767.
TEST(Int8Kernels, AddUpTheLargestCodesExactly) {
  constexpr Index deepest = detail::gemm::deepest_int8;
  for (const auto& [name, table] : all_kernels()) {
    for (const float sign : {1.0f, -1.0f}) {
      const Matrix<float> x = Matrix<float>::Constant(2, deepest, 255), w = Matrix<float>::Constant(2, deepest, sign * 127);
      const Matrix<float> y = product_by(*table, x, w);
      EXPECT_EQ(y(0, 0), sign * static_cast<float>(255.0 * 127 * deepest)) << name;
      const Matrix<float> minus = product_by(*table, -x, w);
      EXPECT_EQ(minus(1, 1), -y(0, 0)) << name;
    }
  }
}

#if GATED_HAS_AMX_KERNELS
TEST(Int8Kernels, TileProductsForAmx) {
  for (const Index words : {1, 7, 8, 15, 16, 17, 31, 40}) {
    const Index padded = (words + 15) / 16 * 16;
    std::vector<std::uint32_t> a(static_cast<std::size_t>(32 * padded));
    std::vector<std::byte> panel(static_cast<std::size_t>(padded * 128));
    Random random(1);
    std::generate(panel.begin(), panel.end(), [&] { return static_cast<std::byte>(random.bits()); });  // including padding
    for (Index row = 0; row < 32; ++row) {
      std::generate_n(a.begin() + row * padded, words, [&] { return static_cast<std::uint32_t>(random.bits()); });
    }
    std::vector<std::int32_t> sums(32 * 32);
    avx512_vnni::sum_two_by_two_tiles<test::PlainTiles>(words, a.data(), padded, panel.data(), sums.data());
    for (Index row = 0; row < 32; ++row) {
      for (Index column = 0; column < 32; ++column) {
        std::int32_t expected = 0;
        for (Index k = 0; k < 4 * words; ++k) {
          expected += static_cast<int>(a[static_cast<std::size_t>(row * padded + k / 4)] >> 8 * (k % 4) & 255) *
                      static_cast<std::int8_t>(panel[static_cast<std::size_t>(128 * (k / 4) + 4 * column + k % 4)]);
        }
        ASSERT_EQ(sums[static_cast<std::size_t>(32 * row + column)], expected) << words << " words, " << row << ", " << column;
      }
    }
  }
}
#endif

TEST_F(Int8Product, EqualsItsFormulaForEveryShapeAndTranspose) {
  for (const KernelForm form : available_kernels()) {
    use_kernels(form);
    for (const Index rows : {0, 1, 2, 13, 14, 15, 60}) {
      for (const Index columns : {0, 1, 16, 33, 70}) {
        for (const Index depth : {1, 3, 32, 65}) {
          const Matrix<float> a = random_matrix<float>(rows, depth, 1), w = random_matrix<float>(columns, depth, 2);
          const Matrix<float> at = a.transpose(), b = w.transpose(), expected = stated(a, w, depth);
          const auto shape = text(rows, " × ", depth, " · ", depth, " × ", columns);
          ASSERT_TRUE(same_bits(product(a, transposed(w)), expected)) << shape;
          ASSERT_TRUE(same_bits(product(a, b), expected)) << shape << ", b by rows";
          ASSERT_TRUE(same_bits(product(transposed(at), b), expected)) << shape << ", a transposed";
        }
      }
    }
  }
}

TEST_F(Int8Product, ReadsPreparedWeights) {
  for (const KernelForm form : available_kernels()) {
    use_kernels(form);
    for (const Index in : {31, 32, 70, 128}) {
      Linear<float> layer(in, 70, false);
      Random random(3);
      fill_normal(layer.weight, 1, random);
      for (const WeightFormat format : {WeightFormat::int8, WeightFormat::int8_rows}) {
        const auto prepared = prepare(layer, format);
        Workspace<float> workspace;
        workspace.use(int8_products());
        workspace.use(prepared);
        const auto x = random_matrix<float>(17, in, 4);
        EXPECT_TRUE(
            same_bits(product_in(workspace, x, transposed(layer.weight)), stated(x, layer.weight, group_size(format, in))))
            << name_of(format) << ", " << in;
      }
    }
  }
}

TEST_F(Int8Product, EncodesPreparedAndPlainFloatWeights) {
  Linear<float> layer(40, 70, false);
  Random random(3);
  fill_normal(layer.weight, 1, random);
  const auto x = random_matrix<float>(17, 40, 4);
  const Matrix<float> unprepared = product(x, transposed(layer.weight));
  const auto prepared = prepare(layer);
  for (const KernelForm form : available_kernels()) {  // the weights are packed for one form only
    use_kernels(form);
    Workspace<float> workspace;
    workspace.use(int8_products());
    workspace.use(prepared);
    EXPECT_TRUE(same_bits(product_in(workspace, x, transposed(layer.weight)), unprepared));
  }
}

TEST_F(Int8Product, UsesFloatProductsForBf16Weights) {
  Linear<float> layer(40, 70, false);
  Random random(3);
  fill_normal(layer.weight, 1, random);
  const auto x = random_matrix<float>(17, 40, 4);
  const auto prepared = prepare(layer, WeightFormat::bf16);
  Workspace<float> integers, floats;
  integers.use(int8_products());
  integers.use(prepared);
  floats.use(prepared);
  EXPECT_TRUE(same_bits(product_in(integers, x, transposed(layer.weight)), product_in(floats, x, transposed(layer.weight))));
}

TEST_F(Int8Product, UsesFloatForScoresAndTriangularOrDeepProducts) {
  const auto expect_float = [](const Operand<float>& a, const Operand<float>& b, Index wanted = -1) {
    Workspace<float> integers, floats;
    integers.use(int8_products());
    Matrix<float> y = Matrix<float>::Zero(a.rows, b.columns), exact = y;
    matmul(a, b, y, integers, {.wanted = wanted});
    matmul(a, b, exact, floats, {.wanted = wanted});
    EXPECT_TRUE(same_bits(y, exact));
  };
  const Matrix<float> a = random_matrix<float>(9, 9, 1), b = random_matrix<float>(9, 9, 2);
  expect_float(a, b);  // like scores: b is not marked as quantizable
  expect_float(lower<float>(a, 0), quantizable(Operand<float>(b)));
  expect_float(a, quantizable(Operand<float>(b)), 0);
  const Index depth = detail::gemm::deepest_int8 + 1;
  const Matrix<float> deep_a = random_matrix<float>(2, depth, 1), deep_b = random_matrix<float>(depth, 3, 2);
  expect_float(deep_a, quantizable(Operand<float>(deep_b)));
}

TEST_F(Int8Product, TreatsRowsOfTinyValuesAsZeros) {
  const Matrix<float> w = random_matrix<float>(40, 33, 2);
  for (const float tiny : {0.0f, 1e-45f, -1e-40f, 0x1p-101f}) {
    Matrix<float> x = random_matrix<float>(3, 33, 1);
    x.row(1).setConstant(tiny);
    const Matrix<float> y = product(x, transposed(w));
    EXPECT_TRUE(y.row(1).isZero(0)) << tiny;
    EXPECT_TRUE(same_bits(y.row(0), stated(x, w, 33).row(0)));
  }
  Matrix<float> some_zero = w;
  some_zero.row(5).setZero();
  EXPECT_TRUE(product(random_matrix<float>(3, 33, 1), transposed(some_zero)).col(5).isZero(0));
}

TEST_F(Int8Product, KeepsNaNAndInfinityInTheirRowOrColumn) {
  for (const KernelForm form : available_kernels()) {
    use_kernels(form);
    const Matrix<float> x = random_matrix<float>(20, 33, 1), w = random_matrix<float>(40, 33, 2);
    const Matrix<float> clean = product(x, transposed(w));
    for (const float bad : {nan, -nan, infinity, -infinity, 3e38f}) {
      for (const Index k : {0, 17, 32}) {
        Matrix<float> bad_x = x, bad_w = w;
        bad_x(7, k) = bad;
        bad_w(9, k) = bad;
        Matrix<float> y = product(bad_x, transposed(w));
        if (bad == 3e38f) {
          bad_x(7, (k + 1) % 33) = -bad;  // the range of the row overflows float
          y = product(bad_x, transposed(w));
        }
        EXPECT_TRUE(y.row(7).array().isNaN().all()) << bad;
        y.row(7) = clean.row(7);
        EXPECT_TRUE(same_bits(y, clean)) << bad;
        if (!std::isfinite(bad)) {
          for (const bool by_rows : {false, true}) {
            const Matrix<float> bad_b = bad_w.transpose();
            y = by_rows ? product(x, bad_b) : product(x, transposed(bad_w));
            EXPECT_TRUE(y.col(9).array().isNaN().all()) << bad;
            y.col(9) = clean.col(9);
            EXPECT_TRUE(same_bits(y, clean)) << bad;
          }
        }
      }
    }
  }
}

TEST_F(Int8Product, ComputesEachRowIndependently) {
  const Matrix<float> a = random_matrix<float>(61, 53, 12), b = random_matrix<float>(53, 67, 13);
  const Matrix<float> whole = product(a, b);
  for (Index count = 1; count <= a.rows(); ++count) {
    for (const Index i : {Index{0}, (a.rows() - count) / 2, a.rows() - count}) {
      ASSERT_TRUE(same_bits(product(ConstView<float>(a.middleRows(i, count)), b), whole.middleRows(i, count))) << count;
    }
  }
}

TEST_F(Int8Product, IsBitEqualForAnyNumberOfThreads) {
  const Matrix<float> a = random_matrix<float>(1030, 201, 10), b = random_matrix<float>(201, 230, 11);
  const Matrix<float> row = random_matrix<float>(1, 2000, 12), square = random_matrix<float>(2000, 700, 13);
  for (const int threads : {2, 3}) {
    EXPECT_TRUE(same_bits(product(a, b, Threads{threads}), product(a, b))) << threads;
    EXPECT_TRUE(same_bits(product(row, square, Threads{threads}), product(row, square))) << threads;
  }
}

TEST_F(Int8Product, RunsAWholeModel) {
  Random random(1);
  const Gmlp<float> model({.length = 19, .channels = 48, .hidden = 96, .depth = 3, .attention_width = 16}, random);
  const auto x = random_matrix<float>(3 * 19, 48, 2);
  Workspace<float> in_float, workspace;
  workspace.use(int8_products());
  const auto sequences = Sequences::uniform(3, 19);
  const Matrix<float> exact = model.forward(x, sequences, in_float);
  const Matrix<float> unprepared = model.forward(x, sequences, workspace);
  const auto prepared = prepare(model, WeightFormat::int8_rows);
  workspace.use(prepared);
  const Matrix<float> y = model.forward(x, sequences, workspace);
  EXPECT_TRUE(same_bits(y, unprepared));
  const double error = static_cast<double>((y - exact).norm() / exact.norm());
  EXPECT_LE(error, 0.02);
  EXPECT_GE(error, 1e-4) << "computed in float";
  for (Index b = 0; b < 3; ++b) {
    const Matrix<float> alone = model.forward(ConstView<float>(x.middleRows(19 * b, 19)), Sequences::single(19), workspace);
    EXPECT_TRUE(same_bits(alone, y.middleRows(19 * b, 19)));
  }
  Matrix<float> again(y.rows(), y.cols());
  model.forward(x, sequences, again, workspace);
  EXPECT_EQ(test::allocations_during([&] { model.forward(x, sequences, again, workspace); }), 0);
  EXPECT_TRUE(same_bits(again, y));
}

#if GATED_CHOOSES_FORM
/// The program that calls gated may have set the flags FTZ and DAZ.
TEST_F(Int8Product, HasTheSameBitsIfSubnormalsAreFlushed) {
  Matrix<float> x = random_matrix<float>(9, 40, 1), w = random_matrix<float>(33, 40, 2);
  x.row(1) *= 1e-30f;
  x.row(2).setConstant(1e-40f);
  x(3, 3) = 1e-42f;
  const Matrix<float> y = product(x, transposed(w));
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);  // FTZ and DAZ
  const Matrix<float> flushed = product(x, transposed(w));
  _mm_setcsr(before);
  EXPECT_TRUE(same_bits(flushed, y));
}
#endif

}  // namespace
}  // namespace gated::int8_products_test
