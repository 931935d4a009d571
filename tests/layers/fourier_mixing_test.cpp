#include "gated/layers/fourier_mixing.hpp"

#include "gated/layers/feed_forward.hpp"
#include "gated/layers/mixer_block.hpp"
#include "literal.hpp"
#include "tests/promises.hpp"

namespace gated::fourier_mixing_test {
namespace {

template <class T>
using PostNormBlock = MixerBlock<FourierMixing<T>, FeedForward<T>>;

TEST(FourierMixing, KeepsItsPromises) {
  test::expect_promises<FourierMixing>({.channels = 6});
  test::expect_promises<FourierMixing>({.channels = 35}, {.lengths = {70, 3, 41}, .trains = false});
}

TEST(FourierMixing, KeepsItsPromisesInABlock) {
  for (const NormPosition position : {NormPosition::pre, NormPosition::post}) {
    test::expect_promises<PostNormBlock>({.channels = 6, .norm_position = position, .channel_mixer = {.hidden = 9}});
  }
}

TEST(FourierMixing, EqualsAHandComputedTransform) {
  const FourierMixing<double> layer({.channels = 1});
  Workspace<double> workspace;
  Matrix<double> x(2, 1), expected(2, 1);
  x << 3, 5;
  expected << 8, -2;
  EXPECT_TRUE(test::near(layer.forward(x, Sequences::single(2), workspace), expected));
}

TEST(FourierMixing, RefusesZeroChannels) { EXPECT_THROW(FourierMixing<float>({.channels = 0}), ArgumentError); }

}  // namespace
}  // namespace gated::fourier_mixing_test
