#include "families.hpp"

#include <array>

namespace parity {

std::span<const std::span<const Family>> all_families() {
  static const std::array lists{timm_families(),
                                glu_families(),
                                lucidrains_gmlp_families(),
                                labml_families(),
                                lucidrains_flash_families(),
                                junnyu_families(),
                                mmpose_families(),
                                fairseq_families(),
                                hf_fnet_families(),
                                synthesizer_families(),
                                external_attention_families(),
                                vit_ff_families(),
                                time_mixer_families(),
                                component_families(),
                                clear_voice_families(),
                                keyword_mlp_families(),
                                branchformer_families(),
                                text_transformer_families(),
                                bs_roformer_families(),
                                audio_families()};
  return lists;
}

const Family* find_family(const CaseFile& file) {
  for (const auto& list : all_families()) {
    for (const Family& candidate : list) {
      if (candidate.family == file.family() && candidate.class_name == file.class_name()) {
        return &candidate;
      }
    }
  }
  return nullptr;
}

}  // namespace parity
