#include "train.hpp"

#include "models.hpp"
#include "trainer.hpp"

namespace text {

namespace {

/// Whether the training to start or to resume is one of FLASH.
bool is_flash(const Options& options) {
  if (options.resume.empty()) {
    return options.model == "flash";
  }
  const gated::SafetensorsFile file(options.resume);
  const auto architecture = file.metadata().find("architecture");
  return architecture != file.metadata().end() && architecture->second == gated::Training<FlashModel>::architecture;
}

}  // namespace

int train(const Options& options, const Corpus& corpus) {
  constexpr gated::Index attention = 64;  // the width of aMLP's tiny attention, as in the paper
  if (is_flash(options)) {
    return train_model<FlashModel>(options, corpus, [&] { return flash_config(options); });
  }
  return train_model<GmlpModel>(options, corpus, [&] { return gmlp_config(options, options.model == "amlp" ? attention : 0); });
}

}  // namespace text
