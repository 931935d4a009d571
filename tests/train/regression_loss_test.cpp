#include "gated/train/regression_loss.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/core/numbers.hpp"
#include "tests/train/gradients.hpp"

namespace gated::regression_loss_test {
namespace {

using test::message_of;
using test::random_matrix;

struct None {
  static constexpr auto fields() { return Fields(); }
};

constexpr RegressionLossConfig configs[]{{.form = RegressionForm::squared},
                                         {.form = RegressionForm::absolute},
                                         {.form = RegressionForm::huber, .delta = 0.7},
                                         {.form = RegressionForm::quantile, .quantile = 0.2}};

double loss_of(const Matrix<double>& y, const Matrix<double>& target, const RegressionLossConfig& config, Mask observed = {}) {
  Tape<double> tape;
  None model, none;
  tape.begin(model, none);
  return tape[regression_loss<double>(tape, tape.input(y), target, config, observed)](0, 0);
}

TEST(RegressionLoss, EqualsItsDefinition) {
  Matrix<double> y(1, 3), target(1, 3);
  y << 3, 1, 0.5;
  target << 1, 2, 0.25;  // errors of 2, -1 and 0.25
  EXPECT_DOUBLE_EQ(loss_of(y, target, configs[0]), (4 + 1 + 0.0625) / 3);
  EXPECT_DOUBLE_EQ(loss_of(y, target, configs[1]), (2 + 1 + 0.25) / 3);
  EXPECT_DOUBLE_EQ(loss_of(y, target, configs[2]), (0.7 * (2 - 0.35) + 0.7 * (1 - 0.35) + 0.03125) / 3);
  EXPECT_DOUBLE_EQ(loss_of(y, target, configs[3]), (0.8 * 2 + 0.2 * 1 + 0.8 * 0.25) / 3);
  const std::vector<std::uint8_t> observed{1, 0, 1};
  EXPECT_DOUBLE_EQ(loss_of(y, target, configs[1], observed), (2 + 0.25) / 2);
}

TEST(RegressionLoss, GradientsAreExact) {
  const auto target = random_matrix<double>(4, 5, 2), x = random_matrix<double>(4, 5, 3);
  std::vector<std::uint8_t> observed(20, 1);
  observed[3] = observed[11] = 0;
  for (const RegressionLossConfig& config : configs) {
    for (const Mask mask : {Mask(), Mask(observed)}) {
      test::expect_gradients(None{}, x, [&](Tape<double>& tape, const None&, Variable y) {
        return regression_loss<double>(tape, y, target, config, mask);
      });
    }
  }
}

TEST(RegressionLoss, QuantileFormIsMinimalAtTheQuantile) {
  Matrix<double> target(1, 1000), y(1, 1000);
  for (Index j = 0; j < 1000; ++j) {
    target(0, j) = static_cast<double>(j);
  }
  const auto at = [&](double place) {
    y.setConstant(place);
    return loss_of(y, target, configs[3]);
  };
  EXPECT_LT(at(199.5), at(150));
  EXPECT_LT(at(199.5), at(250));
}

TEST(RegressionLoss, PropagatesNaNAndSkipsGaps) {
  Matrix<double> y = random_matrix<double>(2, 3, 1);
  const auto target = random_matrix<double>(2, 3, 2);
  const std::vector<std::uint8_t> observed{1, 1, 1, 1, 0, 1};
  y(1, 1) = std::numeric_limits<double>::quiet_NaN();
  for (const RegressionLossConfig& config : configs) {
    EXPECT_TRUE(std::isnan(loss_of(y, target, config)));
    EXPECT_TRUE(std::isfinite(loss_of(y, target, config, observed)));
  }
}

TEST(RegressionLoss, RefusesInvalidArguments) {
  const auto y = random_matrix<double>(2, 3, 1), longer = random_matrix<double>(3, 3, 2);
  const std::vector<std::uint8_t> none(6, 0), shorter(5, 1);
  EXPECT_EQ(message_of<ShapeError>([&] { loss_of(y, longer, {}); }), "regression_loss: target is 3 × 3, expected 2 × 3.");
  EXPECT_EQ(message_of<ShapeError>([&] { loss_of(y, y, {}, shorter); }),
            "regression_loss: the mask has 5 entries, expected 2 × 3.");
  EXPECT_EQ(message_of<ArgumentError>([&] { loss_of(y, y, {}, none); }),
            "regression_loss: no element is observed, expected at least one.");
  EXPECT_EQ(message_of<ArgumentError>([&] { loss_of(y, y, {.delta = 0}); }),
            "regression_loss: delta = 0, expected more than 0.");
  EXPECT_EQ(message_of<ArgumentError>([&] { loss_of(y, y, {.quantile = 1}); }),
            "regression_loss: quantile = 1, expected 0 < quantile < 1.");
}

}  // namespace
}  // namespace gated::regression_loss_test
