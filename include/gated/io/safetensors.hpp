#pragma once

#include <filesystem>
#include <map>
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
/// Reads safetensors files.

namespace gated {

/// A validated safetensors file with typed access to its tensors.
///
///     const SafetensorsFile file("model.safetensors");
///     std::vector<float> weight(64 * 32);
///     file.read<float>("head.weight", weight);
///
/// Copies are cheap and share the mapped bytes. All methods are const and thread-safe.
/// Errors: FileError, starting with the file's name, for a file that is missing or malformed.
/// Cost: opening reads the header only; tensors are read on access.
class SafetensorsFile {
 public:
  /// Maps the file at `path` (MappedFile).
  explicit SafetensorsFile(const std::filesystem::path& path);

  /// Parses a file in memory. `bytes` must outlive the result; error messages refer to the file as `name`.
  static SafetensorsFile parse(std::span<const std::byte> bytes, std::string name = "safetensors");

  /// Joins the tensors of several files and drops their metadata. Error messages refer to the joined files as `name`.
  /// Errors: FileError if two files have a tensor of the same name.
  static SafetensorsFile join(std::span<const SafetensorsFile> files, std::string name);

  /// The file's name in error messages.
  const std::string& name() const { return name_; }
  const std::map<std::string, std::string, std::less<>>& metadata() const { return contents_.metadata; }
  const std::map<std::string, TensorEntry, std::less<>>& tensors() const { return contents_.tensors; }

  /// Verifies the checksum of the tensors and the metadata, if the file has one. save_parameters() and save_model() write it.
  /// Errors: FileError if the checksum does not match, for instance after a bit flip on disk or in transit.
  /// Cost: one pass over the file.
  void verify() const;

  bool contains(std::string_view name) const;

  /// The tensor `name`.
  /// Errors: FileError, with the nearest name, if there is no such tensor.
  const TensorEntry& tensor(std::string_view name) const;

  /// Converts the values of tensor `name` to `out`, in row-major order.
  ///
  /// `T` is float, double or an integer type. See convert.hpp for rounding and for the values that fit.
  /// Errors: ShapeError if `out` has a different size; FileError if the tensor is missing or a value does not fit. An error
  /// leaves `out` unchanged.
  /// Cost: one pass if the types are equal, or if both are floating types and `T` is at least as wide. Otherwise two passes, of
  /// which the first checks that all values fit.
  template <detail::Readable T>
  void read(std::string_view name, std::span<T> out) const {
    const TensorEntry& entry = tensor(name);
    const auto where = [&] { return text(name_, ": tensor \"", printable(name), "\""); };
    if (entry.count() != out.size()) {
      raise<ShapeError>(where(), " has ", entry.count(), " values, shape ", describe_shape(entry.shape), ", but out has ",
                        out.size(), ".");
    }
    if (!is_readable_as<T>(entry.dtype)) {
      raise<FileError>(where(), " is ", name_of(entry.dtype), ", which cannot be read as integers.");
    }
    const std::size_t misfit = first_misfit<T>(entry.dtype, entry.bytes);
    if (misfit != entry.count()) {
      raise<FileError>(where(), " is ", name_of(entry.dtype), "; its value at index ", misfit, " does not fit ",
                       name_of(dtype_of<T>()), ".");
    }
    convert<T>(entry.dtype, entry.bytes, out);
  }

  /// Releases the pages of `bytes`, a part of a tensor, if the file is mapped; they are read again on the next access.
  void release(std::span<const std::byte> bytes) const {
    for (const MappedFile& file : files_) {
      file.release(bytes);
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
  SafetensorsFile(std::vector<MappedFile> files, std::span<const std::byte> bytes, std::string name);

  std::vector<MappedFile> files_;
  std::string name_;
  SafetensorsContents contents_;  // refers to the bytes of files_
};

}  // namespace gated

#if !defined(GATED_COMPILED)
#include "gated/io/safetensors.inl"
#endif
