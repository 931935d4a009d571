#include "mixers.hpp"

#include <algorithm>

namespace digits {

std::vector<Mixer> all_mixers() {
  std::vector<Mixer> all;
  for (const auto& list : {gmlp_mixers(), token_weight_mixers(), convolution_mixers(), attention_mixers()}) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

Mixer mixer_named(std::string_view name) {
  const std::vector<Mixer> all = all_mixers();
  return *std::find_if(all.begin(), all.end(), [&](const Mixer& mixer) { return mixer.name == name; });
}

}  // namespace digits
