// Checks the Eigen pitfalls listed in include/gated/README.md.

#include <gtest/gtest.h>

#include <type_traits>

#include "gated/layers/linear.hpp"
#include "gated/train/tape.hpp"
#include "tests/core/numbers.hpp"

namespace gated::eigen_pitfalls_test {
namespace {

using test::random_matrix;
using ColumnMajor = Eigen::MatrixXf;

const float* data_of(ConstView<float> x) { return x.data(); }

TEST(EigenPitfalls, CopiesColumnMajorInputs) {
  const Matrix<float> x = random_matrix<float>(3, 4, 1);
  const ColumnMajor same = x;
  EXPECT_NE(data_of(same), same.data());
  EXPECT_EQ(data_of(x), x.data());

  Linear<float> layer(4, 5);
  Random random(1);
  layer.initialize(random);
  Workspace<float> workspace;
  EXPECT_TRUE(test::same_bits(layer.forward(same, workspace), layer.forward(x, workspace)));
}

TEST(EigenPitfalls, RefusesColumnMajorOutputs) {
  EXPECT_FALSE((std::is_convertible_v<ColumnMajor&, View<float>>));
  EXPECT_TRUE((std::is_convertible_v<Matrix<float>&, View<float>>));
}

TEST(EigenPitfalls, CopiesTransposesButNotBlocks) {
  const Matrix<float> x = random_matrix<float>(6, 8, 1);
  EXPECT_EQ(data_of(x.row(2)), &x(2, 0));
  EXPECT_EQ(data_of(x.middleRows(1, 3)), &x(1, 0));
  EXPECT_EQ(data_of(x.rightCols(3)), &x(0, 5));
  EXPECT_EQ(data_of(x.block(1, 2, 3, 4)), &x(1, 2));
  const ConstView<float> transposed = x.transpose();
  EXPECT_NE(transposed.data(), x.data());
  const Vector<float> v = random_matrix<float>(8, 1, 2);
  EXPECT_EQ(data_of(v.transpose()), v.data());  // one token
}

TEST(EigenPitfalls, AutoKeepsAnExpressionInsteadOfItsValue) {
  Matrix<float> x = Matrix<float>::Ones(2, 2);
  const auto expression = x.array() * 2;
  const Matrix<float> value = x.array() * 2;
  x.setZero();
  EXPECT_EQ(Matrix<float>(expression).sum(), 0);
  EXPECT_EQ(value.sum(), 8);
}

TEST(EigenPitfalls, WorkspaceMemoryIsReusedAfterItsFrame) {
  Workspace<float> workspace;
  const float* first = nullptr;
  {
    const auto frame = workspace.frame();
    first = workspace.matrix(4, 4).data();
  }
  const auto frame = workspace.frame();
  EXPECT_EQ(workspace.matrix(4, 4).data(), first);
}

TEST(EigenPitfalls, AMapNeedsNoAlignment) {
  std::vector<float> buffer(1 + 3 * 4, 1.0F);
  const Eigen::Map<const Matrix<float>> x(buffer.data() + 1, 3, 4);  // memory owned elsewhere
  Linear<float> layer(4, 5);
  Random random(1);
  layer.initialize(random);
  Workspace<float> workspace;
  EXPECT_EQ(data_of(x), buffer.data() + 1);
  EXPECT_TRUE(test::same_bits(layer.forward(x, workspace), layer.forward(Matrix<float>(x), workspace)));
}

TEST(EigenPitfalls, ATapeCopiesItsInputs) {
  const Linear<float> model(4, 5);
  auto gradient = model;
  Tape<float> tape;
  tape.begin(model, gradient);
  Matrix<float> x = test::random_matrix<float>(3, 4, 1);
  const Matrix<float> expected = 2 * x;
  const Eigen::MatrixXf by_columns = expected;
  const Variable expression = tape.constant(2 * x), temporary = tape.constant(Matrix<float>(expected)),
                 transposed = tape.constant(Matrix<float>(expected.transpose()).transpose()),
                 column_major = tape.constant(by_columns), part = tape.input(x.topRows(2));
  x.setZero();
  for (const Variable copy : {expression, temporary, transposed, column_major}) {
    EXPECT_TRUE(test::same_bits(tape[copy], expected));
  }
  EXPECT_TRUE(test::same_bits(tape[part], expected.topRows(2) / 2));
}

TEST(EigenPitfalls, IndicesAreSigned) {
  EXPECT_TRUE((std::is_same_v<Index, std::ptrdiff_t>));
  const Matrix<float> none(0, 4);
  EXPECT_LT(none.rows() - 1, 0);
}

}  // namespace
}  // namespace gated::eigen_pitfalls_test
