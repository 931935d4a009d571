#include "gated/layers/sinusoid_position.hpp"

#include <gtest/gtest.h>

#include "literal_attention.hpp"

namespace gated {
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

TYPED_TEST(SinusoidPositionOf, CountsFromTheStartOfEachSequence) {
  using T = TypeParam;
  const auto sequences = Sequences::of_lengths({3, 0, 7});
  const auto x = random_matrix<T>(10, 6, 1);
  Matrix<double> expected = wide(x);
  for (Index b = 0; b < 3; ++b) {
    for (Index t = 0; t < sequences.length(b); ++t) {
      for (Index k = 0; k < 3; ++k) {
        const double angle = static_cast<double>(2 + t) * std::pow(10000.0, -2.0 * static_cast<double>(k) / 6.0);
        expected(sequences.offset(b) + t, k) += 0.7 * std::sin(angle);
        expected(sequences.offset(b) + t, 3 + k) += 0.7 * std::cos(angle);
      }
    }
  }
  for (const PositionForm form : {PositionForm::sinusoid, PositionForm::sinusoid_table}) {
    const SinusoidPosition<T> position(form, 6, 9, T(0.7));
    Matrix<T> y = x;
    position.add_to(y, sequences, 2);
    EXPECT_TRUE(near(y, expected)) << name_of(form);
  }
}

TYPED_TEST(SinusoidPositionOf, AddsNothingInTheFormNone) {
  using T = TypeParam;
  const auto x = random_matrix<T>(4, 5, 1);
  Matrix<T> y = x;
  const SinusoidPosition<T> position(PositionForm::none, 5, 0, T(1));
  position.add_to(y, Sequences::single(4));
  EXPECT_TRUE(same_bits(y, x));
  EXPECT_EQ(parameter_count(position), 0);
}

TYPED_TEST(SinusoidPositionOf, UsesTheTableThatItHolds) {
  using T = TypeParam;
  SinusoidPosition<T> position(PositionForm::sinusoid_table, 4, 3, T(0.5));
  position.table = random_matrix<T>(3, 4, 2);
  Matrix<T> y = Matrix<T>::Zero(2, 4);
  position.add_to(y, Sequences::single(2), 1);
  EXPECT_TRUE(near(y, wide<T>(position.table.bottomRows(2)) * 0.5));
}

TEST(SinusoidPosition, RefusesWhatItCannotHold) {
  EXPECT_THROW(SinusoidPosition<float>(PositionForm::sinusoid, 5, 0, 1.0F), ArgumentError);
  EXPECT_TRUE(refuses<ArgumentError>([] { SinusoidPosition<float>(PositionForm::sinusoid_table, 4, 0, 1.0F); },
                                     "max_length = 0, expected the number of rows of the table"));
  const SinusoidPosition<float> table(PositionForm::sinusoid_table, 4, 3, 1.0F);
  EXPECT_NO_THROW(table.expect_length("f", 3));
  EXPECT_TRUE(refuses<ShapeError>([&] { table.expect_length("f", 4); },
                                  "f: a sequence has 4 tokens, but the position table holds 3. Build the model with a larger "
                                  "max_length, or with position = sinusoid."));
  EXPECT_NO_THROW(SinusoidPosition<float>(PositionForm::sinusoid, 4, 0, 1.0F).expect_length("f", 1000000));
}

TEST(SinusoidPosition, AddsOnlyToWhatFits) {
  const auto before = random_matrix<float>(4, 6, 1);
  Matrix<float> x = before;
  for (const PositionForm form : {PositionForm::sinusoid, PositionForm::sinusoid_table}) {
    const SinusoidPosition<float> position(form, 6, 5, 1.0F), wider(form, 8, 5, 1.0F);
    EXPECT_TRUE(refuses<ShapeError>([&] { position.add_to(x, Sequences::single(3)); },
                                    "x has 4 rows, but the sequences cover 1 sequence × 3 tokens"));
    EXPECT_TRUE(refuses<ShapeError>([&] { wider.add_to(x, Sequences::single(4)); }, "x has 6 columns, expected channels = 8"));
  }
  const SinusoidPosition<float> table(PositionForm::sinusoid_table, 6, 5, 1.0F);
  EXPECT_TRUE(refuses<ShapeError>([&] { table.add_to(x, Sequences::single(4), 2); }, "a sequence has 6 tokens"));
  EXPECT_TRUE(refuses<ShapeError>([&] { table.add_to(x, 2, 1.0F); }, "a sequence has 6 tokens"));
  EXPECT_TRUE(same_bits(x, before));
}

TEST(SinusoidPosition, TrainsItsScaleOnly) {
  EXPECT_EQ(parameter_count(SinusoidPosition<float>(PositionForm::sinusoid, 6, 0, 1.0F)), 1);
  EXPECT_EQ(parameter_count(SinusoidPosition<float>(PositionForm::sinusoid_table, 6, 9, 1.0F)), 1);
}

}  // namespace
}  // namespace gated
