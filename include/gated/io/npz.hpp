#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gated/io/crc32.hpp"
#include "gated/io/little_endian.hpp"
#include "gated/io/npy.hpp"

/// @file
/// NumPy's .npz files: several arrays, as numpy.savez() writes them.
///
/// The format: an uncompressed ZIP archive of .npy files. All its numbers are little-endian.

namespace gated {

namespace detail {

/// Parses the subset of ZIP that numpy.savez() uses.
class ZipParser {
 public:
  ZipParser(std::span<const std::byte> file, std::string_view name) : file_(file), name_(name) {}

  std::map<std::string, std::span<const std::byte>, std::less<>> parse() {
    // Search backwards for the record that locates the directory: a comment of up to 65,535 bytes may follow it.
    constexpr std::size_t end_size = 22, longest_comment = 65535;
    expect(file_.size() >= end_size, "the file is too short for a ZIP archive. Is it truncated?");
    std::size_t end = file_.size() - end_size;
    const std::size_t first = end > longest_comment ? end - longest_comment : 0;
    while (number<4>(end) != 0x06054B50) {
      expect(end > first, "this is not an .npz file: the end of a ZIP archive is missing. Is the file truncated?");
      --end;
    }
    const std::size_t count = number<2>(end + 10);
    std::size_t entry = number<4>(end + 16);
    expect(count != 0xFFFF && entry != 0xFFFFFFFF,
           "ZIP64 archives, which numpy writes from 2 GiB on, are not supported. Use safetensors.");
    for (std::size_t i = 0; i < count; ++i) {
      entry = read_entry(entry);
    }
    return std::move(files_);
  }

 private:
  template <class... Parts>
  void expect(bool condition, const Parts&... parts) const {
    require<FileError>(condition, name_, ": ", parts...);
  }

  template <std::size_t bytes>
  std::size_t number(std::size_t at) const {
    expect(at <= file_.size() && bytes <= file_.size() - at, "the archive points outside itself. Is it truncated?");
    return little_endian(file_, at, bytes);
  }

  std::span<const std::byte> part(std::size_t at, std::size_t size) const {
    expect(at <= file_.size() && size <= file_.size() - at, "the archive points outside itself. Is it truncated?");
    return file_.subspan(at, size);
  }

  /// Reads the directory entry at `entry` and returns the offset of the next.
  std::size_t read_entry(std::size_t entry) {
    expect(number<4>(entry) == 0x02014B50, "the archive's directory is broken.");
    const std::size_t method = number<2>(entry + 10), size = number<4>(entry + 24), name_length = number<2>(entry + 28);
    const std::size_t stored = number<4>(entry + 20), local = number<4>(entry + 42);
    const auto name_bytes = part(entry + 46, name_length);
    const std::string name(reinterpret_cast<const char*>(name_bytes.data()), name_bytes.size());
    expect(method == 0, printable(name), " is compressed. Save it with numpy.savez(), which does not compress.");
    expect(size != 0xFFFFFFFF && local != 0xFFFFFFFF && size == stored, printable(name),
           " is in ZIP64 format, which numpy writes from 2 GiB on and which is not supported. Use safetensors.");
    expect(number<4>(local) == 0x04034B50, printable(name), " is not at the offset in the archive's directory.");
    const auto bytes = part(local + 30 + number<2>(local + 26) + number<2>(local + 28), size);
    expect(size <= file_.size() - held_, "the archive's files overlap.");  // otherwise thousands of files could share bytes
    held_ += size;
    expect(crc32(bytes) == number<4>(entry + 16), printable(name),
           " is damaged: its checksum is wrong. Copy or download the file again.");
    expect(files_.emplace(name, bytes).second, printable(name), " is in the archive twice.");
    return entry + 46 + name_length + number<2>(entry + 30) + number<2>(entry + 32);
  }

  std::span<const std::byte> file_;
  std::string_view name_;
  std::size_t held_ = 0;  // total bytes of the files so far
  std::map<std::string, std::span<const std::byte>, std::less<>> files_;
};

}  // namespace detail

/// The arrays in a file written by numpy.savez(), by name.
///
///     const NpzFile file("features.npz");
///     const Matrix<float> x = file.read<float>("x");
///
/// Copies are cheap and share the mapped bytes. All methods are const and thread-safe.
/// Errors: FileError, starting with the file's name, for a file that is missing, compressed or malformed.
/// Cost: opening reads the whole file once to verify its checksums.
class NpzFile {
 public:
  explicit NpzFile(const std::filesystem::path& path) : NpzFile(MappedFile(path), path.string()) {}

  /// Parses a file in memory. `bytes` must outlive the result.
  static NpzFile parse(std::span<const std::byte> bytes, std::string name = "npz") { return NpzFile(bytes, std::move(name)); }

  const std::map<std::string, NpyArray, std::less<>>& arrays() const { return arrays_; }

  /// The array `name` as a matrix; see to_matrix().
  /// Errors: FileError, with the nearest name, if there is no such array; those of to_matrix().
  template <detail::Readable T>
  Matrix<T> read(std::string_view name) const {
    const auto found = arrays_.find(name);
    if (found == arrays_.end()) {
      std::vector<std::string_view> names;
      for (const auto& [candidate, array] : arrays_) {
        names.push_back(candidate);
      }
      const std::string nearest = printable(nearest_name(name, names));
      raise<FileError>(name_, ": there is no array \"", printable(name), "\"",
                       nearest.empty() ? text(".") : text("; the nearest name is \"", nearest, "\"."));
    }
    return to_matrix<T>(found->second, text(name_, ": ", name));
  }

 private:
  NpzFile(MappedFile file, std::string name) : NpzFile(file.bytes(), std::move(name)) { file_ = std::move(file); }
  NpzFile(std::span<const std::byte> bytes, std::string name) : name_(std::move(name)) {
    for (const auto& [entry, array] : detail::ZipParser(bytes, name_).parse()) {
      const std::string shown = text(name_, ": ", printable(entry));
      const std::string array_name = entry.ends_with(".npy") ? entry.substr(0, entry.size() - 4) : entry;
      require<FileError>(arrays_.emplace(array_name, parse_npy(array, shown)).second, shown,
                         ": another array has this name, with .npy or without.");
    }
  }

  std::string name_;
  std::optional<MappedFile> file_;
  std::map<std::string, NpyArray, std::less<>> arrays_;
};

namespace detail {

/// The fields shared by local headers and directory entries.
inline std::string zip_entry(std::uint32_t check_sum, std::size_t size, std::size_t name_size) {
  std::string entry;
  append_little_endian(entry, 20, 2);          // version
  append_little_endian(entry, 0x0800, 2);      // names are UTF-8
  append_little_endian(entry, 0, 2);           // stored
  append_little_endian(entry, 0x00210000, 4);  // 1 January 1980
  append_little_endian(entry, check_sum, 4);
  append_little_endian(entry, size, 4);
  append_little_endian(entry, size, 4);
  append_little_endian(entry, name_size, 2);
  append_little_endian(entry, 0, 2);  // no extra field
  return entry;
}

}  // namespace detail

/// Writes matrices by name for numpy.load(), atomically.
/// Errors: ArgumentError for 4 GiB or more (use safetensors); FileError if the file cannot be written.
template <std::floating_point T>
void write_npz(const std::filesystem::path& path, const std::map<std::string, Matrix<T>>& arrays) {
  std::string directory;
  std::size_t offset = 0;
  AtomicFile file(path);
  for (const auto& [name, numbers] : arrays) {
    const std::string header = detail::npy_header<T>(numbers.rows(), numbers.cols()), entry = name + ".npy";
    const auto bytes = std::as_bytes(std::span(numbers.data(), static_cast<std::size_t>(numbers.size())));
    const std::size_t size = header.size() + bytes.size();
    require<ArgumentError>(size < 0xFFFFFFFF - offset && entry.size() < 0x10000 && arrays.size() < 0xFFFF, path.string(),
                           ": the file would have 4 GiB or more. Use safetensors.");
    const std::string common =
        detail::zip_entry(detail::crc32(bytes, detail::crc32(std::as_bytes(std::span(header)))), size, entry.size());
    file.write(std::as_bytes(std::span(std::string_view("PK\x03\x04"))));
    file.write(std::as_bytes(std::span(common)));
    file.write(std::as_bytes(std::span(entry)));
    file.write(std::as_bytes(std::span(header)));
    file.write(bytes);
    directory += "PK\x01\x02";
    detail::append_little_endian(directory, 20, 2);
    directory += common;
    detail::append_little_endian(directory, 0, 10);  // no comment, first disk, no attributes
    detail::append_little_endian(directory, offset, 4);
    directory += entry;
    offset += 4 + common.size() + entry.size() + size;
  }
  std::string end = "PK\x05\x06";
  detail::append_little_endian(end, 0, 4);  // one disk
  detail::append_little_endian(end, arrays.size(), 2);
  detail::append_little_endian(end, arrays.size(), 2);
  detail::append_little_endian(end, directory.size(), 4);
  detail::append_little_endian(end, offset, 4);
  detail::append_little_endian(end, 0, 2);  // no comment
  file.write(std::as_bytes(std::span(directory)));
  file.write(std::as_bytes(std::span(end)));
  file.commit();
}

}  // namespace gated
