#include "gated/core/sequences.hpp"

#include <gtest/gtest.h>

#include "tests/core/numbers.hpp"

namespace gated::sequences_test {
namespace {

/// Expects that the sequences cover all rows in order, each row exactly once.
void expect_contiguous(const Sequences& sequences) {
  Index next = 0;
  for (Index b = 0; b < sequences.count(); ++b) {
    EXPECT_EQ(sequences.offset(b), next);
    next += sequences.length(b);
  }
  EXPECT_EQ(sequences.total(), next);
}

TEST(Sequences, SplitRowsEvenlyIfUniform) {
  const Sequences s = Sequences::uniform(8, 196);
  EXPECT_EQ(s.count(), 8);
  EXPECT_EQ(s.length(7), 196);
  EXPECT_EQ(s.offset(3), 3 * 196);
  EXPECT_EQ(s.total(), 8 * 196);
  expect_contiguous(s);
}

TEST(Sequences, FirstFromFindsTheNextSequenceStart) {
  const Sequences uniform = Sequences::uniform(3, 10);
  EXPECT_EQ(uniform.first_from(0), 0);
  EXPECT_EQ(uniform.first_from(1), 1);
  EXPECT_EQ(uniform.first_from(20), 2);
  EXPECT_EQ(uniform.first_from(21), 3);
  const Sequences ragged = Sequences::of_lengths({4, 0, 5, 3});
  EXPECT_EQ(ragged.first_from(4), 1);
  EXPECT_EQ(ragged.first_from(5), 3);
  EXPECT_EQ(ragged.first_from(12), 4);
  EXPECT_EQ(ragged.part(2, 2).first_from(5), 1) << "counted from the start of the part";
}

TEST(Sequences, AreVisitedPartByPart) {
  for (const Sequences& sequences : {Sequences::of_lengths({4, 0, 5, 0, 0, 3, 0}), Sequences::uniform(4, 3)}) {
    for (Index row = 0; row < 12; ++row) {
      for (Index rows = 0; rows <= 12 - row; ++rows) {
        Index next = row;
        sequences.for_each_part(row, rows, [&](Index first, Index position, Index count) {
          EXPECT_EQ(first, next);
          const Index b = sequences.first_from(first + 1) - 1;
          EXPECT_EQ(sequences.offset(b) + position, first);
          EXPECT_LE(position + count, sequences.length(b));
          EXPECT_GT(count, 0);
          next = first + count;
        });
        EXPECT_EQ(next, row + rows);
      }
    }
  }
}

TEST(Sequences, MayDifferInLength) {
  const Sequences s = Sequences::of_lengths({512, 0, 37, 129});
  EXPECT_EQ(s.count(), 4);
  EXPECT_EQ(s.length(0), 512);
  EXPECT_EQ(s.length(1), 0);
  EXPECT_EQ(s.offset(2), 512);
  EXPECT_EQ(s.offset(3), 549);
  EXPECT_EQ(s.length(3), 129);
  EXPECT_EQ(s.total(), 678);
  expect_contiguous(s);
}

TEST(Sequences, MayConsistOfASingleSequence) {
  const Sequences s = Sequences::single(5);
  EXPECT_EQ(s.count(), 1);
  EXPECT_EQ(s.length(0), 5);
  EXPECT_EQ(s.total(), 5);
}

TEST(Sequences, MayConsistOfNoSequence) {
  for (const Sequences& s : {Sequences::uniform(0, 7), Sequences::of_lengths({})}) {
    EXPECT_EQ(s.count(), 0);
    EXPECT_EQ(s.total(), 0);
    EXPECT_NO_THROW(s.expect_total("here", 0));
    expect_contiguous(s);
  }
}

TEST(Sequences, MayAllHaveZeroLength) {
  for (const Sequences& s : {Sequences::uniform(3, 0), Sequences::of_lengths({0, 0, 0})}) {
    EXPECT_EQ(s.count(), 3);
    EXPECT_EQ(s.length(2), 0);
    EXPECT_EQ(s.total(), 0);
  }
}

TEST(Sequences, DescribeThemselves) {
  EXPECT_EQ(Sequences::single(197).describe(), "1 sequence × 197 tokens");
  EXPECT_EQ(Sequences::uniform(8, 196).describe(), "8 sequences × 196 tokens");
  EXPECT_EQ(Sequences::of_lengths({512, 37, 129}).describe(), "3 sequences, 678 tokens in all");
  EXPECT_EQ(Sequences::of_lengths({4}).describe(), "1 sequence, 4 tokens in all");
}

TEST(Sequences, RefuseNegativeSizes) {
  EXPECT_EQ(test::message_of<ArgumentError>([] { Sequences::uniform(-1, 4); }),
            "Sequences::uniform: count = -1 and length = 4 must not be negative.");
  EXPECT_THROW(Sequences::uniform(1, -4), ArgumentError);
  EXPECT_EQ(test::message_of<ArgumentError>([] {
              Sequences::of_lengths({3, 5, -2});
            }),
            "Sequences::of_lengths: length -2 of sequence 2 is negative.");
}

TEST(Sequences, RefuseTotalsThatOverflowIndex) {
  constexpr Index most = std::numeric_limits<Index>::max();
  EXPECT_THROW(Sequences::uniform(most / 2, 4), ArgumentError);
  EXPECT_THROW(Sequences::of_lengths({most, 1}), ArgumentError);
  EXPECT_EQ(Sequences::of_lengths({most, 0}).total(), most);
  EXPECT_EQ(Sequences::uniform(0, most).total(), 0);
}

TEST(Sequences, RefuseAMismatchedRowCount) {
  const Sequences s = Sequences::of_lengths({3, 4});
  EXPECT_NO_THROW(s.expect_total("Gmlp::forward", 7));
  EXPECT_EQ(test::message_of<ShapeError>([&] { s.expect_total("Gmlp::forward", 8); }),
            "Gmlp::forward: x has 8 rows, but the sequences cover 2 sequences, 7 tokens in all."
            " Every row must belong to exactly one sequence.");
  EXPECT_THROW(Sequences::uniform(2, 3).expect_total("here", 5), ShapeError);
}

}  // namespace
}  // namespace gated::sequences_test
