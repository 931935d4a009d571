#include <gtest/gtest.h>

#include <cstring>

#include "gated/layers/norm.hpp"
#include "gated/layers/offset_scale.hpp"
#include "gated/layers/relative_bias.hpp"
#include "gated/layers/rotary_embedding.hpp"
#include "gated/layers/sinusoid_position.hpp"
#include "tests/core/numbers.hpp"
#include "tests/reference/components.hpp"

/// Compares components of the attention layers with outputs of the original implementations.

namespace gated::attention_components_test {
namespace {

/// The elements of the integer tensor `name`.
std::vector<std::int64_t> integers(const std::string& name) {
  const auto bytes = test::components().tensor(name).bytes;
  std::vector<std::int64_t> values(bytes.size() / sizeof(std::int64_t));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

template <class T>
class AttentionComponentsIn : public ::testing::Test {
 protected:
  /// Pass `float32` = true if the expected values have only float precision.
  static void expect_equal(const std::string& name, const Matrix<T>& got, bool float32 = false) {
    const Matrix<double> expected = test::component<double>(name);
    ASSERT_EQ(got.rows(), expected.rows()) << name;
    ASSERT_EQ(got.cols(), expected.cols()) << name;
    const long double tolerance = sizeof(T) == 4 ? 2e-6L : float32 ? 3e-7L : 1e-12L;
    for (Index i = 0; i < got.rows(); ++i) {
      for (Index j = 0; j < got.cols(); ++j) {
        ASSERT_TRUE(test::close(got(i, j), expected(i, j), tolerance * (1 + std::fabs(expected(i, j)))))
            << name << " at (" << i << ", " << j << ")";
      }
    }
  }

  /// Compares RoPE on two sequences of 33 tokens with the original's output.
  static void expect_rotation(const std::string& name, Rotary layout, Index dimensions) {
    const RotaryEmbedding<T> rotary(layout, dimensions, 10000.0);
    const Matrix<T> x = test::component<T>(name + ".input");
    Workspace<T> workspace;
    const auto frame = workspace.frame();
    Batch<T> run(workspace, Sequences::uniform(2, 33));
    const auto [y] = rotary.rotate(run, RunMatrix<T>(input_view<T>(x)));
    expect_equal(name + ".output_f64", run[y]);
  }

  static void expect_norm(const std::string& name, NormForm form) {
    Norm<T> norm(8, 1e-5, form);
    norm.gain[0] = T(1.3F);  // the original stores the gain, 1.3, in float32
    const Matrix<T> x = test::component<T>(name + ".input");
    Workspace<T> workspace;
    expect_equal(name + ".output_f64", norm.forward(x, workspace));
  }

  static Matrix<T> bias_matrix(const RelativeBias<T>& bias, Index n) {
    Workspace<T> workspace;
    const auto frame = workspace.frame();
    const T* const relative = bias.for_length(n, workspace);
    Matrix<T> all(n, n);
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < n; ++j) {
        all(i, j) = relative[j - i];
      }
    }
    return all;
  }
};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(AttentionComponentsIn, Scalars, );

TYPED_TEST(AttentionComponentsIn, InterleavedRotaryMatchesTheOriginal) {
  this->expect_rotation("lucid_rotary_interleaved_8of12", Rotary::interleaved, 8);
}
TYPED_TEST(AttentionComponentsIn, HalfSplitRotaryMatchesTheOriginal) {
  this->expect_rotation("junnyu_rope_half_dim12", Rotary::half, 12);
}
TYPED_TEST(AttentionComponentsIn, ClampedScaleNormMatchesTheOriginal) {
  this->expect_norm("lucid_scalenorm_g1.3_eps1e-5", NormForm::scale_norm);
}
TYPED_TEST(AttentionComponentsIn, RsqrtScaleNormMatchesTheOriginal) {
  this->expect_norm("junnyu_scalenorm_g1.3_eps1e-5", NormForm::scale_norm_rsqrt);
}

TYPED_TEST(AttentionComponentsIn, ScaledSinusoidMatchesTheOriginal) {
  using T = TypeParam;
  for (const PositionForm form : {PositionForm::sinusoid, PositionForm::sinusoid_table}) {
    const SinusoidPosition<T> position(form, 10, 40, T(0.7F));
    Matrix<T> x = Matrix<T>::Zero(40, 10);
    position.add_to(x, 0, T(0.7F));
    this->expect_equal("lucid_scaled_sinu_dim10_scale0.7.output_f64", x);
  }
}

TYPED_TEST(AttentionComponentsIn, OffsetScaleMatchesTheOriginal) {
  using T = TypeParam;
  OffsetScale<T> layer(4, 6, true);
  layer.weight = test::component<T>("offsetscale.gamma");
  layer.bias = test::component<T>("offsetscale.beta");
  const Matrix<T> x = test::component<T>("offsetscale.input");
  for (Index row = 0; row < 4; ++row) {
    Matrix<T> y(x.rows(), x.cols());
    Workspace<T> workspace;
    layer.forward(row, x, y, workspace);
    this->expect_equal(text("offsetscale.output", row), y, true);
  }
}

TYPED_TEST(AttentionComponentsIn, T5BiasMatchesTheOriginal) {
  using T = TypeParam;
  for (const bool causal : {false, true}) {
    RelativeBias<T> bias(RelativeBiasForm::t5, causal, std::sqrt(T(12)), 0);
    bias.weight = test::component<T>("t5.bias.table").col(0);
    this->expect_equal(text("t5.bias.", causal ? "causal" : "noncausal", ".scale_sqrt12.n40"), this->bias_matrix(bias, 40),
                       true);
  }
}

TYPED_TEST(AttentionComponentsIn, ToeplitzBiasMatchesTheOriginal) {
  using T = TypeParam;
  RelativeBias<T> bias(RelativeBiasForm::toeplitz, false, T(1), 7);
  bias.weight = test::component<T>("junnyu_toeplitz.w").row(0);
  this->expect_equal("junnyu_toeplitz.bias_7x7", this->bias_matrix(bias, 7), true);
}

TEST(T5Bucket, MatchesTheOriginal) {
  const auto offsets = integers("t5.relative_position_k_minus_q");
  ASSERT_EQ(offsets.size(), 2199U);
  for (const bool causal : {false, true}) {
    for (const auto& [buckets, distance] : {std::pair<Index, Index>{16, 64}, {32, 128}, {32, 256}}) {
      const std::string name = text("t5.bucket.", causal ? "causal" : "noncausal", ".b", buckets, ".d", distance);
      const T5Buckets form{.causal = causal, .buckets = buckets, .max_distance = distance};
      const auto expected = integers(name);
      ASSERT_EQ(expected.size(), offsets.size());
      for (std::size_t i = 0; i < offsets.size(); ++i) {
        ASSERT_EQ(t5_bucket(-static_cast<Index>(offsets[i]), form), expected[i]) << name << " at offset " << offsets[i];
      }
    }
  }
}

}  // namespace
}  // namespace gated::attention_components_test
