#include "gated/layers/language_model_head.hpp"

#include <gtest/gtest.h>

#include "literal_attention.hpp"

namespace gated {
namespace {

using test::is_untouched;
using test::near;
using test::random_matrix;
using test::untouched;
using test::wide;

constexpr Index width = 6, vocabulary = 11;

template <class T>
class LanguageModelHeadOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(LanguageModelHeadOf, Scalars, );

TYPED_TEST(LanguageModelHeadOf, EqualsItsFormulaWithEveryOption) {
  using T = TypeParam;
  const auto x = random_matrix<T>(5, width, 2), embedding = random_matrix<T>(vocabulary, width, 3);
  for (int options = 0; options < 8; ++options) {
    for (const NormForm norm : {NormForm::none, NormForm::layer_norm, NormForm::scale_norm_rsqrt}) {
      LanguageModelHead<T> head({.dense = (options & 1) != 0,
                                 .activation = Activation::tanh,
                                 .norm = norm,
                                 .norm_eps = 1e-3,
                                 .tied = (options & 2) != 0,
                                 .bias = (options & 4) != 0},
                                width, vocabulary);
      test::randomize(head, 4);
      EXPECT_EQ(head.dense.has_value(), head.config.dense);
      EXPECT_EQ(head.output.has_value(), !head.config.tied);
      EXPECT_EQ(head.bias.size(), head.config.tied && head.config.bias ? vocabulary : 0);
      Matrix<double> hidden = wide(x);
      if (head.dense) {
        hidden = literal::activate(Activation::tanh, literal::linear(*head.dense, hidden));
      }
      hidden = literal::norm(head.norm, hidden);
      Linear<T> decoder(width, vocabulary, false);
      decoder.weight = embedding;
      decoder.bias = head.bias;
      const Matrix<double> expected = literal::linear(head.output ? *head.output : decoder, hidden);
      Matrix<T> logits(5, vocabulary);
      Workspace<T> workspace;
      head.forward(x, embedding, logits, workspace);
      EXPECT_TRUE(near(logits, expected)) << options << ", norm " << name_of(norm);
    }
  }
}

TEST(LanguageModelHead, RefusesOtherShapesBeforeWriting) {
  for (const bool tied : {true, false}) {
    const LanguageModelHead<float> head({.tied = tied}, width, vocabulary);
    const Matrix<float> embedding = Matrix<float>::Ones(vocabulary, width);
    Workspace<float> workspace;
    Matrix<float> logits = untouched<float>(5, vocabulary), narrow = untouched<float>(5, vocabulary - 1);
    EXPECT_THROW(head.forward(Matrix<float>::Ones(5, width + 1), embedding, logits, workspace), ShapeError);
    EXPECT_THROW(head.forward(Matrix<float>::Ones(4, width), embedding, logits, workspace), ShapeError);
    EXPECT_THROW(head.forward(Matrix<float>::Ones(5, width), embedding, narrow, workspace), ShapeError);
    EXPECT_TRUE(is_untouched(logits));
    EXPECT_TRUE(is_untouched(narrow));
  }
}

}  // namespace
}  // namespace gated
