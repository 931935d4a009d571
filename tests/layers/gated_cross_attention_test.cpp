#include "gated/layers/gated_cross_attention.hpp"

#include "literal_attention.hpp"
#include "tests/promises.hpp"

namespace gated::gated_cross_attention_test {
namespace {

using test::is_untouched;
using test::near;
using test::random_layer;
using test::random_matrix;
using test::refuses;
using test::same_bits;
using test::settings_of;
using test::untouched;
using test::wide;

constexpr Index c = 6, e = 10, s = 8, key_width = 5, value_width = 7;

std::vector<GatedCrossAttentionConfig> configs() {
  const GatedCrossAttentionConfig plain{
      .channels = c, .key_channels = key_width, .value_channels = value_width, .value = e, .query_key = s};
  std::vector<GatedCrossAttentionConfig> all(8, plain);
  all[1].bias = true;
  all[2].key_value_activation = Activation::silu;
  all[3].norm = NormForm::layer_norm;
  all[4].residual = Residual::plain;
  all[5].residual = Residual::none;
  all[6].kernel = ScoreKernel::softmax;
  all[7].kernel = ScoreKernel::laplace;
  all.push_back(all[2]);
  all.back().kernel = ScoreKernel::softmax_plus;
  all.back().bias = true;
  all.back().activation = Activation::relu;
  return all;
}

/// Cross attention as a layer with one input x, whose columns hold the query, key and value inputs. The mask hides keys.
template <class T>
struct Beside : Layer<Beside<T>> {
  using Config = GatedCrossAttentionConfig;
  static constexpr const char* name = "Beside";

  GatedCrossAttention<T> attention;

  explicit Beside(const Config& config) : attention(config) {}
  static constexpr auto fields() { return Fields(field("attention", &Beside::attention)); }
  Contract contract() const {
    const Config& config = attention.config;
    return {.in = config.channels + config.key_width() + config.value_width(),
            .out = config.channels,
            .takes_mask = true,
            .mask = {.softmax = is_softmax(config.kernel)}};
  }

  template <class Run>
  MatrixOf<Run> apply(Run& run, MatrixOf<Run> x) const {
    if constexpr (Run::streams) {  // never runs: start() refuses, because the layer sees all tokens
      return x;
    } else {
      const Index own = attention.config.channels, keys = attention.config.key_width(), values = attention.config.value_width();
      using Others = typename GatedCrossAttention<T>::template Others<Run>;
      return run(attention, run.columns(x, 0, own),
                 Others{.key = run.columns(x, own, keys),
                        .value = run.columns(x, own + keys, values),
                        .sequences = &run.sequences(),
                        .mask = run.mask()});
    }
  }
};

TEST(GatedCrossAttention, KeepsItsPromises) {
  for (const GatedCrossAttentionConfig& config : configs()) {
    test::expect_promises<Beside>(config, {.trains = config.activation != Activation::relu});
  }
}

TEST(GatedCrossAttention, KeepsItsPromisesWithThreadedProducts) {
  test::expect_promises<Beside>({.channels = 24, .key_channels = 20, .value_channels = 28, .value = 40, .query_key = 16},
                                {.lengths = {300, 3, 170}, .trains = false});
}

TEST(GatedCrossAttention, HasTheExpectedParameterCount) {
  const Index weights = (e + s) * c + s * key_width + e * value_width + c * e, norm_and_residual = 1 + c;
  EXPECT_EQ(parameter_count(GatedCrossAttention<float>(configs()[0])), weights + norm_and_residual);
  EXPECT_EQ(parameter_count(GatedCrossAttention<float>(configs()[1])), weights + norm_and_residual + (e + s) + s + e + c);
}

template <class T>
class GatedCrossAttentionOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(GatedCrossAttentionOf, Scalars, );

TYPED_TEST(GatedCrossAttentionOf, EqualsItsFormulaForRaggedQueriesAndKeys) {
  using T = TypeParam;
  const auto queries = Sequences::of_lengths({4, 1, 0, 140}), others = Sequences::of_lengths({9, 2, 3, 5});
  const auto x = random_matrix<T>(145, c, 2), key = random_matrix<T>(19, key_width, 3),
             value = random_matrix<T>(19, value_width, 4);
  const auto mask = test::random_mask(others, 5);
  for (const auto& config : configs()) {
    const auto layer = random_layer<GatedCrossAttention<T>>(config);
    Workspace<T> workspace, several(Threads{3});
    Matrix<T> y(145, c), again(145, c);
    layer.forward(x, queries, key, value, others, y, workspace);
    EXPECT_TRUE(near(y, literal::cross_attention(layer, wide(x), queries, wide(key), wide(value), others)))
        << settings_of(config);
    layer.forward(x, queries, key, value, others, again, several);
    EXPECT_TRUE(same_bits(again, y)) << settings_of(config);
    layer.forward(x, queries, key, value, others, y, workspace, mask);
    EXPECT_TRUE(near(y, literal::cross_attention(layer, wide(x), queries, wide(key), wide(value), others, mask)))
        << "masked: " << settings_of(config);
  }
}

TYPED_TEST(GatedCrossAttentionOf, RunsTheSequencesOfABatchIndependently) {
  using T = TypeParam;
  const auto queries = Sequences::of_lengths({4, 0, 7}), others = Sequences::of_lengths({2, 3, 9});
  const auto x = random_matrix<T>(11, c, 2), key = random_matrix<T>(14, key_width, 3),
             value = random_matrix<T>(14, value_width, 4);
  for (const auto& config : configs()) {
    const auto layer = random_layer<GatedCrossAttention<T>>(config);
    Workspace<T> workspace;
    Matrix<T> y(11, c);
    layer.forward(x, queries, key, value, others, y, workspace);
    for (Index b = 0; b < 3; ++b) {
      Matrix<T> alone(queries.length(b), c);
      layer.forward(x.middleRows(queries.offset(b), queries.length(b)), Sequences::single(queries.length(b)),
                    key.middleRows(others.offset(b), others.length(b)), value.middleRows(others.offset(b), others.length(b)),
                    Sequences::single(others.length(b)), alone, workspace);
      EXPECT_TRUE(same_bits(alone, Matrix<T>(y.middleRows(queries.offset(b), queries.length(b))))) << settings_of(config);
    }
  }
}

TYPED_TEST(GatedCrossAttentionOf, ReturnsOnlyTheResidualIfThereAreNoKeys) {
  using T = TypeParam;
  const auto x = random_matrix<T>(3, c, 2);
  for (const auto& config : configs()) {
    auto layer = random_layer<GatedCrossAttention<T>>(config);
    layer.proj_out.bias.setZero();
    Workspace<T> workspace;
    Matrix<T> y(3, c);
    layer.forward(x, Sequences::single(3), Matrix<T>(0, key_width), Matrix<T>(0, value_width), Sequences::single(0), y,
                  workspace);
    const Matrix<double> residual =
        literal::add_residual<T>(Matrix<double>::Zero(3, c), wide(x), config.residual, layer.residual_scale);
    EXPECT_TRUE(near(y, residual)) << settings_of(config);
  }
}

TYPED_TEST(GatedCrossAttentionOf, HandlesFullyMaskedSequencesExceptWithSoftmax) {
  using T = TypeParam;
  const auto queries = Sequences::of_lengths({2, 3}), others = Sequences::of_lengths({4, 2});
  const auto x = random_matrix<T>(5, c, 2), key = random_matrix<T>(6, key_width, 3),
             value = random_matrix<T>(6, value_width, 4);
  const std::vector<std::uint8_t> mask{1, 0, 1, 1, 0, 0};
  for (const auto& config : configs()) {
    const auto layer = random_layer<GatedCrossAttention<T>>(config);
    Workspace<T> workspace;
    Matrix<T> y = untouched<T>(5, c);
    const auto forward = [&] { layer.forward(x, queries, key, value, others, y, workspace, mask); };
    if (is_softmax(config.kernel)) {
      EXPECT_TRUE(refuses<ShapeError>(forward, "GatedCrossAttention::forward: the mask leaves no token of sequence 1"));
      EXPECT_TRUE(is_untouched(y));
      continue;
    }
    forward();
    EXPECT_TRUE(near(y, literal::cross_attention(layer, wide(x), queries, wide(key), wide(value), others, mask)))
        << settings_of(config);
    const Matrix<double> left = literal::add_residual<T>(literal::linear(layer.proj_out, Matrix<double>::Zero(5, e)), wide(x),
                                                         config.residual, layer.residual_scale);
    EXPECT_TRUE(near<T>(y.bottomRows(3), left.bottomRows(3))) << settings_of(config);
  }
}

TEST(GatedCrossAttention, RefusesBadInputBeforeWriting) {
  const auto layer = random_layer<GatedCrossAttention<float>>(configs()[6]);  // uses softmax
  Workspace<float> workspace;
  struct Sizes {
    Index x_columns = c, key_rows = 9, key_columns = key_width, value_rows = 9, value_columns = value_width, y_rows = 6,
          y_columns = c;
    Sequences queries = Sequences::of_lengths({2, 4}), others = Sequences::of_lengths({4, 5});
    std::vector<std::uint8_t> mask = {};
  };
  const auto refuse = [&](const Sizes& z, const std::string& part) {
    Matrix<float> y = untouched<float>(z.y_rows, z.y_columns);
    EXPECT_TRUE(refuses<ShapeError>(
        [&] {
          layer.forward(random_matrix<float>(6, z.x_columns, 1), z.queries, random_matrix<float>(z.key_rows, z.key_columns, 2),
                        random_matrix<float>(z.value_rows, z.value_columns, 3), z.others, y, workspace, z.mask);
        },
        part));
    EXPECT_TRUE(is_untouched(y)) << part;
  };
  refuse({.x_columns = 7}, "x has 7 columns, expected channels = 6");
  refuse({.key_columns = 6}, "key has 6 columns, expected key_channels = 5");
  refuse({.value_columns = 6}, "value has 6 columns, expected value_channels = 7");
  refuse({.key_rows = 8}, "x has 8 rows");
  refuse({.value_rows = 8}, "key has 9 rows and value 8");
  refuse({.y_rows = 5}, "y is 5 × 6, expected 6 × 6");
  refuse({.y_columns = 5}, "y is 6 × 5, expected 6 × 6");
  refuse({.queries = Sequences::single(5)}, "x has 6 rows");
  refuse({.queries = Sequences::single(6)}, "1 sequences of queries and 2 of keys");
  refuse({.mask = {1, 1}}, "the mask has 2 entries, expected 9");
  refuse({.mask = {1, 1, 1, 1, 0, 0, 0, 0, 0}}, "the mask leaves no token of sequence 1");
}

TEST(GatedCrossAttention, RefusesInvalidConfigurations) {
  const auto refuse = [](auto change, const std::string& part) {
    auto config = configs()[0];
    change(config);
    EXPECT_TRUE(refuses<ArgumentError>([&] { GatedCrossAttention<float>{config}; }, part));
  };
  refuse([](auto& config) { config.channels = 0; }, "channels = 0");
  refuse([](auto& config) { config.value = 0; }, "value = 0");
  refuse([](auto& config) { config.query_key = 0; }, "query_key = 0");
  refuse([](auto& config) { config.key_channels = -1; }, "key_channels = -1");
}

}  // namespace
}  // namespace gated::gated_cross_attention_test
