#include "gated/layers/language_model_head.hpp"

#include "literal_attention.hpp"
#include "tests/promises.hpp"

namespace gated::language_model_head_test {
namespace {

using test::near;
using test::random_matrix;
using test::refuses;
using test::wide;

constexpr Index width = 6, vocabulary = 11;

/// A head with an embedding: a tied head uses the embedding as its weight.
template <class T>
struct Reading : Layer<Reading<T>> {
  static constexpr const char* name = "Reading";

  Matrix<T> embedding = Matrix<T>::Zero(vocabulary, width);
  LanguageModelHead<T> head;

  explicit Reading(const LanguageModelHeadConfig& config) : head(config, width, vocabulary) {}
  static constexpr auto fields() {
    return Fields(field("embedding", &Reading::embedding, Role::embedding), field("head", &Reading::head));
  }
  Contract contract() const { return {.in = width, .out = vocabulary, .sees = Sees::itself}; }

  auto apply(auto& run, auto x) const { return run(head, std::move(x), embedding); }
};

/// Every combination of options.
std::vector<LanguageModelHeadConfig> configs() {
  std::vector<LanguageModelHeadConfig> all;
  for (const HeadForm form : {HeadForm::tied, HeadForm::untied}) {
    for (const bool dense : {false, true}) {
      for (const bool bias : {false, true}) {
        for (const NormForm norm : {NormForm::none, NormForm::layer_norm, NormForm::scale_norm_rsqrt}) {
          all.push_back(
              {.form = form, .dense = dense, .activation = Activation::tanh, .norm = norm, .norm_eps = 1e-3, .bias = bias});
        }
      }
    }
  }
  return all;
}

TEST(LanguageModelHead, KeepsItsPromises) {
  for (const LanguageModelHeadConfig& config : configs()) {
    SCOPED_TRACE(test::settings_of(config));
    test::expect_promises([&](auto zero) { return Reading<decltype(zero)>(config); });
  }
}

template <class T>
class LanguageModelHeadOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(LanguageModelHeadOf, Scalars, );

TYPED_TEST(LanguageModelHeadOf, EqualsItsFormulaWithEveryOption) {
  using T = TypeParam;
  const auto x = random_matrix<T>(5, width, 2);
  for (const LanguageModelHeadConfig& config : configs()) {
    Reading<T> reading(config);
    test::randomize(reading, 4);
    const LanguageModelHead<T>& head = reading.head;
    EXPECT_EQ(head.dense.has_value(), config.dense);
    EXPECT_EQ(head.output.has_value(), config.form == HeadForm::untied);
    EXPECT_EQ(head.bias.size(), config.form == HeadForm::tied && config.bias ? vocabulary : 0);
    Matrix<double> hidden = wide(x);
    if (head.dense) {
      hidden = literal::activate(Activation::tanh, literal::linear(*head.dense, hidden));
    }
    hidden = literal::norm(head.norm, hidden);
    Linear<T> decoder(width, vocabulary, false);
    decoder.weight = reading.embedding;
    decoder.bias = head.bias;
    Workspace<T> workspace;
    EXPECT_TRUE(near(reading.forward(x, workspace), literal::linear(head.output ? *head.output : decoder, hidden)))
        << test::settings_of(config);
  }
}

TEST(LanguageModelHead, HasOnlyTheParametersItUses) {
  for (const LanguageModelHeadConfig& config : configs()) {
    const Index of_norm = config.norm == NormForm::none ? 0 : config.norm == NormForm::layer_norm ? 2 * width : 1;
    EXPECT_EQ(parameter_count(LanguageModelHead<float>(config, width, vocabulary)),
              (config.dense ? width * width + width : 0) + of_norm +
                  (config.form == HeadForm::untied ? vocabulary * width : 0) + (config.bias ? vocabulary : 0))
        << test::settings_of(config);
  }
}

TEST(LanguageModelHead, RefusesANegativeVocabulary) {
  EXPECT_TRUE(refuses<ArgumentError>([] { LanguageModelHead<float>({}, width, -1); }, "vocabulary = -1"));
}

}  // namespace
}  // namespace gated::language_model_head_test
