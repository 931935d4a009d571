#pragma once

#include <string>
#include <vector>

#include "gated/io/safetensors.hpp"

/// @file
/// Class names in the file of a classifier.

namespace gated {

/// Encodes `labels` for the metadata of a file, from which labels_of() reads them:
///
///     save_model(model, "birds.safetensors", {{"labels", labels_text({"robin", "wren"})}});
///
/// Errors: ArgumentError for a label that is not UTF-8.
std::string labels_text(const std::vector<std::string>& labels);

/// The class names in `file`, in order: "labels" of its metadata, or label_names of a timm configuration. Empty if it has none.
/// Errors: FileError if the labels are not a list of strings.
std::vector<std::string> labels_of(const SafetensorsFile& file);

}  // namespace gated

#if !defined(GATED_COMPILED)
#include "gated/io/labels.inl"
#endif
