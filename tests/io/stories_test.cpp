#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iterator>

#include "gated/io/text_transformer.hpp"
#include "gated/models/generate.hpp"
#include "gated/models/prepare.hpp"

/// Compares a trained model, stories260K of llama2.c, with its original. The folder named by GATED_STORIES holds `config.json`,
/// `stories260k.safetensors`, and `expected.safetensors` with 200 greedy tokens and the logits and loss of a text. Without
/// GATED_STORIES, the tests are skipped.

namespace gated::stories_test {
namespace {

class Stories : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* const folder = std::getenv("GATED_STORIES");
    if (folder == nullptr) {
      GTEST_SKIP() << "GATED_STORIES is not set";
    }
    folder_ = folder;
  }

  template <class T>
  TextTransformer<T> model() const {
    const MappedFile json(folder_ / "config.json");
    const TextTransformerConfig config = text_transformer_config(text_of(json));
    TextTransformer<T> model(config);
    load_parameters(model, SafetensorsFile(folder_ / "stories260k.safetensors"), llama_names(config));
    return model;
  }
  SafetensorsFile expected() const { return SafetensorsFile(folder_ / "expected.safetensors"); }

  /// The number of greedy tokens that equal the original's, up to the first that differs.
  Index equal_tokens(const TextTransformer<float>& model, Workspace<float>& workspace) const {
    const auto ids = expected().read<Index>("greedy_ids");
    auto state = model.start(std::ssize(ids));
    Matrix<float> logits(1, model.out());
    Index token = ids.front();
    for (std::size_t i = 1; i < ids.size(); ++i) {
      model.step(token, state, logits, workspace);
      logits.row(0).maxCoeff(&token);
      if (token != ids[i]) {
        return static_cast<Index>(i) - 1;
      }
    }
    return std::ssize(ids) - 1;
  }

  /// The mean of -log p(next token) over the text.
  template <class T>
  double loss(const TextTransformer<T>& model, Workspace<T>& workspace) const {
    const auto ids = expected().read<Index>("input");
    const Matrix<T> logits = model.forward(ids, Sequences::single(std::ssize(ids)), workspace);
    double sum = 0;
    for (Index t = 0; t + 1 < logits.rows(); ++t) {
      const Vector<double> row = logits.row(t).template cast<double>();
      const double largest = row.maxCoeff();
      sum += largest + std::log((row.array() - largest).exp().sum()) - row[ids[static_cast<std::size_t>(t) + 1]];
    }
    return sum / static_cast<double>(logits.rows() - 1);
  }

  std::filesystem::path folder_;
};

TEST_F(Stories, GreedyTokensMatchTheOriginal) {
  Workspace<float> workspace;
  EXPECT_EQ(equal_tokens(model<float>(), workspace), 200);
}

TEST_F(Stories, LogitsAndLossMatchTheOriginal) {
  const auto ids = expected().read<Index>("input");
  const auto theirs = expected().read<double>("output_f64");
  const auto both = [&](auto zero, double tolerance, double loss_tolerance) {
    using T = decltype(zero);
    const auto model = this->model<T>();
    Workspace<T> workspace;
    const Matrix<T> ours = model.forward(ids, Sequences::single(std::ssize(ids)), workspace);
    ASSERT_EQ(ours.size(), std::ssize(theirs));
    double worst = 0;
    for (Index i = 0; i < ours.size(); ++i) {
      worst = std::max(worst, std::abs(static_cast<double>(ours.data()[i]) - theirs[static_cast<std::size_t>(i)]));
    }
    EXPECT_LE(worst, tolerance);
    EXPECT_NEAR(loss(model, workspace), expected().read<double>("loss_f64").front(), loss_tolerance);
  };
  both(double(), 22.54e-10, 1e-10);
  both(float(), 3e-4, 1e-4);
}

TEST_F(Stories, QuantizationBarelyChangesTheLoss) {
  const auto model = this->model<float>();
  for (const auto& [format, name] : names_of(WeightFormat{})) {
    const auto prepared = prepare(model, format);
    Workspace<float> workspace;
    workspace.use(prepared);
    const double loss = this->loss(model, workspace);
    std::printf("%s: %td of 200 greedy tokens, loss %.5f\n", std::string(name).c_str(), equal_tokens(model, workspace), loss);
    EXPECT_NEAR(loss, expected().read<double>("loss_f64").front(), 0.02) << name;
  }
}

}  // namespace
}  // namespace gated::stories_test
