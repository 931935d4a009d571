#include "gated/audio/real_fourier.hpp"

#include <gtest/gtest.h>

#include "tests/core/numbers.hpp"
#include "tests/ops/fourier_numbers.hpp"

namespace gated::real_fourier_test {
namespace {

using detail::RealFourier;

/// Even, odd, prime and smooth lengths, and lengths used for speech.
std::vector<Index> lengths() {
  std::vector<Index> all;
  for (Index n = 1; n <= 36; ++n) {
    all.push_back(n);
  }
  for (const Index n : {49, 80, 97, 121, 194, 243, 400, 480, 512, 1920, 2048}) {
    all.push_back(n);
  }
  return all;
}

void randomize(RealFourier& fourier) {
  fourier.rows = test::random_matrix<double>(fourier.rows.rows(), fourier.rows.cols(), 1);
}

TEST(RealFourier, EqualsItsDefinitionForAnyLength) {
  for (const Index n : lengths()) {
    RealFourier fourier(n);
    randomize(fourier);
    ASSERT_EQ(fourier.real.cols(), n / 2 + 1);
    fourier.forward(fourier.rows.rows());
    for (Index r = 0; r < fourier.rows.rows(); ++r) {
      test::ExactColumn column;
      for (Index t = 0; t < n; ++t) {
        column.emplace_back(fourier.rows(r, t));
      }
      const auto exact = test::literal_transform(column);
      Matrix<long double> expected(2, n / 2 + 1);
      Matrix<double> got(2, n / 2 + 1);
      for (Index k = 0; k <= n / 2; ++k) {
        expected(0, k) = exact[static_cast<std::size_t>(k)].real();
        expected(1, k) = exact[static_cast<std::size_t>(k)].imag();
        got(0, k) = fourier.real(r, k);
        got(1, k) = fourier.imaginary(r, k);
      }
      EXPECT_TRUE(test::near_largest<double>(got, expected)) << n << " points, row " << r;
    }
  }
}

TEST(RealFourier, InverseRestoresTheRows) {
  for (const Index n : lengths()) {
    RealFourier fourier(n);
    randomize(fourier);
    const Matrix<double> x = fourier.rows;
    fourier.forward(x.rows());
    fourier.imaginary.col(0).setConstant(7);  // ignored: bins 0 and n/2 of a real row are real
    if (n % 2 == 0) {
      fourier.imaginary.col(n / 2).setConstant(-7);
    }
    fourier.rows.setZero();
    fourier.inverse(x.rows());
    EXPECT_LT((fourier.rows - x).cwiseAbs().maxCoeff(), 1e-13) << n << " points";
  }
}

TEST(RealFourier, RowsDoNotAffectEachOther) {
  for (const Index n : {22, 45, 480}) {
    RealFourier fourier(n);
    randomize(fourier);
    const Matrix<double> x = fourier.rows;
    fourier.forward(x.rows());
    for (Index r = 0; r < x.rows(); ++r) {
      RealFourier alone(n);
      alone.rows.row(0) = x.row(r);
      alone.forward(1);
      EXPECT_TRUE(test::same_bits(alone.real.row(0), fourier.real.row(r))) << n << " points, row " << r;
      EXPECT_TRUE(test::same_bits(alone.imaginary.row(0), fourier.imaginary.row(r))) << n << " points, row " << r;
    }
  }
}

TEST(RealFourier, BlocksCoverAllRows) {
  const RealFourier fourier(8);
  const Index most = fourier.rows.rows();
  for (const Index total : {Index{0}, Index{1}, most, most + 1, 3 * most - 1}) {
    Index next = 0;
    fourier.for_each_block(total, [&](Index first, Index count) {
      EXPECT_EQ(first, next);
      EXPECT_GE(count, 1);
      EXPECT_LE(count, most);
      next = first + count;
    });
    EXPECT_EQ(next, total);
  }
}

}  // namespace
}  // namespace gated::real_fourier_test
