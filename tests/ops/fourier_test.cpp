#include "gated/ops/fourier.hpp"

#include "fourier_numbers.hpp"
#include "tests/core/numbers.hpp"

namespace gated::fourier_test {
namespace {

using test::random_matrix;

/// All small lengths, and large lengths of every kind: smooth numbers, powers, squares of primes, and primes.
std::vector<Index> lengths() {
  std::vector<Index> all;
  for (Index n = 1; n <= 66; ++n) {
    all.push_back(n);
  }
  for (const Index n :
       {97, 98, 100, 121, 128, 144, 169, 196, 197, 210, 243, 256, 343, 512, 625, 768, 1000, 1009, 1024, 1031, 1155}) {
    all.push_back(n);
  }
  return all;
}

template <class T>
struct Parts {
  Matrix<T> real, imaginary;
};

/// The fast transform of each column of x, one column per vector lane.
template <class T>
Parts<T> transform(const Parts<T>& x) {
  const auto& over_tokens = detail::fourier::Transform<T>::of(x.real.rows());
  const Index n = over_tokens.length(), row = detail::fourier::row_size<T>();
  std::vector<T> scratch(static_cast<std::size_t>(over_tokens.scratch_size()));
  const auto at = [&](Index t, Index column) -> T& { return scratch[static_cast<std::size_t>(t * row + column)]; };
  Parts<T> y = x;
  for (Index j = 0; j < x.real.cols(); ++j) {
    for (Index t = 0; t < n; ++t) {
      at(t, j) = x.real(t, j);
      at(t, vector_width<T>() + j) = x.imaginary(t, j);
    }
  }
  over_tokens(scratch.data());
  for (Index j = 0; j < x.real.cols(); ++j) {
    for (Index k = 0; k < n; ++k) {
      y.real(k, j) = at(over_tokens.order()[k], j);
      y.imaginary(k, j) = at(over_tokens.order()[k], vector_width<T>() + j);
    }
  }
  return y;
}

/// The reference transform. Returns the real parts in the first half of the columns, and the imaginary parts in the second.
template <class T>
Matrix<long double> literal(const Parts<T>& x) {
  const Index n = x.real.rows(), columns = x.real.cols();
  Matrix<long double> y(n, 2 * columns);
  for (Index j = 0; j < columns; ++j) {
    test::ExactColumn column;
    for (Index t = 0; t < n; ++t) {
      column.emplace_back(static_cast<long double>(x.real(t, j)), static_cast<long double>(x.imaginary(t, j)));
    }
    const auto bins = test::literal_transform(column);
    for (Index k = 0; k < n; ++k) {
      y(k, j) = bins[static_cast<std::size_t>(k)].real();
      y(k, columns + j) = bins[static_cast<std::size_t>(k)].imag();
    }
  }
  return y;
}

template <class T>
class FourierOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(FourierOf, Scalars, );

TYPED_TEST(FourierOf, EqualsItsDefinitionForAnyLength) {
  using T = TypeParam;
  for (const Index n : lengths()) {
    const Index columns = n % 3 == 0 ? vector_width<T>() : 1;
    const Parts<T> x{random_matrix<T>(n, columns, 1), random_matrix<T>(n, columns, 2)}, y = transform(x);
    Matrix<T> got(n, 2 * columns);
    got << y.real, y.imaginary;
    EXPECT_TRUE(test::near_largest<T>(got, literal(x))) << "length " << n;
  }
}

TYPED_TEST(FourierOf, RoundTripMultipliesByTheLength) {
  using T = TypeParam;
  for (const Index n : {1, 17, 96, 1009, 4096, 5000}) {
    const Parts<T> x{random_matrix<T>(n, 1, 1), random_matrix<T>(n, 1, 2)}, y = transform(x);
    // Swapping real and imaginary parts before and after the transform yields the inverse transform times n.
    const Parts<T> z = transform(Parts<T>{y.imaginary, y.real});
    const auto times = static_cast<long double>(n);
    EXPECT_TRUE(test::near_largest<T>(z.imaginary, x.real.template cast<long double>() * times)) << n;
    EXPECT_TRUE(test::near_largest<T>(z.real, x.imaginary.template cast<long double>() * times)) << n;
  }
}

TYPED_TEST(FourierOf, IsLinear) {
  using T = TypeParam;
  for (const Index n : {30, 31}) {
    const Parts<T> a{random_matrix<T>(n, 1, 1), random_matrix<T>(n, 1, 2)},
        b{random_matrix<T>(n, 1, 3), random_matrix<T>(n, 1, 4)};
    const Parts<T> of_a = transform(a), of_b = transform(b);
    const Parts<T> of_sum = transform(Parts<T>{2 * a.real - b.real, 2 * a.imaginary - b.imaginary});
    EXPECT_TRUE(test::near_largest<T>(of_sum.real, (2 * of_a.real - of_b.real).template cast<long double>()));
    EXPECT_TRUE(test::near_largest<T>(of_sum.imaginary, (2 * of_a.imaginary - of_b.imaginary).template cast<long double>()));
  }
}

}  // namespace
}  // namespace gated::fourier_test
