#include "gated/train/accumulate.hpp"

#include <gtest/gtest.h>

#include "tests/core/numbers.hpp"

namespace gated {
namespace {

TEST(AddColumnSums, AreTheSumsOfEveryWidthAddedToWhatIsThere) {
  for (const Index columns : {1, 7, 16, 130, 300}) {
    const auto x = test::random_matrix<double>(37, columns, 1);
    Vector<double> sums = Vector<double>::Constant(columns, 5);
    add_column_sums<double>(x, sums.data(), Workspace<double>(Threads{2}));
    EXPECT_LE((sums - x.colwise().sum().transpose() - Vector<double>::Constant(columns, 5)).cwiseAbs().maxCoeff(), 1e-13);
  }
}

TEST(AddColumnSums, AreAsExactForManyRowsAsForAFew) {
  const Matrix<float> x = Matrix<float>::Constant(200000, 130, 0.1F);
  Vector<float> sums = Vector<float>::Zero(130);
  add_column_sums<float>(x, sums.data(), Workspace<float>(Threads{2}));
  const float expected = static_cast<float>(200000 * static_cast<double>(0.1F));
  EXPECT_LE((sums.array() / expected - 1).abs().maxCoeff(), 1e-6F);
}

}  // namespace
}  // namespace gated
