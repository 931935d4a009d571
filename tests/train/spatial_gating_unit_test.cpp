#include "gated/train/spatial_gating_unit.hpp"

#include "tests/train/gradients.hpp"

namespace gated {
namespace {

using test::expect_gradients;
using test::random_matrix;

using Unit = SpatialGatingUnit<double>;

SpatialGatingUnitConfig config_of(SpatialForm form, bool causal, Index heads, Index length = 7) {
  return {.channels = 12,
          .spatial = {.length = length, .heads = heads, .causal = causal, .form = form, .length_policy = LengthPolicy::slice}};
}

Unit shaken(const SpatialGatingUnitConfig& config) {
  Unit unit(config);
  test::shake(unit, 3);
  return unit;
}

const auto record_unit = [](const Sequences& sequences) {
  return [sequences](Tape<double>& tape, const Unit& unit, Variable x) { return record(tape, unit, x, sequences); };
};

TEST(TrainSpatialGatingUnit, GradientsOfEverySpatialForm) {
  const Sequences sequences = Sequences::of_lengths({7, 4, 0, 6});
  for (const auto& [form, name] : names_of(SpatialForm{})) {
    for (const bool causal : {false, true}) {
      for (const Index heads : {1, 3}) {
        SCOPED_TRACE(testing::Message() << name << (causal ? ", causal, " : ", ") << heads << " heads");
        expect_gradients(shaken(config_of(form, causal, heads)), random_matrix<double>(17, 12, 4), record_unit(sequences));
      }
    }
  }
}

TEST(TrainSpatialGatingUnit, GradientsOfEveryGateForm) {
  for (const auto& [form, name] : names_of(GateForm{})) {
    for (const auto activation : {Activation::identity, Activation::tanh}) {
      SCOPED_TRACE(name);
      auto config = config_of(SpatialForm::dense, true, 2);
      config.form = form;
      config.activation = activation;
      expect_gradients(shaken(config), random_matrix<double>(14, 12, 4), record_unit(Sequences::uniform(2, 7)));
    }
  }
}

TEST(TrainSpatialGatingUnit, GradientsOfAnAddition) {
  const Sequences sequences = Sequences::of_lengths({7, 3});
  const auto unit = shaken(config_of(SpatialForm::dense, false, 1));
  expect_gradients(unit, random_matrix<double>(10, 18, 4), [&](Tape<double>& tape, const Unit& layer, Variable x) {
    const Variable input = activate(tape, tape.columns(x, 6, 12), Activation::tanh);
    return record(tape, layer, input, sequences, tape.columns(x, 0, 6));
  });
}

TEST(TrainSpatialGatingUnit, GradientsAcrossBlocksOfRows) {
  // More than two blocks of 128 rows; the gradient of a few numbers is compared.
  const Sequences sequences = Sequences::of_lengths({300, 140});
  for (const auto form : {SpatialForm::dense, SpatialForm::scaled_toeplitz}) {
    SpatialGatingUnitConfig config = config_of(form, true, 1, 300);
    config.channels = 2;
    expect_gradients(shaken(config), random_matrix<double>(440, 2, 4), record_unit(sequences), 1e-5);
  }
}

TEST(TrainSpatialGatingUnit, ForwardIsTheInferenceForward) {
  const auto config = config_of(SpatialForm::toeplitz, true, 3);
  SpatialGatingUnit<float> unit(config);
  test::shake(unit, 3);
  const Sequences sequences = Sequences::of_lengths({7, 5});
  const Matrix<float> x = random_matrix<float>(12, 12, 4);
  Matrix<float> expected(12, 6);
  Workspace<float> workspace;
  unit.forward(x, sequences, expected, workspace);

  Tape<float> tape;
  auto gradient = zeros_like(unit);
  tape.begin(unit, gradient);
  const Variable y = record(tape, unit, tape.input(x), sequences);
  EXPECT_TRUE(test::same_bits(Matrix<float>(tape[y]), expected));
}

TEST(TrainSpatialGatingUnit, RefusesWhatTheForwardRefuses) {
  const auto unit = shaken(config_of(SpatialForm::dense, false, 1));
  auto gradient = zeros_like(unit);
  Tape<double> tape;
  tape.begin(unit, gradient);
  const Matrix<double> narrow = random_matrix<double>(7, 10, 1), good = random_matrix<double>(7, 12, 1);
  EXPECT_THROW(record(tape, unit, tape.input(narrow), Sequences::single(7)), ShapeError);
  EXPECT_THROW(record(tape, unit, tape.input(good), Sequences::single(8)), ShapeError);
  EXPECT_THROW(record(tape, unit, tape.input(good), Sequences::single(7), tape.input(good)), ShapeError);
}

}  // namespace
}  // namespace gated
