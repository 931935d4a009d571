#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gated/gated.hpp"
#include "gated/io/model_file.hpp"
#include "gated/train/training.hpp"

/// The kinds of models that the fuzz targets build.

namespace gated::fuzz {

template <class... Models>
struct List {};

using EveryModel = List<GmlpLanguageModel<float>, GmlpImageClassifier<float>, FlashLanguageModel<float>, GauEncoder<float>,
                        Fnet<float>, MixerImageClassifier<float>, GmixerImageClassifier<float>, ResmlpImageClassifier<float>,
                        PoseHead<float>, MaskNetwork<float>, SpeechSeparator<float>, SpeechDenoiser<float>, Branchformer<float>,
                        LightConvBlock<float>, TextTransformer<float>, Roformer<float>, Training<GmlpLanguageModel<double>>,
                        Training<GmlpImageClassifier<float>>, Training<FlashLanguageModel<float>>, Training<GauEncoder<float>>>;

/// Calls `f.operator()<Model>()` for the model whose architecture is `name`. Does nothing if there is no such model.
template <class F, class... Models>
void with_model(std::string_view name, List<Models...>, F&& f) {
  const auto offer = [&]<class Model>(const Model*) {
    if (name == Model::architecture) {
      f.template operator()<Model>();
    }
  };
  (offer(static_cast<const Models*>(nullptr)), ...);
}

}  // namespace gated::fuzz
