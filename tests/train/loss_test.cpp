#include "gated/train/loss.hpp"

#include <cmath>

#include "tests/train/gradients.hpp"

namespace gated::loss_test {
namespace {

using test::random_matrix;

/// A model without parameters.
struct None {
  static constexpr auto fields() { return Fields(); }
};

const std::vector<Index> targets{3, -100, 0, 16};

/// The loss for the logits `x`. Sets `gradient` unless it is null.
template <class T>
double loss_of(const Matrix<T>& x, const CrossEntropyOptions& options, Matrix<T>* gradient = nullptr) {
  Tape<T> tape;
  None model, none;
  tape.begin(model, none);
  const Variable logits = tape.input(x);
  const double loss = tape.backward(cross_entropy(tape, logits, targets, options));
  if (gradient != nullptr) {
    *gradient = tape.gradient(logits);
  }
  return loss;
}

/// The loss by definition.
double literal_loss(const Matrix<double>& x, double smoothing) {
  double sum = 0;
  for (const Index i : {0, 2, 3}) {
    const double normalizer = std::log(x.row(i).array().exp().sum());
    for (Index j = 0; j < x.cols(); ++j) {
      const double target =
          smoothing / static_cast<double>(x.cols()) + (j == targets[static_cast<std::size_t>(i)] ? 1 - smoothing : 0.0);
      sum -= target * (x(i, j) - normalizer);
    }
  }
  return sum / 3;
}

TEST(CrossEntropy, EqualsItsDefinition) {
  const Matrix<double> x = random_matrix<double>(4, 17, 1, 2.0);
  for (const double smoothing : {0.0, 0.1, 1.0}) {
    EXPECT_NEAR(loss_of<double>(x, {.label_smoothing = smoothing}), literal_loss(x, smoothing), 1e-14);
    EXPECT_NEAR(loss_of<float>(x.cast<float>(), {.label_smoothing = smoothing}), literal_loss(x, smoothing), 2e-6);
  }
}

TEST(CrossEntropy, IsTheSameWithoutATape) {
  const Matrix<double> x = random_matrix<double>(4, 17, 1, 2.0);
  for (const double smoothing : {0.0, 0.1, 1.0}) {
    const CrossEntropyOptions options{.label_smoothing = smoothing};
    const MeanLoss loss = cross_entropy(x, targets, options);
    EXPECT_EQ(loss.mean, loss_of<double>(x, options));
    EXPECT_EQ(loss.count, 3);
    EXPECT_EQ(static_cast<float>(cross_entropy(x.cast<float>(), targets, options).mean),
              static_cast<float>(loss_of<float>(x.cast<float>(), options)));
  }
}

TEST(CrossEntropy, CombinesMeanLossesOfBatches) {
  const Matrix<double> x = random_matrix<double>(4, 17, 1, 2.0);
  MeanLoss joined;
  for (Index i = 0; i < 4; ++i) {  // the second row is ignored
    joined = joined + cross_entropy(x.row(i), Targets(&targets[static_cast<std::size_t>(i)], 1));
  }
  EXPECT_NEAR(joined.mean, cross_entropy(x, targets).mean, 1e-15);
  EXPECT_EQ(joined.count, 3);
  EXPECT_EQ(cross_entropy(x.row(1), Targets(&targets[1], 1)).mean, 0.0);
  EXPECT_EQ((MeanLoss() + MeanLoss()).count, 0);
  EXPECT_EQ(test::message_of<ShapeError>([&] { cross_entropy(x, Targets(targets).first(3)); }),
            "cross_entropy: targets has 3 entries, expected 4, one per row of logits.");
}

TEST(CrossEntropy, GradientsAreExact) {
  for (const double smoothing : {0.0, 0.1}) {
    test::expect_gradients(None{}, random_matrix<double>(4, 17, 1), [=](Tape<double>& tape, const None&, Variable x) {
      return cross_entropy(tape, x, targets, {.label_smoothing = smoothing});
    });
  }
}

TEST(CrossEntropy, IgnoredRowsReceiveNoGradient) {
  Matrix<float> gradient;
  loss_of<float>(random_matrix<float>(4, 17, 1), {}, &gradient);
  EXPECT_TRUE(gradient.row(1).isZero(0));
  EXPECT_FALSE(gradient.row(0).isZero(0));
}

TEST(CrossEntropy, HandlesHugeLogits) {
  Matrix<float> x = Matrix<float>::Zero(4, 17), gradient;
  x(0, 3) = x(2, 0) = x(3, 16) = 3e38f;
  EXPECT_EQ(loss_of<float>(x, {}, &gradient), 0.0);
  x.array() *= -1;
  EXPECT_NEAR(loss_of<float>(x, {}, &gradient) / 3e38, 1.0, 1e-6);
  EXPECT_TRUE(gradient.allFinite());
}

TEST(CrossEntropy, IsAccurateForLargeLogits) {
  for (const double base : {0.0, 16.0, 1000.0, -1e5}) {
    const Matrix<float> x = (random_matrix<double>(4, 17, 1, 2.0).array() + base).cast<float>();
    Matrix<float> got(4, 17);
    Matrix<double> expected(4, 17);
    EXPECT_NEAR(loss_of<float>(x, {}, &got), loss_of<double>(x.cast<double>(), {}, &expected), 2e-6) << base;
    EXPECT_LE((got.cast<double>() - expected).cwiseAbs().maxCoeff(), 1e-6 * expected.cwiseAbs().maxCoeff()) << base;
  }
  const Matrix<float> sure = (Matrix<float>(4, 2) << 15, 0, 0, 0, 15, 0, 0, 15).finished();
  Tape<float> tape;
  None model, none;
  tape.begin(model, none);
  const std::vector<Index> right{0, -100, 0, 1};
  EXPECT_NEAR(tape.backward(cross_entropy(tape, tape.input(sure), right)), std::log1p(std::exp(-15.0)), 1e-7);
}

TEST(CrossEntropy, PropagatesNaN) {
  Matrix<float> x = random_matrix<float>(4, 17, 1);
  x(2, 5) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(loss_of<float>(x, {})));
}

TEST(CrossEntropy, RefusesTargetsOutOfRange) {
  Tape<float> tape;
  None model, none;
  tape.begin(model, none);
  const Matrix<float> x = random_matrix<float>(4, 17, 1);
  const Variable logits = tape.input(x);
  const std::vector<Index> beyond{3, 17, 0, 1}, negative{3, -1, 0, 1}, few{3}, ignored(4, -100);
  EXPECT_EQ(test::message_of<ArgumentError>([&] { cross_entropy(tape, logits, beyond); }),
            "cross_entropy: target 1 is 17, expected 0 … 16, or -100 to ignore the row.");
  EXPECT_THROW(cross_entropy(tape, logits, negative), ArgumentError);
  EXPECT_THROW(cross_entropy(tape, logits, few), ShapeError);
  EXPECT_THROW(cross_entropy(tape, logits, ignored), ArgumentError);
  EXPECT_THROW(cross_entropy(tape, logits, targets, {.label_smoothing = 1.5}), ArgumentError);
}

}  // namespace
}  // namespace gated::loss_test
