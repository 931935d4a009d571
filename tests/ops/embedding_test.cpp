#include "gated/ops/embedding.hpp"

#include <gtest/gtest.h>

#include "tests/ops/op.hpp"

namespace gated::embedding_test {
namespace {

using test::expect_gradients;
using test::random_matrix;
using test::same_bits;

template <class T>
struct Table {
  using Scalar = T;
  Matrix<T> weight = random_matrix<T>(5, 3, 1);
  explicit Table(int) {}
  static constexpr auto fields() { return Fields(field("weight", &Table::weight, Role::embedding)); }
};

const std::vector<Index> ids{4, 0, 4, 2};

TEST(Embed, LooksUpRowsOfATable) {
  const Table<float> table(0);
  Workspace<float> workspace;
  const auto frame = workspace.frame();
  Batch<float> run(workspace, Sequences::single(4));
  const RunMatrix<float> y = embed(run, table.weight, ids);
  for (Index t = 0; t < 4; ++t) {
    EXPECT_TRUE(same_bits(run[y].row(t), table.weight.row(ids[static_cast<std::size_t>(t)])));
  }
  EXPECT_EQ(run.rows(embed(run, table.weight, Tokens())), 0);
}

TEST(Embed, AccumulatesTheGradientsOfRepeatedTokens) {
  expect_gradients(Table<double>(0), Matrix<double>(4, 0), [](Tape<double>& tape, const Table<double>& table, Variable) {
    Recording<double> run(tape, Sequences::single(4));
    return embed(run, table.weight, ids);
  });
}

TEST(AddEmbedding, DefaultsToTheFirstRow) {
  const Table<double> table(0);
  const auto x = random_matrix<double>(4, 3, 2), before = x;
  Workspace<double> workspace;
  const auto frame = workspace.frame();
  Batch<double> run(workspace, Sequences::single(4));
  for (const Tokens& used : {Tokens(ids), Tokens()}) {
    Matrix<double> expected = x;
    for (Index t = 0; t < 4; ++t) {
      expected.row(t) += table.weight.row(used.empty() ? 0 : used[static_cast<std::size_t>(t)]);
    }
    RunMatrix<double> input(input_view<double>(x)), own = run.owned(input);
    const double* const place = own.data;
    EXPECT_TRUE(same_bits(run[add_embedding(run, std::move(input), table.weight, used)], expected));
    EXPECT_TRUE(same_bits(x, before)) << "the caller's matrix must not change";
    EXPECT_NE(add_embedding(run, own, table.weight, used).data, place) << "not moved";
    const RunMatrix<double> y = add_embedding(run, std::move(own), table.weight, used);
    EXPECT_EQ(y.data, place);
    EXPECT_TRUE(same_bits(run[y], expected)) << "in place";
    expect_gradients(table, x, [used](Tape<double>& tape, const Table<double>& model, Variable recorded) {
      Recording<double> recording(tape, Sequences::single(4));
      return add_embedding(recording, recorded, model.weight, used);
    });
  }
}

}  // namespace
}  // namespace gated::embedding_test
