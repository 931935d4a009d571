#include "gated/ops/spatial_stream.hpp"

#include <gtest/gtest.h>

#include "gated/ops/spatial.hpp"
#include "tests/ops/op.hpp"
#include "tests/ops/restores_kernels.hpp"

namespace gated::spatial_stream_test {
namespace {

using detail::fourier::Products;
using detail::fourier::StreamSums;
using test::random_matrix;
using test::same_bits;

template <class T>
struct Numbers {
  using Scalar = T;
  SpatialForm form;
  Index heads, length;
  Matrix<T> w, x, y, bias;

  Numbers(SpatialForm form_, Index heads_, Index length_)
      : form(form_),
        heads(heads_),
        length(length_),
        w(random_matrix<T>(heads, form == SpatialForm::scaled_toeplitz ? length : 2 * length - 1, 1)),
        x(random_matrix<T>(heads, length, 2)),
        y(random_matrix<T>(heads, length, 3)),
        bias(random_matrix<T>(heads, length, 4)) {}
  static constexpr auto fields() { return Fields(field("w", &Numbers::w, Role::spatial)); }
  SpatialWeight<T> weight() const { return {form, length, heads, true, &w, &x, &y, &bias}; }
};

const auto mixed = [](auto& run, const auto& p, auto v) {
  return mix_tokens(run, p.weight(), v, Epilogue<std::remove_cvref_t<decltype(run)>>());
};

template <class T>
PreparedWeights<T> prepared(const Numbers<T>& numbers) {
  PreparedWeights<T> weights;
  const Products<T> products{numbers.weight()};
  products.transform_all(weights.add(numbers.w.data(), 1, products.prepared_size(), 1, numbers.w.size()));
  return weights;
}

class SpatialStream : public test::RestoresKernels {};

TEST_F(SpatialStream, SpreadsWorkEvenlyOverSteps) {
  constexpr Index length = 4200, columns = 5;  // blocks of up to 2,048 tokens
  for (const KernelForm form : available_kernels()) {
    use_kernels(form);
    const Numbers<float> numbers(SpatialForm::toeplitz, 1, length);
    const SpatialWeight<float> weight = numbers.weight();
    const auto weights = prepared(numbers);
    Workspace<float> workspace;
    workspace.use(weights);
    using Sums = StreamSums<float>;
    Matrix<float> sums = Matrix<float>::Zero(Sums::rows(weight, length), columns);
    Matrix<float> progress = Matrix<float>::Zero(Sums::levels(weight, length), 6);
    Matrix<float> scratch = Matrix<float>::Zero(Sums::scratch_rows(weight, length), Sums::widest_row);
    ASSERT_EQ(progress.rows(), 6);
    Sums stream(weight, length, sums, progress, scratch);
    const auto v = random_matrix<float>(length, columns, 5);
    Index most = 0, all = 0;
    for (Index i = 0; i < length; ++i) {
      const Matrix<float> before = sums;
      stream.advance(MatrixView<const float>(v).rows(0, i + 1), workspace);
      const Index written = (sums.array() != before.array()).rowwise().any().count();
      most = std::max(most, written);
      all += written;
    }
    EXPECT_GT(all, 5 * length) << "sums must be computed ahead of time";
    EXPECT_LE(most, 512) << "a whole block of 1,024 tokens would write 1,024 rows in one step";
  }
}

template <class T>
class SpatialStreamOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SpatialStreamOf, Scalars, );

TYPED_TEST(SpatialStreamOf, IsBitEqualForAnyStepsCopiesAndRewinds) {
  using T = TypeParam;
  constexpr Index length = 2100;
  for (const SpatialForm form : {SpatialForm::toeplitz, SpatialForm::scaled_toeplitz}) {
    for (const Index heads : {1, 3}) {
      const test::Op layer(Numbers<T>(form, heads, length), mixed, 39, 39);
      const auto v = random_matrix<T>(length, 39, 6);
      const auto weights = prepared(layer.parameters);
      Workspace<T> workspace, several(Threads{3});
      State<T> whole = layer.start(length);
      Matrix<T> expected(length, 39);
      layer.extend(v, whole, expected, workspace);
      const Matrix<T> batch = layer.forward(v, Sequences::single(length), workspace);
      EXPECT_TRUE(test::near_largest<T>(expected, batch.template cast<long double>()));
      workspace.use(weights);
      several.use(weights);
      for (const Index step : {1, 7, 300}) {
        Random random(static_cast<std::uint64_t>(step));
        State<T> state = layer.start(length);
        Matrix<T> y = Matrix<T>::Zero(length, 39);
        for (Index turn = 0; state.position() < length; ++turn) {
          if (step == 7 && turn % 60 == 59 && turn < 360) {
            state.rewind(static_cast<Index>(random.uniform() * static_cast<double>(state.position())));
          }
          if (turn % 20 == 3) {
            const State<T> copy = state;  // the copy includes unfinished sums
            state = copy;
          }
          const Index first = state.position(), rows = std::min(step, length - first);
          layer.extend(v.middleRows(first, rows), state, y.middleRows(first, rows), turn % 2 == 0 ? workspace : several);
          ASSERT_TRUE(same_bits(y.middleRows(first, rows), expected.middleRows(first, rows))) << first << " by " << step;
        }
      }
    }
  }
}

TEST_F(SpatialStream, ContinuesAfterAKernelChange) {
  constexpr Index length = 2100;
  const auto forms = available_kernels();
  const test::Op layer(Numbers<float>(SpatialForm::toeplitz, 2, length), mixed, 40, 40);
  const auto v = random_matrix<float>(length, 40, 6);
  const auto weights = prepared(layer.parameters);
  Workspace<float> workspace;
  workspace.use(weights);
  const Matrix<float> batch = layer.forward(v, Sequences::single(length), workspace);
  State<float> state = layer.start(length);
  Matrix<float> y(length, 40);
  for (Index i = 0; i < length; ++i) {
    use_kernels(forms[static_cast<std::size_t>(i / 37) % forms.size()]);
    layer.extend(v.row(i), state, y.row(i), workspace);
  }
  EXPECT_TRUE(test::near_largest<float>(y, batch.cast<long double>()));
}

}  // namespace
}  // namespace gated::spatial_stream_test
