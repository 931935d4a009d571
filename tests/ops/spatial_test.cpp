#include "gated/ops/spatial.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "gated/core/settings.hpp"
#include "tests/ops/op.hpp"

namespace gated::spatial_test {
namespace {

using test::expect_op;
using test::Op;
using test::random_matrix;
using test::same_bits;

struct Config {
  SpatialForm form = SpatialForm::dense;
  bool causal = true;
  Index heads = 1, length = 12;
  bool scaled = false;  // the residual has a learned scale

  std::string describe() const { return text(name_of(form), causal ? ", causal" : "", ", heads ", heads, ", length ", length); }
};

std::vector<Config> all_forms(Index length) {
  std::vector<Config> all;
  for (const Index heads : {1, 3}) {
    for (const bool causal : {false, true}) {
      all.push_back({SpatialForm::dense, causal, heads, length});
      all.push_back({SpatialForm::toeplitz, causal, heads, length});
    }
    all.push_back({SpatialForm::scaled_toeplitz, true, heads, length});
  }
  return all;
}

/// The parameters of a spatial weight.
template <class T>
struct Numbers {
  using Scalar = T;
  Config config;
  Matrix<T> w, x, y, bias;
  Vector<T> scale;

  explicit Numbers(const Config& c) : config(c) {
    const Index n = c.length;
    const bool is_dense = c.form == SpatialForm::dense, is_scaled = c.form == SpatialForm::scaled_toeplitz;
    w = random_matrix<T>(is_dense ? c.heads * n : c.heads, is_dense || is_scaled ? n : 2 * n - 1, 1);
    x = random_matrix<T>(is_scaled ? c.heads : 0, is_scaled ? n : 0, 2);
    y = random_matrix<T>(is_scaled ? c.heads : 0, is_scaled ? n : 0, 3);
    bias = random_matrix<T>(c.heads, n, 4);
    scale = test::random_vector<T>(c.scaled ? 6 : 0, 5);
  }
  static constexpr auto fields() {
    return Fields(field("w", &Numbers::w, Role::spatial), field("x", &Numbers::x, Role::spatial),
                  field("y", &Numbers::y, Role::spatial), field("bias", &Numbers::bias, Role::spatial),
                  field("scale", &Numbers::scale, Role::norm));
  }
  SpatialWeight<T> weight() const { return {config.form, config.length, config.heads, config.causal, &w, &x, &y, &bias}; }

  /// W_ij as SpatialForm documents it.
  T entry(Index head, Index i, Index j) const {
    const Index n = config.length;
    if (config.causal && j > i) {
      return 0;
    }
    switch (config.form) {
      case SpatialForm::dense:
        return w(head * n + i, j);
      case SpatialForm::toeplitz:
        return w(head, (n - 1) + (i - j));  // w_{i-j}; each row of w is w_{1-n}, …, w_{n-1}
      case SpatialForm::scaled_toeplitz:
        break;
    }
    return w(head, n - 1 - (i - j)) * x(head, i) * y(head, j);
  }

  Matrix<double> literal(const Matrix<T>& v) const {
    Matrix<double> sum = Matrix<double>::Zero(v.rows(), v.cols());
    const Index per_head = v.cols() / config.heads;
    for (Index i = 0; i < v.rows(); ++i) {
      for (Index c = 0; c < v.cols(); ++c) {
        sum(i, c) = static_cast<double>(bias(c / per_head, i));
        for (Index j = 0; j < v.rows(); ++j) {
          sum(i, c) += static_cast<double>(entry(c / per_head, i, j)) * static_cast<double>(v(j, c));
        }
      }
    }
    return sum;
  }
};

const auto mixed = [](auto& run, const auto& p, auto v) {
  return mix_tokens(run, p.weight(), v, Epilogue<std::remove_cvref_t<decltype(run)>>());
};
using Mixed = decltype(mixed);

template <class T>
class SpatialOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SpatialOf, Scalars, );

TYPED_TEST(SpatialOf, MaterializesRowsOfEveryForm) {
  using T = TypeParam;
  Workspace<T> workspace;
  const auto frame = workspace.frame();
  for (const Config& config : all_forms(9)) {
    const Numbers<T> numbers(config);
    const SpatialWeight<T> weight = numbers.weight();
    for (Index head = 0; head < config.heads; ++head) {
      for (Index i = 0; i < 9; ++i) {
        for (Index count = 0; count <= 9; ++count) {
          std::vector<T> row(static_cast<std::size_t>(count) + 1, T{-7});
          weight.expand_row(head, i, count, row.data());
          for (Index j = 0; j < count; ++j) {
            ASSERT_EQ(row[static_cast<std::size_t>(j)], numbers.entry(head, i, j))
                << config.describe() << ": " << i << ", " << j;
          }
          ASSERT_EQ(row.back(), T{-7}) << "written past the row";
        }
      }
      // Multiplies the weight by the identity: matmul() materializes the weight, or reads it in place.
      for (const auto& [first, count] : {std::pair<Index, Index>{0, 9}, {0, 1}, {3, 4}, {8, 1}}) {
        const Index depth = config.causal ? first + count : 9;
        Matrix<T> rows(count, depth);
        matmul(weight.rows(head, first, count, depth, workspace), Matrix<T>(Matrix<T>::Identity(depth, depth)), rows,
               workspace);
        for (Index i = 0; i < count; ++i) {
          for (Index j = 0; j < depth; ++j) {
            ASSERT_EQ(rows(i, j), numbers.entry(head, first + i, j)) << config.describe() << ": " << first + i << ", " << j;
          }
        }
      }
    }
  }
}

TYPED_TEST(SpatialOf, EqualsItsFormulaInEveryForm) {
  using T = TypeParam;
  for (const Index length : {1, 2, 17, 300}) {  // 300 tokens span three blocks of a causal weight
    for (const Config& config : all_forms(length)) {
      const Numbers<T> numbers(config);
      const auto v = random_matrix<T>(length, 21, 6);
      Workspace<T> workspace;
      const Matrix<T> y = Op(numbers, mixed, 21, 21).forward(v, Sequences::single(length), workspace);
      const double tolerance = (sizeof(T) == 4 ? 1e-5 : 1e-13) * std::sqrt(static_cast<double>(length));
      ASSERT_LE((y.template cast<double>() - numbers.literal(v)).cwiseAbs().maxCoeff(), 8 * tolerance) << config.describe();
    }
  }
}

TEST(Spatial, IsBitEqualInEveryRunWithCorrectGradients) {
  for (const Config& config : all_forms(12)) {
    SCOPED_TRACE(config.describe());
    expect_op<Numbers>(config, mixed, {.in = 6, .out = 6, .streams = config.causal});
  }
}

TYPED_TEST(SpatialOf, IsBitEqualInEveryRunAcrossBlocks) {
  for (const Config& config : all_forms(300)) {
    SCOPED_TRACE(config.describe());
    test::expect_same_in_every_run(Op(Numbers<TypeParam>(config), mixed, 21, 21),
                                   {.in = 21, .out = 21, .lengths = {300, 3, 0, 131, 128, 1, 129}, .streams = config.causal});
  }
}

/// Spatial mixing as a layer, so that a hook sees it.
struct Mixing : Layer<Mixing, double> {
  static constexpr const char* name = "Mixing";
  const Numbers<double>* numbers;
  explicit Mixing(const Numbers<double>& numbers_) : numbers(&numbers_) {}
  static constexpr auto fields() { return Fields(); }
  Contract contract() const { return {}; }
  auto apply(auto& run, auto v, auto then) const { return mix_tokens(run, numbers->weight(), v, std::move(then)); }
};

TEST(Spatial, FusesAnEpilogue) {
  for (const bool causal : {false, true}) {
    for (int fields = 0; fields < 32; ++fields) {
      SCOPED_TRACE(testing::Message() << fields << ", causal " << causal);
      const auto epilogue_for = [fields](auto& run, const auto& p, const auto& x) {
        using X = std::remove_cvref_t<decltype(x)>;
        return Epilogue<std::remove_cvref_t<decltype(run)>>{.added = fields & 1 ? run.columns(x, 6, 6) : X(),
                                                            .activation = fields & 2 ? Activation::tanh : Activation::identity,
                                                            .gate = fields & 4 ? run.columns(x, 12, 6) : X(),
                                                            .residual = fields & 8 ? run.columns(x, 18, 6) : X(),
                                                            .residual_scale = p.scale.data()};
      };
      const auto joined = [epilogue_for](auto& run, const auto& p, const auto& x) {
        return mix_tokens(run, p.weight(), run.columns(x, 0, 6), epilogue_for(run, p, x));
      };
      const Config config{.causal = causal, .heads = 2, .scaled = (fields & 16) != 0};
      expect_op<Numbers>(config, joined, {.in = 24, .out = 6, .streams = causal});
      // The formula applies the epilogue to the plain sum.
      const Numbers<double> numbers(config);
      const auto x = random_matrix<double>(12, 24, 1);
      Matrix<double> expected = numbers.literal(x.leftCols(6));
      expected += fields & 1 ? Matrix<double>(x.middleCols(6, 6)) : Matrix<double>(Matrix<double>::Zero(12, 6));
      expected = fields & 2 ? Matrix<double>(expected.array().tanh()) : expected;
      expected = fields & 4 ? Matrix<double>(expected.cwiseProduct(x.middleCols(12, 6))) : expected;
      if (fields & 8) {
        expected += fields & 16 ? Matrix<double>(x.rightCols(6) * numbers.scale.asDiagonal()) : Matrix<double>(x.rightCols(6));
      }
      Workspace<double> workspace;
      const Matrix<double> y = Op(numbers, joined, 24, 6).forward(x, Sequences::single(12), workspace);
      EXPECT_LE((y - expected).cwiseAbs().maxCoeff(), 1e-12);
      std::vector<Matrix<double>> seen;
      workspace.set_hook([&](const std::string&, ConstView<double> output) { seen.emplace_back(output); });
      const auto frame = workspace.frame();
      Batch<double> run(workspace, Sequences::single(12));
      const RunMatrix<double> input(input_view<double>(x));
      const auto observed = run(Mixing(numbers), run.columns(input, 0, 6), epilogue_for(run, numbers, input));
      EXPECT_TRUE(same_bits(run[observed], y));
      ASSERT_EQ(seen.size(), 1u) << "the plain sum";
      EXPECT_LE((seen[0] - numbers.literal(x.leftCols(6))).cwiseAbs().maxCoeff(), 1e-12);
    }
  }
}

TEST(Spatial, FusedEpiloguesAreBitEqualToSeparateOnes) {
  for (const Config& config : all_forms(300)) {
    SCOPED_TRACE(config.describe());
    test::expect_bits_of_join<Numbers>(config,
                                       [](auto& run, const auto& p, const auto& x, auto epilogue) {
                                         return mix_tokens(run, p.weight(), x, std::move(epilogue));
                                       },
                                       {.in = 12, .out = 12, .lengths = {300, 3, 0, 131}, .streams = config.causal});
  }
}

TYPED_TEST(SpatialOf, NeverReadsLaterTokensIfCausal) {
  using T = TypeParam;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  constexpr Index length = 140;
  for (const Config& config : all_forms(length)) {
    if (!config.causal) {
      continue;
    }
    Numbers<T> numbers(config);
    for (Index i = 0; i < length && config.form == SpatialForm::dense; ++i) {
      numbers.w.row(i).tail(length - 1 - i).setConstant(i % 2 == 0 ? infinity : infinity - infinity);  // masked elements of W
    }
    for (Index offset = 1; offset < length && config.form == SpatialForm::toeplitz; ++offset) {
      numbers.w.col(length - 1 - offset).setConstant(infinity);
    }
    const Op layer(numbers, mixed, 6, 6);
    const auto v = random_matrix<T>(length, 6, 2);
    Workspace<T> workspace;
    const Matrix<T> y = layer.forward(v, Sequences::single(length), workspace);
    ASSERT_TRUE(y.allFinite());
    for (Index t = 0; t < length; ++t) {
      Matrix<T> spoilt = v;
      spoilt.bottomRows(length - t).setConstant(t % 3 == 0 ? infinity : t % 3 == 1 ? -infinity : infinity - infinity);
      const Matrix<T> got = layer.forward(spoilt, Sequences::single(length), workspace);
      ASSERT_TRUE(same_bits(got.topRows(t), y.topRows(t))) << config.describe() << ": token " << t;
      ASSERT_FALSE(got.row(t).array().isFinite().any()) << "its own row";
      State<T> state = layer.start(length);
      Matrix<T> streamed(length, 6);
      layer.extend(spoilt, state, streamed, workspace);
      ASSERT_TRUE(same_bits(streamed.topRows(t), y.topRows(t))) << config.describe() << ": token " << t << " of a stream";
    }
  }
}

}  // namespace
}  // namespace gated::spatial_test
