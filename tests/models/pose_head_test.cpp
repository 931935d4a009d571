#include "gated/models/pose_head.hpp"

#include "tests/layers/literal_attention.hpp"
#include "tests/promises.hpp"

namespace gated::pose_head_test {
namespace {

using test::message_of;
using test::near;
using test::random_matrix;

/// A small head with the published options.
PoseHeadConfig small() {
  return {.feature_channels = 3,
          .features = {4, 2},
          .input = {8, 6},
          .key_points = 5,
          .kernel = 3,
          .unit = gau_presets::rtmcc({.channels = 8, .query_key = 6}),
          .simcc = {.split_ratio = 1.5}};
}

std::vector<PoseHeadConfig> all_options() {
  std::vector<PoseHeadConfig> all(4, small());
  all[1].kernel = 1;
  all[1].key_points = 1;
  all[2].kernel = 7;
  all[2].unit.relative_bias = RelativeBiasForm::toeplitz;
  all[2].unit.max_length = 5;
  all[2].unit.activation = Activation::silu;
  all[3].input = {2, 9};
  all[3].simcc.split_ratio = 0.6;
  all[3].unit.bias = true;
  return all;
}

template <class T>
PoseHead<T> random_head(const PoseHeadConfig& config) {
  PoseHead<T> head(config);
  test::randomize(head, 1);
  return head;
}

TEST(PoseHead, KeepsItsPromises) {
  for (const PoseHeadConfig& config : all_options()) {
    test::expect_promises<PoseHead>(config, {.streams = false});
  }
}

template <class T>
class PoseHeadOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(PoseHeadOf, Scalars, );

TYPED_TEST(PoseHeadOf, EqualsItsFormula) {
  using T = TypeParam;
  for (const PoseHeadConfig& config : all_options()) {
    SCOPED_TRACE(test::settings_of(config));
    const auto head = random_head<T>(config);
    const auto features = random_matrix<T>(3, head.in(), 2);
    const Matrix<double> maps = test::wide(head.convolution.forward(features));  // tests/layers checks the convolution
    Matrix<double> h = literal::linear(head.proj_in, literal::norm(head.norm, maps));
    h = literal::attention_unit(head.unit, h, Sequences::uniform(3, config.key_points));
    Matrix<double> logits(h.rows(), head.out());
    logits << literal::linear(head.head_x, h), literal::linear(head.head_y, h);
    EXPECT_TRUE(near(head.forward(features), logits));
  }
}

TEST(PoseHead, BinCountsArePixelsTimesSplitRatio) {
  const auto head = random_head<float>(small());
  EXPECT_EQ(head.in(), 3 * 4 * 2);
  EXPECT_EQ(head.head_x.weight.rows(), 9);   // 6 pixels across
  EXPECT_EQ(head.head_y.weight.rows(), 12);  // 8 pixels down
  EXPECT_EQ(head.out(), 21);
  EXPECT_EQ(head.contract().output_rows(2), 10);
  PoseHeadConfig config = small();
  config.input = {3, 3};
  EXPECT_EQ(PoseHead<float>(config).out(), 8) << "4.5 bins are rounded down to 4";
}

TEST(PoseHead, DecodesItsLogits) {
  PoseHeadConfig config = small();
  config.simcc.visibility = true;
  const auto head = random_head<double>(config);
  const Matrix<double> logits = head.forward(random_matrix<double>(2, head.in(), 2));
  const auto points = head.decode(logits);
  ASSERT_EQ(points.size(), 10u);
  Index found = 0;
  for (Index i = 0; i < 10; ++i) {
    const auto& point = points[static_cast<std::size_t>(i)];
    Index x = 0, y = 0;
    const double score = std::min(logits.row(i).head(9).maxCoeff(&x), logits.row(i).tail(12).maxCoeff(&y));
    EXPECT_EQ(point.score, score);
    EXPECT_EQ(point.x, (score > 0 ? static_cast<double>(x) : -1) / 1.5);
    EXPECT_EQ(point.y, (score > 0 ? static_cast<double>(y) : -1) / 1.5);
    EXPECT_GT(point.visibility, 0);
    found += score > 0 ? 1 : 0;
  }
  EXPECT_GT(found, 0);
  EXPECT_EQ(message_of<ShapeError>([&] { head.decode(logits.leftCols(20)); }),
            "PoseHead::decode: logits has 20 columns, expected 9 x bins and 12 y bins. Pass the result of forward().");
  std::vector<KeyPoint<double>> few(9);
  EXPECT_THROW(head.decode(logits, few), ShapeError);
}

TEST(PoseHead, DecodingAllocatesNothing) {
  const auto head = random_head<float>(small());
  const Matrix<float> logits = head.forward(random_matrix<float>(2, head.in(), 2));
  std::vector<KeyPoint<float>> points(10);
  EXPECT_EQ(test::allocations_during([&] { head.decode(logits, points); }), 0);
}

TEST(PoseHead, InitializesLikeMmpose) {
  Random random(1);
  const PoseHead<double> head(rtmpose_t_head(), random);
  const auto deviation = [](const Matrix<double>& m) { return std::sqrt(m.squaredNorm() / static_cast<double>(m.size())); };
  EXPECT_NEAR(deviation(head.convolution.weight), 0.001, 2e-5);
  EXPECT_NEAR(deviation(head.proj_in.weight), 0.01, 5e-4);
  EXPECT_NEAR(deviation(head.head_x.weight), 0.01, 2e-4);
  EXPECT_TRUE((head.convolution.bias.array() == 0).all());
}

TEST(PoseHead, PresetsHaveThePublishedSizes) {
  const PoseHeadConfig m = rtmpose_m_head(133, {384, 288});
  EXPECT_EQ(m.features, (ImageSize{12, 9}));
  EXPECT_EQ(m.feature_channels, 768);
  EXPECT_EQ(m.key_points, 133);
  EXPECT_EQ(m.simcc.sigma_x, 6);
  EXPECT_EQ(m.simcc.sigma_y, 6.93);
  EXPECT_EQ(rtmpose_s_head().simcc.sigma_x, 4.9);
  EXPECT_EQ(rtmpose_s_head().simcc.sigma_y, 5.66);
  EXPECT_EQ(m.unit.value, 512);
  EXPECT_EQ(m.unit.query_key, 128);
}

TEST(PoseHead, RefusesFeatureMapsOfOtherSizesBeforeWriting) {
  const auto head = random_head<float>(small());
  Workspace<float> workspace;
  Matrix<float> y = test::untouched<float>(10, 21);
  EXPECT_EQ(message_of<ShapeError>([&] { head.forward(Matrix<float>::Zero(2, 36), y, workspace); }),
            "PoseHead::forward: x has 36 columns, expected in = 24 (channels × height × width of the feature map, one row per "
            "picture; crop or resize the picture to config.input before running the backbone, or set config.features).");
  EXPECT_THROW(head.forward(Matrix<float>::Zero(3, 24), y, workspace), ShapeError);
  EXPECT_TRUE(test::is_untouched(y));
}

TEST(PoseHead, RefusesInvalidConfigurations) {
  const auto refusal = [](auto change) {
    PoseHeadConfig config = small();
    change(config);
    return message_of<ArgumentError>([&] { PoseHead<float>{config}; });
  };
  EXPECT_EQ(refusal([](auto& c) { c.simcc.split_ratio = 0; }), "PoseHead: split_ratio = 0, expected 0 < split_ratio ≤ 1000.");
  EXPECT_EQ(refusal([](auto& c) { c.simcc.split_ratio = 0.1; }),
            "PoseHead: 6 pixels with split_ratio = 0.1, expected 1 … 2^20 pixels and at least one bin.");
  EXPECT_EQ(refusal([](auto& c) { c.unit.relative_bias = RelativeBiasForm::toeplitz, c.unit.max_length = 4; }),
            "PoseHead: the unit's max_length = 4, expected at least key_points = 5.");
  EXPECT_NE(refusal([](auto& c) { c.kernel = 2; }), "");
  EXPECT_NE(refusal([](auto& c) { c.key_points = 0; }), "");
  EXPECT_NE(refusal([](auto& c) { c.features = {0, 2}; }), "");
  EXPECT_NE(refusal([](auto& c) { c.input = {8, -1}; }), "");
  EXPECT_NE(refusal([](auto& c) { c.norm_eps = -1; }), "");
  EXPECT_NE(refusal([](auto& c) { c.unit.channels = 0; }), "");
}

}  // namespace
}  // namespace gated::pose_head_test
