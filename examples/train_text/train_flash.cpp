#include "gated/train/flash_language_model.hpp"
#include "models.hpp"
#include "train.hpp"
#include "trainer.hpp"

namespace text {

int train_flash(const Options& options, const Corpus& corpus) {
  return train<FlashModel>(options, corpus, [&] { return flash_config(options); });
}

}  // namespace text
