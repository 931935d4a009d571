#include "gated/ops/arithmetic.hpp"

#include <gtest/gtest.h>

#include "gated/io/signature.hpp"
#include "tests/core/numbers.hpp"

// Tests a program without kernels for portable arithmetic; portable_test.cpp tests a program that has them.

namespace gated::arithmetic_test {
namespace {

using test::message_of;

constexpr const char* refusal =
    ": this program, or a part of it, has no kernels for portable arithmetic. Define GATED_PORTABLE in all of its translation "
    "units, or link gated::compiled.";

TEST(Arithmetic, ProgramsWithoutPortableKernelsRefuseIt) {
  EXPECT_EQ(message_of<ArgumentError>([] { use_arithmetic(Arithmetic::portable); }), text("use_arithmetic", refusal));
  EXPECT_EQ(arithmetic(), Arithmetic::fastest);
  EXPECT_EQ(message_of<ArgumentError>([] { signature(Linear<float>(4, 4)); }), text("signature", refusal));
}

TEST(Arithmetic, ProgramsWithoutPortableKernelsRefuseTheEnvironmentVariable) {
  detail::chosen_arithmetic = detail::arithmetic_named("portable");  // normally set before main(), by GATED_ARITHMETIC
  const std::string message = message_of<ArgumentError>([] { Linear<float>(4, 4).forward(Matrix<float>(2, 4)); });
  use_arithmetic(Arithmetic::fastest);
  EXPECT_EQ(message, text("GATED_ARITHMETIC = portable", refusal));
}

}  // namespace
}  // namespace gated::arithmetic_test
