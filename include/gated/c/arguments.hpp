#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "gated/c/gated.h"
#include "gated/c/opened_model.hpp"

/// @file
/// Checks the caller's structs and reads them into the library's types.

namespace gated::c_interface {

/// A copy of a caller's struct. Members beyond its `size` are zero: the caller was compiled for an older version without them.
/// Errors: ArgumentError if `from` is NULL, or if its `size` is 0, above sizeof(Struct) or not a multiple of alignof(Struct).
template <class Struct>
Struct read(const char* where, const char* name, const Struct* from) {
  require<ArgumentError>(from != nullptr, where, ": ", name, " is NULL.");
  const bool ends_a_member = from->size >= sizeof(std::size_t) && from->size % alignof(Struct) == 0;
  require<ArgumentError>(ends_a_member && from->size <= sizeof(Struct), where, ": ", name, "->size = ", from->size,
                         ", expected sizeof(gated_", name, ") = ", sizeof(Struct),
                         from->size > sizeof(Struct) ? ". The caller was compiled for a later version: see gated_version()."
                                                     : ". Set `size` before the call.");
  Struct result{};
  std::memcpy(static_cast<void*>(&result), from, from->size);
  return result;
}

/// Copies `from` back to the caller's struct, up to the struct's `size`.
template <class Struct>
void write(const Struct& from, Struct* to) {
  std::memcpy(static_cast<void*>(to), &from, from.size);
}

/// The enumerator of `E` named `word`; nullopt if `word` is NULL.
template <class E>
std::optional<E> named(const char* where, const char* what, const char* word) {
  if (word == nullptr) {
    return std::nullopt;
  }
  const auto value = value_named<E>(word);
  require<ArgumentError>(value.has_value(), where, ": ", what, " is \"", printable(word), "\", expected one of ",
                         list_of_names<E>(), ".");
  return value;
}

/// Number formats of matrix products, as named in gated_source::products.
enum class Products { float32, int8, bf16 };
constexpr auto names_of(Products) { return words_for<Products>("float32", "int8", "bf16"); }

/// Errors: ArgumentError for bf16 if the products would stay in float.
inline const ProductEngine<float>* engine_of(const char* where, Products products) {
  require<ArgumentError>(products != Products::bf16 || bf16_products() != nullptr, where,
                         ": products is \"bf16\", which needs AVX512-BF16, the kernels \"avx512\" and the arithmetic "
                         "\"fastest\". Use \"int8\" or \"float32\" here.");
  return products == Products::int8 ? int8_products() : products == Products::bf16 ? bf16_products() : nullptr;
}

inline SafetensorsFile file_of(const char* where, const gated_source& source) {
  require<ArgumentError>((source.path == nullptr) != (source.bytes == nullptr), where,
                         ": expected source->path or source->bytes, got ", source.path == nullptr ? "neither." : "both.");
  if (source.path == nullptr) {
    return SafetensorsFile::parse({static_cast<const std::byte*>(source.bytes), source.byte_count}, "bytes");
  }
  const auto* const utf8 = reinterpret_cast<const char8_t*>(source.path);
  return SafetensorsFile(std::filesystem::path(utf8, utf8 + std::strlen(source.path)));
}

/// The checked inputs of a call: `*input`, `*input->other` and so on.
class CheckedInput {
 public:
  CheckedInput(const char* where, const OpenedModel& model, const gated_input* input) {
    const gated_input first = add(where, model, input, model.description().reads_tokens, model.contract().in);
    const gated_input* other = first.other;
    for (std::size_t i = 1; other != nullptr; ++i) {
      require<ArgumentError>(i < inputs_.size(), where, ": more than ", inputs_.size() - 1,
                             " inputs follow the first one in the chain of `other`.");
      other = add(where, model, other, false, Contract::any).other;
      inputs_[i - 1].other = &inputs_[i];
    }
  }

  CheckedInput(const CheckedInput&) = delete;
  CheckedInput& operator=(const CheckedInput&) = delete;

  const ModelInput& operator*() const { return inputs_.front(); }

 private:
  gated_input add(const char* where, const OpenedModel& model, const gated_input* from, bool reads_tokens, Index columns) {
    const gated_input input = read(where, "input", from);
    require<ArgumentError>(input.rows >= 0 && input.columns >= 0 && input.sequences >= 0, where, ": rows = ", input.rows,
                           ", columns = ", input.columns, " and sequences = ", input.sequences, " must not be negative.");
    require<ArgumentError>(input.output_rows >= GATED_ALL_ROWS && input.output_rows <= GATED_POOLED, where,
                           ": output_rows = ", input.output_rows, ", expected 0, 1 or 2.");
    const bool pools = input.output_rows == GATED_POOLED && model.description().pooled_outputs == 0;
    require<ArgumentError>(!pools, where, ": output_rows = GATED_POOLED, but this model has no pooled output.");
    const auto present = [&](const auto* data, const char* name) {
      require<ArgumentError>(data != nullptr || input.rows == 0, where, ": input->", name, " is NULL, but there are ",
                             input.rows, " rows.");
    };
    ModelInput& to = inputs_[count_++];
    to = {.where = where, .rows = static_cast<OutputRows>(input.output_rows)};
    const auto rows = static_cast<std::size_t>(input.rows);
    if (reads_tokens) {
      present(input.tokens, "tokens");
      require<ArgumentError>(input.values == nullptr, where, ": this model reads tokens, but input->values is set.");
      to.tokens = {input.tokens, rows};
    } else {
      present(input.values, "values");
      const Index width = input.columns > 0 ? input.columns : std::max<Index>(columns, 0);
      require<ArgumentError>(width > 0 || rows == 0, where,
                             ": input->columns is 0, but this input accepts any number of columns. Set input->columns.");
      require<ShapeError>((Count(input.rows) * width).value() < Count::most / Index{sizeof(float)}, where, ": ", input.rows,
                          " × ", width, " values are more than memory can hold.");
      to.values = {input.values, input.rows, width, width};
      to.tokens = {input.tokens, input.tokens == nullptr ? 0 : rows};
    }
    if (input.lengths != nullptr) {
      to.sequences = split(where, input);
    } else {
      require<ArgumentError>(input.sequences == 0, where, ": input->sequences = ", input.sequences,
                             ", but input->lengths is NULL. Set both, or neither.");
    }
    to.mask = {input.mask, input.mask == nullptr ? 0 : rows};
    to.types = {input.token_types, input.token_types == nullptr ? 0 : rows};
    return input;
  }

  /// The caller's sequences. Allocates only if their lengths differ.
  static Sequences split(const char* where, const gated_input& input) {
    const std::span<const Index> lengths(input.lengths, static_cast<std::size_t>(input.sequences));
    for (const Index length : lengths) {
      require<ArgumentError>(length >= 0, where, ": a length is ", length, ", expected at least 0.");
    }
    if (!lengths.empty() && std::all_of(lengths.begin(), lengths.end(), [&](Index n) { return n == lengths.front(); })) {
      return Sequences::uniform(input.sequences, lengths.front());
    }
    return Sequences::of_lengths({lengths.begin(), lengths.end()});
  }

  std::array<ModelInput, 3> inputs_{};
  std::size_t count_ = 0;
};

/// Sets the shape of the caller's output. If its `values` are not NULL, calls `compute(y)` to fill them.
template <class F>
void fill(const char* where, gated_output* output, std::pair<Index, Index> shape, F&& compute) {
  gated_output to = read(where, "output", output);
  require<ArgumentError>(to.capacity >= 0, where, ": output->capacity = ", to.capacity, " must not be negative.");
  std::tie(to.rows, to.columns) = shape;
  write(to, output);
  if (to.values == nullptr) {
    return;
  }
  const Index wanted = (Count(shape.first) * shape.second).value();
  require<ShapeError>(to.capacity >= wanted, where, ": output->values has room for ", to.capacity, " floats, expected ",
                      shape.first, " × ", shape.second, " = ", wanted, ".");
  compute(MatrixView<float>(to.values, shape.first, shape.second, shape.second));
}

}  // namespace gated::c_interface
