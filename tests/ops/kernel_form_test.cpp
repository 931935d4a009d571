#include "gated/ops/kernel_form.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "gated/models/gmlp.hpp"
#include "gated/models/prepare.hpp"
#include "tests/core/numbers.hpp"
#include "tests/ops/restores_kernels.hpp"

namespace gated::kernel_form_test {
namespace {

using detail::word_of;

class KernelFormTest : public test::RestoresKernels {};

TEST_F(KernelFormTest, UsesTheEnvironmentVariableOrElseTheBestForm) {
  const auto forms = available_kernels();
  ASSERT_FALSE(forms.empty());
  const char* const asked = std::getenv("GATED_KERNELS");
  const auto wanted =
      std::find_if(forms.begin(), forms.end(), [&](KernelForm form) { return asked != nullptr && word_of(form) == asked; });
  EXPECT_EQ(kernels(), wanted == forms.end() ? forms.back() : *wanted);
}

TEST_F(KernelFormTest, RefusesUnsupportedForms) {
  EXPECT_THROW(use_kernels(available_kernels().back() == KernelForm::neon ? KernelForm::sse2 : KernelForm::neon),
               ArgumentError);
}

TEST_F(KernelFormTest, FormsAgreeUpToRounding) {
  Random random(1);
  const Gmlp<float> model({.length = 19, .channels = 24, .hidden = 60, .depth = 2, .attention_width = 8}, random);
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
    EXPECT_LE((y - first).cwiseAbs().maxCoeff(), 1e-5f) << word_of(form);
  }
}

TEST_F(KernelFormTest, WeightsPreparedForOneFormWorkInAnother) {
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
        << word_of(form);
  }
}

/// A pool of four workers. Each loop runs them in turn on a new thread, which first calls `before_work`.
Threads four_threads(const std::function<void()>& before_work) {
  return Threads(4, [before_work](int count, const Work& work) {
    std::thread([&] {
      before_work();
      for (int i = 0; i < count; ++i) {
        work(i);
      }
    }).join();
  });
}

TEST_F(KernelFormTest, ARunKeepsItsForm) {
  Random random(1);
  const Gmlp<float> model({.length = 64, .channels = 96, .hidden = 192, .depth = 2, .attention_width = 8}, random);
  const auto x = test::random_matrix<float>(2 * 64, 96, 2);
  const auto forward = [&](const Threads& threads, const Workspace<float>::Hook& hook = nullptr) {
    Workspace<float> workspace(threads);
    workspace.set_hook(hook);
    return model.forward(x, Sequences::uniform(2, 64), workspace);
  };
  const auto forms = available_kernels();
  std::size_t next = 0;
  const auto switch_form = [&] { use_kernels(forms[next++ % forms.size()]); };
  for (const KernelForm form : forms) {
    use_kernels(form);
    const Matrix<float> expected = forward(Threads());
    EXPECT_TRUE(test::same_bits(forward(Threads(), [&](const auto&, const auto&) { switch_form(); }), expected))
        << word_of(form);
    use_kernels(form);
    EXPECT_TRUE(test::same_bits(forward(four_threads(switch_form)), expected)) << word_of(form);
  }
}

TEST_F(KernelFormTest, TheFirstRunRefusesAMisspeltForm) {
  EXPECT_EQ(detail::form_named("sse2"), static_cast<int>(available_kernels().front()));
  EXPECT_EQ(detail::form_named("avx512"), static_cast<int>(available_kernels().back()));
  for (const char* const unset : {static_cast<const char*>(nullptr), ""}) {
    EXPECT_EQ(detail::form_named(unset), static_cast<int>(available_kernels().back()));
  }
  Random random(1);
  const Gmlp<float> model({.length = 2, .channels = 4, .hidden = 8}, random);
  const auto x = test::random_matrix<float>(2, 4, 2);
  Workspace<float> workspace(Threads{2});
  const auto run = [&] { model.forward(x, Sequences::single(2), workspace); };
  std::vector<const char*> unknown{"avx", "AVX2", "avx2 "};
  if (GATED_CHOOSES_FORM) {
    unknown.insert(unknown.end(), {"neon", "scalar"});
  }
  for (const char* const misspelt : unknown) {
    detail::chosen_form = detail::form_named(misspelt);  // normally set before main(), by GATED_KERNELS
    for (int i = 0; i < 2; ++i) {
      const std::string message = test::message_of<ArgumentError>(run);
      EXPECT_NE(message.find("GATED_KERNELS"), message.npos) << message;
      EXPECT_NE(message.find("sse2, avx2, avx512."), message.npos) << message;
    }
    EXPECT_THROW(kernels(), ArgumentError) << misspelt;
    use_kernels(available_kernels().front());
    EXPECT_NO_THROW(run());
  }
}

}  // namespace
}  // namespace gated::kernel_form_test
