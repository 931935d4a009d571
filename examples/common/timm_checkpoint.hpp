#pragma once

#include <type_traits>

#include "common/text_file.hpp"
#include "common/timm_model.hpp"
#include "gated/io/checkpoint.hpp"
#include "gated/io/timm.hpp"
#include "gated/io/timm_config.hpp"

namespace examples {

/// Calls `f(config)`. The configuration comes from timm's config.json if given, otherwise from the preset and from `more`,
/// further timm arguments in JSON.
/// Errors: those of read_text_file() and with_timm_config().
template <class F>
void with_timm_config(const TimmModel& timm, const std::string& more, const F& f) {
  if (timm.config.empty()) {
    gated::with_timm_config("{\"entry\": \"" + timm.preset + "\"" + more + "}", f);
  } else {
    gated::with_timm_config(read_text_file(timm.config), f, timm.config.string());
  }
}

/// Calls `f(model)` with the image classifier in `file`, a checkpoint published by timm. `timm` sets the configuration; with a
/// preset, the checkpoint's head sets the number of classes.
/// Errors: those of with_timm_config() and load_parameters(); FileError for an invalid head.
template <class F>
void with_timm_checkpoint(const gated::SafetensorsFile& file, const TimmModel& timm, const F& f) {
  gated::Index classes = 0;  // if the file has no head
  if (file.contains("head.bias")) {
    const auto& shape = file.tensor("head.bias").shape;
    gated::require<gated::FileError>(shape.size() == 1, file.name(), ": head.bias has ", shape.size(),
                                     " dimensions, expected 1.");
    classes = shape[0];
  }
  with_timm_config(timm, gated::text(", \"num_classes\": ", classes), [&](const auto& config) {
    gated::ImageClassifierFor<std::remove_cvref_t<decltype(config)>, float> model(config);
    gated::load_parameters(model, file, gated::timm_names_for(config));
    f(model);
  });
}

}  // namespace examples
