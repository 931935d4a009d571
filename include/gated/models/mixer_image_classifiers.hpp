#pragma once

#include <utility>

#include "gated/layers/feed_forward.hpp"
#include "gated/layers/glu_feed_forward.hpp"
#include "gated/layers/mixer_block.hpp"
#include "gated/layers/token_glu.hpp"
#include "gated/layers/token_mlp.hpp"
#include "gated/layers/token_projection.hpp"
#include "gated/models/gmlp.hpp"

/// @file
/// MLP-Mixer, gMixer and ResMLP for images: gMLP's baselines. They differ in the mixers of their blocks.

namespace gated {

/// The blocks of an MLP-Mixer: one MLP over the tokens, one over the channels (arXiv:2105.01601).
template <class T>
using MlpMixer = Stack<MixerBlock<TokenMlp<T>, FeedForward<T>>>;

/// The blocks of a gMixer: those of an MLP-Mixer with gated feed-forward layers in place of both MLPs (timm).
template <class T>
using GMixer = Stack<MixerBlock<TokenGlu<T>, GluFeedForward<T>>>;

/// The blocks of a ResMLP: a linear map over the tokens and an MLP over the channels (arXiv:2105.03404). timm_resmlp() also
/// sets affine maps in place of norms and LayerScale on both branches; the default is LayerNorm without LayerScale.
template <class T>
using ResMlp = Stack<MixerBlock<TokenProjection<T>, FeedForward<T>>>;

/// Patches → MLP-Mixer blocks → norm → mean → head: see ImageClassifier.
template <class T>
using MixerImageClassifier = ImageClassifier<MlpMixer<T>>;
/// ImageClassifier with gMixer blocks.
template <class T>
using GmixerImageClassifier = ImageClassifier<GMixer<T>>;
/// ImageClassifier with ResMLP blocks.
template <class T>
using ResmlpImageClassifier = ImageClassifier<ResMlp<T>>;

/// The options of an MLP-Mixer.
using MixerImageClassifierConfig = MixerImageClassifier<float>::Config;
/// The options of a gMixer.
using GmixerImageClassifierConfig = GmixerImageClassifier<float>::Config;
/// The options of a ResMLP.
using ResmlpImageClassifierConfig = ResmlpImageClassifier<float>::Config;

namespace detail {

// Overload resolution selects the model of a configuration. Declared only.
template <class T>
GmlpImageClassifier<T> classifier_for(const GmlpImageClassifierConfig&);
template <class T>
MixerImageClassifier<T> classifier_for(const MixerImageClassifierConfig&);
template <class T>
GmixerImageClassifier<T> classifier_for(const GmixerImageClassifierConfig&);
template <class T>
ResmlpImageClassifier<T> classifier_for(const ResmlpImageClassifierConfig&);

}  // namespace detail

/// The type of the image classifier with configuration `Config` and scalar `T`.
template <class Config, class T>
using ImageClassifierFor = decltype(detail::classifier_for<T>(std::declval<Config>()));

}  // namespace gated
