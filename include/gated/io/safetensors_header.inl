#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "gated/core/shape.hpp"
#include "gated/io/convert.hpp"
#include "gated/io/json_writer.hpp"
#include "gated/io/nearest_name.hpp"
#include "gated/io/safetensors_header.hpp"
#include "gated/io/xxh64.hpp"

namespace gated {

namespace detail {

class SafetensorsParser {
 public:
  SafetensorsParser(std::span<const std::byte> file, std::string_view name) : file_(file), name_(name) {}

  SafetensorsContents parse() {
    const Json header = parse_json<FileError>(header_text(), name_, 3, 1000);  // nesting depth: root, tensor, shape
    for (const auto& [name, value] : header.entries()) {
      if (name == "__metadata__") {
        read_metadata(value);
      } else {
        read_tensor(name, value);
      }
    }
    check_coverage();
    return std::move(contents_);
  }

 private:
  struct Range {
    std::size_t begin, end;
    const std::string* name;
  };

  template <class... Parts>
  void expect(bool condition, const Parts&... parts) const {
    require<FileError>(condition, name_, ": ", parts...);
  }

  /// Returns the header's JSON and sets `data_`.
  std::string_view header_text() {
    expect(!file_.empty(), "the file is empty.");
    expect_no_other_format();
    expect(file_.size() >= 8, "the file has ", file_.size(),
           " bytes, too short for the 8-byte header length of a safetensors file.");
    const auto length = load_value<std::uint64_t>(file_.data());
    const std::size_t rest = file_.size() - 8;
    expect(length <= max_safetensors_header, "the header is ", length,
           " bytes long according to the file's first 8 bytes, expected at most ", max_safetensors_header,
           ". Is this a safetensors file?");
    expect(length <= rest, "the header is ", length, " bytes long according to the file's first 8 bytes, but only ", rest,
           " bytes follow. Is the file truncated?");
    const auto size = static_cast<std::size_t>(length);
    const std::string_view header(reinterpret_cast<const char*>(file_.data()) + 8, size);
    expect(!header.empty(), "the header is empty, expected a JSON object.");
    expect(header.front() == '{', "the header does not begin with '{'. Is this a safetensors file?");
    data_ = file_.subspan(8 + size);
    return header;
  }

  /// Raises FileError for files that are often mistaken for safetensors.
  void expect_no_other_format() const {
    const std::string_view start(reinterpret_cast<const char*>(file_.data()), std::min<std::size_t>(file_.size(), 64));
    constexpr const char* convert = " Convert it with examples/convert/convert.py.";
    expect(!start.starts_with("PK\x03\x04"),
           "this is a ZIP archive, such as torch.save() writes (.pth, .pt, .bin), not a "
           "safetensors file.",
           convert);
    expect(!start.starts_with("\x80\x02\x8a\x0a"),
           "this is a Python pickle, such as torch.save() wrote before PyTorch 1.6 (.pth, .pt), not "
           "a safetensors file.",
           convert);
    expect(!start.starts_with("version https://git-lfs"),
           "this is a Git-LFS pointer, not the file. Run `git lfs pull` in the clone, or download the file itself.");
    expect(!start.starts_with("<!") && !start.starts_with("<html"),
           "this is a web page, not a safetensors file. Download the file itself.");
  }

  void read_metadata(const Json& value) {
    expect(value.is_object(), "__metadata__ is ", shown(value), ", expected an object.");
    for (const auto& [key, entry] : value.entries()) {
      expect(entry.is_string(), "__metadata__: \"", printable(key), "\" is ", shown(entry), ", expected a string.");
      contents_.metadata.emplace(key, entry.text());
    }
  }

  void read_tensor(const std::string& name, const Json& value) {
    const std::string where = text("tensor \"", printable(name), "\"");
    expect(value.is_object(), where, " is ", shown(value), ", expected an object.");
    for (const auto& [key, ignored] : value.entries()) {
      expect(key == "dtype" || key == "shape" || key == "data_offsets", where, " has the unknown field \"", printable(key),
             "\".");
    }
    TensorEntry entry;
    const Json& dtype = field_of(value, "dtype", where);
    expect(dtype.is_string(), where, ": dtype is ", shown(dtype), ", expected a string.");
    const auto known = value_named<Dtype>(dtype.text());
    expect(known.has_value(), where, " has the unknown dtype ", shown(dtype), ", expected one of ", list_of_names<Dtype>(),
           ".");
    entry.dtype = *known;

    const Json& shape = field_of(value, "shape", where);
    expect(shape.is_array(), where, ": shape is ", shown(shape), ", expected an array.");
    expect(shape.elements().size() <= max_rank, where, " has ", shape.elements().size(), " dimensions, at most ", max_rank,
           " are supported.");
    for (const Json& size : shape.elements()) {
      entry.shape.push_back(whole_number(size, "shape", where));
    }
    const auto needed = byte_count(entry.dtype, entry.shape);
    expect(needed.has_value(), where, ": the size of shape ", describe_shape(entry.shape), " overflows.");

    const Json& offsets = field_of(value, "data_offsets", where);
    expect(offsets.is_array() && offsets.elements().size() == 2, where, ": data_offsets is ", shown(offsets),
           ", expected [begin, end].");
    const auto begin = static_cast<std::size_t>(whole_number(offsets.elements()[0], "data_offsets", where));
    const auto end = static_cast<std::size_t>(whole_number(offsets.elements()[1], "data_offsets", where));
    expect(begin <= end, where, " begins at byte ", begin, " of the data, after its end at ", end, ".");
    expect(end <= data_.size(), where, " ends at byte ", end, " of the data, which has ", data_.size(),
           " bytes. Is the file truncated?");
    expect(end - begin == *needed, where, " has ", end - begin, " bytes, expected ", *needed, " for ", name_of(entry.dtype),
           " ", describe_shape(entry.shape), ".");
    entry.bytes = data_.subspan(begin, end - begin);
    const auto placed = contents_.tensors.emplace(name, std::move(entry)).first;
    ranges_.push_back({begin, end, &placed->first});
  }

  const Json& field_of(const Json& entry, const char* field, const std::string& where) const {
    const Json* const found = entry.find(field);
    expect(found != nullptr, where, " has no ", field, ".");
    return *found;
  }

  Index whole_number(const Json& value, const char* field, const std::string& where) const {
    expect(value.is_integer(), where, ": ", field, " holds ", shown(value), ", expected a whole number.");
    expect(value.is_whole(), where, ": ", field, " holds the negative number ", shown(value), ".");
    const std::uint64_t number = value.whole();
    expect(std::in_range<Index>(number), where, ": ", field, " holds ", number, ", which is too large.");
    return static_cast<Index>(number);
  }

  void check_coverage() {
    std::sort(ranges_.begin(), ranges_.end(),
              [](const Range& a, const Range& b) { return a.begin != b.begin ? a.begin < b.begin : a.end < b.end; });
    std::size_t covered = 0;
    const std::string* last = nullptr;
    for (const Range& range : ranges_) {
      if (range.begin < covered) {
        expect(false, "tensors \"", printable(*last), "\" and \"", printable(*range.name), "\" overlap at byte ", range.begin,
               " of the data.");
      }
      expect(range.begin == covered, "bytes ", covered, " to ", range.begin, " of the data belong to no tensor.");
      covered = range.end;
      last = range.name;
    }
    expect(covered == data_.size(), "bytes ", covered, " to ", data_.size(), " of the data belong to no tensor.");
  }

  /// `value` for an error message; arrays and objects are shown by kind only.
  static std::string shown(const Json& value) {
    if (value.is_string()) {
      return text("\"", printable(value.text()), "\"");
    }
    return value.is_array() ? "an array" : value.is_object() ? "an object" : shown_json(value);
  }

  static constexpr std::size_t max_rank = 64;  // the limit of PyTorch and NumPy

  std::span<const std::byte> file_, data_;
  std::string_view name_;
  SafetensorsContents contents_;
  std::vector<Range> ranges_;
};

}  // namespace detail

GATED_INLINE SafetensorsContents parse_safetensors(std::span<const std::byte> file, std::string_view name) {
  return detail::SafetensorsParser(file, name).parse();
}

GATED_INLINE std::string checksum_of(const SafetensorsContents& contents, FunctionRef<void(std::span<const std::byte>)> done) {
  detail::Xxh64 hash;
  const auto add_number = [&](std::uint64_t number) { hash.add(std::as_bytes(std::span(&number, 1))); };
  const auto add = [&](std::span<const std::byte> bytes) {
    add_number(bytes.size());
    hash.add(bytes);
  };
  const auto add_text = [&](std::string_view text) { add(std::as_bytes(std::span(text.data(), text.size()))); };
  add_number(contents.metadata.size() - contents.metadata.count(checksum_key));
  for (const auto& [key, value] : contents.metadata) {
    if (key != checksum_key) {
      add_text(key);
      add_text(value);
    }
  }
  for (const auto& [name, tensor] : contents.tensors) {
    add_text(name);
    add_text(name_of(tensor.dtype));
    add_number(tensor.shape.size());
    for (const Index size : tensor.shape) {
      add_number(static_cast<std::uint64_t>(size));
    }
    add(tensor.bytes);
    done(tensor.bytes);
  }
  return detail::hash_text(hash.value());
}

}  // namespace gated
