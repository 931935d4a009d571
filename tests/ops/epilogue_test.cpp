#include "gated/ops/epilogue.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "gated/core/settings.hpp"
#include "gated/ops/matmul.hpp"
#include "tests/core/numbers.hpp"
#include "tests/ops/on_vectors.hpp"

namespace gated::epilogue_test {
namespace {

using test::random_matrix;
using test::random_vector;
using test::same_bits;

/// The fields of an epilogue, one bit each.
enum Fields : unsigned {
  factor = 1,
  bias = 2,
  row_bias = 4,
  added = 8,
  activation = 16,
  gate = 32,
  residual = 64,
  residual_scale = 128,
  saved = 256,
  all = 511,
  scale = 512  // per column; replaces the gate
};

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

/// A product whose rows and columns leave partial tiles, and epilogue operands that are blocks of larger matrices.
template <class T>
class EpilogueOf : public ::testing::Test {
 protected:
  const Index rows = 2 * kernels<ProductKernels<T>>().tile_rows + 3,
              columns = 2 * kernels<ProductKernels<T>>().panel_columns + 3;

  Matrix<T> a = random_matrix<T>(rows, 7, 1), b = random_matrix<T>(7, columns, 2);
  Vector<T> biases = random_vector<T>(columns, 3), row_biases = random_vector<T>(rows, 4),
            scales = random_vector<T>(columns, 5), factors = random_vector<T>(columns, 9);
  Matrix<T> addend = random_matrix<T>(rows + 2, columns + 5, 6), gates = random_matrix<T>(rows + 2, columns + 6, 7),
            residuals = random_matrix<T>(rows + 2, columns + 7, 8), z = sentinel(rows + 2, columns + 4);
  Workspace<T> workspace;

  static Matrix<T> sentinel(Index r, Index c) { return Matrix<T>::Constant(r, c, -7); }
  MatrixView<const T> of(const Matrix<T>& x) const { return x.block(1, 2, rows, columns); }

  Epilogue<T> with(unsigned fields, Activation act = Activation::gelu) {
    Epilogue<T> e;
    e.factor = fields & factor ? T(-0.3) : T{1};
    e.bias = fields & bias ? biases.data() : nullptr;
    e.row_bias = fields & row_bias ? row_biases.data() : nullptr;
    e.added = fields & added ? of(addend) : MatrixView<const T>();
    e.activation = fields & activation ? act : Activation::identity;
    e.gate = fields & gate ? of(gates) : MatrixView<const T>();
    e.scale = fields & scale ? factors.data() : nullptr;
    e.residual = fields & residual ? of(residuals) : MatrixView<const T>();
    e.residual_scale = fields & residual_scale ? scales.data() : nullptr;
    e.saved = fields & saved ? MatrixView<T>(z.block(1, 2, rows, columns)) : MatrixView<T>();
    return e;
  }

  Matrix<T> product(const Epilogue<T>& epilogue) {
    Matrix<T> y = sentinel(rows, columns);
    matmul(a, b, y, workspace, epilogue);
    return y;
  }

  /// The saved z and the output y at (i, j) by the documented formula, and the size of their terms, which scales the tolerance.
  struct Expected {
    double z = 0, y = 0, size = 0;
  };
  Expected expected(unsigned fields, Activation act, Index i, Index j) const {
    Expected e;
    for (Index k = 0; k < a.cols(); ++k) {
      e.z += static_cast<double>(a(i, k)) * static_cast<double>(b(k, j));
      e.size += std::abs(static_cast<double>(a(i, k)) * static_cast<double>(b(k, j)));
    }
    const auto add = [&](T x) {
      e.z += static_cast<double>(x);
      e.size += std::abs(static_cast<double>(x));
    };
    e.z *= fields & factor ? static_cast<double>(T(-0.3)) : 1;
    add(fields & bias ? biases[j] : T{0});
    add(fields & row_bias ? row_biases[i] : T{0});
    add(fields & added ? addend(i + 1, j + 2) : T{0});
    e.y = fields & activation
              ? with_activation(act, [&](auto f) { return test::on_scalar([&](auto v) { return f.value(v); }, e.z); })
              : e.z;
    const auto multiplier = static_cast<double>(fields & gate ? gates(i + 1, j + 2) : fields & scale ? factors[j] : T{1});
    e.y *= multiplier;
    e.size = (1 + e.size) * (1 + std::abs(multiplier));
    if (fields & residual) {
      const double x =
          static_cast<double>(residuals(i + 1, j + 2)) * (fields & residual_scale ? static_cast<double>(scales[j]) : 1);
      e.y += x;
      e.size += std::abs(x);
    }
    return e;
  }

  void expect_formula(const Matrix<T>& y, unsigned fields, Activation act = Activation::gelu) {
    constexpr auto tolerance = 32 * static_cast<double>(std::numeric_limits<T>::epsilon());
    for (Index i = 0; i < rows; ++i) {
      for (Index j = 0; j < columns; ++j) {
        const Expected e = expected(fields, act, i, j);
        ASSERT_NEAR(static_cast<double>(y(i, j)), e.y, tolerance * e.size)
            << "fields " << fields << ", " << name_of(act) << " at " << i << ", " << j;
        if (fields & saved) {
          ASSERT_NEAR(static_cast<double>(z(i + 1, j + 2)), e.z, tolerance * e.size) << "saved, fields " << fields;
        }
      }
    }
  }
};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(EpilogueOf, Scalars, );

TYPED_TEST(EpilogueOf, EveryCombinationOfFieldsEqualsItsFormula) {
  for (const unsigned fields : combinations()) {
    this->z.setConstant(-7);
    this->expect_formula(this->product(this->with(fields)), fields);
    this->z.block(1, 2, this->rows, this->columns).setConstant(-7);
    ASSERT_TRUE((this->z.array() == -7).all()) << "the surroundings of the saved matrix were overwritten, fields " << fields;
  }
}

TYPED_TEST(EpilogueOf, AScaleEqualsAGateOfEqualRows) {
  using T = TypeParam;
  const Matrix<T> repeated = this->factors.transpose().replicate(this->rows, 1);
  for (unsigned fields = 0; fields <= all; ++fields) {
    if ((fields & gate) == 0) {
      Epilogue<T> by_gate = this->with(fields);
      by_gate.gate = repeated;
      ASSERT_TRUE(same_bits(this->product(this->with(fields | scale)), this->product(by_gate))) << "fields " << fields;
    }
  }
}

TYPED_TEST(EpilogueOf, KeepsTheDerivativeIfAsked) {
  using T = TypeParam;
  constexpr auto tolerance = 32 * static_cast<double>(std::numeric_limits<T>::epsilon());
  for (const unsigned fields :
       {activation | saved, activation | bias | saved, activation | bias | residual | saved, all & ~gate}) {
    for (const Activation act : {Activation::gelu, Activation::silu, Activation::tanh}) {
      this->z.setConstant(-7);
      Epilogue<T> epilogue = this->with(fields, act);
      const Matrix<T> plain = this->product(epilogue);
      epilogue.derivative_kernel = kernels<DerivativeKernels<T>>().activate_and_save_derivative;
      ASSERT_TRUE(same_bits(this->product(epilogue), plain)) << "fields " << fields;
      for (Index i = 0; i < this->rows; ++i) {
        for (Index j = 0; j < this->columns; ++j) {
          const auto e = this->expected(fields, act, i, j);
          const double derivative =
              with_activation(act, [&](auto f) { return test::on_scalar([&](auto v) { return f.derivative(v); }, e.z); });
          ASSERT_NEAR(static_cast<double>(this->z(i + 1, j + 2)), derivative, tolerance * (1 + e.size))
              << name_of(act) << ", fields " << fields << " at " << i << ", " << j;
        }
      }
      this->z.block(1, 2, this->rows, this->columns).setConstant(-7);
      ASSERT_TRUE((this->z.array() == -7).all()) << "the surroundings of the saved matrix were overwritten, fields " << fields;
    }
  }
}

TYPED_TEST(EpilogueOf, AppliesEveryActivationBeforeGateAndResidual) {
  for (const auto& [act, name] : names_of(Activation{})) {
    for (const unsigned fields :
         {activation + 0U, activation | bias, activation | bias | gate, activation | bias | scale, all + 0U}) {
      this->expect_formula(this->product(this->with(fields, act)), fields, act);
    }
  }
}

TYPED_TEST(EpilogueOf, LeavesTheProductUnchangedIfEmpty) {
  EXPECT_TRUE(same_bits(this->product({}), this->product(this->with(residual_scale)))) << "a scale without a residual";
  const Vector<TypeParam> none;
  for (const unsigned fields : {0U, activation + 0U, activation | row_bias}) {
    Epilogue<TypeParam> e = this->with(fields);
    const Matrix<TypeParam> without = this->product(e);
    e.bias = none.data();
    EXPECT_TRUE(same_bits(this->product(e), without)) << "an empty bias, fields " << fields;
  }
}

TYPED_TEST(EpilogueOf, KeepsTheSignOfZero) {
  this->a.setZero();
  for (const Activation act : {Activation::identity, Activation::tanh}) {
    const Matrix<TypeParam> y = this->product({.factor = -1, .activation = act});
    EXPECT_TRUE(same_bits(y, Matrix<TypeParam>::Constant(y.rows(), y.cols(), TypeParam(-0.0)))) << name_of(act);
  }
}

/// An element has the same bits in a part of the product as in the whole product, whichever tile it falls into.
TYPED_TEST(EpilogueOf, FillsTilesOfEverySizeWithinBounds) {
  using T = TypeParam;
  for (const unsigned fields :
       {bias | activation, bias | activation | saved, all & ~activation, all + 0U, (all & ~gate) | scale}) {
    const Matrix<T> whole = this->product(this->with(fields)), whole_z = this->z.block(1, 2, this->rows, this->columns);
    const auto expect_part = [&](Index row, Index column, Index height, Index width) {
      this->z.setConstant(-7);
      Matrix<T> y = this->sentinel(height + 2, width + 40);
      matmul(ConstView<T>(this->a.middleRows(row, height)), ConstView<T>(this->b.middleCols(column, width)),
             y.block(1, 3, height, width), this->workspace, this->with(fields).block(row, column, height, width));
      ASSERT_TRUE(same_bits(y.block(1, 3, height, width), whole.block(row, column, height, width)))
          << "fields " << fields << ": " << height << " × " << width << " at " << row << ", " << column;
      y.block(1, 3, height, width).setConstant(-7);
      ASSERT_TRUE((y.array() == -7).all()) << "the surroundings of y were overwritten";
      if (fields & saved) {
        auto part = this->z.block(1 + row, 2 + column, height, width);
        ASSERT_TRUE(same_bits(part, whole_z.block(row, column, height, width)));
        part.setConstant(-7);
        ASSERT_TRUE((this->z.array() == -7).all()) << "the surroundings of the saved matrix were overwritten";
      }
    };
    for (Index width = 1; width <= this->columns; ++width) {
      expect_part(0, 0, this->rows, width);
      expect_part(3, this->columns - width, 1, width);
    }
    for (Index height = 1; height <= this->rows; ++height) {
      expect_part(this->rows - height, 5, height, this->columns - 5);
    }
  }
}

TYPED_TEST(EpilogueOf, OperandsMayAliasTheOutput) {
  using T = TypeParam;
  const auto in_place = [&](unsigned fields, MatrixView<const T> Epilogue<T>::*field, const Matrix<T>& values) {
    const Matrix<T> expected = this->product(this->with(fields));
    Matrix<T> larger = values;
    const View<T> y = larger.block(1, 2, this->rows, this->columns);
    Epilogue<T> e = this->with(fields);
    e.*field = y;
    matmul(this->a, this->b, y, this->workspace, e);
    ASSERT_TRUE(same_bits(y, expected)) << "fields " << fields;
  };
  for (const unsigned fields : combinations()) {
    if (fields & added) {
      in_place(fields, &Epilogue<T>::added, this->addend);
    }
    if (fields & gate) {
      in_place(fields, &Epilogue<T>::gate, this->gates);
    }
    if (fields & residual) {
      in_place(fields, &Epilogue<T>::residual, this->residuals);
    }
  }
}

/// Elements up to the diagonal j = wanted + i are bit-equal to the whole product. Others are bit-equal or unchanged.
TYPED_TEST(EpilogueOf, ComputesColumnsUpToADiagonal) {
  using T = TypeParam;
  Index left = 0;
  for (const unsigned fields : {0U, bias | activation, all + 0U, (all & ~gate) | scale}) {
    const Matrix<T> whole = this->product(this->with(fields));
    for (Index height = 1; height <= this->rows; ++height) {
      for (const Index wanted : {0, 1, 5, 17, 100}) {
        Epilogue<T> e = this->with(fields).block(0, 0, height, this->columns);
        e.wanted = wanted;
        Matrix<T> y = this->sentinel(height, this->columns);
        matmul(ConstView<T>(this->a.topRows(height)), this->b, y, this->workspace, e);
        for (Index i = 0; i < height; ++i) {
          for (Index j = 0; j < this->columns; ++j) {
            const bool is_left = y(i, j) == T{-7};
            left += is_left;
            ASSERT_TRUE(test::bits_of(y(i, j)) == test::bits_of(whole(i, j)) || (j > wanted + i && is_left))
                << i << ", " << j << " of " << height << ", wanted " << wanted << ", fields " << fields;
          }
        }
      }
    }
  }
  EXPECT_GT(left, 0) << "nothing was skipped";
}

TYPED_TEST(EpilogueOf, BlocksSelectTheirPartOfEachOperand) {
  using T = TypeParam;
  const Epilogue<T> absent = Epilogue<T>().block(2, 3, 4, 5);
  EXPECT_FALSE(absent.bias || absent.row_bias || absent.added || absent.gate || absent.residual || absent.residual_scale ||
               absent.scale || absent.saved);
  Epilogue<T> whole = this->with(all);
  whole.wanted = 2;
  const Epilogue<T> block = whole.block(2, 3, 4, 5);
  EXPECT_LT(block.wanted, 0) << "computes the whole block";
  EXPECT_EQ(block.factor, T(-0.3));
  EXPECT_EQ(this->with(scale).block(2, 3, 4, 5).scale, &this->factors[3]);
  EXPECT_EQ(block.activation, Activation::gelu);
  EXPECT_EQ(block.bias, &this->biases[3]);
  EXPECT_EQ(block.row_bias, &this->row_biases[2]);
  EXPECT_EQ(block.residual_scale, &this->scales[3]);
  for (const MatrixView<const T>& part : {block.added, block.gate, block.residual, MatrixView<const T>(block.saved)}) {
    EXPECT_EQ(part.rows(), 4);
    EXPECT_EQ(part.columns(), 5);
  }
  EXPECT_EQ(block.gate.data, &this->gates(1 + 2, 2 + 3));
}

TYPED_TEST(EpilogueOf, RefusesOperandsOfOtherShapes) {
  using T = TypeParam;
  Matrix<T> x(2, 3), wide(2, 4), y = this->sentinel(2, 2);
  const Matrix<T> other(3, 2);
  const auto refusal = [&](const Epilogue<T>& e) {
    return test::message_of<ShapeError>([&] { matmul(x, other, y, this->workspace, e); });
  };
  EXPECT_EQ(refusal({.added = wide}), "matmul: the added matrix is 2 × 4, expected 2 × 2, the shape of y.");
  EXPECT_EQ(refusal({.gate = x}), "matmul: the gate is 2 × 3, expected 2 × 2, the shape of y.");
  EXPECT_EQ(refusal({.residual = other}), "matmul: the residual is 3 × 2, expected 2 × 2, the shape of y.");
  EXPECT_EQ(refusal({.saved = wide}), "matmul: the saved matrix is 2 × 4, expected 2 × 2, the shape of y.");
  const Matrix<T> gate(2, 2);
  EXPECT_EQ(
      test::message_of<ArgumentError>([&] { matmul(x, other, y, this->workspace, {.gate = gate, .scale = gate.data()}); }),
      "Epilogue: gate and scale are both given, expected one of them.");
  EXPECT_TRUE((y.array() == -7).all());
}

}  // namespace
}  // namespace gated::epilogue_test
