#include "gated/ops/kernel_form.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "gated/models/gmlp.hpp"
#include "gated/models/prepare.hpp"
#include "tests/core/numbers.hpp"

namespace gated::kernel_form_test {
namespace {

std::string_view name_of(KernelForm form) { return names_of(form)[static_cast<std::size_t>(form)].second; }

/// Sets the form back at the end of a test.
class KernelFormTest : public ::testing::Test {
 protected:
  ~KernelFormTest() override { use_kernels(before_); }

 private:
  KernelForm before_ = kernels();
};

TEST_F(KernelFormTest, IsTheBestThatThereIsUnlessTheEnvironmentAsksForALowerOne) {
  const auto forms = available_kernels();
  ASSERT_FALSE(forms.empty());
  const char* const asked = std::getenv("GATED_KERNELS");
  const auto wanted =
      std::find_if(forms.begin(), forms.end(), [&](KernelForm form) { return asked != nullptr && name_of(form) == asked; });
  EXPECT_EQ(kernels(), wanted == forms.end() ? forms.back() : *wanted);
}

TEST_F(KernelFormTest, WhatTheMachineHasNotIsRefused) {
  EXPECT_THROW(use_kernels(available_kernels().back() == KernelForm::neon ? KernelForm::sse2 : KernelForm::neon),
               ArgumentError);
}

TEST_F(KernelFormTest, EveryFormGivesTheSameNumbersButForRounding) {
  Random random(1);
  const Gmlp<float> model({.length = 19, .channels = 24, .hidden = 60, .depth = 2, .attention = 8}, random);
  const auto x = test::random_matrix<float>(2 * 19, 24, 2);
  Matrix<float> first;
  for (const KernelForm form : available_kernels()) {
    use_kernels(form);
    EXPECT_EQ(kernels(), form);
    Workspace<float> workspace;
    const Matrix<float> y = model.forward(x, Sequences::uniform(2, 19), workspace);
    if (first.size() == 0) {
      first = y;
    }
    EXPECT_LE((y - first).cwiseAbs().maxCoeff(), 1e-5f) << name_of(form);
  }
}

TEST_F(KernelFormTest, WeightsPreparedInOneFormServeInAnother) {
  Random random(1);
  const Gmlp<float> model({.length = 19, .channels = 24, .hidden = 60, .depth = 2}, random);
  const auto x = test::random_matrix<float>(19, 24, 2);
  const auto prepared = prepare(model);
  for (const KernelForm form : available_kernels()) {
    use_kernels(form);
    Workspace<float> plain, packed;
    packed.use(prepared);
    EXPECT_TRUE(
        test::same_bits(model.forward(x, Sequences::single(19), packed), model.forward(x, Sequences::single(19), plain)))
        << name_of(form);
  }
}

}  // namespace
}  // namespace gated::kernel_form_test
