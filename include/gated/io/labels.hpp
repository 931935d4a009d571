#pragma once

#include <string>
#include <vector>

#include "gated/io/safetensors.hpp"

/// @file
/// The names of a classifier's classes, in the file of the model.

namespace gated {

/// `labels` as a text for the metadata of a file, from which labels_of() reads them:
///
///     save_model(model, "birds.safetensors", {{"labels", labels_text({"robin", "wren"})}});
///
/// Errors: ArgumentError for a label that is not UTF-8.
std::string labels_text(const std::vector<std::string>& labels);

/// The names of the classes that `file` gives, in their order: its metadata's "labels", or the label_names of a configuration
/// that timm wrote. Empty if it gives none.
/// Errors: FileError for labels that are no list of texts.
std::vector<std::string> labels_of(const SafetensorsFile& file);

}  // namespace gated

#if !defined(GATED_COMPILED)
#include "gated/io/labels.inl"
#endif
