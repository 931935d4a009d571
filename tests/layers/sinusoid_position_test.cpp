#include "gated/layers/sinusoid_position.hpp"

#include "literal_attention.hpp"
#include "tests/promises.hpp"

namespace gated::sinusoid_position_test {
namespace {

using test::near;
using test::random_matrix;
using test::refuses;
using test::same_bits;
using test::wide;

template <class T>
class SinusoidPositionOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SinusoidPositionOf, Scalars, );

/// A layer that applies SinusoidPosition. It declares Sees::past, so expect_promises() tests sequences, not single tokens.
template <class T>
struct Placing : Layer<Placing<T>> {
  static constexpr const char* name = "Placing";

  SinusoidPosition<T> position;

  explicit Placing(const SinusoidPosition<T>& p) : position(p) {}
  static constexpr auto fields() { return Fields(field("position", &Placing::position)); }
  Contract contract() const {
    Contract contract = position.contract();
    contract.in = contract.out = position.channels;
    contract.sees = Sees::past;
    return contract;
  }

  auto apply(auto& run, auto x) const { return run(position, std::move(x)); }
};

TEST(SinusoidPosition, KeepsItsPromisesInALayer) {
  for (const PositionForm form : {PositionForm::none, PositionForm::sinusoid, PositionForm::sinusoid_table}) {
    SCOPED_TRACE(name_of(form));
    test::expect_promises(
        [&](auto zero) {
          using T = decltype(zero);
          return Placing<T>(SinusoidPosition<T>(form, 6, 9, T(0.7)));
        },
        {.causal = true});
  }
}

TYPED_TEST(SinusoidPositionOf, CountsPositionsPerSequence) {
  using T = TypeParam;
  const auto sequences = Sequences::of_lengths({3, 0, 7});
  const auto x = random_matrix<T>(10, 6, 1);
  const auto expected = [&](Index first) {
    Matrix<double> y = wide(x);
    for (Index b = 0; b < 3; ++b) {
      for (Index t = 0; t < sequences.length(b); ++t) {
        for (Index k = 0; k < 3; ++k) {
          const double angle = static_cast<double>(first + t) * std::pow(10000.0, -2.0 * static_cast<double>(k) / 6.0);
          y(sequences.offset(b) + t, k) += 0.7 * std::sin(angle);
          y(sequences.offset(b) + t, 3 + k) += 0.7 * std::cos(angle);
        }
      }
    }
    return y;
  };
  for (const PositionForm form : {PositionForm::sinusoid, PositionForm::sinusoid_table}) {
    const SinusoidPosition<T> position(form, 6, 9, T(0.7));
    Workspace<T> workspace;
    EXPECT_TRUE(near(Placing<T>(position).forward(x, sequences, workspace), expected(0))) << name_of(form);
    Matrix<T> y = x;
    for (Index b = 0; b < 3; ++b) {
      position.add_to(y.middleRows(sequences.offset(b), sequences.length(b)), 2, T(0.7));
    }
    EXPECT_TRUE(near(y, expected(2))) << name_of(form) << ", from position 2 on";
  }
}

TYPED_TEST(SinusoidPositionOf, IsTheIdentityIfItsFormIsNone) {
  using T = TypeParam;
  const auto x = random_matrix<T>(4, 5, 1);
  Matrix<T> y = x;
  const SinusoidPosition<T> position(PositionForm::none, 5, 0, T(1));
  position.add_to(y, 0, T(1));
  EXPECT_TRUE(same_bits(y, x));
  Workspace<T> workspace;
  EXPECT_TRUE(same_bits(Placing<T>(position).forward(x, Sequences::single(4), workspace), x));
  EXPECT_EQ(parameter_count(position), 0);
}

TYPED_TEST(SinusoidPositionOf, UsesItsTable) {
  using T = TypeParam;
  SinusoidPosition<T> position(PositionForm::sinusoid_table, 4, 3, T(0.5));
  position.table = random_matrix<T>(3, 4, 2);
  Matrix<T> y = Matrix<T>::Zero(2, 4);
  position.add_to(y, 1, T(0.5));
  EXPECT_TRUE(near(y, wide<T>(position.table.bottomRows(2)) * 0.5));
}

TEST(SinusoidPosition, RefusesPositionsBeyondItsTable) {
  EXPECT_THROW(SinusoidPosition<float>(PositionForm::sinusoid, 5, 0, 1.0F), ArgumentError);
  EXPECT_TRUE(refuses<ArgumentError>([] { SinusoidPosition<float>(PositionForm::sinusoid_table, 4, 0, 1.0F); },
                                     "max_length = 0, expected the number of rows of the table"));
  const SinusoidPosition<float> table(PositionForm::sinusoid_table, 4, 3, 1.0F);
  EXPECT_NO_THROW(table.expect_length("f", 3));
  EXPECT_TRUE(refuses<ShapeError>([&] { table.expect_length("f", 4); },
                                  "f: a sequence has 4 tokens, but the position table has 3 positions. Build the model with "
                                  "a larger max_length, or with position = sinusoid."));
  EXPECT_NO_THROW(SinusoidPosition<float>(PositionForm::sinusoid, 4, 0, 1.0F).expect_length("f", 1000000));
}

TEST(SinusoidPosition, RefusesMismatchedRowsAndLengths) {
  const auto before = random_matrix<float>(4, 6, 1);
  Matrix<float> x = before;
  Workspace<float> workspace;
  for (const PositionForm form : {PositionForm::sinusoid, PositionForm::sinusoid_table}) {
    const Placing<float> layer(SinusoidPosition<float>(form, 6, 5, 1.0F));
    const SinusoidPosition<float> wider(form, 8, 5, 1.0F);
    EXPECT_TRUE(refuses<ShapeError>([&] { layer.forward(x, Sequences::single(3), x, workspace); },
                                    "x has 4 rows, but the sequences cover 1 sequence × 3 tokens"));
    EXPECT_TRUE(refuses<ShapeError>([&] { wider.add_to(x, 0, 1.0F); }, "x has 6 columns, expected channels = 8"));
  }
  const SinusoidPosition<float> table(PositionForm::sinusoid_table, 6, 5, 1.0F);
  EXPECT_EQ(table.longest(), 5);
  EXPECT_TRUE(refuses<ShapeError>([&] { table.add_to(x, 2, 1.0F); }, "a sequence has 6 tokens"));
  EXPECT_TRUE(same_bits(x, before));
  Matrix<float> longer = Matrix<float>::Zero(6, 6);
  EXPECT_TRUE(refuses<ShapeError>([&] { Placing<float>(table).forward(longer, Sequences::single(6), longer, workspace); },
                                  "sequence 0 of 1 has 6 tokens, expected 5 at most. Build the model with a larger max_length, "
                                  "or with position = sinusoid."));
  EXPECT_TRUE(longer.isZero(0));
}

TEST(SinusoidPosition, TrainsOnlyItsScale) {
  EXPECT_EQ(parameter_count(SinusoidPosition<float>(PositionForm::sinusoid, 6, 0, 1.0F)), 1);
  EXPECT_EQ(parameter_count(SinusoidPosition<float>(PositionForm::sinusoid_table, 6, 9, 1.0F)), 1);
  EXPECT_EQ(SinusoidPosition<float>(PositionForm::sinusoid, 6, 0, 1.0F).frequencies.size(), 3);
  EXPECT_EQ(SinusoidPosition<float>(PositionForm::sinusoid_table, 6, 9, 1.0F).table.size(), 54);
  EXPECT_EQ(parameter_count(SinusoidPosition<float>(PositionForm::none, 6, 9, 1.0F)), 0);
}

}  // namespace
}  // namespace gated::sinusoid_position_test
