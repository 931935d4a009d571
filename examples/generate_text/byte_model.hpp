#pragma once

#include <filesystem>
#include <string_view>
#include <variant>

#include "common/byte_models.hpp"
#include "gated/gated.hpp"
#include "gated/io/prepared_model.hpp"

namespace text {

/// A causal byte-level language model and its packed weights.
using ByteModel = std::variant<gated::PreparedModel<GmlpModel>, gated::PreparedModel<FlashModel>,
                               gated::PreparedModel<GauModel>, gated::PreparedModel<TransformerModel>>;

/// Opens a checkpoint of the architecture that its metadata names; bf16 and int8 weights keep their format.
/// Errors: FileError for broken files, and for anything but a causal byte-level model of common/byte_models.hpp.
ByteModel open_model(const std::filesystem::path& checkpoint);

/// A small model with random weights from a fixed seed; `kind` is "gmlp", "toeplitz" or "flash".
ByteModel random_model(std::string_view kind);

/// Writes a model from random_model(), for open_model().
void save(const ByteModel& model, const std::filesystem::path& path);

}  // namespace text
