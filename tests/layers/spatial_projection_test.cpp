#include "gated/layers/spatial_projection.hpp"

#include "literal.hpp"
#include "tests/ops/fourier_numbers.hpp"
#include "tests/promises.hpp"

namespace gated::spatial_projection_test {
namespace {

using test::message_of;
using test::near;
using test::random_matrix;
using test::wide;

template <class T>
SpatialProjection<T> random_projection(const SpatialProjectionConfig& config, std::uint64_t seed = 1) {
  SpatialProjection<T> layer(config);
  test::randomize(layer, seed);
  return layer;
}

template <class T>
Matrix<T> project(const SpatialProjection<T>& layer, const Matrix<T>& v, const Sequences& sequences) {
  Matrix<T> y(v.rows(), v.cols());
  Workspace<T> workspace;
  layer.forward(v, sequences, y, workspace);
  return y;
}

/// W_ij as SpatialForm documents it.
template <class T>
T entry(const SpatialProjection<T>& layer, Index head, Index i, Index j) {
  const Index n = layer.config.length;
  if (layer.config.causal && j > i) {
    return 0;
  }
  switch (layer.config.form) {
    case SpatialForm::dense:
      return layer.weight(head * n + i, j);
    case SpatialForm::toeplitz:
      return layer.weight(head, (n - 1) + (i - j));  // w_{i-j}; a row of `weight` holds w_{1-n}, …, w_{n-1}
    case SpatialForm::scaled_toeplitz:
      return j <= i ? layer.weight(head, n - 1 - (i - j)) * layer.position_x(head, i) * layer.position_y(head, j) : 0;
  }
  return 0;
}

std::vector<SpatialProjectionConfig> all_forms(Index length) {
  std::vector<SpatialProjectionConfig> configs;
  for (const SpatialForm form : {SpatialForm::dense, SpatialForm::toeplitz, SpatialForm::scaled_toeplitz}) {
    for (const bool causal : {false, true}) {
      for (const Index heads : {1, 3}) {
        configs.push_back({.length = length, .heads = heads, .causal = causal, .form = form});
      }
    }
  }
  return configs;
}

/// Toeplitz configurations with `fourier_from` = `from`, for sequences of up to `length` tokens.
std::vector<SpatialProjectionConfig> transformed_forms(Index length, Index from) {
  std::vector<SpatialProjectionConfig> configs;
  for (SpatialProjectionConfig config : all_forms(length)) {
    if (config.form != SpatialForm::dense) {
      config.length_policy = LengthPolicy::slice;
      config.fourier_from = from;
      configs.push_back(config);
    }
  }
  return configs;
}

std::string describe(const SpatialProjectionConfig& c) {
  return text(name_of(c.form), c.causal ? ", causal" : "", ", heads ", c.heads, ", length ", c.length, ", from ",
              c.fourier_from);
}

template <class T>
class SpatialProjectionOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SpatialProjectionOf, Scalars, );

TYPED_TEST(SpatialProjectionOf, EqualsAHandComputedMix) {
  using T = TypeParam;
  Matrix<T> v(2, 2), expected(2, 2);
  v << 1, 2,  //
      10, 20;

  SpatialProjection<T> dense({.length = 2});
  dense.weight << 1, 2,  //
      3, 4;
  dense.bias << 100, 200;
  expected << 121, 142,  //
      243, 286;
  EXPECT_TRUE(test::same_bits(project(dense, v, Sequences::single(2)), expected));

  dense.config.causal = true;
  expected.row(0) << 101, 102;
  EXPECT_TRUE(test::same_bits(project(dense, v, Sequences::single(2)), expected));

  SpatialProjection<T> toeplitz({.length = 2, .form = SpatialForm::toeplitz});
  toeplitz.weight << 3, 1, 5;  // above, on and below the diagonal: W = [1 3; 5 1]
  toeplitz.bias << 0, 0;
  expected << 31, 62,  //
      15, 30;
  EXPECT_TRUE(test::same_bits(project(toeplitz, v, Sequences::single(2)), expected));

  SpatialProjection<T> scaled({.length = 2, .form = SpatialForm::scaled_toeplitz});
  scaled.weight << 5, 1;  // below and on the diagonal: [1 0; 5 1] before scaling
  scaled.position_x << 1, 2;
  scaled.position_y << 3, 1;  // W = [3 0; 30 2]
  scaled.bias << 0, 0;
  expected << 3, 6,  //
      50, 100;
  EXPECT_TRUE(test::same_bits(project(scaled, v, Sequences::single(2)), expected));
}

TYPED_TEST(SpatialProjectionOf, MaterializesTheWeightOfItsForm) {
  using T = TypeParam;
  for (const auto& config : all_forms(6)) {
    const auto layer = random_projection<T>(config);
    for (const Index length : {1, 4, 6}) {
      for (Index head = 0; head < config.heads; ++head) {
        const Matrix<T> w = layer.effective_weight(head, length);
        for (Index i = 0; i < length; ++i) {
          for (Index j = 0; j < length; ++j) {
            ASSERT_EQ(w(i, j), entry(layer, head, i, j)) << describe(config) << ": " << i << ", " << j;
          }
        }
      }
    }
  }
}

TYPED_TEST(SpatialProjectionOf, EqualsItsFormulaInEveryForm) {
  using T = TypeParam;
  for (const Index length : {1, 2, 17, 150}) {  // 150 tokens span two row blocks of a causal projection
    for (const auto& config : all_forms(length)) {
      const auto layer = random_projection<T>(config);
      const auto sequences = Sequences::uniform(2, length);
      const auto v = random_matrix<T>(sequences.total(), 21, 2);
      EXPECT_TRUE(near(project(layer, v, sequences), literal::spatial(layer, wide(v), sequences))) << describe(config);
    }
  }
}

TYPED_TEST(SpatialProjectionOf, UsesTheTopLeftCornerForShorterSequences) {
  using T = TypeParam;
  for (SpatialProjectionConfig config : all_forms(140)) {
    config.length_policy = LengthPolicy::slice;
    const auto layer = random_projection<T>(config);
    const auto sequences = Sequences::of_lengths({140, 3, 0, 131, 1});
    const auto v = random_matrix<T>(sequences.total(), 6, 2);
    EXPECT_TRUE(near(project(layer, v, sequences), literal::spatial(layer, wide(v), sequences))) << describe(config);
  }
}

TYPED_TEST(SpatialProjectionOf, EqualsItsFormulaWithTheFft) {
  using T = TypeParam;
  const Index lanes = Simd<T>::width;
  for (const Index length : {1, 2, 17, 96, 301}) {
    for (const Index from : {1, 3, 8, 50}) {
      for (const auto& config : transformed_forms(length, from)) {
        const auto layer = random_projection<T>(config);
        const auto sequences = Sequences::of_lengths({length, (length + 1) / 2, 0, length});
        const auto v = random_matrix<T>(sequences.total(), length == 17 ? 15 * lanes : 21, 2);
        const Matrix<double> expected = literal::spatial(layer, wide(v), sequences);
        EXPECT_TRUE(test::near_largest<T>(project(layer, v, sequences), expected.template cast<long double>()))
            << describe(config);
      }
    }
  }
}

TEST(SpatialProjection, VisitsEachPairOfTokensOnce) {
  // v = I and all weights w_k are 1, so y_tc counts how often token t uses token c.
  for (const Index tile : {1, 2, 4}) {
    for (Index length = 6 * tile; length <= 100; length += 1 + length / 9) {
      SpatialProjection<double> layer({.length = length, .causal = true, .form = SpatialForm::toeplitz, .fourier_from = tile});
      ASSERT_TRUE(layer.parameters().is_transformed(length));
      layer.weight.setOnes();
      layer.bias.setZero();
      const Matrix<double> v = Matrix<double>::Identity(length, length);
      const Matrix<double> expected = Matrix<double>(v.unaryExpr([](double) { return 1.0; }).triangularView<Eigen::Lower>());
      EXPECT_TRUE(near<double>(project(layer, v, Sequences::single(length)), expected, 1e-12)) << length << ", " << tile;
    }
  }
}

TEST(SpatialProjection, ChoosesTheFftByLengthAlone) {
  // A non-causal Toeplitz weight uses the FFT for `fourier_from` or more tokens. In sequences of at least six tiles (of 8
  // tokens here), a causal weight uses the FFT after the first tile.
  for (SpatialProjectionConfig config : transformed_forms(60, 13)) {
    const auto plain_config = [&] {
      auto c = config;
      c.fourier_from = 61;
      return c;
    }();
    const auto layer = random_projection<float>(config), plain = random_projection<float>(plain_config);
    const bool causal = layer.is_causal();
    for (const Index length : {8, 9, 12, 13, 47, 48, 60}) {
      const auto v = random_matrix<float>(length, 6, 2);
      const Matrix<float> y = project(layer, v, Sequences::single(length)),
                          other = project(plain, v, Sequences::single(length));
      const Index same = causal ? (length < 48 ? length : 8) : length < 13 ? length : 0;
      EXPECT_TRUE(test::same_bits(y.topRows(same), other.topRows(same))) << describe(config) << ", " << length << " tokens";
      if (same < length) {
        EXPECT_FALSE(test::same_bits(y, other)) << describe(config) << ", " << length << " tokens";
      }
    }
  }
  EXPECT_EQ(SpatialProjectionConfig().fourier_from, fourier_crossover);
}

/// A projection without an epilogue or, if `with_all`, with every operand of an epilogue.
template <class T>
struct Mixing : Layer<Mixing<T>> {
  static constexpr const char* name = "Mixing";

  SpatialProjection<T> proj;
  std::optional<Linear<T>> others;

  Index channels;

  Mixing(const SpatialProjectionConfig& config, bool with_all, Index channels_ = 6) : proj(config), channels(channels_) {
    if (with_all) {
      others.emplace(channels, 3 * channels);
    }
  }
  static constexpr auto fields() { return Fields(field("proj", &Mixing::proj), field("others", &Mixing::others)); }
  Contract contract() const {
    Contract contract = proj.contract();
    contract.in = contract.out = channels;
    return contract;
  }

  auto apply(auto& run, auto x) const {
    if (!others) {
      return run(proj, x);
    }
    const auto all = run(*others, x);  // N × 3C
    return run(proj, x,
               {.added = run.columns(all, 0, channels),
                .activation = Activation::tanh,
                .gate = run.columns(all, channels, channels),
                .residual = run.columns(all, 2 * channels, channels)});
  }
};

TEST(SpatialProjection, KeepsItsPromises) {
  for (SpatialProjectionConfig config : all_forms(9)) {
    SCOPED_TRACE(describe(config));
    config.length_policy = LengthPolicy::slice;
    const bool causal = SpatialProjection<float>(config).is_causal();
    for (const bool fuses : {false, true}) {
      test::expect_promises([&](auto zero) { return Mixing<decltype(zero)>(config, fuses); }, {.causal = causal});
    }
  }
}

TEST(SpatialProjection, KeepsItsPromisesAcrossRowBlocks) {
  for (SpatialProjectionConfig config : all_forms(140)) {
    SCOPED_TRACE(describe(config));
    config.length_policy = LengthPolicy::slice;
    test::expect_promises(
        [&](auto zero) { return Mixing<decltype(zero)>(config, true); },
        {.lengths = {140, 3, 131}, .causal = SpatialProjection<float>(config).is_causal(), .trains = config.heads == 1});
  }
}

TEST(SpatialProjection, KeepsItsPromisesWithThreadedProducts) {
  for (SpatialProjectionConfig config : all_forms(260)) {
    if (config.heads > 1) {
      continue;
    }
    SCOPED_TRACE(describe(config));
    config.length_policy = LengthPolicy::slice;
    test::expect_promises([&](auto zero) { return Mixing<decltype(zero)>(config, true, 32); },
                          {.lengths = {260, 3, 131}, .causal = SpatialProjection<float>(config).is_causal(), .trains = false});
  }
}

TEST(SpatialProjection, KeepsItsPromisesWithTheFft) {
  for (const auto& config : transformed_forms(9, 1)) {
    SCOPED_TRACE(describe(config));
    const bool causal = SpatialProjection<float>(config).is_causal();
    test::expect_promises([&](auto zero) { return Mixing<decltype(zero)>(config, false); },
                          {.causal = causal, .streams_otherwise = causal});
  }
  for (const auto& config : transformed_forms(43, 4)) {  // three tile sizes
    SCOPED_TRACE(describe(config));
    const bool causal = SpatialProjection<float>(config).is_causal();
    test::expect_promises([&](auto zero) { return Mixing<decltype(zero)>(config, true); },
                          {.lengths = {43, 3, 22}, .causal = causal, .streams_otherwise = causal, .trains = config.heads == 1});
  }
}

TEST(SpatialProjection, VisitsEachPairOfTokensOnceInStreams) {
  for (const Index tile : {1, 2, 4, 8}) {
    for (Index length = 6 * tile; length <= 150; length += 1 + length / 9) {
      Mixing<double> layer({.length = length, .causal = true, .form = SpatialForm::toeplitz, .fourier_from = tile}, false,
                           length);
      layer.proj.weight.setOnes();
      layer.proj.bias.setZero();
      const Matrix<double> v = Matrix<double>::Identity(length, length);
      const Matrix<double> expected = Matrix<double>(v.unaryExpr([](double) { return 1.0; }).triangularView<Eigen::Lower>());
      const auto weights = prepare(layer);
      for (const bool prepared : {false, true}) {
        Workspace<double> workspace;
        if (prepared) {
          workspace.use(weights);
        }
        for (const Index step : {Index{1}, Index{7}, length}) {
          auto state = layer.start(length);
          Matrix<double> y(length, length);
          for (Index t = 0; t < length; t += step) {
            const Index rows = std::min(step, length - t);
            layer.extend(v.middleRows(t, rows), state, y.middleRows(t, rows), workspace);
          }
          EXPECT_TRUE(near<double>(y, expected, 1e-12))
              << length << ", " << tile << ", in steps of " << step << (prepared ? ", prepared" : "");
        }
      }
    }
  }
}

TYPED_TEST(SpatialProjectionOf, AppliesAnEpilogueToEverySequence) {
  using T = TypeParam;
  for (const auto& config : all_forms(140)) {
    Mixing<T> layer(config, true);
    test::randomize(layer, 1);
    const auto sequences = Sequences::uniform(2, 140);
    const auto x = random_matrix<T>(280, 6, 2);
    const Matrix<double> all = literal::linear(*layer.others, wide(x));
    const Matrix<double> z = literal::spatial(layer.proj, wide(x), sequences) + all.leftCols(6);
    Workspace<T> workspace;
    EXPECT_TRUE(near(layer.forward(x, sequences, workspace),
                     literal::activate(Activation::tanh, z).cwiseProduct(all.middleCols(6, 6)) + all.rightCols(6)))
        << describe(config);
  }
}

TYPED_TEST(SpatialProjectionOf, HooksSeeItsOutputBeforeTheEpilogue) {
  using T = TypeParam;
  for (const auto& config : all_forms(9)) {
    Mixing<T> layer(config, true);
    test::randomize(layer, 1);
    const auto x = random_matrix<T>(9, 6, 2);
    Workspace<T> workspace;
    Matrix<T> shown;
    workspace.set_hook([&](const std::string& path, ConstView<T> output) {
      if (path == "proj") {
        shown = output;
      }
    });
    layer.forward(x, Sequences::single(9), workspace);
    EXPECT_TRUE(near(shown, literal::spatial(layer.proj, wide(x), Sequences::single(9)))) << describe(config);
  }
}

TEST(SpatialProjection, HasOnlyTheParametersOfItsForm) {
  const auto count = [](SpatialForm form, Index heads) {
    const SpatialProjectionConfig config{.length = 512, .heads = heads, .form = form};
    return parameter_count(SpatialProjection<float>(config));
  };
  EXPECT_EQ(count(SpatialForm::dense, 1), 512 * 512 + 512);
  EXPECT_EQ(count(SpatialForm::dense, 4), 4 * (512 * 512 + 512));
  EXPECT_EQ(count(SpatialForm::toeplitz, 1), 2 * 512 - 1 + 512);
  EXPECT_EQ(count(SpatialForm::toeplitz, 4), 4 * (2 * 512 - 1 + 512));
  EXPECT_EQ(count(SpatialForm::scaled_toeplitz, 4), 4 * (3 * 512 + 512));
}

/// Scratch memory must stay below a quarter of an n × n weight.
TEST(SpatialProjection, NeverMaterializesAToeplitzWeight) {
  constexpr Index n = 1000;
  for (const SpatialForm form : {SpatialForm::toeplitz, SpatialForm::scaled_toeplitz}) {
    for (const bool causal : {false, true}) {
      const auto layer = random_projection<float>({.length = n, .causal = causal, .form = form});
      const auto v = random_matrix<float>(n, 70, 2);
      Matrix<float> y(n, 70);
      Workspace<float> workspace;
      layer.forward(v, Sequences::single(n), y, workspace);
      EXPECT_LT(workspace.bytes(), std::size_t{n} * n * sizeof(float) / 4) << name_of(form) << ' ' << causal;
    }
  }
}

TEST(SpatialProjection, ReportsTheShapeOfItsWeight) {
  EXPECT_EQ((SpatialProjection<float>({.length = 5, .heads = 2}).weight_shape()), (Shape{2, 5, 5}));
  EXPECT_EQ((SpatialProjection<float>({.length = 5, .heads = 2, .form = SpatialForm::toeplitz}).weight_shape()), (Shape{2, 9}));
  EXPECT_EQ((SpatialProjection<float>({.length = 5, .heads = 2, .form = SpatialForm::scaled_toeplitz}).weight_shape()),
            (Shape{2, 5}));
}

TEST(SpatialProjection, RefusesOtherLengthsAndSuggestsARemedy) {
  SpatialProjection<float> layer({.length = 196});
  Workspace<float> workspace;
  const auto refusal = [&](const Sequences& sequences) {
    Matrix<float> y = Matrix<float>::Constant(sequences.total(), 4, 7);
    const std::string message =
        message_of<ShapeError>([&] { layer.forward(Matrix<float>::Zero(sequences.total(), 4), sequences, y, workspace); });
    EXPECT_TRUE((y.array() == 7).all()) << "nothing is written";
    return message;
  };
  EXPECT_EQ(refusal(Sequences::single(197)),
            "SpatialProjection::forward: sequence 0 of 1 has 197 tokens, expected 196. Resize the spatial weight with "
            "resize_length(); for shorter "
            "sequences, length_policy = slice uses its corner.");
  EXPECT_EQ(refusal(Sequences::single(64)),
            "SpatialProjection::forward: sequence 0 of 1 has 64 tokens, expected 196. Resize the spatial weight with "
            "resize_length(); for "
            "shorter sequences, length_policy = slice uses its corner.");
  EXPECT_EQ(refusal(Sequences::of_lengths({196, 12})),
            "SpatialProjection::forward: sequence 1 of 2 has 12 tokens, expected 196. Resize the spatial weight with "
            "resize_length(); for "
            "shorter sequences, length_policy = slice uses its corner.");
  layer.config.length_policy = LengthPolicy::slice;
  EXPECT_EQ(refusal(Sequences::single(197)),
            "SpatialProjection::forward: sequence 0 of 1 has 197 tokens, expected 196 at most. Resize the spatial weight with "
            "resize_length(); for "
            "shorter sequences, length_policy = slice uses its corner.");
  layer.config = {.length = 196, .causal = true};
  EXPECT_NE(refusal(Sequences::single(197)).find("Resize the spatial weight"), std::string::npos);
}

TEST(SpatialProjection, AcceptsShorterSequencesIfCausal) {
  const auto layer = random_projection<float>({.length = 9, .causal = true});
  const auto v = random_matrix<float>(9, 4, 2);
  EXPECT_TRUE(test::same_bits(project(layer, Matrix<float>(v.topRows(5)), Sequences::single(5)),
                              project(layer, v, Sequences::single(9)).topRows(5)));
}

TEST(SpatialProjection, RefusesRowsOutsideTheSequences) {
  const SpatialProjection<float> layer({.length = 4});
  Workspace<float> workspace;
  Matrix<float> y = Matrix<float>::Constant(9, 2, 7);
  EXPECT_THROW(layer.forward(Matrix<float>::Zero(9, 2), Sequences::uniform(2, 4), y, workspace), ShapeError);
  EXPECT_THROW(layer.forward(Matrix<float>::Zero(8, 2), Sequences::uniform(2, 4), y, workspace), ShapeError);
  EXPECT_TRUE((y.array() == 7).all());
}

TEST(SpatialProjection, RefusesHeadsThatDoNotDivideTheChannels) {
  const SpatialProjection<float> layer({.length = 4, .heads = 3});
  Workspace<float> workspace;
  Matrix<float> y = Matrix<float>::Constant(4, 7, 7);
  EXPECT_EQ(message_of<ShapeError>([&] { layer.forward(Matrix<float>::Zero(4, 7), Sequences::single(4), y, workspace); }),
            "SpatialProjection: v has 7 channels, expected a multiple of heads = 3.");
  EXPECT_TRUE((y.array() == 7).all());
}

TEST(SpatialProjection, RefusesToStreamIfNotCausal) {
  const std::string message =
      message_of<ArgumentError>([] { Mixing<float>(SpatialProjectionConfig{.length = 4}, false).start(); });
  EXPECT_NE(message.find("Build it with causal = true"), std::string::npos) << message;
}

TEST(SpatialProjection, RefusesNonPositiveSizes) {
  EXPECT_THROW(SpatialProjection<float>({.length = 0}), ArgumentError);
  EXPECT_THROW(SpatialProjection<float>({.length = -3, .form = SpatialForm::toeplitz}), ArgumentError);
  EXPECT_THROW(SpatialProjection<float>({.length = 4, .heads = 0}), ArgumentError);
  EXPECT_THROW(SpatialProjection<float>({.length = 4, .form = SpatialForm::toeplitz, .fourier_from = 0}), ArgumentError);
}

TEST(SpatialProjection, RefusesToMaterialiseOutOfRangeHeadsOrLengths) {
  const SpatialProjection<float> layer({.length = 4, .heads = 2});
  EXPECT_THROW(layer.effective_weight(0, 5), ArgumentError);
  EXPECT_THROW(layer.effective_weight(0, -1), ArgumentError);
  EXPECT_THROW(layer.effective_weight(2, 4), ArgumentError);
  EXPECT_THROW(layer.effective_weight(-1, 4), ArgumentError);
}

TEST(SpatialProjection, MasksWeightsPermanently) {
  const auto original = random_projection<double>({.length = 3, .heads = 2});
  Matrix<double> mask(3, 3);
  mask << 1, 0, 1,  //
      0, 1, 1,      //
      0, 0, 0;
  auto layer = original;
  layer.apply_mask(mask);
  for (Index head = 0; head < 2; ++head) {
    EXPECT_TRUE(near<double>(layer.effective_weight(head, 3), original.effective_weight(head, 3).cwiseProduct(mask), 0));
  }

  layer = original;
  layer.apply_mask(mask.topLeftCorner(1, 2));  // the row [1 0], repeated
  Matrix<double> expected = original.effective_weight(1, 3);
  expected.block(0, 1, 2, 1).setZero();
  EXPECT_TRUE(near<double>(layer.effective_weight(1, 3), expected, 0)) << "a smaller mask changes the corner only";
}

TEST(SpatialProjection, RefusesMismatchedMasksBeforeAnyChange) {
  auto layer = random_projection<float>({.length = 3});
  const auto before = layer;
  EXPECT_EQ(message_of<ShapeError>([&] { layer.apply_mask(Matrix<float>::Zero(4, 4)); }),
            "SpatialProjection::apply_mask: the mask is 4 × 4, expected n × n or 1 × n with n ≤ 3 tokens.");
  EXPECT_THROW(layer.apply_mask(Matrix<float>::Zero(2, 3)), ShapeError);
  EXPECT_THROW(layer.apply_mask(Matrix<float>::Zero(1, 4)), ShapeError);
  EXPECT_TRUE(test::same_bits(layer.weight, before.weight));

  auto toeplitz = random_projection<float>({.length = 3, .form = SpatialForm::toeplitz});
  EXPECT_NE(message_of<ArgumentError>([&] { toeplitz.apply_mask(Matrix<float>::Zero(3, 3)); }).find("Use the dense form"),
            std::string::npos);
}

}  // namespace
}  // namespace gated::spatial_projection_test
