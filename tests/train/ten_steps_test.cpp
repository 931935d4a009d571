#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gated/io/checkpoint.hpp"
#include "gated/io/lucidrains.hpp"
#include "gated/io/lucidrains_flash.hpp"
#include "gated/models/flash.hpp"
#include "gated/models/gau_presets.hpp"
#include "gated/models/gmlp.hpp"
#include "gated/train/adamw.hpp"
#include "gated/train/clip.hpp"
#include "gated/train/loss.hpp"
#include "gated/train/recording.hpp"

/// Compares ten training steps with PyTorch. ten_steps.py wrote the initial parameters, batches and results to
/// ten_steps_*.safetensors.

namespace gated::ten_steps_test {
namespace {

class TenSteps {
 public:
  explicit TenSteps(const std::string& name) : file_(GATED_REFERENCE_DIR "/../train/ten_steps_" + name + ".safetensors") {
    const auto config = nlohmann::json::parse(file_.metadata().at("config"));
    arguments = config.at("config_full");
    training = config.at("training");
  }

  nlohmann::json arguments, training;

  const SafetensorsFile& file() const { return file_; }

  /// Loads the initial (`prefix` = "model.") or final ("final.") parameters of the model.
  template <class Model>
  void load(Model& model, NameMap names, const std::string& prefix) const {
    names.prefix = prefix;
    for (const auto& [tensor, entry] : file_.tensors()) {
      if (!tensor.starts_with(prefix)) {
        names.ignored.push_back(tensor);
      }
    }
    load_parameters(model, file_, names);
  }

  /// Trains `model` and compares losses, gradient norms and the final parameters.
  template <class Model>
  void expect_same(const typename Model::Config& config, const NameMap& names, double tolerance) const {
    using T = typename Model::Scalar;
    Model model(config), expected(config);
    load(model, names, "model.");
    load(expected, names, "final.");
    const AdamWConfig optimizer_config{.beta1 = training.at("betas").at(0),
                                       .beta2 = training.at("betas").at(1),
                                       .eps = training.at("eps"),
                                       .weight_decay = training.at("weight_decay")};
    AdamW<Model> optimizer(model, optimizer_config);
    Model gradient = zeros_like(model);
    Tape<T> tape(Threads{2});
    const auto rates = file_.read<double>("rates");
    const auto losses = file_.read<double>("losses_f64"), norms = file_.read<double>("norms_f64");
    const auto tokens = file_.read<Index>("tokens"), targets = file_.read<Index>("targets");
    const auto& shape = file_.tensor("tokens").shape;
    const Sequences sequences = Sequences::uniform(shape.at(1), shape.at(2));
    const auto count = static_cast<std::size_t>(sequences.total());

    for (std::size_t step = 0; step < 10; ++step) {
      SCOPED_TRACE(testing::Message() << "step " << step);
      set_zero(gradient);
      tape.begin(model, gradient);
      const Variable logits = record(tape, model, Tokens(tokens).subspan(step * count, count), sequences);
      const double loss = tape.backward(cross_entropy(tape, logits, Targets(targets).subspan(step * count, count),
                                                      {.label_smoothing = training.at("label_smoothing")}));
      const double norm = clip_by_global_norm(gradient, training.at("clip_norm"));
      optimizer.update(model, gradient, rates[step]);
      EXPECT_NEAR(loss, losses[step], tolerance * losses[step]);
      EXPECT_NEAR(norm, norms[step], tolerance * norms[step]);
    }
    for_each_parameter(
        [&](const ParameterInfo& info, auto ours, auto theirs) {
          for (std::size_t i = 0; i < ours.size(); ++i) {
            // In float, a gradient near zero may have either sign, and AdamW takes a full step in the direction of that sign.
            const double allowed = std::is_same_v<T, double> ? tolerance : 2e-3;
            ASSERT_NEAR(ours[i], theirs[i], allowed) << info.path() << "[" << i << "]";
          }
        },
        model, expected);
  }

 private:
  SafetensorsFile file_;
};

template <class T>
void expect_same_gmlp(const std::string& name, double tolerance) {
  const TenSteps steps(name);
  const auto& a = steps.arguments;
  const Index channels = a.at("dim"), attention = a.at("attn_dim").is_null() ? 0 : a.at("attn_dim").get<Index>();
  const GmlpLanguageModelConfig config{.vocabulary = a.at("num_tokens"),
                                       .head = {.form = HeadForm::untied, .bias = true},
                                       .trunk = {.length = a.at("seq_len"),
                                                 .channels = channels,
                                                 .hidden = channels * a.at("ff_mult").get<Index>(),
                                                 .depth = a.at("depth"),
                                                 .causal = true,
                                                 .attention_width = attention}};
  const auto names = lucidrains_language_model_names(lucidrains_layout(steps.file(), "model."));
  steps.expect_same<GmlpLanguageModel<T>>(config, names, tolerance);
}

template <class T>
void expect_same_flash(double tolerance) {
  const TenSteps steps("flash");
  const auto& a = steps.arguments;
  auto layer =
      flash_presets::lucidrains({.channels = a.at("dim"), .query_key = a.at("query_key_dim"), .chunk = a.at("group_size")});
  layer.rotary_dimensions = layer.query_key;
  const FlashLanguageModelConfig config{.vocabulary = a.at("num_tokens"),
                                        .position = PositionForm::sinusoid,
                                        .head = {.form = HeadForm::untied, .bias = true},
                                        .trunk = {.depth = a.at("depth"), .block = layer}};
  steps.expect_same<FlashLanguageModel<T>>(config, lucidrains_flash_transformer_names(), tolerance);
}

TEST(TenSteps, MatchPyTorchForACausalGmlp) {
  expect_same_gmlp<double>("gmlp", 1e-10);
  expect_same_gmlp<float>("gmlp", 1e-5);
}

TEST(TenSteps, MatchPyTorchForAnAmlp) {
  expect_same_gmlp<double>("amlp", 1e-10);
  expect_same_gmlp<float>("amlp", 1e-5);
}

TEST(TenSteps, MatchPyTorchForACausalFlash) {
  expect_same_flash<double>(1e-10);
  expect_same_flash<float>(1e-5);
}

}  // namespace
}  // namespace gated::ten_steps_test
