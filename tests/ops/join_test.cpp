#include "gated/ops/join.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "gated/ops/product.hpp"
#include "tests/ops/op.hpp"

namespace gated::join_test {
namespace {

using test::expect_op;
using test::Op;
using test::random_matrix;
using test::same_bits;

constexpr Index in = 5, out = 11;

/// The fields of an epilogue, one bit each.
enum Members : unsigned { added = 1, activation = 2, gate = 4, residual = 8, residual_scale = 16, all = 31, scale = 32 };

/// Every combination of fields, except those with both a gate and a scale.
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
    return Fields(field("weight", &Weights::weight, Role::weight), field("bias", &Weights::bias, Role::bias),
                  field("rest_scale", &Weights::rest_scale, Role::norm), field("factors", &Weights::factors, Role::norm));
  }
};

/// The epilogue of `fields`. x has `in` columns for the product, then `out` columns for each operand.
template <class Run, class P>
Epilogue<Run> named(Run& run, unsigned fields, const MatrixOf<Run>& x, const P& p) {
  using X = MatrixOf<Run>;
  return {.added = fields & added ? run.columns(x, in, out) : X(),
          .activation = fields & activation ? Activation::gelu : Activation::identity,
          .gate = fields & gate ? run.columns(x, in + out, out) : X(),
          .scale = p.factors.data(),  // null if absent
          .residual = fields & residual ? run.columns(x, in + 2 * out, out) : X(),
          .residual_scale = p.rest_scale.data()};
}

/// The product of the first `in` columns of x with the weight; the epilogue is fused.
auto joined_product(unsigned fields) {
  return [fields](auto& run, const auto& p, auto x) {
    return product(run, run.columns(x, 0, in), p.weight, p.bias, named(run, fields, x, p));
  };
}
/// The same product, followed by join() with the epilogue.
auto joined_afterwards(unsigned fields) {
  return [fields](auto& run, const auto& p, auto x) {
    return join(run, product(run, run.columns(x, 0, in), p.weight, p.bias, {}), named(run, fields, x, p));
  };
}

/// The product and its epilogue by the formula.
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

TEST(Epilogue, FusesEveryCombinationInEveryRun) {
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

template <class T>
void expect_bits_of_the_product(unsigned fields) {
  const auto x = random_matrix<T>(70, in + 3 * out, 1);  // several row blocks
  const Weights<T> p(fields);
  for (const int threads : {1, 2}) {
    Workspace<T> workspace(Threads{threads});
    const auto of = [&](const auto& f) { return Op(p, f, in + 3 * out, out).forward(x, Sequences::single(70), workspace); };
    EXPECT_TRUE(same_bits(of(joined_afterwards(fields)), of(joined_product(fields)))) << threads << " threads";
  }
}

TEST(Join, EqualsTheFusedProductBitForBit) {
  for (const unsigned fields : combinations()) {
    SCOPED_TRACE(fields);
    expect_bits_of_the_product<float>(fields);
    expect_bits_of_the_product<double>(fields);
    expect_op<Weights>(fields, joined_afterwards(fields), {.in = in + 3 * out, .out = out});
  }
}

TEST(Join, IsANoOpIfEmpty) {
  Workspace<double> workspace;
  const auto frame = workspace.frame();
  Batch<double> run(workspace, Sequences::single(4));
  const auto z = run.make(4, 3);
  EXPECT_EQ(join(run, z, {}).data, z.data);
  const Vector<double> scale = Vector<double>::Ones(3);
  EXPECT_EQ(join(run, z, {.residual_scale = scale.data()}).data, z.data) << "a scale without a residual";
}

TEST(Epilogue, RefusesMovedMatrices) {
  const Weights<double> p(0);
  const auto x = random_matrix<double>(4, in, 1), z = random_matrix<double>(4, out, 2);
  Workspace<double> workspace;
  const auto frame = workspace.frame();
  Batch<double> run(workspace, Sequences::single(4));
  const RunMatrix<double> input(input_view<double>(x));
  auto gone = run.owned(RunMatrix<double>(input_view<double>(z)));
  const auto next = std::move(gone);
  for (const auto member :
       {&Epilogue<Batch<double>>::residual, &Epilogue<Batch<double>>::gate, &Epilogue<Batch<double>>::added}) {
    Epilogue<Batch<double>> epilogue;
    epilogue.*member = gone;
    for (const bool joins : {false, true}) {
      const auto message = test::message_of<ArgumentError>(
          [&] { joins ? join(run, next, epilogue) : product(run, input, p.weight, p.bias, epilogue); });
      EXPECT_NE(message.find("was moved from"), std::string::npos) << message;
    }
  }
}

/// Expects that f writes its result over the first operand of its epilogue. If the caller `keeps` handles to the operands, f
/// must overwrite none of them.
template <class F>
void expect_place(unsigned fields, bool keeps, const F& f) {
  using Run = Batch<double>;
  SCOPED_TRACE(testing::Message() << fields << ", kept " << keeps);
  const Weights<double> p(fields);
  const auto x = random_matrix<double>(20, in + 3 * out, 1);
  Workspace<double> workspace;
  const auto frame = workspace.frame();
  Run run(workspace, Sequences::single(20));
  const RunMatrix<double> input(input_view<double>(x));
  Epilogue<Run> epilogue = named(run, fields, input, p);
  const std::vector<RunMatrix<double> Epilogue<Run>::*> members{&Epilogue<Run>::residual, &Epilogue<Run>::gate,
                                                                &Epilogue<Run>::added};
  const double* first = nullptr;  // memory that y may reuse
  std::vector<RunMatrix<double>> kept;
  for (const auto member : members) {
    if (epilogue.*member) {
      epilogue.*member = run.owned(std::move(epilogue.*member));
      first = first == nullptr ? (epilogue.*member).data : first;
      kept.push_back(keeps ? epilogue.*member : RunMatrix<double>());
    }
  }
  const auto y = f(run, p, run.columns(input, 0, in), std::move(epilogue));
  EXPECT_LE((run[y] - literal(fields, x, p)).cwiseAbs().maxCoeff(), 1e-13);
  if (!keeps) {
    EXPECT_TRUE(first == nullptr || y.data == first);
  } else {
    const Epilogue<Run> before = named(run, fields, input, p);
    std::size_t next = 0;
    for (const auto member : members) {
      if (before.*member) {
        EXPECT_TRUE(same_bits(run[kept[next++]], run[before.*member])) << "not moved";
      }
    }
  }
}

TEST(Epilogue, ReusesTheMemoryOfUnsharedOperands) {
  for (const unsigned fields : combinations()) {
    for (const bool keeps : {false, true}) {
      expect_place(fields, keeps, [](auto& run, const auto& p, const auto& x, auto epilogue) {
        return product(run, x, p.weight, p.bias, std::move(epilogue));
      });
      expect_place(fields, keeps, [](auto& run, const auto& p, const auto& x, auto epilogue) {
        return join(run, product(run, x, p.weight, p.bias, {}), std::move(epilogue));
      });
    }
  }
}

TEST(Epilogue, KeepsWhatTheBackwardPassNeeds) {
  const auto x = random_matrix<double>(4, in + 3 * out, 1);
  Workspace<double> workspace;
  Batch<double> run(workspace, Sequences::single(4));
  for (const unsigned fields : combinations()) {
    const Weights<double> p(fields);
    const auto epilogue = named(run, fields, RunMatrix<double>(input_view<double>(x)), p);
    EXPECT_EQ(epilogue.is_plain(), (fields & (added | activation | gate | residual | scale)) == 0) << fields;
    EXPECT_EQ(epilogue.saves(), (fields & (activation | gate | scale)) != 0) << fields;
    EXPECT_EQ(epilogue.saves_derivative(), (fields & activation) != 0 && (fields & (gate | scale)) == 0) << fields;
  }
  EXPECT_TRUE(Epilogue<Batch<double>>().is_plain());
}

TEST(EpilogueOf, KeepsFactorAndBiasesOfTheProduct) {
  const auto x = random_matrix<double>(4, in + 3 * out, 1);
  Workspace<double> workspace;
  Batch<double> run(workspace, Sequences::single(4));
  const Weights<double> p(all), scaled(scale);
  const RunMatrix<double> rows(input_view<double>(x)), y = run.columns(rows, 0, out);
  const Epilogue<double> e =
      epilogue_of(run, named(run, all, rows, p), y, {.factor = 3, .bias = p.bias.data(), .row_bias = x.data()});
  EXPECT_EQ(e.factor, 3);
  EXPECT_EQ(e.bias, p.bias.data());
  EXPECT_EQ(e.row_bias, x.data());
  EXPECT_EQ(e.added.data, x.data() + in);
  EXPECT_EQ(e.activation, Activation::gelu);
  EXPECT_EQ(e.gate.data, x.data() + in + out);
  EXPECT_EQ(e.residual.data, x.data() + in + 2 * out);
  EXPECT_EQ(e.residual_scale, p.rest_scale.data());
  const Epilogue<double> of_scale = epilogue_of(run, named(run, scale, rows, scaled), y);
  EXPECT_EQ(of_scale.gate.data, scaled.factors.data()) << "one row, repeated";
  EXPECT_EQ(of_scale.gate.stride, 0);
}

TEST(EpilogueOf, RefusesMismatchedOperands) {
  const auto x = random_matrix<double>(4, 9, 1);
  Workspace<double> workspace;
  const auto frame = workspace.frame();
  Batch<double> run(workspace, Sequences::single(4));
  const RunMatrix<double> y(input_view<double>(x)), narrow = run.columns(y, 0, 8), low(y.rows(0, 3));
  const auto refusal = [&](const Epilogue<Batch<double>>& epilogue) {
    return test::message_of<ShapeError>([&] { epilogue_of(run, epilogue, y); });
  };
  EXPECT_EQ(refusal({.added = narrow}), "Epilogue: added is 4 × 8, expected 4 × 9, the shape of the result.");
  EXPECT_EQ(refusal({.gate = low}), "Epilogue: gate is 3 × 9, expected 4 × 9, the shape of the result.");
  EXPECT_EQ(refusal({.residual = narrow}), "Epilogue: residual is 4 × 8, expected 4 × 9, the shape of the result.");
  const Vector<double> factors = Vector<double>::Ones(9);
  EXPECT_EQ(test::message_of<ArgumentError>([&] { epilogue_of(run, {.gate = y, .scale = factors.data()}, y); }),
            "Epilogue: gate and scale are both given, expected one of them.");
  EXPECT_EQ(test::message_of<ShapeError>([&] { join(run, y, {.residual = narrow}); }),
            "Epilogue: residual is 4 × 8, expected 4 × 9, the shape of the result.");
}

/// A layer whose apply() passes an epilogue to its product. PlainProjection::apply() has no epilogue parameter.
struct Projection : Layer<Projection, double> {
  static constexpr const char* name = "Projection";
  const Weights<double>* p;
  explicit Projection(const Weights<double>& p_) : p(&p_) {}
  static constexpr auto fields() { return Fields(); }
  Contract contract() const { return {.in = p->weight.cols(), .out = p->weight.rows(), .sees = Sees::itself}; }
  auto apply(auto& run, auto x, auto then) const { return product(run, x, p->weight, p->bias, std::move(then)); }
};
struct PlainProjection : Layer<PlainProjection, double> {
  static constexpr const char* name = "PlainProjection";
  const Weights<double>* p;
  explicit PlainProjection(const Weights<double>& p_) : p(&p_) {}
  static constexpr auto fields() { return Fields(); }
  Contract contract() const { return {.in = p->weight.cols(), .out = p->weight.rows(), .sees = Sees::itself}; }
  auto apply(auto& run, auto x) const { return product(run, x, p->weight, p->bias, {}); }
};

/// Ways to add a residual to a branch in training.
enum class Way { join, layer, plain_layer };

Variable joined(Way way, Recording<double>& run, unsigned fields, const Weights<double>& p, Variable x, double drop_path) {
  auto epilogue = named(run, fields, x, p);
  epilogue.drop_path = drop_path;
  const Variable input = run.columns(x, 0, in);
  switch (way) {
    case Way::join:
      return join(run, product(run, input, p.weight, p.bias, {}), epilogue);
    case Way::layer:
      return run(Projection(p), input, epilogue);
    default:
      return run(PlainProjection(p), input, epilogue);
  }
}

/// Dropout zeroes elements of the branch, and drop path zeroes the whole branch of a sequence. Both keep the residual.
TEST(JoinedResidual, DropsTheBranchButNotTheResidual) {
  const Sequences sequences = Sequences::uniform(40, 3);
  const auto x = random_matrix<double>(120, in + 3 * out, 1);
  for (const unsigned fields : {residual + 0U, residual | gate, residual | scale, all + 0U}) {
    const Weights<double> p(fields);
    Weights<double> gradient = p;
    const Matrix<double> branch = literal(fields & ~residual, x, p);
    const Matrix<double> rest = literal(fields, x, p) - branch;
    Matrix<double> first_dropped;
    for (const Way way : {Way::join, Way::layer, Way::plain_layer}) {
      const auto recorded = [&](const TapeOptions& options, double drop_path) {
        Tape<double> tape({}, options);
        Random random(1);
        tape.begin(p, gradient, random);
        Recording<double> run(tape, sequences);
        return Matrix<double>(tape[joined(way, run, fields, p, tape.input(x), drop_path)] - rest);
      };
      EXPECT_LE((recorded({}, 0) - branch).cwiseAbs().maxCoeff(), 1e-13) << "no dropout";
      const Matrix<double> dropped = recorded({.residual_dropout = 0.25}, 0);
      first_dropped = way == Way::join ? dropped : first_dropped;
      EXPECT_TRUE(same_bits(dropped, first_dropped)) << "every way must drop the same elements";
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
}

TEST(JoinedResidual, CannotBeDroppedByAnOp) {
  const Weights<double> p(0);
  Weights<double> gradient = p;
  Tape<double> tape({}, {.residual_dropout = 0.25});
  Random random(1);
  tape.begin(p, gradient, random);
  Recording<double> run(tape, Sequences::single(4));
  const auto x = tape.input(random_matrix<double>(4, in + 3 * out, 1));
  const auto message = test::message_of<ArgumentError>([&] { joined_product(residual)(run, p, x); });
  EXPECT_NE(message.find("which an op cannot do"), std::string::npos) << message;
}

TEST(JoinedResidual, BackpropagatesThroughDropout) {
  const Sequences sequences = Sequences::uniform(4, 3);
  for (const unsigned fields : {residual + 0U, residual | residual_scale, residual | scale, all + 0U}) {
    for (const Way way : {Way::join, Way::layer, Way::plain_layer}) {
      SCOPED_TRACE(fields);
      test::expect_gradients(
          Weights<double>(fields), random_matrix<double>(12, in + 3 * out, 1),
          [&](Tape<double>& tape, const Weights<double>& p, Variable x) {
            Recording<double> run(tape, sequences);
            return joined(way, run, fields, p, x, 0.4);
          },
          1e-6, {.residual_dropout = 0.3, .scaled_depth = true}, 5);
    }
  }
}

}  // namespace
}  // namespace gated::join_test
