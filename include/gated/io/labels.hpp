#pragma once

#include <string>
#include <vector>

#include "gated/io/safetensors.hpp"

/// @file
/// Class names in a classifier's file.

namespace gated {

/// Encodes `labels` for a file's metadata, from which labels_of() reads them back. For example:
///
///     save_model(model, "birds.safetensors", {{"labels", labels_text({"robin", "wren"})}});
///
/// Errors: ArgumentError for a label that is not UTF-8.
std::string labels_text(const std::vector<std::string>& labels);

/// The class names in `file`, in order: "labels" in the metadata, or else "label_names" in a timm configuration. Empty if the
/// file has neither.
/// Errors: FileError if the labels are not a list of strings.
std::vector<std::string> labels_of(const SafetensorsFile& file);

}  // namespace gated

#if !defined(GATED_COMPILED)
#include "gated/io/labels.inl"
#endif
