#include "gated/ops/matmul.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gated/ops/norm.hpp"
#include "tests/core/allocations.hpp"
#include "tests/core/numbers.hpp"

namespace gated::matmul_test {
namespace {

using test::random_matrix;
using test::random_vector;
using test::same_bits;

using Exact = Matrix<long double>;

/// `value` is a · b. `size` is |a| · |b|; rounding errors are proportional to it.
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

/// An out × in weight, packed as in prepare().
template <class T>
PreparedWeights<T> prepare_for_products(const Matrix<T>& weight) {
  const Index width = kernels<ProductKernels<T>>().panel_columns;
  const Index panels = (weight.rows() + width - 1) / width;
  PreparedWeights<T> prepared;
  T* const packed = prepared.add(weight.data(), weight.rows(), weight.cols(), width);
  for (Index panel = 0; panel < panels; ++panel) {
    kernels<ProductKernels<T>>().pack_panel(transposed(weight), panel * width, std::min(width, weight.rows() - panel * width),
                                            packed + panel * width * weight.cols());
  }
  return prepared;
}

template <class T>
class MatmulOf : public ::testing::Test {
 protected:
  const Index panel_width = kernels<ProductKernels<T>>().panel_columns, tile_height = kernels<ProductKernels<T>>().tile_rows;
  Workspace<T> workspace;

  /// a · b, written to a matrix of NaN.
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
        ASSERT_TRUE(same_bits(this->product(a, transposed(bt)), plain)) << shape << ", b transposed";
        ASSERT_TRUE(same_bits(this->product(transposed(at), b), plain)) << shape << ", a transposed";
        ASSERT_TRUE(same_bits(this->product(transposed(at), transposed(bt)), plain)) << shape << ", both transposed";
      }
    }
  }
}

TYPED_TEST(MatmulOf, EqualsTheTripleLoopBeyondOneSlab) {
  using T = TypeParam;
  const Index rows = detail::gemm::slab_rows(Threads{1}) + 5,
              deep = detail::gemm::slab_bytes / 32;  // so deep that one panel fills a slab
  const Index wide = detail::gemm::slab_panels * this->panel_width;
  for (const auto& [depth, columns] :
       {std::pair{Index{9}, wide + this->panel_width + 3}, std::pair{deep, 2 * this->panel_width + 3}}) {
    const Matrix<T> a = random_matrix<T>(rows, depth, 3), b = random_matrix<T>(depth, columns, 4), at = a.transpose();
    const Matrix<T> plain = this->product(a, b), first = this->product(ConstView<T>(a.topRows(5)), b);
    EXPECT_TRUE(is_product(plain, a, b)) << depth << " deep";
    EXPECT_TRUE(same_bits(plain.topRows(5), first)) << depth << " deep: the split into slabs changes the bits";
    EXPECT_TRUE(same_bits(this->product(transposed(at), b), plain)) << depth << " deep, a transposed";
  }
  Workspace<T> shared(Threads{3});
  const Matrix<T> a = random_matrix<T>(detail::gemm::slab_rows(shared.threads()) + 5, 9, 5);
  const Matrix<T> b = random_matrix<T>(9, wide + this->panel_width + 3, 6);
  Matrix<T> y(a.rows(), b.cols());
  matmul(a, b, y, shared);
  EXPECT_TRUE(same_bits(y, this->product(a, b)));
}

TYPED_TEST(MatmulOf, SplitsFewColumnsAndManyRowsAmongThreads) {
  using T = TypeParam;
  int workers = 1;
  Workspace<T> shared(Threads(3, [&](int count, const Work& work) {
    workers = std::max(workers, count);
    for (int i = 0; i < count; ++i) {
      work(i);
    }
  }));
  const Matrix<T> a = random_matrix<T>(20000, 64, 3), b = random_matrix<T>(64, 5, 4);
  Matrix<T> y(a.rows(), b.cols());
  matmul(a, b, y, shared);
  EXPECT_EQ(workers, 3);
  EXPECT_TRUE(same_bits(y, this->product(a, b)));
}

TYPED_TEST(MatmulOf, HandlesTrianglesBeyondOneSlab) {
  using T = TypeParam;
  const Index rows = detail::gemm::slab_rows(Threads{1}) + 5;
  const Matrix<T> a = random_matrix<T>(rows, rows, 3).template triangularView<Eigen::Lower>(), at = a.transpose();
  const Matrix<T> b = random_matrix<T>(rows, 2 * this->panel_width + 3, 4);
  EXPECT_TRUE(same_bits(this->product(lower<T>(a, 0), b), this->product(a, b)));
  EXPECT_TRUE(same_bits(this->product(lower<T>(a, 0).transposed(), b), this->product(at, b)));

  Matrix<T> y = Matrix<T>::Zero(rows, rows);
  const Matrix<T> square = this->product(a, at);
  matmul(a, transposed(a), y, this->workspace, {.wanted = 0});
  for (Index i = 0; i < rows; ++i) {
    ASSERT_TRUE(same_bits(y.row(i).head(i + 1), square.row(i).head(i + 1))) << "row " << i;
  }
  EXPECT_TRUE((y.topRightCorner(2, 2).array() == T{0}).all()) << "unwanted elements were computed";
}

TYPED_TEST(MatmulOf, EqualsAHandComputedProduct) {
  Matrix<TypeParam> a(2, 2), b(2, 2), expected(2, 2);
  a << 1, 2, 3, 4;
  b << 5, 6, 7, 8;
  expected << 19, 22, 43, 50;
  EXPECT_TRUE(same_bits(this->product(a, b), expected));
  expected << 17, 23, 39, 53;
  EXPECT_TRUE(same_bits(this->product(a, transposed(b)), expected));
}

TYPED_TEST(MatmulOf, IsZeroForDepthZero) {
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
    EXPECT_TRUE((y.array() == T{-7}).all()) << "the surroundings of y were overwritten";

    matmul(ConstView<T>(big_a.block(2, 3, m, k)), transposed(ConstView<T>(big_bt.block(1, 4, n, k))), y.block(1, 2, m, n),
           this->workspace);
    EXPECT_TRUE(same_bits(y.block(1, 2, m, n), this->product(a, transposed(bt))));
    y.block(1, 2, m, n).setConstant(-7);
    EXPECT_TRUE((y.array() == T{-7}).all()) << "the surroundings of y were overwritten";
  }
}

TYPED_TEST(MatmulOf, AcceptsMatricesViewsAndWorkspaceMemory) {
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

TYPED_TEST(MatmulOf, IsBitEqualForAnyNumberOfThreads) {
  using T = TypeParam;  // large enough for threads to run concurrently
  const Matrix<T> a = random_matrix<T>(1030, 200, 10);
  const Matrix<T> b = random_matrix<T>(200, 7 * this->panel_width + 1, 11);
  const Matrix<T> row = random_matrix<T>(1, 2000, 12), square = random_matrix<T>(2000, 2000, 13);
  const Matrix<T> one = this->product(a, b), one_row = this->product(row, square);
  const Matrix<T> by_weight = this->product(row, transposed(square));
  const auto prepared = prepare_for_products(square);
  for (const int threads : {2, 3}) {
    Workspace<T> several(Threads{threads});
    Matrix<T> y(one.rows(), one.cols()), y_row(1, 2000);
    matmul(a, b, y, several);
    EXPECT_TRUE(same_bits(y, one)) << threads << " threads";
    matmul(row, square, y_row, several);
    EXPECT_TRUE(same_bits(y_row, one_row)) << threads << " threads";
    matmul(row, transposed(square), y_row, several);
    EXPECT_TRUE(same_bits(y_row, by_weight)) << threads << " threads, a weight";
    several.use(prepared);
    matmul(row, transposed(square), y_row, several);
    EXPECT_TRUE(same_bits(y_row, by_weight)) << threads << " threads, a prepared weight";
  }
}

TYPED_TEST(MatmulOf, ComputesEachRowIndependently) {
  using T = TypeParam;
  const Index rows = 3 * this->tile_height - 1;
  const Matrix<T> a = random_matrix<T>(rows, 53, 12), b = random_matrix<T>(53, 5 * this->panel_width + 3, 13),
                  bt = b.transpose();
  const auto bias = random_vector<T>(b.cols(), 14);
  const Operand<T> forms[] = {b, transposed(bt)};
  for (const Operand<T>& factor : forms) {
    Matrix<T> whole(rows, b.cols());
    const Epilogue<T> epilogue{.bias = bias.data(), .activation = Activation::gelu};
    matmul(a, factor, whole, this->workspace, epilogue);
    for (Index count = 1; count <= rows; ++count) {  // tiles of every height
      for (Index i = 0; i + count <= rows; ++i) {
        Matrix<T> alone(count, b.cols());
        matmul(ConstView<T>(a.middleRows(i, count)), factor, alone, this->workspace, epilogue);
        ASSERT_TRUE(same_bits(alone, whole.middleRows(i, count))) << count << " rows from " << i;
      }
    }
  }
}

/// A NaN or an infinity, which spoils any result that reads it.
template <class T>
T poison(Index i) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  return i % 3 == 0 ? std::numeric_limits<T>::quiet_NaN() : i % 3 == 1 ? infinity : -infinity;
}

/// Calls `f(a, diagonal, bounds)` for lower-triangular matrices `a` of many shapes. Only the first bounds[i] elements of row i
/// belong to the triangle, where bounds[i] = min(depth, `diagonal` + i + 1). The other elements are poison.
template <class T, class F>
void for_each_triangle(Index most_rows, const std::vector<Index>& diagonals, const F& f) {
  for (Index rows = 1; rows <= most_rows; ++rows) {
    for (const Index diagonal : diagonals) {
      for (const Index depth : {diagonal + rows, diagonal + rows + 3, diagonal + (rows + 1) / 2}) {
        Matrix<T> a = random_matrix<T>(rows, depth, static_cast<std::uint64_t>(rows));
        std::vector<Index> bounds;
        for (Index i = 0; i < rows; ++i) {
          bounds.push_back(std::min(depth, diagonal + i + 1));
          for (Index k = bounds.back(); k < depth; ++k) {
            a(i, k) = poison<T>(i + k);
          }
        }
        f(a, diagonal, bounds);
      }
    }
  }
}

TYPED_TEST(MatmulOf, ComputesEachRowOfATriangleIndependently) {
  using T = TypeParam;
  const Index panel = this->panel_width, most = 5 * panel + 3, crowded = crowding_bytes / Index{sizeof(T)};
  for_each_triangle<T>(40, {0, 1, 2, 13, crowded - 40}, [&](const Matrix<T>& a, Index diagonal, const auto& bounds) {
    const Matrix<T> at = a.transpose();
    const bool is_large = diagonal > 100;
    for (const Index columns : is_large ? std::vector<Index>{4 * panel + 1}
                                        : std::vector<Index>{1, panel / 2, panel - 1, panel, panel + 1, 4 * panel, most}) {
      const Matrix<T> b = random_matrix<T>(a.cols(), columns, 2), bt = b.transpose();
      Matrix<T> expected(a.rows(), columns);
      for (Index i = 0; i < a.rows(); ++i) {
        const Index bound = bounds[static_cast<std::size_t>(i)];
        matmul(ConstView<T>(a.row(i).head(bound)), ConstView<T>(b.topRows(bound)), expected.row(i), this->workspace);
      }
      ASSERT_TRUE(expected.allFinite());
      const PreparedWeights<T> prepared = prepare_for_products(bt);
      Workspace<T> with_prepared;
      with_prepared.use(prepared);
      Matrix<T> y(a.rows(), columns);
      const auto expect = [&](const char* form, const Operand<T>& factor, const Operand<T>& other, Workspace<T>& used) {
        y.setConstant(-7);
        matmul(lower<T>(factor, diagonal), other, y, used);
        ASSERT_TRUE(same_bits(y, expected))
            << form << ", " << a.rows() << " × " << a.cols() << " · " << columns << ", diagonal " << diagonal;
      };
      expect("plain", a, b, this->workspace);
      expect("b transposed", a, transposed(bt), this->workspace);
      expect("b prepared", a, transposed(bt), with_prepared);
      expect("a transposed", transposed(at), b, this->workspace);
      expect("both transposed", transposed(at), transposed(bt), this->workspace);
    }
  });
}

TYPED_TEST(MatmulOf, ReadsOnlyRowsOfBWithinTheTriangle) {
  using T = TypeParam;
  const Index panel = this->panel_width;
  for_each_triangle<T>(40, {0, 1, 13}, [&](const Matrix<T>& a, Index diagonal, const auto& bounds) {
    for (const Index columns : {Index{1}, panel, panel + 1}) {
      Matrix<T> b = random_matrix<T>(a.cols(), columns, 2), clean(a.rows(), columns), y(a.rows(), columns);
      matmul(lower<T>(a, diagonal), b, clean, this->workspace);
      for (Index hidden = a.cols() - 1; hidden >= 0; --hidden) {
        const Matrix<T> before = b.row(hidden);
        b.row(hidden).setConstant(poison<T>(hidden));
        matmul(lower<T>(a, diagonal), b, y, this->workspace);
        b.row(hidden) = before;
        const Index first = std::find_if(bounds.begin(), bounds.end(), [&](Index bound) { return bound > hidden; }) -
                            bounds.begin();  // the first row of y that reads row `hidden` of b
        ASSERT_TRUE(same_bits(y.topRows(first), clean.topRows(first)))
            << "row " << hidden << " of b, " << a.rows() << " × " << a.cols() << " · " << columns << ", diagonal " << diagonal;
        ASSERT_FALSE(y.bottomRows(a.rows() - first).array().isFinite().any()) << "these rows must read the poisoned row of b";
      }
    }
  });
}

TYPED_TEST(MatmulOf, TreatsElementsAboveATriangleAsZeros) {
  using T = TypeParam;
  for_each_triangle<T>(40, {0, 5}, [&](const Matrix<T>& a, Index diagonal, const auto& bounds) {
    Matrix<T> zeros = a;
    for (Index i = 0; i < a.rows(); ++i) {
      zeros.row(i).tail(a.cols() - bounds[static_cast<std::size_t>(i)]).setZero();
    }
    const Matrix<T> b = random_matrix<T>(a.cols(), 2 * this->panel_width + 3, 2);
    ASSERT_TRUE(same_bits(this->product(lower<T>(a, diagonal), b), this->product(zeros, b))) << a.rows() << ", " << diagonal;
  });
}

TYPED_TEST(MatmulOf, MultipliesTransposedTriangles) {
  using T = TypeParam;
  for_each_triangle<T>(40, {0, 5, 13}, [&](Matrix<T> a, Index diagonal, const auto& bounds) {
    for (Index i = 0; i < a.rows(); ++i) {
      a.row(i).tail(a.cols() - bounds[static_cast<std::size_t>(i)]).setZero();
    }
    const Matrix<T> at = a.transpose();
    for (const Index columns : {Index{1}, this->panel_width, 4 * this->panel_width, 2 * this->panel_width + 3}) {
      const Matrix<T> b = random_matrix<T>(a.rows(), columns, 2), bt = b.transpose(), expected = this->product(at, b);
      const auto shape = text(a.rows(), " × ", a.cols(), ", diagonal ", diagonal, ", ", columns);
      ASSERT_TRUE(same_bits(this->product(lower<T>(a, diagonal).transposed(), b), expected)) << shape;
      ASSERT_TRUE(same_bits(this->product(lower<T>(a, diagonal).transposed(), transposed(bt)), expected)) << shape;
      ASSERT_TRUE(same_bits(this->product(lower<T>(transposed(at), diagonal).transposed(), b), expected)) << shape;
    }
    // Transposing twice is a no-op.
    const Matrix<T> b = random_matrix<T>(a.cols(), 3, 3);
    ASSERT_TRUE(same_bits(this->product(lower<T>(a, diagonal).transposed().transposed(), b), this->product(a, b)));
  });
}

TYPED_TEST(MatmulOf, KeepsNaNAndInfinityInTheirRowAndColumn) {
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

TYPED_TEST(MatmulOf, AllocatesNothingWhenWarm) {
  using T = TypeParam;
  const Matrix<T> a = random_matrix<T>(20, 300, 17), weight = random_matrix<T>(70, 300, 18);
  const auto bias = random_vector<T>(70, 19);
  Matrix<T> y = Matrix<T>::Zero(20, 70);
  const auto call = [&] {
    matmul(a, transposed(weight), y, this->workspace, {.bias = bias.data(), .activation = Activation::silu, .residual = y});
  };
  call();
  EXPECT_EQ(test::allocations_during(call), 0);
}

TYPED_TEST(MatmulOf, RefusesMismatchedShapes) {
  using T = TypeParam;
  const Matrix<T> a(2, 3), b(4, 5);
  Matrix<T> y(2, 5);
  EXPECT_EQ(test::message_of<ShapeError>([&] { matmul(a, b, y, this->workspace); }),
            "matmul: a is 2 × 3 and b is 4 × 5, expected columns of a = rows of b.");
  const Matrix<T> fits(3, 5);
  Matrix<T> wide(2, 6);
  EXPECT_EQ(test::message_of<ShapeError>([&] { matmul(a, fits, wide, this->workspace); }),
            "matmul: y is 2 × 6, expected 2 × 5. Outputs are written in place and never resized.");
  EXPECT_THROW(matmul(transposed(a), fits, y, this->workspace), ShapeError);
}

/// The codes in `encoded` as prepared weights for `weight`, packed for the kernels in use.
PreparedWeights<float> prepare_codes(const Matrix<float>& weight, const EncodedWeight& encoded) {
  PreparedWeights<float> prepared;
  prepared
      .add(weight.data(), encoded.codes().format, weight.rows(), weight.cols(), kernels<ProductKernels<float>>().panel_columns)
      .fill(encoded.codes());
  return prepared;
}

TEST(Matmul, QuantizedProductsEqualThoseOfDecodedWeights) {
  for (const KernelForm form : available_kernels()) {
    use_kernels(form);
    const Index tile = kernels<ProductKernels<float>>().tile_rows, panel = kernels<ProductKernels<float>>().panel_columns;
    for (const WeightFormat format : {WeightFormat::bf16, WeightFormat::int8, WeightFormat::int8_rows}) {
      for (const Index depth : {Index{1}, Index{7}, Index{32}, Index{33}, Index{100}}) {
        for (const Index columns : {Index{1}, panel - 1, panel, 9 * panel + 3}) {  // one row: two panels per task
          const Matrix<float> weight = random_matrix<float>(columns, depth, 3);
          const auto encoded = EncodedWeight::of(weight.data(), columns, depth, format);
          ASSERT_TRUE(encoded.has_value());
          Matrix<float> rounded(columns, depth);
          encoded->codes().read(std::span<float>(rounded.data(), static_cast<std::size_t>(rounded.size())));
          const auto prepared = prepare_codes(weight, *encoded);
          Workspace<float> plain, small;
          small.use(prepared);
          for (const Index rows : {Index{1}, Index{2}, tile, tile + 1, 3 * tile + 2}) {
            const Matrix<float> a = random_matrix<float>(rows, depth, 4);
            Matrix<float> expected(rows, columns), y(rows, columns);
            matmul(a, transposed(rounded), expected, plain);
            matmul(a, transposed(weight), y, small);
            EXPECT_TRUE(same_bits(y, expected)) << rows << " × " << depth << " × " << columns;
          }
        }
      }
    }
  }
  use_kernels(available_kernels().back());
}

TEST(Matmul, RefusesCodesPackedForOtherKernels) {
  if (available_kernels().size() < 2) {
    GTEST_SKIP() << "this program has kernels of only one form";
  }
  const Matrix<float> weight = random_matrix<float>(5, 4, 1), a = random_matrix<float>(2, 4, 2);
  const auto encoded = EncodedWeight::of(weight.data(), 5, 4, WeightFormat::int8);
  const auto prepared = prepare_codes(weight, *encoded);
  Workspace<float> workspace;
  workspace.use(prepared);
  Matrix<float> y(2, 5);
  use_kernels(available_kernels().front());
  EXPECT_EQ(test::message_of<ArgumentError>([&] { matmul(a, transposed(weight), y, workspace); }),
            "PreparedWeights: a weight of 5 × 4 was packed for other kernels than those in use. Call use_kernels() "
            "first, then prepare() or open the file again.");
  use_kernels(available_kernels().back());
}

}  // namespace
}  // namespace gated::matmul_test
