#pragma once

#include <concepts>
#include <string_view>

#include "gated/gated.hpp"

/// @file
/// A list of models, for programs that choose the model type from the architecture in a file's metadata.

namespace gated {

/// True if `architecture`, from architecture_of(), names `Model`. GmlpImageClassifier also has timm's name "timm.gmlp".
template <class Model>
bool is_architecture_of(std::string_view architecture) {
  return architecture == Model::architecture ||
         (std::same_as<Model, GmlpImageClassifier<float>> && architecture == "timm.gmlp");
}

/// Calls `f.operator()<Model>("Model")` for each known model until a call returns true. Returns false if none does.
template <class F>
bool any_known_model(const F& f) {
  return f.template operator()<GmlpImageClassifier<float>>("GmlpImageClassifier") ||
         f.template operator()<MixerImageClassifier<float>>("MixerImageClassifier") ||
         f.template operator()<GmixerImageClassifier<float>>("GmixerImageClassifier") ||
         f.template operator()<ResmlpImageClassifier<float>>("ResmlpImageClassifier") ||
         f.template operator()<Fnet<float>>("Fnet") || f.template operator()<FnetEncoder<float>>("FnetEncoder") ||
         f.template operator()<GmlpLanguageModel<float>>("GmlpLanguageModel") ||
         f.template operator()<FlashLanguageModel<float>>("FlashLanguageModel") ||
         f.template operator()<GauEncoder<float>>("GauEncoder") || f.template operator()<Gmlp<float>>("Gmlp") ||
         f.template operator()<Flash<float>>("Flash") || f.template operator()<GmlpBlock<float>>("GmlpBlock") ||
         f.template operator()<GatedAttentionUnit<float>>("GatedAttentionUnit") ||
         f.template operator()<MixedChunkAttention<float>>("MixedChunkAttention") ||
         f.template operator()<GatedCrossAttention<float>>("GatedCrossAttention") ||
         f.template operator()<PoseHead<float>>("PoseHead") || f.template operator()<MaskNetwork<float>>("MaskNetwork") ||
         f.template operator()<SpeechSeparator<float>>("SpeechSeparator") ||
         f.template operator()<SpeechDenoiser<float>>("SpeechDenoiser") ||
         f.template operator()<Branchformer<float>>("Branchformer") ||
         f.template operator()<TextTransformer<float>>("TextTransformer") ||
         f.template operator()<Roformer<float>>("Roformer") || f.template operator()<LightConvBlock<float>>("LightConvBlock") ||
         f.template operator()<TinyTimeMixer<float>>("TinyTimeMixer");
}

}  // namespace gated
