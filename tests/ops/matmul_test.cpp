#include "gated/ops/matmul.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/core/allocations.hpp"
#include "tests/core/numbers.hpp"

namespace gated {
namespace {

using test::random_matrix;
using test::random_vector;
using test::same_bits;

using Exact = Matrix<long double>;

/// a · b, and the sum of the products' sizes, by which rounding errors are measured.
struct Product {
  Exact value, size;
};

template <class T>
Product exact_product(const Matrix<T>& a, const Matrix<T>& b) {
  Product result{Exact::Zero(a.rows(), b.cols()), Exact::Zero(a.rows(), b.cols())};
  for (Index i = 0; i < a.rows(); ++i) {
    for (Index k = 0; k < a.cols(); ++k) {
      for (Index j = 0; j < b.cols(); ++j) {
        const long double term = static_cast<long double>(a(i, k)) * static_cast<long double>(b(k, j));
        result.value(i, j) += term;
        result.size(i, j) += std::fabs(term);
      }
    }
  }
  return result;
}

template <class T>
::testing::AssertionResult is_product(const Matrix<T>& y, const Matrix<T>& a, const Matrix<T>& b) {
  const Product expected = exact_product(a, b);
  const auto epsilon = static_cast<long double>(std::numeric_limits<T>::epsilon());
  for (Index i = 0; i < y.rows(); ++i) {
    for (Index j = 0; j < y.cols(); ++j) {
      const long double bound = epsilon * static_cast<long double>(a.cols()) * expected.size(i, j);
      if (const auto result = test::close(y(i, j), expected.value(i, j), bound); !result) {
        return ::testing::AssertionFailure() << "at (" << i << ", " << j << "): " << result.message();
      }
    }
  }
  return ::testing::AssertionSuccess();
}

template <class T>
class MatmulOf : public ::testing::Test {
 protected:
  static constexpr Index panel_width = detail::gemm::panel_columns<T>;
  static constexpr Index tile_height = detail::gemm::tile_rows;
  Workspace<T> workspace;

  /// a · b into memory that held NaN.
  Matrix<T> product(const Operand<T>& a, const Operand<T>& b) {
    Matrix<T> y = Matrix<T>::Constant(a.rows, b.columns, std::numeric_limits<T>::quiet_NaN());
    matmul(a, b, y, workspace);
    return y;
  }
};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(MatmulOf, Scalars, );

TYPED_TEST(MatmulOf, EqualsTheTripleLoopForEveryShapeAndTranspose) {
  using T = TypeParam;
  const Index tile = this->tile_height, panel = this->panel_width;
  for (const Index rows : {Index{0}, Index{1}, Index{2}, tile - 1, tile, tile + 1, 2 * tile + 3}) {
    for (const Index columns :
         {Index{0}, Index{1}, panel / 2, panel / 2 + 1, panel - 1, panel, panel + 1, 2 * panel + 3, 5 * panel + 3}) {
      for (const Index depth : {Index{0}, Index{1}, Index{2}, panel / 2, panel / 2 + 1, Index{37}}) {
        const Matrix<T> a = random_matrix<T>(rows, depth, 1), b = random_matrix<T>(depth, columns, 2);
        const Matrix<T> at = a.transpose(), bt = b.transpose();
        const auto shape = text(rows, " × ", depth, " · ", depth, " × ", columns);
        const Matrix<T> plain = this->product(a, b);
        ASSERT_TRUE(is_product(plain, a, b)) << shape;
        ASSERT_TRUE(same_bits(this->product(a, transposed<T>(bt)), plain)) << shape << ", b transposed";
        ASSERT_TRUE(same_bits(this->product(transposed<T>(at), b), plain)) << shape << ", a transposed";
        ASSERT_TRUE(same_bits(this->product(transposed<T>(at), transposed<T>(bt)), plain)) << shape << ", both transposed";
      }
    }
  }
}

TYPED_TEST(MatmulOf, EqualsTheTripleLoopBeyondOneBlockOfRows) {
  using T = TypeParam;
  const Matrix<T> a = random_matrix<T>(detail::gemm::block_rows + 5, 9, 3), b = random_matrix<T>(9, this->panel_width + 2, 4);
  EXPECT_TRUE(is_product(this->product(a, b), a, b));
}

TYPED_TEST(MatmulOf, OfTwoByTwoIsAsByHand) {
  Matrix<TypeParam> a(2, 2), b(2, 2), expected(2, 2);
  a << 1, 2, 3, 4;
  b << 5, 6, 7, 8;
  expected << 19, 22, 43, 50;
  EXPECT_TRUE(same_bits(this->product(a, b), expected));
  expected << 17, 23, 39, 53;
  EXPECT_TRUE(same_bits(this->product(a, transposed<TypeParam>(b)), expected));
}

TYPED_TEST(MatmulOf, OverNoDepthIsZero) {
  const Matrix<TypeParam> a(3, 0), b(0, 5);
  EXPECT_TRUE(same_bits(this->product(a, b), Matrix<TypeParam>::Zero(3, 5)));
}

TYPED_TEST(MatmulOf, ReadsAndWritesBlocksOfLargerMatrices) {
  using T = TypeParam;
  constexpr Index k = 11;
  for (const auto& [m, n] :
       {std::pair{this->tile_height + 2, this->panel_width + 3}, std::pair{Index{1}, 5 * this->panel_width + 3}}) {
    const Matrix<T> big_a = random_matrix<T>(m + 4, k + 5, 5), big_b = random_matrix<T>(k + 3, n + 4, 6),
                    big_bt = random_matrix<T>(n + 2, k + 6, 7);
    const Matrix<T> a = big_a.block(2, 3, m, k), b = big_b.block(1, 2, k, n), bt = big_bt.block(1, 4, n, k);

    Matrix<T> y = Matrix<T>::Constant(m + 2, n + 5, -7);
    matmul(ConstView<T>(big_a.block(2, 3, m, k)), ConstView<T>(big_b.block(1, 2, k, n)), y.block(1, 2, m, n), this->workspace);
    EXPECT_TRUE(same_bits(y.block(1, 2, m, n), this->product(a, b)));
    y.block(1, 2, m, n).setConstant(-7);
    EXPECT_TRUE((y.array() == T{-7}).all()) << "something around the destination was written";

    matmul(ConstView<T>(big_a.block(2, 3, m, k)), transposed<T>(ConstView<T>(big_bt.block(1, 4, n, k))), y.block(1, 2, m, n),
           this->workspace);
    EXPECT_TRUE(same_bits(y.block(1, 2, m, n), this->product(a, transposed<T>(bt))));
    y.block(1, 2, m, n).setConstant(-7);
    EXPECT_TRUE((y.array() == T{-7}).all()) << "something around the destination was written";
  }
}

TYPED_TEST(MatmulOf, TakesMatricesViewsAndWorkspaceMemoryAlike) {
  using T = TypeParam;
  Matrix<T> a = random_matrix<T>(4, 3, 8), b = random_matrix<T>(3, 5, 9);
  const Matrix<T> expected = this->product(a, b);
  View<T> view_a = a;
  const auto frame = this->workspace.frame();
  MatrixMap<T> map_b = this->workspace.matrix(3, 5);
  map_b = b;
  MatrixMap<T> y = this->workspace.matrix(4, 5);
  matmul(view_a, map_b, y, this->workspace);
  EXPECT_TRUE(same_bits(y, expected));
}

TYPED_TEST(MatmulOf, GivesEqualBitsForAnyNumberOfThreads) {
  using T = TypeParam;  // large enough that threads do run at the same time
  const Matrix<T> a = random_matrix<T>(detail::gemm::block_rows + 30, 200, 10);
  const Matrix<T> b = random_matrix<T>(200, 7 * this->panel_width + 1, 11);
  const Matrix<T> row = random_matrix<T>(1, 2000, 12), square = random_matrix<T>(2000, 2000, 13);
  const Matrix<T> one = this->product(a, b), one_row = this->product(row, square);
  for (const int threads : {2, 3}) {
    Workspace<T> several(Threads{threads});
    Matrix<T> y(one.rows(), one.cols()), y_row(1, 2000);
    matmul(a, b, y, several);
    EXPECT_TRUE(same_bits(y, one)) << threads << " threads";
    matmul(row, square, y_row, several);
    EXPECT_TRUE(same_bits(y_row, one_row)) << threads << " threads";
  }
}

TYPED_TEST(MatmulOf, GivesARowTheSameBitsWhateverRowsStandAroundIt) {
  using T = TypeParam;
  const Index rows = 3 * this->tile_height - 1;
  const Matrix<T> a = random_matrix<T>(rows, 53, 12), b = random_matrix<T>(53, 5 * this->panel_width + 3, 13),
                  bt = b.transpose();
  const auto bias = random_vector<T>(b.cols(), 14);
  const Operand<T> forms[] = {b, transposed<T>(bt)};
  for (const Operand<T>& factor : forms) {
    Matrix<T> whole(rows, b.cols());
    matmul(a, factor, whole, this->workspace, AddBias<T>{bias}, Activate{Activation::gelu});
    for (Index count = 1; count <= rows; ++count) {  // tiles of every height
      for (Index i = 0; i + count <= rows; ++i) {
        Matrix<T> alone(count, b.cols());
        matmul(ConstView<T>(a.middleRows(i, count)), factor, alone, this->workspace, AddBias<T>{bias},
               Activate{Activation::gelu});
        ASSERT_TRUE(same_bits(alone, whole.middleRows(i, count))) << count << " rows from " << i;
      }
    }
  }
}

TYPED_TEST(MatmulOf, OfALowerTriangleEqualsTheWholeProductToTheBitAndReadsNoFurther) {
  constexpr Index height = TestFixture::tile_height, n = 3 * height + 2, columns = 4 * TestFixture::panel_width + 3;
  constexpr Index crowded = crowding_bytes / Index{sizeof(TypeParam)} - n;
  for (const Index diagonal : {Index{0}, Index{1}, height, n, crowded}) {
    const Index depth = diagonal + n;
    Matrix<TypeParam> a = random_matrix<TypeParam>(n, depth, 1);
    for (Index i = 0; i < n; ++i) {
      a.row(i).tail(std::max<Index>(depth - diagonal - i - 1, 0)).setZero();
    }
    Matrix<TypeParam> b = random_matrix<TypeParam>(depth, columns, 2), whole(n, columns), y(n, columns);
    matmul<TypeParam>(a, b, whole, this->workspace);
    b.bottomRows(n - height).setConstant(std::numeric_limits<TypeParam>::quiet_NaN());  // behind the first rows' triangle
    matmul<TypeParam>(lower<TypeParam>(a, diagonal), b, y, this->workspace);
    EXPECT_TRUE(same_bits(Matrix<TypeParam>(y.topRows(height)), Matrix<TypeParam>(whole.topRows(height)))) << diagonal;
    b = random_matrix<TypeParam>(depth, columns, 2);
    matmul<TypeParam>(lower<TypeParam>(a, diagonal), b, y, this->workspace);
    EXPECT_TRUE(same_bits(y, whole)) << diagonal;
    y.row(0).setConstant(std::numeric_limits<TypeParam>::quiet_NaN());
    matmul<TypeParam>(lower<TypeParam>(ConstView<TypeParam>(a.topRows(1)), diagonal), b, y.topRows(1), this->workspace);
    EXPECT_TRUE(same_bits(y, whole)) << "the first row alone, " << diagonal;
  }
}

TYPED_TEST(MatmulOf, LetsNaNAndInfinityIntoTheirRowAndColumnOnly) {
  using T = TypeParam;
  Matrix<T> a = random_matrix<T>(this->tile_height + 1, 6, 15), b = random_matrix<T>(6, this->panel_width + 5, 16);
  a(2, 3) = std::numeric_limits<T>::quiet_NaN();
  b(1, 4) = std::numeric_limits<T>::infinity();
  const Matrix<T> y = this->product(a, b);
  for (Index i = 0; i < y.rows(); ++i) {
    for (Index j = 0; j < y.cols(); ++j) {
      EXPECT_EQ(std::isnan(y(i, j)), i == 2) << i << ", " << j;
      EXPECT_EQ(std::isinf(y(i, j)), i != 2 && j == 4) << i << ", " << j;
    }
  }
}

TYPED_TEST(MatmulOf, AllocatesNothingAfterTheFirstCallOfAShape) {
  using T = TypeParam;
  const Matrix<T> a = random_matrix<T>(20, 300, 17), weight = random_matrix<T>(70, 300, 18);
  const auto bias = random_vector<T>(70, 19);
  Matrix<T> y = Matrix<T>::Zero(20, 70);
  const auto call = [&] {
    matmul(a, transposed<T>(weight), y, this->workspace, AddBias<T>{bias}, Activate{Activation::silu}, Add<T>{ConstView<T>(y)});
  };
  call();
  EXPECT_EQ(test::allocations_during(call), 0);
}

TYPED_TEST(MatmulOf, RefusesShapesThatDoNotFit) {
  using T = TypeParam;
  const Matrix<T> a(2, 3), b(4, 5);
  Matrix<T> y(2, 5);
  EXPECT_EQ(test::message_of<ShapeError>([&] { matmul(a, b, y, this->workspace); }),
            "matmul: a is 2 × 3 and b is 4 × 5, expected as many columns of a as rows of b.");
  const Matrix<T> fits(3, 5);
  Matrix<T> wide(2, 6);
  EXPECT_EQ(test::message_of<ShapeError>([&] { matmul(a, fits, wide, this->workspace); }),
            "matmul: y is 2 × 6, expected 2 × 5. Outputs are written in place and never resized.");
  EXPECT_THROW(matmul(transposed<T>(a), fits, y, this->workspace), ShapeError);
}

/// One product, to which stages are applied. Its sizes leave remainders in every direction.
template <class T>
class EpilogueOf : public ::testing::Test {
 protected:
  Index rows = detail::gemm::tile_rows + 3, columns = detail::gemm::panel_columns<T> + 3;
  Matrix<T> a = random_matrix<T>(rows, 7, 20), b = random_matrix<T>(7, columns, 21),
            other = random_matrix<T>(rows, columns, 22);
  Vector<T> bias = random_vector<T>(columns, 23), row_bias = random_vector<T>(rows, 24);
  Workspace<T> workspace;
  Matrix<T> plain = with();

  template <class... Stages>
  Matrix<T> with(const Stages&... stages) {
    Matrix<T> y = Matrix<T>::Constant(rows, columns, std::numeric_limits<T>::quiet_NaN());
    matmul(a, b, y, workspace, stages...);
    return y;
  }

  /// Expects y_ij = f(product_ij, i, j), computed in long double, up to rounding.
  template <class F>
  void expect_elements(const Matrix<T>& y, const F& f) {
    for (Index i = 0; i < rows; ++i) {
      for (Index j = 0; j < columns; ++j) {
        const long double expected = f(static_cast<long double>(plain(i, j)), i, j);
        const long double bound = 16 * static_cast<long double>(std::numeric_limits<T>::epsilon()) * (10 + std::fabs(expected));
        ASSERT_TRUE(test::close(y(i, j), expected, bound)) << i << ", " << j;
      }
    }
  }
};
TYPED_TEST_SUITE(EpilogueOf, Scalars, );

TYPED_TEST(EpilogueOf, AddsABiasToEachColumn) {
  this->expect_elements(this->with(AddBias<TypeParam>{this->bias}),
                        [&](long double x, Index, Index j) { return x + this->bias(j); });
}

TYPED_TEST(EpilogueOf, AddsNothingForAnEmptyBias) {
  const Vector<TypeParam> none;
  EXPECT_TRUE(same_bits(this->with(AddBias<TypeParam>{none}), this->plain));
}

TYPED_TEST(EpilogueOf, AddsABiasToEachRow) {
  this->expect_elements(this->with(AddRowBias<TypeParam>{this->row_bias.data()}),
                        [&](long double x, Index i, Index) { return x + this->row_bias(i); });
}

TYPED_TEST(EpilogueOf, Scales) {
  this->expect_elements(this->with(Scale<TypeParam>{TypeParam(0.3)}),
                        [&](long double x, Index, Index) { return x * static_cast<long double>(TypeParam(0.3)); });
}

TYPED_TEST(EpilogueOf, Activates) {
  this->expect_elements(this->with(Activate{Activation::tanh}), [](long double x, Index, Index) { return std::tanh(x); });
  this->expect_elements(this->with(Activate{Activation::relu2}),
                        [](long double x, Index, Index) { return std::max(x, 0.0L) * std::max(x, 0.0L); });
}

TYPED_TEST(EpilogueOf, ActivatesTheSumWithABias) {
  using T = TypeParam;
  const auto silu = [&](long double x, Index, Index j) {
    const long double sum = x + static_cast<long double>(this->bias(j));
    return sum / (1 + std::exp(-sum));
  };
  const AddBias<T> add{this->bias};
  const Activate activate{Activation::silu};
  this->expect_elements(this->with(add, activate), silu);
  this->expect_elements(this->with(add, activate, Multiply<T>{this->other}),
                        [&](long double x, Index i, Index j) { return silu(x, i, j) * this->other(i, j); });
  const Vector<T> none;
  EXPECT_TRUE(same_bits(this->with(AddBias<T>{none}, activate), this->with(activate)));
}

TYPED_TEST(EpilogueOf, ActivatesIntoABlockOfALargerMatrixOfAnyWidth) {
  using T = TypeParam;
  for (Index width = 1; width <= this->columns; ++width) {
    const Matrix<T> part = this->b.leftCols(width);
    const Vector<T> its_bias = this->bias.head(width);
    Matrix<T> y = Matrix<T>::Constant(this->rows + 2, width + 40, -7);
    matmul(this->a, part, y.block(1, 3, this->rows, width), this->workspace, AddBias<T>{its_bias}, Activate{Activation::gelu});
    const Matrix<T> expected = this->with(AddBias<T>{this->bias}, Activate{Activation::gelu}).leftCols(width);
    ASSERT_TRUE(same_bits(y.block(1, 3, this->rows, width), expected)) << width;
    y.block(1, 3, this->rows, width).setConstant(-7);
    ASSERT_TRUE((y.array() == T{-7}).all()) << "something around the destination was written, width " << width;
  }
}

TYPED_TEST(EpilogueOf, AddsAMatrix) {
  this->expect_elements(this->with(Add<TypeParam>{this->other}),
                        [&](long double x, Index i, Index j) { return x + this->other(i, j); });
}

TYPED_TEST(EpilogueOf, GatesWithAMatrix) {
  this->expect_elements(this->with(Multiply<TypeParam>{this->other}),
                        [&](long double x, Index i, Index j) { return x * this->other(i, j); });
}

TYPED_TEST(EpilogueOf, ReadsBlocksOfLargerMatrices) {
  using T = TypeParam;
  const Matrix<T> larger = random_matrix<T>(this->rows + 2, this->columns + 9, 25);
  const auto block = larger.block(1, 4, this->rows, this->columns);
  this->expect_elements(this->with(Multiply<T>{block}, Add<T>{block}),
                        [&](long double x, Index i, Index j) { return x * block(i, j) + block(i, j); });
}

TYPED_TEST(EpilogueOf, AppliesStagesInTheOrderGiven) {
  using T = TypeParam;
  const Scale<T> twice{2};
  const AddBias<T> add{this->bias};
  this->expect_elements(this->with(add, twice), [&](long double x, Index, Index j) { return (x + this->bias(j)) * 2; });
  this->expect_elements(this->with(twice, add), [&](long double x, Index, Index j) { return x * 2 + this->bias(j); });
  this->expect_elements(
      this->with(AddRowBias<T>{this->row_bias.data()}, Multiply<T>{this->other}, add, Activate{Activation::sigmoid}),
      [&](long double x, Index i, Index j) {
        return 1 / (1 + std::exp(-((x + this->row_bias(i)) * this->other(i, j) + this->bias(j))));
      });
}

TYPED_TEST(EpilogueOf, AddsToWhatTheDestinationHolds) {
  using T = TypeParam;
  Matrix<T> y = this->other;
  matmul(this->a, this->b, y, this->workspace, Add<T>{ConstView<T>(y)});
  EXPECT_TRUE(same_bits(y, this->with(Add<T>{this->other})));
}

TYPED_TEST(EpilogueOf, SeesPositionsOfTheWholeWhenShifted) {
  using T = TypeParam;
  const Index row = 2, column = 5;
  const Matrix<T> whole = random_matrix<T>(this->rows + row, this->columns + column, 26);
  const auto wide_bias = random_vector<T>(this->columns + column, 27), tall_bias = random_vector<T>(this->rows + row, 28);
  this->expect_elements(this->with(shifted(Add<T>{whole}, row, column), shifted(AddBias<T>{wide_bias}, row, column),
                                   shifted(AddRowBias<T>{tall_bias.data()}, row, column)),
                        [&](long double x, Index i, Index j) {
                          return x + whole(i + row, j + column) + wide_bias(j + column) + tall_bias(i + row);
                        });
}

/// A stage that notes what it was shown.
template <class T>
struct CountVisits {
  Matrix<int>* visits;
  Simd<T> operator()(Position at, Simd<T> value) const {
    EXPECT_GE(at.lanes, 1);
    EXPECT_LE(at.lanes, Simd<T>::width);
    for (Index k = 0; k < at.lanes; ++k) {
      ++(*visits)(at.row, at.column + k);
    }
    return value;
  }
};

TYPED_TEST(EpilogueOf, VisitsEachElementOnce) {
  Matrix<int> visits = Matrix<int>::Zero(this->rows, this->columns);
  this->with(CountVisits<TypeParam>{&visits});
  EXPECT_TRUE((visits.array() == 1).all());
}

}  // namespace
}  // namespace gated
