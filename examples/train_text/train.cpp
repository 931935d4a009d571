#include "train.hpp"

#include "models.hpp"
#include "trainer.hpp"

namespace text {

namespace {

/// True if the new or resumed run trains a `Model`; `name` is the --model value that selects `Model`.
template <class Model>
bool is_of(const Options& options, std::string_view name) {
  if (options.resume.empty()) {
    return options.model == name;
  }
  const gated::SafetensorsFile file(options.resume);
  const auto architecture = file.metadata().find("architecture");
  return architecture != file.metadata().end() && architecture->second == gated::Training<Model>::architecture;
}

}  // namespace

int train(const Options& options, const Corpus& corpus) {
  if (is_of<FlashModel>(options, "flash")) {
    return train_model<FlashModel>(options, corpus, [&] { return flash_config(options); });
  }
  if (is_of<GauModel>(options, "gau")) {
    return train_model<GauModel>(options, corpus, [&] { return gau_config(options); });
  }
  if (is_of<TransformerModel>(options, "transformer")) {
    return train_model<TransformerModel>(options, corpus, [&] { return transformer_config(options); });
  }
  return train_model<GmlpModel>(options, corpus, [&] { return gmlp_config(options); });
}

}  // namespace text
