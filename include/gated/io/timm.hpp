#pragma once

#include <concepts>

#include "gated/io/name_map.hpp"
#include "gated/models/presets.hpp"

/// @file
/// Name maps for timm's gMLP, MLP-Mixer, gMixer and ResMLP models (MlpMixer in mlp_mixer.py).

namespace gated {

/// Name map to load timm's gMLP models as GmlpImageClassifier.
NameMap timm_names();
/// Name map to load timm's MLP-Mixer models as MixerImageClassifier.
NameMap timm_mixer_names();
/// Name map to load timm's gMixer models as GmixerImageClassifier.
NameMap timm_gmixer_names();
/// Name map to load timm's ResMLP models as ResmlpImageClassifier.
NameMap timm_resmlp_names();
/// Name map to load the checkpoints of ResMLP's authors as ResmlpImageClassifier.
NameMap facebook_resmlp_names();

/// Name map to load a timm checkpoint as the image classifier with this configuration.
template <class Config>
NameMap timm_names_for(const Config&) {
  if constexpr (std::same_as<Config, MixerImageClassifierConfig>) {
    return timm_mixer_names();
  } else if constexpr (std::same_as<Config, GmixerImageClassifierConfig>) {
    return timm_gmixer_names();
  } else if constexpr (std::same_as<Config, ResmlpImageClassifierConfig>) {
    return timm_resmlp_names();
  } else {
    static_assert(std::same_as<Config, GmlpImageClassifierConfig>);
    return timm_names();
  }
}

}  // namespace gated

#if !defined(GATED_COMPILED)
#include "gated/io/timm.inl"
#endif
