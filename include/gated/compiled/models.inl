// Ops, layers and models that gated::compiled instantiates.

#include "gated/compiled/held.inl"

#define GATED_HELD_OPS(T)                                                                                                     \
  GATED_HELD void detail::gemm::multiply<T>(const Operand<T>&, const Operand<T>&, const TileFunction<T>&, Workspace<T>&,      \
                                            Index);                                                                           \
  GATED_HELD void matmul<T>(const Operand<T>&, const Operand<T>&, View<T>, Workspace<T>&, const Epilogue<T>&);                \
  GATED_HELD void normalize<T>(const ConstView<T>&, const NormParameters<T>&, View<T>, const Workspace<T>&, RowMoments<T>*);  \
  GATED_HELD void softmax<T>(View<T>, const Workspace<T>&, const SoftmaxOptions<T>&);                                         \
  GATED_HELD void attend<T>(const ConstView<T>&, const ConstView<T>&, const ConstView<T>&, Index, const Scoring<T>&, View<T>, \
                            Workspace<T>&, const Epilogue<T>&, const WeightsWatcher<T>&);

#define GATED_HELD_LAYERS(T)                                               \
  GATED_HELD_LAYER(Layer, T, Linear<T>)                                    \
  GATED_HELD_LAYER(Layer, T, Norm<T>)                                      \
  GATED_HELD_LAYER(Layer, T, Mlp<T, FeedForwardConfig>)                    \
  GATED_HELD_LAYER(Layer, T, Glu<T, GluFeedForwardConfig>)                 \
  GATED_HELD_LAYER(Layer, T, PatchEmbedding<T>)                            \
  GATED_HELD_LAYER(Layer, T, SpatialGatingUnit<T>)                         \
  GATED_HELD_LAYER(Layer, T, TinyAttention<T>)                             \
  GATED_HELD_LAYER(Layer, T, GmlpBlock<T>)                                 \
  GATED_HELD_LAYER(Layer, T, GatedAttentionUnit<T>)                        \
  GATED_HELD_LAYER(Layer, T, MixedChunkAttention<T>)                       \
  GATED_HELD_LAYER(Layer, T, SelfAttention<T>)                             \
  GATED_HELD_LAYER(Layer, T, MixerBlock<SelfAttention<T>, FeedForward<T>>) \
  GATED_HELD_LAYER(Layer, T, ExternalAttention<T>)                         \
  GATED_HELD_LAYER(Layer, T, SynthesizerAttention<T>)

/// Declares the traversal of one model type's parameters.
#define GATED_HELD_WALK(T, ...)                                                                                          \
  GATED_HELD void detail::walk_fields<T, 1, __VA_ARGS__>(const detail::ParameterVisitor<T, 1>&, const detail::PathNode*, \
                                                         const std::array<__VA_ARGS__*, 1>&);

#define GATED_HELD_WALKS(T)                        \
  GATED_HELD_WALK(T, Gmlp<T>)                      \
  GATED_HELD_WALK(T, Flash<T>)                     \
  GATED_HELD_WALK(T, ImageClassifier<Gmlp<T>>)     \
  GATED_HELD_WALK(T, ImageClassifier<MlpMixer<T>>) \
  GATED_HELD_WALK(T, ImageClassifier<GMixer<T>>)   \
  GATED_HELD_WALK(T, ImageClassifier<ResMlp<T>>)   \
  GATED_HELD_WALK(T, LanguageModel<Gmlp<T>>)       \
  GATED_HELD_WALK(T, LanguageModel<Flash<T>>)      \
  GATED_HELD_WALK(T, GauEncoder<T>)                \
  GATED_HELD_WALK(T, TextTransformer<T>)           \
  GATED_HELD_WALK(T, Fnet<T>)                      \
  GATED_HELD_WALK(T, TinyTimeMixer<T>)             \
  GATED_HELD_WALK(T, PoseHead<T>)

#define GATED_HELD_MODELS(T)                                                   \
  GATED_HELD_LAYER(Layer, T, Stack<GmlpBlock<T>, GmlpConfig>)                  \
  GATED_HELD_LAYER(Layer, T, ImageClassifier<Gmlp<T>>)                         \
  GATED_HELD_LAYER(TextModel, T, LanguageModel<Gmlp<T>>)                       \
  GATED_HELD_LAYER(Layer, T, Stack<MixedChunkAttention<T>>)                    \
  GATED_HELD_LAYER(TextModel, T, LanguageModel<Flash<T>>)                      \
  GATED_HELD_LAYER(TextModel, T, LanguageModel<Stack<GatedAttentionUnit<T>>>)  \
  GATED_HELD_LAYER(TextModel, T, LanguageModel<FnetEncoder<T>>)                \
  GATED_HELD_LAYER(Layer, T, Stack<GluTransformerBlock<T>>)                    \
  GATED_HELD_LAYER(TextModel, T, LanguageModel<Stack<GluTransformerBlock<T>>>) \
  GATED_HELD_LAYER(Layer, T, ImageClassifier<MlpMixer<T>>)                     \
  GATED_HELD_LAYER(Layer, T, ImageClassifier<GMixer<T>>)                       \
  GATED_HELD_LAYER(Layer, T, ImageClassifier<ResMlp<T>>)                       \
  GATED_HELD struct TinyTimeMixer<T>;                                          \
  GATED_HELD_LAYER(Layer, T, PoseHead<T>)                                      \
  GATED_HELD_WALKS(T)

namespace gated {

GATED_HELD_OPS(float)
GATED_HELD_OPS(double)
GATED_HELD_LAYERS(float)
GATED_HELD_LAYERS(double)
GATED_HELD_MODELS(float)
GATED_HELD_MODELS(double)

}  // namespace gated
