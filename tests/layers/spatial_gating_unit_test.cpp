#include "gated/layers/spatial_gating_unit.hpp"

#include "literal.hpp"
#include "tests/promises.hpp"

namespace gated::spatial_gating_unit_test {
namespace {

using test::message_of;
using test::near;
using test::random_matrix;
using test::wide;

constexpr GateForm all_gates[] = {GateForm::split, GateForm::multiplicative, GateForm::additive, GateForm::linear,
                                  GateForm::identity};

template <class T>
SpatialGatingUnit<T> random_gate(const SpatialGatingUnitConfig& config) {
  SpatialGatingUnit<T> gate(config);
  test::randomize(gate, 1);
  return gate;
}

template <class T>
SpatialGatingUnit<T> initialized(const SpatialGatingUnitConfig& config) {
  SpatialGatingUnit<T> gate(config);
  Random random(1);
  gate.initialize(random);
  return gate;
}

template <class T>
Matrix<T> pass(const SpatialGatingUnit<T>& gate, const Matrix<T>& x, const Sequences& sequences) {
  Workspace<T> workspace;
  return gate.forward(x, sequences, workspace);
}

/// A gate with an added operand, as in aMLP, which adds tiny attention.
template <class T>
struct Adding : Layer<Adding<T>> {
  static constexpr const char* name = "Adding";

  SpatialGatingUnit<T> gate;
  Linear<T> addition;

  explicit Adding(const SpatialGatingUnitConfig& config) : gate(config), addition(config.channels, config.out()) {}
  static constexpr auto fields() { return Fields(field("gate", &Adding::gate), field("addition", &Adding::addition)); }
  Contract contract() const { return gate.contract(); }

  auto apply(auto& run, auto x) const {
    auto added = run(addition, x);
    return run(gate, std::move(x), std::move(added));
  }
};

/// A user-defined layer: projection, gate, projection. The second half of the gate's input is also the residual.
template <class T>
struct Skipping : Layer<Skipping<T>> {
  using Config = SpatialProjectionConfig;
  static constexpr const char* name = "Skipping";
  static constexpr Index channels = 6;

  Linear<T> proj_in{channels, 2 * channels};
  SpatialGatingUnit<T> gate;
  Linear<T> proj_out{channels, channels};

  explicit Skipping(const Config& config) : gate({.channels = 2 * channels, .spatial = config}) {}
  static constexpr auto fields() {
    return Fields(field("proj_in", &Skipping::proj_in), field("gate", &Skipping::gate), field("proj_out", &Skipping::proj_out));
  }
  Contract contract() const { return proj_in.contract().then(gate.contract()).then(proj_out.contract()); }

  auto apply(auto& run, auto x) const {
    const auto h = run(proj_in, x);
    const auto g = run(gate, h);
    return run(proj_out, g, {.residual = run.columns(h, channels, channels)});
  }
};

TEST(SpatialGatingUnit, KeepsItsPromises) {
  for (const GateForm form : all_gates) {
    for (const bool causal : {false, true}) {
      if (form == GateForm::identity && !causal) {
        continue;  // `identity` mixes no tokens, so it is always causal
      }
      const SpatialGatingUnitConfig config{
          .channels = 8, .form = form, .spatial = {.length = 9, .heads = 2, .causal = causal}, .activation = Activation::tanh};
      SCOPED_TRACE(text(name_of(form), causal ? ", causal" : ""));
      const std::vector<Index> lengths = causal ? std::vector<Index>{7, 0, 9, 1} : std::vector<Index>{9, 9};
      test::expect_promises<SpatialGatingUnit>(config, {.lengths = lengths, .causal = causal});
      test::expect_promises<Adding>(config, {.lengths = lengths, .causal = causal});
    }
  }
}

TEST(SpatialGatingUnit, KeepsItsPromisesWithThreadedProducts) {
  for (const SpatialForm form : {SpatialForm::dense, SpatialForm::toeplitz, SpatialForm::scaled_toeplitz}) {
    SCOPED_TRACE(name_of(form));
    test::expect_promises<SpatialGatingUnit>(
        SpatialGatingUnitConfig{.channels = 64, .spatial = {.length = 260, .causal = true, .form = form}},
        {.lengths = {260, 3, 129}, .causal = true, .trains = form == SpatialForm::dense});
  }
}

TEST(SpatialGatingUnit, KeepsInputsThatAreStillNeeded) {
  for (const bool causal : {false, true}) {
    const SpatialProjectionConfig config{.length = 9, .causal = causal};
    const Sequences sequences = causal ? Sequences::of_lengths({7, 0, 9, 1}) : Sequences::uniform(2, 9);
    test::expect_promises<Skipping>(
        config, {.lengths = causal ? std::vector<Index>{7, 0, 9, 1} : std::vector<Index>{9, 9}, .causal = causal});
    Skipping<double> layer(config);
    test::randomize(layer, 1);
    const auto x = random_matrix<double>(sequences.total(), layer.channels, 2);
    const Matrix<double> h = layer.proj_in.forward(x), g = layer.gate.forward(h, sequences);
    EXPECT_TRUE(near<double>(layer.forward(x, sequences), layer.proj_out.forward(g) + h.rightCols(layer.channels), 1e-12))
        << (causal ? "causal" : "");
  }
}

template <class T>
class SpatialGatingUnitOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SpatialGatingUnitOf, Scalars, );

TYPED_TEST(SpatialGatingUnitOf, EqualsAHandComputedGate) {
  using T = TypeParam;
  // Only the second half of x is normalized: its values 1 and 3 become -1 and 1.
  SpatialGatingUnit<T> gate({.channels = 4, .spatial = {.length = 2}, .norm_eps = 0});
  gate.proj.weight << 1, 2,  //
      3, 5;
  gate.proj.bias << 10, 20;
  Matrix<T> x(2, 4);
  x << 7, 8, 1, 3,  //
      5, 6, 3, 1;   // second half, normalized: [-1 1; 1 -1]; W v = [1 -1; 2 -2]
  Matrix<double> expected(2, 2);
  expected << 7 * 11, 8 * 9,  //
      5 * 22, 6 * 18;
  EXPECT_TRUE(near(pass(gate, x, Sequences::single(2)), expected));
}

TYPED_TEST(SpatialGatingUnitOf, EqualsItsFormulaInEveryForm) {
  using T = TypeParam;
  const auto sequences = Sequences::of_lengths({13, 20, 1, 0});
  for (const GateForm form : all_gates) {
    for (const Activation activation : {Activation::identity, Activation::tanh, Activation::sigmoid}) {
      const auto gate = random_gate<T>({.channels = 36,
                                        .form = form,
                                        .spatial = {.length = 20, .heads = 3, .causal = true},
                                        .activation = activation,
                                        .norm_eps = 1e-3});
      const auto x = random_matrix<T>(sequences.total(), 36, 2);
      EXPECT_TRUE(near(pass(gate, x, sequences), literal::gate(gate, wide(x), sequences, {})))
          << name_of(form) << ", " << name_of(activation);

      Adding<T> adding(gate.config);
      test::randomize(adding, 3);
      Workspace<T> workspace(Threads{2});
      EXPECT_TRUE(near(adding.forward(x, sequences, workspace),
                       literal::gate(adding.gate, wide(x), sequences, literal::linear(adding.addition, wide(x)))))
          << name_of(form) << ", " << name_of(activation) << ", with an addition";
    }
  }
}

TYPED_TEST(SpatialGatingUnitOf, HasTheSameBitsInPlace) {
  using T = TypeParam;
  const auto sequences = Sequences::of_lengths({13, 20, 1, 0});
  const auto gate = random_gate<T>({.channels = 36, .spatial = {.length = 20, .heads = 3, .causal = true}});
  const auto x = random_matrix<T>(sequences.total(), 36, 2), addition = random_matrix<T>(sequences.total(), 18, 3);
  Workspace<T> workspace(Threads{2});
  for (const RunMatrix<T>& added : {RunMatrix<T>(), RunMatrix<T>(input_view<T>(addition))}) {
    const auto frame = workspace.frame();
    Batch<T> run(workspace, sequences);
    const Matrix<T> y = run[run(gate, RunMatrix<T>(input_view<T>(x)), added)];
    auto z = run.owned(RunMatrix<T>(input_view<T>(x)));
    const T* const u = z.data;
    const auto moved = run(gate, std::move(z), added);  // as a block runs it: y replaces u in place
    EXPECT_EQ(moved.data, u);
    EXPECT_TRUE(test::same_bits(run[moved], y)) << (added ? "with an addition" : "alone");
  }
}

TYPED_TEST(SpatialGatingUnitOf, SplitGateWithZeroWeightsReturnsItsFirstHalf) {
  using T = TypeParam;
  for (const SpatialForm form : {SpatialForm::dense, SpatialForm::toeplitz, SpatialForm::scaled_toeplitz}) {
    SpatialGatingUnit<T> gate({.channels = 34, .spatial = {.length = 9, .form = form}});
    gate.proj.weight.setZero();  // the constructor has set the bias to 1
    const auto x = random_matrix<T>(18, 34, 2);
    EXPECT_TRUE(test::same_bits(pass(gate, x, Sequences::uniform(2, 9)), x.leftCols(17))) << name_of(form);
  }
}

TYPED_TEST(SpatialGatingUnitOf, UnsplitGatesWithZeroWeightsAreTheIdentity) {
  using T = TypeParam;
  const auto x = random_matrix<T>(18, 34, 2);
  for (const GateForm form : {GateForm::multiplicative, GateForm::additive}) {
    SpatialGatingUnit<T> gate({.channels = 34, .form = form, .spatial = {.length = 9}});
    gate.proj.weight.setZero();
    EXPECT_TRUE(test::same_bits(pass(gate, x, Sequences::uniform(2, 9)), x)) << name_of(form);
  }
}

TYPED_TEST(SpatialGatingUnitOf, HardlyMixesTokensAtInitialization) {
  using T = TypeParam;
  const auto x = random_matrix<T>(18, 34, 2);
  for (const GateForm form : all_gates) {
    for (const SpatialForm spatial : {SpatialForm::dense, SpatialForm::toeplitz, SpatialForm::scaled_toeplitz}) {
      for (const Index heads : {1, 17}) {
        const auto gate =
            initialized<T>({.channels = 34, .form = form, .spatial = {.length = 9, .heads = heads, .form = spatial}});
        const Matrix<double> expected = form == GateForm::split    ? Matrix<double>(wide(x).leftCols(17))
                                        : form == GateForm::linear ? literal::layer_norm(gate.norm, wide(x))
                                                                   : wide(x);
        EXPECT_TRUE(near(pass(gate, x, Sequences::uniform(2, 9)), expected, 2e-5)) << name_of(form) << ", " << name_of(spatial);
        if (form != GateForm::identity) {
          EXPECT_NE(gate.proj.weight.cwiseAbs().minCoeff(), 0) << "near zero, but not zero: it must learn";
        }
      }
    }
  }
}

TYPED_TEST(SpatialGatingUnitOf, IdentityFormHasNoParametersOrLengthLimit) {
  using T = TypeParam;
  const SpatialGatingUnitConfig config{.channels = 6, .form = GateForm::identity, .spatial = {.length = 3}};
  const SpatialGatingUnit<T> gate(config);
  EXPECT_EQ(parameter_count(gate), 0);
  EXPECT_TRUE(gate.is_causal());
  const auto x = random_matrix<T>(40, 6, 2);
  EXPECT_TRUE(test::same_bits(pass(gate, x, Sequences::of_lengths({37, 1, 2})), x));
}

TYPED_TEST(SpatialGatingUnitOf, MixesEachHeadWithItsOwnMatrix) {
  using T = TypeParam;
  const auto gate = random_gate<T>({.channels = 12, .spatial = {.length = 5, .heads = 2}});
  SpatialGatingUnit<T> one_head({.channels = 12, .spatial = {.length = 5}});
  one_head.norm = gate.norm;
  const auto x = random_matrix<T>(5, 12, 2);
  const Matrix<T> y = pass(gate, x, Sequences::single(5));
  for (Index head = 0; head < 2; ++head) {
    one_head.proj.weight = gate.proj.weight.middleRows(5 * head, 5);
    one_head.proj.bias = gate.proj.bias.row(head);
    EXPECT_TRUE(near<T>(y.middleCols(3 * head, 3), wide(pass(one_head, x, Sequences::single(5))).middleCols(3 * head, 3)));
  }
}

TEST(SpatialGatingUnit, SpreadsNaNOverItsSequence) {
  const auto gate = random_gate<float>({.channels = 12, .spatial = {.length = 5}});
  auto x = random_matrix<float>(15, 12, 2);
  x(7, 9) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(pass(gate, x, Sequences::uniform(3, 5)).middleRows(5, 5).array().isNaN().all());
}

TEST(SpatialGatingUnit, RefusesMismatchedShapesBeforeWriting) {
  SpatialGatingUnit<float> gate({.channels = 8, .spatial = {.length = 196}});
  gate.proj.weight.setZero();
  Workspace<float> workspace;
  Matrix<float> y = Matrix<float>::Constant(196, 4, 7), longer = Matrix<float>::Constant(197, 4, 7);
  const auto x = [](Index rows, Index columns) { return Matrix<float>::Zero(rows, columns); };
  EXPECT_EQ(message_of<ShapeError>([&] { gate.forward(x(197, 8), Sequences::single(197), longer, workspace); }),
            "SpatialGatingUnit::forward: sequence 0 of 1 has 197 tokens, expected 196. Resize the spatial weight with "
            "resize_length(); for shorter "
            "sequences, length_policy = slice uses its corner.");
  EXPECT_EQ(message_of<ShapeError>([&] { gate.forward(x(196, 9), Sequences::single(196), y, workspace); }),
            "SpatialGatingUnit::forward: x has 9 columns, expected in = 8 (a matrix is tokens × channels, one row per token).");
  EXPECT_EQ(message_of<ShapeError>([&] { gate.forward(x(195, 8), Sequences::single(196), y, workspace); }),
            "SpatialGatingUnit::forward: x has 195 rows, but the sequences cover 1 sequence × 196 tokens. Every row must "
            "belong to exactly one sequence.");
  EXPECT_EQ(message_of<ShapeError>([&] { gate.forward(x(196, 8), Sequences::single(196), longer, workspace); }),
            "SpatialGatingUnit::forward: y is 197 × 4, expected 196 × 4. Outputs are written in place and never resized.");
  const auto good = x(196, 8), narrow = x(196, 5);
  const auto frame = workspace.frame();
  Batch<float> run(workspace, Sequences::single(196));
  const std::string message =
      message_of<ShapeError>([&] { run(gate, input_view<float>(good), RunMatrix<float>(input_view<float>(narrow))); });
  EXPECT_NE(message.find("added is 196 × 5, expected 196 × 4"), std::string::npos) << message;
  EXPECT_TRUE((y.array() == 7).all());
  EXPECT_TRUE((longer.array() == 7).all());
}

TEST(SpatialGatingUnit, RefusesToStreamIfNotCausal) {
  const std::string message =
      message_of<ArgumentError>([] { SpatialGatingUnit<float>({.channels = 8, .spatial = {.length = 4}}).start(); });
  EXPECT_NE(message.find("Build it with causal = true"), std::string::npos) << message;
}

TEST(SpatialGatingUnit, RefusesChannelsThatDoNotDivideEvenly) {
  EXPECT_EQ(message_of<ArgumentError>([] { SpatialGatingUnit<float>({.channels = 7, .spatial = {.length = 4}}); }),
            "SpatialGatingUnit: channels = 7, expected a positive even number: the input is split in halves.");
  EXPECT_EQ(message_of<ArgumentError>([] { SpatialGatingUnit<float>({.channels = 8, .spatial = {.length = 4, .heads = 3}}); }),
            "SpatialGatingUnit: heads = 3 does not divide the 4 gated channels.");
  EXPECT_THROW(SpatialGatingUnit<float>({.channels = 0, .spatial = {.length = 4}}), ArgumentError);
  EXPECT_THROW(SpatialGatingUnit<float>({.channels = 8, .spatial = {.length = 4, .heads = 0}}), ArgumentError);
  EXPECT_NO_THROW(SpatialGatingUnit<float>({.channels = 7, .form = GateForm::additive, .spatial = {.length = 4}}));
}

}  // namespace
}  // namespace gated::spatial_gating_unit_test
