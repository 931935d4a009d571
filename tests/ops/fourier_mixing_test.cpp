#include "gated/ops/fourier_mixing.hpp"

#include "fourier_numbers.hpp"
#include "op.hpp"
#include "tests/core/allocations.hpp"

namespace gated::fourier_mixing_test {
namespace {

using test::random_matrix;

/// Re(F_n x F_d) by definition.
template <class T>
Matrix<long double> literal(const Matrix<T>& x) {
  const Index n = x.rows(), d = x.cols();
  std::vector<test::ExactColumn> columns;
  for (Index j = 0; j < d; ++j) {
    test::ExactColumn column;
    for (Index t = 0; t < n; ++t) {
      column.emplace_back(static_cast<long double>(x(t, j)));
    }
    columns.push_back(test::literal_transform(column));
  }
  Matrix<long double> y(n, d);
  for (Index t = 0; t < n; ++t) {
    test::ExactColumn row;
    for (const auto& column : columns) {
      row.push_back(column[static_cast<std::size_t>(t)]);
    }
    row = test::literal_transform(row);
    for (Index k = 0; k < d; ++k) {
      y(t, k) = row[static_cast<std::size_t>(k)].real();
    }
  }
  return y;
}

template <class T>
Matrix<T> mixed(const Matrix<T>& x, const Sequences& sequences) {
  Workspace<T> workspace;
  const auto frame = workspace.frame();
  Batch<T> run(workspace, sequences);
  return run[mix_by_fourier<Batch<T>>(run, RunMatrix<T>(input_view<T>(x)), {})];
}

template <class T>
class FourierMixingOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(FourierMixingOf, Scalars, );

TYPED_TEST(FourierMixingOf, EqualsItsDefinitionForAnySize) {
  using T = TypeParam;
  for (const Index n : {1, 2, 3, 4, 11, 16, 31, 32, 33, 34, 65, 70}) {
    for (const Index d : {1, 2, 5, 12, 16, 17, 32, 33, 48, 67}) {
      const auto x = random_matrix<T>(n, d, 1);
      EXPECT_TRUE(test::near_largest<T>(mixed(x, Sequences::single(n)), literal(x))) << n << " × " << d;
    }
  }
}

TYPED_TEST(FourierMixingOf, IsItsOwnInverseUpToScaleOnSymmetricInputs) {
  using T = TypeParam;
  // If x[t, j] = x[-t, -j] (indices modulo n and d), the transform is real; applying it twice gives n · d · x.
  const Index n = 60, d = 45;
  Matrix<T> x = random_matrix<T>(n, d, 1);
  for (Index t = 0; t < n; ++t) {
    for (Index j = 0; j < d; ++j) {
      x((n - t) % n, (d - j) % d) = x(t, j);
    }
  }
  const auto sequences = Sequences::single(n);
  EXPECT_TRUE(test::near_largest<T>(mixed(mixed(x, sequences), sequences), x.template cast<long double>() * (n * d)));
}

/// Fourier mixing with an epilogue whose operands are columns of x.
struct Joined {
  template <class Run>
  auto operator()(Run& run, const MatrixOf<Run>& x) const {
    const Index d = run.columns(x) / 4;
    const auto part = [&](Index k) { return run.columns(x, k * d, d); };
    return mix_by_fourier(
        run, part(0), Epilogue<Run>{.added = part(1), .activation = Activation::gelu, .gate = part(2), .residual = part(3)});
  }
};
struct Plain {
  template <class Run>
  auto operator()(Run& run, const MatrixOf<Run>& x) const {
    return mix_by_fourier(run, x, Epilogue<Run>{});
  }
};

TEST(FourierMixing, WorksInBatchesAndOnTapes) {
  test::expect_op(Plain{}, {.in = 21, .out = 21, .lengths = {7, 0, 1, 12, 31, 290, 11}, .streams = false});
  test::expect_op(Joined{}, {.in = 76, .out = 19, .lengths = {7, 0, 1, 12, 31}, .streams = false});
  // Several groups of sequences, which run in parallel.
  test::expect_op(Plain{}, {.in = 12, .out = 12, .lengths = {200, 100, 90, 200, 190}, .streams = false});
}

TEST(FourierMixing, FusedEpiloguesAreBitEqualToSeparateOnes) {
  test::expect_bits_of_join([](auto& run, const auto& x, auto epilogue) { return mix_by_fourier(run, x, std::move(epilogue)); },
                            {.in = 19, .out = 19, .lengths = {7, 0, 1, 12, 31, 290}, .streams = false});
}

TEST(FourierMixing, AllocatesNothingWhenWarm) {
  const auto x = random_matrix<float>(600, 40, 1);
  const auto sequences = Sequences::of_lengths({61, 64, 475});
  for (const int threads : {1, 2}) {
    Workspace<float> workspace(Threads{threads});
    const auto call = [&] {
      const auto frame = workspace.frame();
      Batch<float> run(workspace, sequences);
      mix_by_fourier<Batch<float>>(run, RunMatrix<float>(input_view<float>(x)), {});
    };
    call();
    EXPECT_EQ(test::allocations_during(call), 0);
  }
}

}  // namespace
}  // namespace gated::fourier_mixing_test
