// Links gated::compiled and uses every layer. The library does not contain all layers, but it must contain the kernels that
// their ops call. Linking is the test.

#include "gated/gated.hpp"
#include "gated/io/prepared_model.hpp"

namespace gated {

#define GATED_USE_LAYER(T, ...) template struct Layer<__VA_ARGS__, T>;
#define GATED_USE_LAYERS(T)                                                                                         \
  GATED_USE_LAYER(T, BatchNorm<T>)                                                                                  \
  GATED_USE_LAYER(T, SoftmaxGatedFeedForward<T>)                                                                    \
  GATED_USE_LAYER(T, ExternalAttentionHead<T>)                                                                      \
  GATED_USE_LAYER(T, FourierMixing<T>)                                                                              \
  GATED_USE_LAYER(T, GridPosition<T>)                                                                               \
  GATED_USE_LAYER(T, LearnedPosition<T>)                                                                            \
  GATED_USE_LAYER(T, SeriesMixerBlock<T>)                                                                           \
  GATED_USE_LAYER(T, SoftmaxGatedTokenMlp<T>)                                                                       \
  GATED_USE_LAYER(T, TokenGlu<T>)                                                                                   \
  GATED_USE_LAYER(T, TokenMlp<T>)                                                                                   \
  GATED_USE_LAYER(T, TokenNorm<T>)                                                                                  \
  GATED_USE_LAYER(T, TokenProjection<T>)                                                                            \
  GATED_USE_LAYER(T, MixerBlock<ExternalAttention<T>, GluFeedForward<T>>)                                           \
  GATED_USE_LAYER(T, MixerBlock<SelfAttention<T>, GluFeedForward<T>>)                                               \
  GATED_USE_LAYER(T, MixerBlock<SynthesizerAttention<T>, FeedForward<T>>)                                           \
  template struct GatedCrossAttention<T>;                                                                           \
  template struct LanguageModel<Stack<MixerBlock<SelfAttention<T>, FeedForward<T>>>>;                               \
  template PreparedModel<FlashLanguageModel<T>> load_prepared(const SafetensorsFile&, std::optional<WeightFormat>); \
  template PreparedModel<GmlpImageClassifier<T>> load_mapped(const SafetensorsFile&);                               \
  template PreparedWeights<T> prepare(const GmlpLanguageModel<T>&, WeightFormat);

GATED_USE_LAYERS(float)
GATED_USE_LAYERS(double)

}  // namespace gated

int main() {}
