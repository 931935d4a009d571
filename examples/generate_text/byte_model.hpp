#pragma once

#include <filesystem>
#include <string_view>
#include <variant>

#include "common/byte_models.hpp"
#include "gated/gated.hpp"
#include "gated/io/prepared_model.hpp"

namespace text {

/// A causal language model whose tokens are the 256 bytes, and its weights, packed.
using ByteModel = std::variant<gated::PreparedModel<GmlpModel>, gated::PreparedModel<FlashModel>,
                               gated::PreparedModel<GauModel>, gated::PreparedModel<TransformerModel>>;

/// Opens a checkpoint that says in its metadata what it is; weights in bf16 or int8 stay so. Errors: FileError, naming the
/// file, for files that are broken or hold anything but a causal language model over bytes of common/byte_models.hpp.
ByteModel open_model(const std::filesystem::path& checkpoint);

/// A small model with random weights, always the same: `kind` is "gmlp", "toeplitz" or "flash".
ByteModel random_model(std::string_view kind);

/// Writes a `model` that random_model() made so that open_model() finds everything in one file.
void save(const ByteModel& model, const std::filesystem::path& path);

}  // namespace text
