#include "families.hpp"

#include <array>

namespace parity {

namespace {

constexpr std::array registered{
    Family{"timm_gmlp", "MlpMixer(SpatialGatingBlock, GatedMlp)", run_timm_gmlp},
};

}  // namespace

std::span<const Family> families() { return registered; }

const Family* find_family(const CaseFile& file) {
  for (const Family& candidate : registered) {
    if (candidate.family == file.family() && candidate.class_name == file.class_name()) {
      return &candidate;
    }
  }
  return nullptr;
}

}  // namespace parity
