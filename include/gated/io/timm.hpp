#pragma once

#include <concepts>

#include "gated/io/name_map.hpp"
#include "gated/models/presets.hpp"

/// @file
/// Name maps for timm's gMLP, MLP-Mixer, gMixer and ResMLP models (MlpMixer in mlp_mixer.py).

namespace gated {

/// The names of GmlpImageClassifier's parameters in a timm checkpoint.
NameMap timm_names();
/// The same for a MixerImageClassifier.
NameMap timm_mixer_names();
/// The same for a GmixerImageClassifier.
NameMap timm_gmixer_names();
/// The same for a ResmlpImageClassifier.
NameMap timm_resmlp_names();
/// The names of ResmlpImageClassifier's parameters in the files of ResMLP's authors.
NameMap facebook_resmlp_names();

/// The names in a timm checkpoint for an image classifier of this configuration.
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
