#include "gated/train/gmlp_language_model.hpp"
#include "models.hpp"
#include "train.hpp"
#include "trainer.hpp"

namespace text {

int train_gmlp(const Options& options, const Corpus& corpus) {
  constexpr gated::Index attention = 64;  // the width of aMLP's tiny attention, as in the paper
  return train<GmlpModel>(options, corpus, [&] { return gmlp_config(options, options.model == "amlp" ? attention : 0); });
}

}  // namespace text
