#include "gated/ops/fourier.hpp"

#include "fourier_numbers.hpp"
#include "op.hpp"
#include "tests/core/allocations.hpp"

namespace gated::fourier_test {
namespace {

using test::random_matrix;
using test::same_bits;

/// Every small length, and of the larger ones those with many small primes, powers, squares of primes and primes.
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

template <class T>
Parts<T> transform(const Parts<T>& x, const Sequences& sequences, FourierDirection direction, Threads threads = {}) {
  Workspace<T> workspace(threads);
  const auto frame = workspace.frame();
  Batch<T> run(workspace, sequences);
  ComplexRows<Batch<T>> rows{input_rows<T>(x.real)};
  if (x.imaginary.size() > 0) {
    rows.imaginary = input_rows<T>(x.imaginary);
  }
  const auto y = fourier_transform(run, rows, direction);
  return {run[y.real], run[y.imaginary]};
}

template <class T>
Parts<long double> literal(const Parts<T>& x, FourierDirection direction) {
  const Index n = x.real.rows(), columns = x.real.cols();
  Parts<long double> y{Matrix<long double>(n, columns), Matrix<long double>(n, columns)};
  const long double sign = direction == FourierDirection::forward ? 1 : -1;  // the conjugate of that of the conjugate
  for (Index j = 0; j < columns; ++j) {
    test::ExactColumn column;
    for (Index t = 0; t < n; ++t) {
      const long double imaginary = x.imaginary.size() > 0 ? static_cast<long double>(x.imaginary(t, j)) : 0;
      column.emplace_back(static_cast<long double>(x.real(t, j)), sign * imaginary);
    }
    const auto bins = test::literal_transform(column);
    for (Index k = 0; k < n; ++k) {
      y.real(k, j) = bins[static_cast<std::size_t>(k)].real();
      y.imaginary(k, j) = sign * bins[static_cast<std::size_t>(k)].imag();
    }
  }
  return y;
}

template <class T>
class FourierOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(FourierOf, Scalars, );

TYPED_TEST(FourierOf, EqualsItsDefinitionForAnyLengthBothWays) {
  using T = TypeParam;
  for (const Index n : lengths()) {
    const Index columns = n % 3 == 0 ? Simd<T>::width + 1 : 2;
    const Parts<T> x{random_matrix<T>(n, columns, 1), n % 2 == 0 ? random_matrix<T>(n, columns, 2) : Matrix<T>()};
    for (const auto direction : {FourierDirection::forward, FourierDirection::backward}) {
      const auto y = transform(x, Sequences::single(n), direction);
      const auto expected = literal(x, direction);
      Matrix<T> got(n, 2 * columns);
      got << y.real, y.imaginary;
      Matrix<long double> wanted(n, 2 * columns);
      wanted << expected.real, expected.imaginary;
      EXPECT_TRUE(test::near_largest<T>(got, wanted)) << "length " << n;
    }
  }
}

TYPED_TEST(FourierOf, ForthAndBackIsTheLengthTimesWhatWasThere) {
  using T = TypeParam;
  for (const Index n : {1, 17, 96, 1009, 4096, 5000}) {
    const Parts<T> x{random_matrix<T>(n, 3, 1), random_matrix<T>(n, 3, 2)};
    const auto sequences = Sequences::single(n);
    const auto y = transform(transform(x, sequences, FourierDirection::forward), sequences, FourierDirection::backward);
    const auto times = static_cast<long double>(n);
    EXPECT_TRUE(test::near_largest<T>(y.real, x.real.template cast<long double>() * times)) << n;
    EXPECT_TRUE(test::near_largest<T>(y.imaginary, x.imaginary.template cast<long double>() * times)) << n;
  }
}

TYPED_TEST(FourierOf, OfASumIsTheSumOfTheTransforms) {
  using T = TypeParam;
  for (const Index n : {30, 31}) {
    const Parts<T> a{random_matrix<T>(n, 5, 1), random_matrix<T>(n, 5, 2)},
        b{random_matrix<T>(n, 5, 3), random_matrix<T>(n, 5, 4)};
    const Parts<T> sum{2 * a.real - b.real, 2 * a.imaginary - b.imaginary};
    const auto sequences = Sequences::single(n);
    const auto of_a = transform(a, sequences, FourierDirection::forward),
               of_b = transform(b, sequences, FourierDirection::forward);
    const auto of_sum = transform(sum, sequences, FourierDirection::forward);
    EXPECT_TRUE(test::near_largest<T>(of_sum.real, (2 * of_a.real - of_b.real).template cast<long double>()));
    EXPECT_TRUE(test::near_largest<T>(of_sum.imaginary, (2 * of_a.imaginary - of_b.imaginary).template cast<long double>()));
  }
}

/// The real and imaginary columns of x, transformed, side by side.
struct Both {
  FourierDirection direction;
  bool is_complex;

  template <class Run>
  auto operator()(Run& run, const RowsOf<Run>& x, const PlaceOf<Run>&) const {
    const Index columns = run.width(x) / 2;
    ComplexRows<Run> parts{run.columns(x, 0, columns)};
    if (is_complex) {
      parts.imaginary = run.columns(x, columns, columns);
    }
    const auto y = fourier_transform(run, parts, direction);
    return add(run, y.real, scale(run, y.imaginary, number(typename Run::Scalar(2))));
  }
};

TEST(Fourier, IsTheSameInEveryRunAndHasItsDerivative) {
  for (const auto direction : {FourierDirection::forward, FourierDirection::backward}) {
    for (const bool is_complex : {false, true}) {
      test::expect_op(Both{direction, is_complex},
                      {.in = 40, .out = 20, .lengths = {7, 0, 1, 12, 31, 300, 11}, .streams = false});
    }
  }
}

TEST(Fourier, AllocatesNothingWhenWarm) {
  const auto x = random_matrix<float>(61 + 64, 40, 1);
  const auto sequences = Sequences::of_lengths({61, 64});
  for (const int threads : {1, 2}) {
    Workspace<float> workspace(Threads{threads});
    const auto call = [&] {
      const auto frame = workspace.frame();
      Batch<float> run(workspace, sequences);
      fourier_transform<Batch<float>>(run, {input_rows<float>(x)});
    };
    call();
    EXPECT_EQ(test::allocations_during(call), 0);
  }
}

TEST(Fourier, RefusesPartsOfDifferentShapes) {
  Matrix<float> a = random_matrix<float>(4, 3, 1), b = random_matrix<float>(4, 2, 1);
  Workspace<float> workspace;
  const auto frame = workspace.frame();
  Batch<float> run(workspace, Sequences::single(4));
  const auto message = test::message_of<ShapeError>([&] {
    fourier_transform<Batch<float>>(run, {input_rows<float>(a), input_rows<float>(b)});
  });
  EXPECT_NE(message.find("4 × 3 and the imaginary part 4 × 2"), std::string::npos) << message;
  Batch<float> other(workspace, Sequences::single(5));
  test::message_of<ShapeError>([&] { fourier_transform<Batch<float>>(other, {input_rows<float>(a)}); });
}

}  // namespace
}  // namespace gated::fourier_test
