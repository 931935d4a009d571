#include "gated/ops/kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/core/numbers.hpp"

namespace gated::simd_test {
namespace {

template <class T>
class SimdOf : public ::testing::Test {
 protected:
  static constexpr auto full = Simd<T>::lane_count;
  static constexpr T not_a_number = std::numeric_limits<T>::quiet_NaN();

  /// 1, 2, 3, …
  static std::vector<T> counting(std::size_t count) {
    std::vector<T> values(count);
    for (std::size_t i = 0; i < count; ++i) {
      values[i] = static_cast<T>(i + 1);
    }
    return values;
  }
  static std::vector<T> values_of(Simd<T> x) {
    std::vector<T> values(full);
    x.store(values.data());
    return values;
  }
  static std::vector<T> all(T x) { return std::vector<T>(full, x); }
};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SimdOf, Scalars, );

TYPED_TEST(SimdOf, LoadsTheFirstLanesAndZeroesOthers) {
  for (std::size_t count = 0; count <= this->full; ++count) {
    const std::vector<TypeParam> memory = this->counting(count);  // sanitizers report reads past the end
    const auto values = this->values_of(Simd<TypeParam>::load(memory.data(), static_cast<Index>(count)));
    for (std::size_t i = 0; i < this->full; ++i) {
      EXPECT_EQ(values[i], i < count ? static_cast<TypeParam>(i + 1) : TypeParam{0}) << count << " lanes";
    }
  }
}

TYPED_TEST(SimdOf, StoresTheFirstLanesOnly) {
  const auto source = this->counting(this->full);
  for (std::size_t count = 0; count <= this->full; ++count) {
    std::vector<TypeParam> memory(2 * this->full, TypeParam{-7});
    Simd<TypeParam>::load(source.data()).store(memory.data() + 1, static_cast<Index>(count));
    for (std::size_t i = 0; i < memory.size(); ++i) {
      EXPECT_EQ(memory[i], i >= 1 && i <= count ? static_cast<TypeParam>(i) : TypeParam{-7}) << count << " lanes";
    }
    std::vector<TypeParam> exact(count);
    Simd<TypeParam>::load(source.data()).store(exact.data(), static_cast<Index>(count));
    EXPECT_EQ(exact, this->counting(count));
  }
}

TYPED_TEST(SimdOf, ClearsLanesThatAreNotKeptEvenIfNaN) {
  for (std::size_t count = 0; count <= this->full; ++count) {
    std::vector<TypeParam> source = this->all(this->not_a_number);
    std::fill_n(source.begin(), count, TypeParam{3});
    const auto values = this->values_of(Simd<TypeParam>::load(source.data()).keep(static_cast<Index>(count)));
    for (std::size_t i = 0; i < this->full; ++i) {
      EXPECT_EQ(values[i], i < count ? TypeParam{3} : TypeParam{0}) << count << " lanes";
    }
  }
}

TYPED_TEST(SimdOf, LoadsFromAnyAddress) {
  const auto memory = this->counting(2 * this->full);
  for (std::size_t start = 0; start < this->full; ++start) {
    EXPECT_EQ(this->values_of(Simd<TypeParam>::load(memory.data() + start)).front(), static_cast<TypeParam>(start + 1));
  }
}

TYPED_TEST(SimdOf, ComputesLaneByLane) {
  const auto memory = this->counting(this->full);
  const Simd<TypeParam> x = Simd<TypeParam>::load(memory.data()), two(TypeParam{2});
  const auto sum = this->values_of(x + two), difference = this->values_of(x - two), product = this->values_of(x * two),
             quotient = this->values_of(x / two), negative = this->values_of(-x), fused = this->values_of(fma(x, two, x)),
             least = this->values_of(min(x, two)), most = this->values_of(max(x, two)), size = this->values_of(abs(-x)),
             root = this->values_of(sqrt(x * x)), power = this->values_of(power_of_two(-x)),
             whole = this->values_of(nearest_integer(x + Simd<TypeParam>(TypeParam(0.25)))),
             same = this->values_of(copysign(x, -x)), half = this->values_of(upper_half(x / Simd<TypeParam>(TypeParam{3})));
  for (std::size_t i = 0; i < this->full; ++i) {
    const TypeParam v = memory[i];
    EXPECT_EQ(sum[i], v + 2);
    EXPECT_EQ(difference[i], v - 2);
    EXPECT_EQ(product[i], v * 2);
    EXPECT_EQ(quotient[i], v / 2);
    EXPECT_EQ(negative[i], -v);
    EXPECT_EQ(fused[i], v * 3);
    EXPECT_EQ(least[i], std::min(v, TypeParam{2}));
    EXPECT_EQ(most[i], std::max(v, TypeParam{2}));
    EXPECT_EQ(size[i], v);
    EXPECT_LE(test::distance_in_ulp(root[i], v), 2.0);  // Eigen approximates square roots on some CPUs
    EXPECT_EQ(power[i], std::ldexp(TypeParam{1}, -static_cast<int>(i + 1)));
    EXPECT_EQ(whole[i], v);
    EXPECT_EQ(same[i], -v);
    EXPECT_TRUE(test::close(half[i], v / 3, v / 1000));
    EXPECT_EQ(std::fma(half[i], half[i], -half[i] * half[i]), 0) << "the square is not exact";
  }
}

TYPED_TEST(SimdOf, ComputesEveryNormalPowerOfTwo) {
  using limits = std::numeric_limits<TypeParam>;
  for (int n = limits::min_exponent - 1; n < limits::max_exponent; ++n) {
    ASSERT_EQ(this->values_of(power_of_two(Simd<TypeParam>(static_cast<TypeParam>(n)))), this->all(std::ldexp(TypeParam{1}, n)))
        << n;
  }
}

TYPED_TEST(SimdOf, ReducesByAddAndMax) {
  const auto memory = this->counting(this->full);
  const auto count = static_cast<TypeParam>(this->full);
  EXPECT_EQ(Simd<TypeParam>::load(memory.data()).sum(), count * (count + 1) / 2);
  EXPECT_EQ(Simd<TypeParam>::load(memory.data()).largest(), count);
}

TYPED_TEST(SimdOf, MinAndMaxPropagateANaNFirstArgument) {
  const Simd<TypeParam> nan(this->not_a_number), one(TypeParam{1});
  for (const auto& values : {this->values_of(min(nan, one)), this->values_of(max(nan, one))}) {
    for (const TypeParam x : values) {
      EXPECT_TRUE(std::isnan(x));
    }
  }
}

TYPED_TEST(SimdOf, SelectLessComparesStrictlyAndHandlesNaN) {
  const Simd<TypeParam> one(TypeParam{1}), two(TypeParam{2}), nan(this->not_a_number);
  EXPECT_EQ(this->values_of(select_less(one, two, one, two)), this->all(1));
  EXPECT_EQ(this->values_of(select_less(two, one, one, two)), this->all(2));
  EXPECT_EQ(this->values_of(select_less(one, one, one, two)), this->all(2));
  EXPECT_EQ(this->values_of(select_less(nan, one, one, two)), this->all(2));
  EXPECT_EQ(this->values_of(select_less(one, nan, one, two)), this->all(2));
  EXPECT_EQ(this->values_of(select_less(one, two, one, nan)), this->all(1)) << "an unselected NaN must not propagate";
}

TYPED_TEST(SimdOf, SelectsLaneByLane) {
  const auto memory = this->counting(this->full);
  const Simd<TypeParam> x = Simd<TypeParam>::load(memory.data());
  const auto values = this->values_of(select_less(x, Simd<TypeParam>(TypeParam{2}), -x, x));
  for (std::size_t i = 0; i < this->full; ++i) {
    EXPECT_EQ(values[i], memory[i] < 2 ? -memory[i] : memory[i]);
  }
}

TYPED_TEST(SimdOf, TransposesSquareBlocks) {
  constexpr Index width = Simd<TypeParam>::width;
  const Matrix<TypeParam> x = test::random_matrix<TypeParam>(width, width + 3, 1);
  Matrix<TypeParam> y = Matrix<TypeParam>::Constant(width, width + 2, -7);
  transpose_block(x.data() + 2, width + 3, y.data(), width + 2);
  EXPECT_EQ(y.leftCols(width), x.middleCols(2, width).transpose());
  EXPECT_TRUE((y.rightCols(2).array() == TypeParam{-7}).all());
}

TYPED_TEST(SimdOf, VectorsCoverARowExactlyOnce) {
  constexpr Index width = Simd<TypeParam>::width;
  for (Index count = 0; count <= 3 * width + 1; ++count) {
    Index next = 0;
    for_each_vector<TypeParam>(count, [&](Index offset, Index lanes) {
      EXPECT_EQ(offset, next);
      EXPECT_TRUE(lanes == width || (lanes > 0 && lanes < width && offset + lanes == count));
      next += lanes;
    });
    EXPECT_EQ(next, count);
  }
}

}  // namespace
}  // namespace gated::simd_test
