#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gated/core/shape.hpp"
#include "gated/io/convert.hpp"
#include "gated/io/mapped_file.hpp"
#include "gated/io/nearest_name.hpp"
#include "gated/io/safetensors_header.hpp"

/// @file
/// Reading safetensors files.

namespace gated {

/// A safetensors file that has been checked completely, with typed access to its tensors.
///
///     const SafetensorsFile file("model.safetensors");
///     std::vector<float> weight(64 * 32);
///     file.read<float>("head.weight", weight);
///
/// Copies are cheap and share the mapped bytes. All methods are const and thread-safe.
/// Errors: FileError, starting with the file's name, for a file that is missing or broken in any way.
/// Cost: opening reads the header only; a tensor's bytes are read when they are asked for.
class SafetensorsFile {
 public:
  /// Maps the file at `path`, see MappedFile.
  explicit SafetensorsFile(const std::filesystem::path& path);

  /// Reads a file that is already in memory. `bytes` belong to the caller and must outlive the result; `name` stands for the
  /// file in messages.
  static SafetensorsFile parse(std::span<const std::byte> bytes, std::string name = "safetensors");

  /// The file's name in messages.
  const std::string& name() const { return name_; }
  const std::map<std::string, std::string, std::less<>>& metadata() const { return contents_.metadata; }
  const std::map<std::string, TensorEntry, std::less<>>& tensors() const { return contents_.tensors; }

  /// Raises FileError if the metadata have a check sum, as save_parameters() and save_model() write it, and the tensors and
  /// other texts are not those it was made of: a bit was flipped on a disk or on the way.
  /// Cost: one pass over the file.
  void verify() const;

  bool contains(std::string_view name) const;

  /// The tensor called `name`.
  /// Errors: FileError with the nearest name if there is none.
  const TensorEntry& tensor(std::string_view name) const;

  /// Converts the values of tensor `name` to `out`, in row-major order.
  ///
  /// `T` is float, double or an integer type. Floating values are rounded to nearest; a finite value must stay finite, an
  /// integer must be held exactly, and floating tensors are not read as integers.
  /// Errors: ShapeError if `out` has another size; FileError if the tensor is missing or a value does not fit. `out` is
  /// untouched then.
  /// Cost: one pass, two where a value might not fit.
  template <detail::Readable T>
  void read(std::string_view name, std::span<T> out) const {
    const TensorEntry& entry = tensor(name);
    const auto where = [&] { return text(name_, ": tensor \"", printable(name), "\""); };
    if (entry.count() != out.size()) {
      raise<ShapeError>(where(), " has ", entry.count(), " values, shape ", describe_shape(entry.shape), ", but out has ",
                        out.size(), ".");
    }
    if (!is_readable_as<T>(entry.dtype)) {
      raise<FileError>(where(), " is ", name_of(entry.dtype), ", which is not read as integers.");
    }
    const std::size_t misfit = first_misfit<T>(entry.dtype, entry.bytes);
    if (misfit != entry.count()) {
      raise<FileError>(where(), " is ", name_of(entry.dtype), "; its value at index ", misfit, " does not fit ",
                       name_of(dtype_of<T>()), ".");
    }
    convert<T>(entry.dtype, entry.bytes, out);
  }

  /// Gives back the memory of `bytes`, a part of a tensor, if the file is mapped; they can be read again.
  void release(std::span<const std::byte> bytes) const {
    if (file_) {
      file_->release(bytes);
    }
  }

  /// The values of tensor `name` as a vector.
  template <detail::Readable T>
  std::vector<T> read(std::string_view name) const {
    std::vector<T> values(tensor(name).count());
    read<T>(name, std::span<T>(values));
    return values;
  }

 private:
  SafetensorsFile(std::optional<MappedFile> file, std::span<const std::byte> bytes, std::string name);

  std::optional<MappedFile> file_;
  std::string name_;
  SafetensorsContents contents_;  // refers to the bytes of file_
};

}  // namespace gated

#if !defined(GATED_COMPILED)
#include "gated/io/safetensors.inl"
#endif
