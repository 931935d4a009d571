#include "gated/layers/layer.hpp"

#include <gtest/gtest.h>

#include "gated/layers/linear.hpp"
#include "tests/core/allocations.hpp"
#include "tests/core/numbers.hpp"
#include "tests/core/toy_layers.hpp"

namespace gated::layer_test {
namespace {

using test::message_of;
using test::Neighbours;
using test::random_matrix;
using test::same_bits;
using test::Times;
using test::Totals;
using test::Tower;
using M = Matrix<double>;

/// An identity layer whose scalar type is its template argument.
template <class T>
struct Of : Layer<Of<T>> {
  static constexpr const char* name = "Of";
  static constexpr auto fields() { return Fields(); }
  Contract contract() const { return {}; }
  auto apply(auto&, auto x) const { return x; }
};

/// Expects that `f(y)`, for a `rows` × `columns` y, throws an `E` with the message `expected` and leaves y unchanged.
template <class E, class F>
void expect_refused(const std::string& expected, Index rows, Index columns, const F& f) {
  M y = M::Constant(rows, columns, -7);
  EXPECT_EQ(message_of<E>([&] { f(y); }), expected);
  EXPECT_TRUE((y.array() == -7).all());
}

TEST(Layer, DeducesItsScalar) {
  struct Plain : Layer<Plain> {};
  EXPECT_TRUE((std::is_same_v<Plain::Scalar, float>));
  EXPECT_TRUE((std::is_same_v<Times::Scalar, double>));
  EXPECT_TRUE((std::is_same_v<Of<double>::Scalar, double>));
  EXPECT_TRUE((std::is_same_v<Of<Of<double>>::Scalar, double>)) << "from a nested layer";
}

/// A layer with a weight of its own, and without initialize().
struct Careless : Layer<Careless, double> {
  static constexpr const char* name = "Careless";
  Matrix<double> weight = unset_weight<double>(2, 3);
  static constexpr auto fields() { return Fields(field("weight", &Careless::weight, Role::weight)); }
  Contract contract() const { return {}; }
  auto apply(auto&, auto x) const { return x; }
};

/// Parameters of a layer that are no layer themselves.
struct Parts {
  Linear<double> inner{2, 3};
  static constexpr auto fields() { return Fields(field("inner", &Parts::inner)); }
};
struct OfParts : Layer<OfParts, double> {
  static constexpr const char* name = "OfParts";
  Parts parts;
  static constexpr auto fields() { return Fields(field("parts", &OfParts::parts)); }
  Contract contract() const { return {}; }
  auto apply(auto&, auto x) const { return x; }
};

TEST(Layer, InitializesEachWeightOrRefuses) {
  Random random(1);
  Careless careless;
  EXPECT_EQ(message_of<ArgumentError>([&] { careless.initialize(random); }),
            "Careless: weight is uninitialized. Define `void initialize(Random& random)` in this layer; see fill_normal().");
  OfParts whole;
  whole.initialize(random);
  EXPECT_FALSE(is_unset(whole.parts.inner.weight(0, 0)));
}

TEST(Layer, ReportsItsContract) {
  const Neighbours layer(3, 9);
  EXPECT_EQ(layer.in(), 3);
  EXPECT_EQ(layer.out(), 3);
  EXPECT_EQ(layer.longest(), 9);
  EXPECT_TRUE(layer.is_causal());
  EXPECT_FALSE(Of<double>().is_causal());
  EXPECT_EQ(Of<double>().in(), Contract::any);
}

TEST(Layer, AcceptsAnyWidthIfUnconstrained) {
  const M x = random_matrix<double>(5, 7, 1);
  EXPECT_TRUE(same_bits(Of<double>().forward(x), x));
  EXPECT_TRUE(same_bits(Of<double>().forward(x.leftCols(2)), x.leftCols(2)));
}

TEST(Layer, WritesIntoAMatrixOrReturnsOne) {
  const Times layer(3, 4);
  const M x = random_matrix<double>(5, 4, 1);
  Workspace<double> workspace;
  M y = M::Zero(7, 9);
  layer.forward(x, y.block(1, 2, 5, 4), workspace);
  EXPECT_TRUE(same_bits(y.block(1, 2, 5, 4), M(3 * x)));
  y.block(1, 2, 5, 4).setZero();
  EXPECT_TRUE(y.isZero(0));
  EXPECT_TRUE(same_bits(layer.forward(x, workspace), M(3 * x)));
  M in_place = x;
  layer.forward(in_place, in_place, workspace);
  EXPECT_TRUE(same_bits(in_place, M(3 * x)));
}

TEST(Layer, NamesItselfInErrors) {
  const Times layer(3, 4);
  Workspace<double> workspace;
  expect_refused<ShapeError>(
      "Times::forward: x has 5 columns, expected in = 4 (a matrix is tokens × channels, one row per token).", 2, 4,
      [&](M& y) { layer.forward(M(2, 5), y, workspace); });
  expect_refused<ShapeError>("Times::forward: y is 3 × 4, expected 2 × 4. Outputs are written in place and never resized.", 3,
                             4, [&](M& y) { layer.forward(M(2, 4), y, workspace); });
}

TEST(Layer, AllocatesNothing) {
  const Times layer(3, 4);  // needs no scratch memory
  const M x = random_matrix<double>(5, 4, 1);
  M y(5, 4);
  Workspace<double> workspace;
  EXPECT_EQ(test::allocations_during([&] { layer.forward(x, y, workspace); }), 0);
}

/// Sums all elements of each pair of rows: the output has half as many rows, and one column.
struct Halves : Layer<Halves, double> {
  static constexpr const char* name = "Halves";
  static constexpr auto fields() { return Fields(); }
  Contract contract() const { return {.in = 4, .out = 1, .of_rows = 2, .rows = 1}; }
  auto apply(auto& run, auto x) const {
    const auto y = run.make(run.rows(x) / 2, 1);
    for (Index i = 0; i < run.rows(y); ++i) {
      run[y](i, 0) = run[x].middleRows(2 * i, 2).sum();
    }
    return y;
  }
};

TEST(Layer, MayChangeTheNumberOfRows) {
  const Halves layer;
  Workspace<double> workspace;
  const M y = layer.forward(M::Ones(6, 4), workspace);
  EXPECT_TRUE(same_bits(y, M(M::Constant(3, 1, 8))));
  expect_refused<ShapeError>("Halves::forward: x has 5 rows, expected a multiple of 2.", 2, 1,
                             [&](M& out) { layer.forward(M(5, 4), out, workspace); });
}

TEST(LayerOfSequences, WritesIntoAMatrixOrReturnsOne) {
  const Tower layer(2, 3, 9);
  const Sequences sequences = Sequences::of_lengths({4, 0, 5});
  const M x = random_matrix<double>(9, 3, 1);
  Workspace<double> workspace;
  const M y = layer.forward(x, sequences, workspace);
  for (const Index b : {0, 2}) {
    const Index offset = sequences.offset(b), length = sequences.length(b);
    EXPECT_TRUE(same_bits(layer.forward(x.middleRows(offset, length), Sequences::single(length), workspace),
                          y.middleRows(offset, length)));
  }
  M whole = M::Zero(11, 8);
  layer.forward(x, sequences, whole.block(1, 2, 9, 3), workspace);
  EXPECT_TRUE(same_bits(whole.block(1, 2, 9, 3), y));
  whole.block(1, 2, 9, 3).setZero();
  EXPECT_TRUE(whole.isZero(0));
  M in_place = x;
  layer.forward(in_place, sequences, in_place, workspace);
  EXPECT_TRUE(same_bits(in_place, y));
  EXPECT_EQ(layer.forward(M(0, 3), Sequences::uniform(0, 5), workspace).rows(), 0);
}

TEST(LayerOfSequences, AcceptsAMaskOnlyIfItsContractAllowsIt) {
  const std::vector<std::uint8_t> mask{1, 0, 1};
  Workspace<double> workspace;
  M x(3, 1), expected(3, 1), y(3, 1);
  x << 1, 2, 4;
  expected << 1, 1, 5;
  EXPECT_TRUE(same_bits(Totals(1).forward(x, Sequences::single(3), workspace, mask), expected));
  Totals(1).forward(x, Sequences::single(3), y, workspace, mask);
  EXPECT_TRUE(same_bits(y, expected));
  expect_refused<ArgumentError>("Neighbours::forward: got a mask, but this layer takes none. Omit the mask.", 3, 1,
                                [&](M& out) { Neighbours(1, 3).forward(x, Sequences::single(3), out, workspace, mask); });
  expect_refused<ArgumentError>("Times::forward: got a mask, but this layer takes none. Omit the mask.", 3, 1,
                                [&](M& out) { Times(2, 1).forward(x, Sequences::single(3), out, workspace, mask); });
}

TEST(LayerOfSequences, NamesTheLayerAndTheCallInErrors) {
  const Neighbours layer(3, 4);
  Workspace<double> workspace;
  const auto forward = [&](Index rows, Index columns, const Sequences& sequences) {
    return [&, rows, columns, sequences](M& y) { layer.forward(M(rows, columns), sequences, y, workspace); };
  };
  expect_refused<ShapeError>(
      "Neighbours::forward: x has 5 columns, expected in = 3 (a matrix is tokens × channels, one row per token).", 2, 3,
      forward(2, 5, Sequences::single(2)));
  expect_refused<ShapeError>(
      "Neighbours::forward: x has 2 rows, but the sequences cover 1 sequence × 3 tokens. Every row must belong to exactly one "
      "sequence.",
      2, 3, forward(2, 3, Sequences::single(3)));
  expect_refused<ShapeError>("Neighbours::forward: y is 2 × 4, expected 2 × 3. Outputs are written in place and never resized.",
                             2, 4, forward(2, 3, Sequences::single(2)));
  expect_refused<ShapeError>("Neighbours::forward: sequence 0 of 1 has 5 tokens, expected 4 at most. Cut it.", 5, 3,
                             forward(5, 3, Sequences::single(5)));
  const std::vector<std::uint8_t> mask{1, 0, 1};
  expect_refused<ShapeError>("Totals::forward: the mask has 3 entries, expected 2, one per token.", 2, 3,
                             [&](M& y) { Totals(3).forward(M(2, 3), Sequences::single(2), y, workspace, mask); });
  EXPECT_EQ(message_of<ShapeError>([&] {
              expect_input({"Neighbours", "record"}, layer.contract(), 5, 3, Sequences::single(5), {});
            }),
            "Neighbours::record: sequence 0 of 1 has 5 tokens, expected 4 at most. Cut it.");
  State<double> state = layer.start();
  expect_refused<ShapeError>(
      "Neighbours::extend: x has 5 columns, expected in = 3 (a matrix is tokens × channels, one row per token).", 1, 3,
      [&](M& y) { layer.extend(M(1, 5), state, y, workspace); });
  expect_refused<ShapeError>("Neighbours::extend: y is 2 × 3, expected 1 × 3. Outputs are written in place and never resized.",
                             2, 3, [&](M& y) { layer.extend(M(1, 3), state, y, workspace); });
}

TEST(LayerOfSequences, NamesOnlyTheInnerLayerInNestedErrors) {
  Tower layer(1, 3, 9);
  layer.head->channels = 4;
  Workspace<double> workspace;
  EXPECT_EQ(message_of<ShapeError>([&] { layer.forward(M::Zero(2, 3), Sequences::single(2), workspace); }),
            "Times: x has 3 columns, expected in = 4 (a matrix is tokens × channels, one row per token).");
}

}  // namespace
}  // namespace gated::layer_test
