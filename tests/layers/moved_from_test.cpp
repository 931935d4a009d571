#include <gtest/gtest.h>

#include "gated/gated.hpp"
#include "tests/core/numbers.hpp"
#include "tests/layers/randomize.hpp"

// A moved-from layer has lost its weights: running it is refused, and never crashes or computes something.

namespace gated::moved_from_test {
namespace {

template <class Layer>
void expect_refused_after_move(Layer layer, Index rows, Index columns) {
  test::randomize(layer, 1);
  const Matrix<float> x = test::random_matrix<float>(rows, columns, 2);
  Workspace<float> workspace;
  const Layer kept = std::move(layer);
  const std::string message = test::message_of<Error>([&] { layer.forward(x, Sequences::single(rows), workspace); });
  EXPECT_NE(message.find("moved from"), std::string::npos) << Layer::name << ": " << message;
  EXPECT_NO_THROW(static_cast<void>(kept.forward(x, Sequences::single(rows), workspace)));
}

TEST(MovedFrom, IsRefused) {
  for (const NormForm form : {NormForm::layer_norm, NormForm::layer_norm_no_bias, NormForm::rms_norm, NormForm::affine,
                              NormForm::l2_norm, NormForm::scale_norm}) {
    expect_refused_after_move(Norm<float>(4, 1e-5, form), 3, 4);
  }
  expect_refused_after_move(Prelu<float>(4), 3, 4);
  for (const SpatialForm form : {SpatialForm::dense, SpatialForm::toeplitz}) {
    expect_refused_after_move(SpatialProjection<float>({.length = 4, .form = form}), 4, 6);
    expect_refused_after_move(SpatialGatingUnit<float>({.channels = 6, .spatial = {.length = 4, .form = form}}), 4, 6);
  }
  expect_refused_after_move(LightweightConvolution<float>({.channels = 4}), 5, 4);
  expect_refused_after_move(TokenProjection<float>({.channels = 6, .length = 4}), 4, 6);
  expect_refused_after_move(GmlpBlock<float>({.length = 4, .channels = 6, .hidden = 8}), 4, 6);
  expect_refused_after_move(GatedAttentionUnit<float>({.channels = 6, .value = 8, .query_key = 4, .max_length = 8}), 4, 6);
  expect_refused_after_move(SelfAttention<float>({.channels = 6, .heads = 2}), 4, 6);
  expect_refused_after_move(Linear<float>(4, 6), 3, 4);
  const TinyTimeMixerConfig series{.series = 1, .context = 12, .patch = 3, .stride = 3, .horizon = 2};
  expect_refused_after_move(SeriesTrunk<float>(series, {.channels = 8, .depth = 1, .levels = 2}, 0), series.tokens(), 8);
}

}  // namespace
}  // namespace gated::moved_from_test
