#include "gated/ops/fused.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "gated/ops/product.hpp"
#include "tests/ops/op.hpp"

namespace gated::fused_test {
namespace {

using test::expect_op;
using test::Op;
using test::random_matrix;
using test::same_bits;

constexpr Index in = 5, out = 11;

/// What joins a product, one bit each.
enum Fields : unsigned { added = 1, activation = 2, gate = 4, residual = 8, residual_scale = 16, all = 31, scale = 32 };

/// Every combination: what joins with a gate, and what joins with a scale in its place.
std::vector<unsigned> combinations() {
  std::vector<unsigned> found;
  for (unsigned fields = 0; fields <= (all | scale); ++fields) {
    if ((fields & gate) == 0 || (fields & scale) == 0) {
      found.push_back(fields);
    }
  }
  return found;
}

template <class T>
struct Weights {
  using Scalar = T;
  Matrix<T> weight = random_matrix<T>(out, in, 1);
  Vector<T> bias = test::random_vector<T>(out, 2), rest_scale, factors;

  explicit Weights(unsigned fields)
      : rest_scale(test::random_vector<T>(fields & residual_scale ? out : 0, 3)),
        factors(test::random_vector<T>(fields & scale ? out : 0, 4)) {}
  static constexpr auto fields() {
    return std::tuple{field("weight", &Weights::weight, Role::weight), field("bias", &Weights::bias, Role::bias),
                      field("rest_scale", &Weights::rest_scale, Role::norm), field("factors", &Weights::factors, Role::norm)};
  }
};

/// What `fields` name, from the columns of x: in for the product, then out for each of the others.
template <class Run, class X, class P>
Fused<Run> fused_of(Run& run, unsigned fields, const X& x, const P& p) {
  Fused<Run> fused;
  fused.added = fields & added ? run.columns(x, in, out) : X();
  fused.activation = fields & activation ? Activation::gelu : Activation::identity;
  fused.gate = fields & gate ? run.columns(x, in + out, out) : X();
  fused.residual = fields & residual ? run.columns(x, in + 2 * out, out) : X();
  fused.scale = &p.factors;  // of no size where there is none
  fused.residual_scale = &p.rest_scale;
  return fused;
}

/// The product of the first columns of x, joined by the others.
auto joined_product(unsigned fields) {
  return [fields](auto& run, const auto& p, const auto& x, const auto& to) {
    return product(run, run.columns(x, 0, in), p.weight, p.bias, fused_of(run, fields, x, p), to);
  };
}

/// y by the formula, for x of those columns.
Matrix<double> literal(unsigned fields, const Matrix<double>& x, const Weights<double>& p) {
  Matrix<double> y = x.leftCols(in) * p.weight.transpose();
  y.rowwise() += p.bias.transpose();
  if (fields & added) {
    y += x.middleCols(in, out);
  }
  if (fields & activation) {
    y = y.unaryExpr([](double z) { return z / 2 * (1 + std::erf(z / std::sqrt(2.0))); });
  }
  if (fields & gate) {
    y = y.cwiseProduct(x.middleCols(in + out, out)).eval();
  }
  if (fields & scale) {
    y = (y * p.factors.asDiagonal()).eval();
  }
  if (fields & residual) {
    const Matrix<double> rest = x.rightCols(out);
    y += fields & residual_scale ? Matrix<double>(rest * p.rest_scale.asDiagonal()) : rest;
  }
  return y;
}

TEST(Fused, JoinsAProductInEveryCombinationAndRunAndTakesGradientsBack) {
  const auto x = random_matrix<double>(20, in + 3 * out, 1);
  for (const unsigned fields : combinations()) {
    SCOPED_TRACE(fields);
    const Op layer(Weights<double>(fields), joined_product(fields), in + 3 * out, out);
    Workspace<double> workspace;
    const Matrix<double> y = layer.forward(x, Sequences::single(20), workspace);
    EXPECT_LE((y - literal(fields, x, layer.parameters)).cwiseAbs().maxCoeff(), 1e-13);
    expect_op<Weights>(fields, joined_product(fields), {.in = in + 3 * out, .out = out});
  }
}

TEST(Fused, MayGoWhereTheGateOrTheResidualLies) {
  for (const unsigned fields : combinations()) {
    const Weights<double> p(fields);
    for (const Index place : {in + out, in + 2 * out}) {
      Matrix<double> x = random_matrix<double>(20, in + 3 * out, 1);
      const Matrix<double> expected = literal(fields, x, p);
      Workspace<double> workspace;
      const auto frame = workspace.frame();
      Batch<double> run(workspace, Sequences::single(20));
      const Rows<double> rows(x);
      product(run, rows.part(0, in), p.weight, p.bias, fused_of(run, fields, rows, p), rows.part(place, out));
      EXPECT_LE((x.middleCols(place, out) - expected).cwiseAbs().maxCoeff(), 1e-13) << fields << ", " << place;
    }
  }
}

TEST(Fused, IsPlainWhereNothingJoinsAndKeepsWhatABackwardPassMustKnow) {
  const auto x = random_matrix<double>(4, in + 3 * out, 1);
  Workspace<double> workspace;
  Batch<double> run(workspace, Sequences::single(4));
  for (const unsigned fields : combinations()) {
    const Weights<double> p(fields);
    const auto fused = fused_of(run, fields, input_rows<double>(x), p);
    EXPECT_EQ(fused.is_plain(), (fields & (added | activation | gate | residual | scale)) == 0) << fields;
    EXPECT_EQ(fused.keeps(), (fields & (activation | gate | scale)) != 0) << fields;
    EXPECT_EQ(fused.residual_factors(), fields & residual_scale ? p.rest_scale.data() : nullptr) << fields;
    EXPECT_EQ(fused.factors(), fields & scale ? p.factors.data() : nullptr) << fields;
  }
  EXPECT_EQ(Fused<Batch<double>>().residual_factors(), nullptr);
  EXPECT_TRUE(Fused<Batch<double>>().is_plain());
}

TEST(Fused, LeavesScaleAndBiasesToTheProduct) {
  const auto x = random_matrix<double>(4, in + 3 * out, 1);
  Workspace<double> workspace;
  Batch<double> run(workspace, Sequences::single(4));
  const Weights<double> p(all);
  const auto rows = input_rows<double>(x);
  const Epilogue<double> e = epilogue_of(run, fused_of(run, all, rows, p), rows.part(0, out),
                                         {.scale = 3, .bias = p.bias.data(), .row_bias = x.data()});
  EXPECT_EQ(e.scale, 3);
  EXPECT_EQ(e.bias, p.bias.data());
  EXPECT_EQ(e.row_bias, x.data());
  EXPECT_EQ(e.added.data, x.data() + in);
  EXPECT_EQ(e.residual_scale, p.rest_scale.data());
}

TEST(Fused, RefusesWhatHasNotTheShapeOfTheResult) {
  const auto x = random_matrix<double>(4, 9, 1);
  Workspace<double> workspace;
  Batch<double> run(workspace, Sequences::single(4));
  const auto y = input_rows<double>(x), narrow = y.part(0, 8), low = y.middle(0, 3);
  const auto refusal = [&](const Fused<Batch<double>>& fused) {
    return test::message_of<ShapeError>([&] { epilogue_of(run, fused, y); });
  };
  EXPECT_EQ(refusal({.added = narrow}), "Fused: added is 4 × 8, expected 4 × 9, the shape of the result.");
  EXPECT_EQ(refusal({.gate = low}), "Fused: gate is 3 × 9, expected 4 × 9, the shape of the result.");
  EXPECT_EQ(refusal({.residual = narrow}), "Fused: residual is 4 × 8, expected 4 × 9, the shape of the result.");
  const Vector<double> short_scale = Vector<double>::Ones(8);
  EXPECT_EQ(test::message_of<ArgumentError>([&] { epilogue_of(run, {.gate = y, .scale = &short_scale}, y); }),
            "Fused: gate and scale are both given, expected one of them.");
  EXPECT_EQ(refusal({.scale = &short_scale}), "Fused: scale has 8 numbers, expected 9, one per column of the result.");
}

/// Dropout takes numbers of the branch, stochastic depth the branch of a sequence; the residual stays.
TEST(JoinResidual, DropsFromTheBranchAndNotFromTheResidual) {
  const Sequences sequences = Sequences::uniform(40, 3);
  const auto x = random_matrix<double>(120, in + 3 * out, 1);
  for (const unsigned fields : {residual + 0U, residual | gate, residual | scale, all + 0U}) {
    const Weights<double> p(fields);
    Weights<double> gradient = p;
    const Matrix<double> branch = literal(fields & ~residual, x, p);
    const Matrix<double> rest = literal(fields, x, p) - branch;
    const auto recorded = [&](const TapeOptions& options, double survival) {
      Tape<double> tape({}, options);
      Random random(1);
      tape.begin(p, gradient, random);
      Recording<double> run(tape, sequences);
      const Variable input = tape.input(x);
      auto fused = fused_of(run, fields, input, p);
      fused.survival = survival;
      return Matrix<double>(tape[product(run, run.columns(input, 0, in), p.weight, p.bias, fused, {})] - rest);
    };
    EXPECT_LE((recorded({}, 1) - branch).cwiseAbs().maxCoeff(), 1e-13) << "nothing is dropped";
    const Matrix<double> dropped = recorded({.residual_dropout = 0.25}, 1);
    Index taken = 0;
    for (Index i = 0; i < dropped.size(); ++i) {
      const bool is_taken = std::abs(dropped.data()[i]) < 1e-13;
      taken += is_taken;
      EXPECT_TRUE(is_taken || std::abs(dropped.data()[i] - branch.data()[i] / 0.75) < 1e-12) << i;
    }
    EXPECT_NEAR(static_cast<double>(taken) / static_cast<double>(dropped.size()), 0.25, 0.05);
    const Matrix<double> deep = recorded({.scaled_depth = true}, 0.5);
    taken = 0;
    for (Index b = 0; b < 40; ++b) {
      const auto rows = deep.middleRows(3 * b, 3);
      const bool is_taken = rows.cwiseAbs().maxCoeff() < 1e-13;
      taken += is_taken;
      EXPECT_TRUE(is_taken || (rows - 2 * branch.middleRows(3 * b, 3)).cwiseAbs().maxCoeff() < 1e-12) << b;
    }
    EXPECT_NEAR(static_cast<double>(taken), 20, 12);
  }
}

TEST(JoinResidual, TakesGradientsBackThroughWhatItDropped) {
  const Sequences sequences = Sequences::uniform(4, 3);
  for (const unsigned fields : {residual + 0U, residual | residual_scale, residual | scale, all + 0U}) {
    SCOPED_TRACE(fields);
    test::expect_gradients(
        Weights<double>(fields), random_matrix<double>(12, in + 3 * out, 1),
        [&](Tape<double>& tape, const Weights<double>& p, Variable x) {
          Recording<double> run(tape, sequences);
          auto fused = fused_of(run, fields, x, p);
          fused.survival = 0.6;
          return product(run, run.columns(x, 0, in), p.weight, p.bias, fused, {});
        },
        1e-6, {.residual_dropout = 0.3, .scaled_depth = true}, 5);
  }
}

}  // namespace
}  // namespace gated::fused_test
