#pragma once

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
inline NameMap timm_names_for(const GmlpImageClassifierConfig&) { return timm_names(); }
// Doxygen takes these overloads for one function.
/// @cond
inline NameMap timm_names_for(const MixerImageClassifierConfig&) { return timm_mixer_names(); }
inline NameMap timm_names_for(const GmixerImageClassifierConfig&) { return timm_gmixer_names(); }
inline NameMap timm_names_for(const ResmlpImageClassifierConfig&) { return timm_resmlp_names(); }
/// @endcond

}  // namespace gated

#if !defined(GATED_COMPILED)
#include "gated/io/timm.inl"
#endif
