#include "gated/ops/norm.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "gated/core/settings.hpp"
#include "gated/train/recording.hpp"
#include "tests/core/numbers.hpp"
#include "tests/train/gradients.hpp"

namespace gated::norm_test {
namespace {

using test::random_matrix;
using test::random_vector;
using test::same_bits;

constexpr NormForm forms[]{NormForm::layer_norm, NormForm::scale_norm, NormForm::scale_norm_rsqrt, NormForm::rms};
constexpr NormForm scale_norms[]{NormForm::scale_norm, NormForm::scale_norm_rsqrt, NormForm::rms};

/// A norm over `channels` channels, with random values for the parameters that its form has.
template <class T>
struct TestedNorm {
  NormForm form = NormForm::none;
  double eps = 1e-5;
  Vector<T> weight, bias, gain;

  TestedNorm(NormForm form_, Index channels, double eps_ = 1e-5) : form(form_), eps(eps_) {
    if (form == NormForm::layer_norm) {
      weight = random_vector<T>(channels, 2);
      bias = random_vector<T>(channels, 3);
    } else if (form != NormForm::rms) {
      gain = Vector<T>::Constant(1, T(1.3));
    }
  }
  static constexpr auto fields() {
    return Fields(field("weight", &TestedNorm::weight, Role::norm), field("bias", &TestedNorm::bias, Role::norm),
                  field("gain", &TestedNorm::gain, Role::norm));
  }
  NormParameters<T> parameters() const { return {form, eps, weight.data(), bias.data(), gain.data()}; }
};

template <class T>
Matrix<T> normalized(const ConstView<T>& x, const TestedNorm<T>& norm, int threads = 1) {
  Matrix<T> y = Matrix<T>::Constant(x.rows(), x.cols(), std::numeric_limits<T>::quiet_NaN());
  normalize<T>(x, norm.parameters(), y, Workspace<T>(Threads{threads}));
  return y;
}

/// Compares each element with the formula of NormForm in long double. `bound` is in machine epsilons, relative to
/// 1 + |expected| if the norm has a bias and to |expected| otherwise.
template <class T>
void expect_formula(const Matrix<T>& x, const TestedNorm<T>& norm, double bound = 64) {
  const Matrix<T> y = normalized<T>(x, norm);
  const auto count = static_cast<long double>(x.cols());
  const auto eps = static_cast<long double>(static_cast<T>(norm.eps));
  const bool centred = norm.form == NormForm::layer_norm;
  for (Index i = 0; i < x.rows(); ++i) {
    long double mean = 0, square = 0;
    for (Index j = 0; j < x.cols(); ++j) {
      mean += centred ? static_cast<long double>(x(i, j)) / count : 0;
    }
    for (Index j = 0; j < x.cols(); ++j) {
      const long double value = static_cast<long double>(x(i, j)) - mean;
      square += value * value / count;
    }
    const long double size = norm.form == NormForm::scale_norm ? std::max(std::sqrt(square), eps) : std::sqrt(square + eps);
    for (Index j = 0; j < x.cols(); ++j) {
      long double expected = (static_cast<long double>(x(i, j)) - mean) / size;
      expected *= norm.gain.size() == 0 ? 1 : static_cast<long double>(norm.gain[0]);
      expected *= norm.weight.size() == 0 ? 1 : static_cast<long double>(norm.weight[j]);
      expected += norm.bias.size() == 0 ? 0 : static_cast<long double>(norm.bias[j]);
      const long double tolerance = bound * static_cast<long double>(std::numeric_limits<T>::epsilon());
      ASSERT_TRUE(test::close(y(i, j), expected, tolerance * ((centred ? 1 : 0) + std::fabs(expected))))
          << name_of(norm.form) << " at " << i << ", " << j << " of " << x.cols() << " channels";
    }
  }
}

template <class T>
class NormalizeOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(NormalizeOf, Scalars, );

TYPED_TEST(NormalizeOf, EqualsItsFormulaForEveryFormAndWidth) {
  for (const NormForm form : forms) {
    for (Index channels = 1; channels <= 150; channels += channels < 40 ? 1 : 11) {
      expect_formula(random_matrix<TypeParam>(3, channels, 1), TestedNorm<TypeParam>(form, channels));
    }
  }
}

TYPED_TEST(NormalizeOf, IsTheIdentityForNormFormNone) {
  const TestedNorm<TypeParam> none(NormForm::none, 21);
  Matrix<TypeParam> x = random_matrix<TypeParam>(3, 21, 4);
  const Matrix<TypeParam> before = x;
  EXPECT_TRUE(same_bits(normalized<TypeParam>(x, none), before));
  normalize<TypeParam>(x, none.parameters(), x, Workspace<TypeParam>());
  EXPECT_TRUE(same_bits(x, before));
}

TYPED_TEST(NormalizeOf, SkipsAbsentParameters) {
  const Matrix<TypeParam> x = random_matrix<TypeParam>(3, 21, 4);
  for (const NormForm form : forms) {
    TestedNorm<TypeParam> norm(form, 21);
    norm.gain.resize(0);
    norm.weight.resize(0);
    expect_formula(x, norm);
    norm.bias.resize(0);
    expect_formula(x, norm);
    norm.weight = TestedNorm<TypeParam>(form, 21).weight;
    expect_formula(x, norm);
  }
}

TYPED_TEST(NormalizeOf, UsesEpsAsEachFormDefines) {
  for (const NormForm form : forms) {
    for (const double eps : {1e-5, 1e-6, 1e-12}) {
      for (const double deviation : {1e-2, 1e-4, 1e-8}) {
        TestedNorm<TypeParam> norm(form, 13, eps);
        norm.weight.resize(0);
        norm.bias.resize(0);
        expect_formula(random_matrix<TypeParam>(3, 13, 7, deviation), norm);
      }
    }
  }
  const Matrix<TypeParam> x = Matrix<TypeParam>::Constant(1, 4, TypeParam(1e-3));
  EXPECT_TRUE(test::close(normalized<TypeParam>(x, {NormForm::scale_norm, 4})(0, 0), 1.3L, 1e-6L)) << "1e-3 is above eps";
  EXPECT_TRUE(test::close(normalized<TypeParam>(x, {NormForm::rms, 4})(0, 0), 1e-3L / std::sqrt(1.1e-5L), 1e-6L));
}

TYPED_TEST(NormalizeOf, LayerNormOfEqualChannelsIsItsBias) {
  const TestedNorm<TypeParam> norm(NormForm::layer_norm, 8);
  const Matrix<TypeParam> y = normalized<TypeParam>(Matrix<TypeParam>::Constant(2, 8, 3), norm);
  for (Index i = 0; i < 2; ++i) {
    EXPECT_TRUE(same_bits(y.row(i), norm.bias.transpose()));
  }
}

TYPED_TEST(NormalizeOf, LayerNormIsAccurateFarFromZero) {
  const Matrix<TypeParam> x = (random_matrix<TypeParam>(4, 64, 10).array() + TypeParam{1000}).matrix();
  expect_formula(x, TestedNorm<TypeParam>(NormForm::layer_norm, 64), 8000);
}

TYPED_TEST(NormalizeOf, ScaleNormsHandleTinyAndHugeInputs) {
  for (const NormForm form : scale_norms) {
    for (const double size : {1e18, 1e15, 1e9, 1e-2, 1e-5, 1e-6, 1e-10, 1e-18, 1e-30}) {
      expect_formula(random_matrix<TypeParam>(4, 19, 2, size / 4), TestedNorm<TypeParam>(form, 19));
      Matrix<TypeParam> x = Matrix<TypeParam>::Constant(2, 1000, static_cast<TypeParam>(size));
      x.row(1) *= TypeParam{-1};
      expect_formula(x, TestedNorm<TypeParam>(form, 1000));
    }
    Matrix<TypeParam> mixed = random_matrix<TypeParam>(2, 9, 3);
    mixed(0, 4) = TypeParam(1e18);
    mixed(1, 8) = TypeParam(-1e18);
    expect_formula(mixed, TestedNorm<TypeParam>(form, 9));
  }
}

TYPED_TEST(NormalizeOf, ScaleNormsKeepZeroRows) {
  for (const NormForm form : scale_norms) {
    for (const double eps : {1e-5, 1e-12}) {
      Matrix<TypeParam> x = random_matrix<TypeParam>(3, 7, 4);
      x.row(1).setZero();
      const Matrix<TypeParam> y = normalized<TypeParam>(x, {form, 7, eps});
      EXPECT_TRUE(same_bits(y.row(1), Matrix<TypeParam>::Zero(1, 7)));
      EXPECT_TRUE(y.allFinite());
    }
  }
}

TYPED_TEST(NormalizeOf, KeepsNaNInItsRow) {
  for (const NormForm form : forms) {
    Matrix<TypeParam> x = random_matrix<TypeParam>(3, 11, 5);
    x(1, 7) = std::numeric_limits<TypeParam>::quiet_NaN();
    const Matrix<TypeParam> y = normalized<TypeParam>(x, {form, 11});
    EXPECT_TRUE(y.row(1).array().isNaN().all()) << name_of(form);
    EXPECT_TRUE(y.row(0).allFinite());
    EXPECT_TRUE(y.row(2).allFinite());
  }
}

TYPED_TEST(NormalizeOf, NormalizesEachRowIndependently) {
  using T = TypeParam;
  const Matrix<T> larger = random_matrix<T>(2 * rows_per_task + 7, 40, 15), x = larger.block(1, 5, 2 * rows_per_task + 5, 27);
  for (const NormForm form : forms) {
    const TestedNorm<T> norm(form, 27);
    const Matrix<T> whole = normalized<T>(x, norm);
    for (Index i = 0; i < x.rows(); ++i) {
      EXPECT_TRUE(same_bits(normalized<T>(x.row(i), norm), whole.row(i))) << name_of(form) << ", row " << i;
    }
    EXPECT_TRUE(same_bits(normalized<T>(x, norm, 2), whole)) << name_of(form);
    EXPECT_TRUE(same_bits(normalized<T>(x, norm, 3), whole)) << name_of(form);
    Matrix<T> y = x;
    normalize<T>(y, norm.parameters(), y, Workspace<T>());
    EXPECT_TRUE(same_bits(y, whole)) << name_of(form) << " in place";
    y = Matrix<T>::Constant(x.rows() + 2, 31, -7);
    normalize<T>(larger.block(1, 5, x.rows(), 27), norm.parameters(), y.block(1, 2, x.rows(), 27), Workspace<T>());
    EXPECT_TRUE(same_bits(y.block(1, 2, x.rows(), 27), whole)) << name_of(form);
    y.block(1, 2, x.rows(), 27).setConstant(-7);
    EXPECT_TRUE((y.array() == T{-7}).all()) << "the surroundings of y were overwritten";
  }
}

TYPED_TEST(NormalizeOf, HandlesEmptyInput) {
  for (const NormForm form : forms) {
    EXPECT_EQ(normalized<TypeParam>(Matrix<TypeParam>(0, 4), {form, 4}).rows(), 0);
    EXPECT_EQ(normalized<TypeParam>(Matrix<TypeParam>(4, 0), {form, 0}).cols(), 0);
  }
}

TYPED_TEST(NormalizeOf, IsBitEqualInBatchesAndRecordings) {
  using T = TypeParam;
  const Matrix<T> x = random_matrix<T>(5, 27, 1);
  for (const NormForm form : {NormForm::none, forms[0], forms[1], forms[2], forms[3]}) {
    const TestedNorm<T> norm(form, 27);
    const Matrix<T> expected = normalized<T>(x, norm), before = x;
    Workspace<T> workspace;
    const auto frame = workspace.frame();
    Batch<T> run(workspace, Sequences::single(5));
    RunMatrix<T> callers(input_view<T>(x)), own = run.owned(callers);
    const T* const place = own.data;
    const RunMatrix<T> other = normalize(run, own, norm.parameters());
    EXPECT_EQ(other.data == place, form == NormForm::none) << "NormForm::none copies nothing";
    EXPECT_TRUE(same_bits(run[other], expected)) << name_of(form);
    EXPECT_TRUE(same_bits(run[own], before)) << "not moved";
    EXPECT_TRUE(same_bits(run[normalize(run, std::move(callers), norm.parameters())], expected)) << name_of(form);
    EXPECT_TRUE(same_bits(x, before)) << "the caller's x must not change";
    own = run.owned(RunMatrix<T>(input_view<T>(x)));
    const T* const moved = own.data;
    const RunMatrix<T> y = normalize(run, std::move(own), norm.parameters());
    EXPECT_EQ(y.data, moved);
    EXPECT_TRUE(same_bits(run[y], expected)) << name_of(form);
    Tape<T> tape;
    TestedNorm<T> gradient = norm;
    tape.begin(norm, gradient);
    Recording<T> recording(tape, Sequences::single(5));
    const Variable recorded = normalize(recording, tape.input(x), norm.parameters());
    EXPECT_TRUE(same_bits(tape[recorded], expected)) << name_of(form);
  }
}

TEST(NormalizeBackward, GradientsAreCorrectForEveryForm) {
  for (const NormForm form : forms) {
    for (const Index channels : {1, 5, 8, 19}) {
      for (const double deviation : {1.0, 0.03}) {  // 0.03 is below eps = 0.1: scale_norm clamps to eps
        SCOPED_TRACE(testing::Message() << name_of(form) << ", " << channels << ", " << deviation);
        test::expect_gradients(TestedNorm<double>(form, channels, 0.1), random_matrix<double>(7, channels, 1, deviation),
                               [](Tape<double>& tape, const TestedNorm<double>& norm, Variable x) {
                                 Recording<double> run(tape, Sequences::single(tape.rows(x)));
                                 const Variable y = normalize(run, x, norm.parameters());
                                 return normalize(run, add(run, y, x), norm.parameters());  // x is read twice
                               });
      }
    }
  }
}

}  // namespace
}  // namespace gated::norm_test
