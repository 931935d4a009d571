#pragma once

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "gated/core/parameters.hpp"
#include "gated/io/atomic_file.hpp"
#include "gated/io/convert.hpp"
#include "gated/io/mapped_file.hpp"
#include "gated/io/nearest_name.hpp"

/// @file
/// NumPy's .npy files, as numpy.save() writes them.
///
/// The format: "\x93NUMPY", a version, the header's length, the header as a Python dictionary such as
/// `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`, and the elements.

namespace gated {

/// An array in a file: type, shape and bytes, which may be unaligned.
struct NpyArray {
  Dtype dtype = Dtype::F32;
  std::vector<Index> shape;
  bool by_columns = false;  ///< the first index runs fastest (Fortran order)
  std::span<const std::byte> bytes;

  /// The number of elements.
  std::size_t count() const { return bytes.size() / size_of(dtype); }
};

namespace detail {

/// Parses the header of an untrusted .npy file.
class NpyParser {
 public:
  NpyParser(std::span<const std::byte> file, std::string_view name) : file_(file), name_(name) {}

  NpyArray parse() {
    const std::string_view all(reinterpret_cast<const char*>(file_.data()), file_.size());
    expect(all.starts_with("\x93NUMPY"), "this is not an .npy file: it does not begin with \\x93NUMPY.");
    expect(all.size() >= 10, "the file is truncated.");
    const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(file_[i]); };
    const std::size_t version = byte(6), start = version == 1 ? 10 : 12;
    expect(version >= 1 && version <= 3, "the format has version ", version, ", expected 1, 2 or 3.");
    expect(all.size() >= start, "the file is truncated.");
    const std::size_t length = byte(8) + 256 * byte(9) + (version == 1 ? 0 : 65536 * (byte(10) + 256 * byte(11)));
    expect(length <= all.size() - start, "the header is ", length, " bytes long, but only ", all.size() - start,
           " bytes follow. Is the file truncated?");
    rest_ = all.substr(start, length);
    read_header();
    array_.bytes = file_.subspan(start + length);
    const auto needed = byte_count(array_.dtype, array_.shape);
    expect(needed.has_value() && *needed == array_.bytes.size(), "the array ", describe_shape(array_.shape), " of ",
           name_of(array_.dtype), " needs ", needed ? text(*needed) : "too many", " bytes, but the file has ",
           array_.bytes.size(), ".");
    return std::move(array_);
  }

 private:
  template <class... Parts>
  void expect(bool condition, const Parts&... parts) const {
    require<FileError>(condition, name_, ": ", parts...);
  }

  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n"), rest_.size())); }

  /// Consumes `token` if it comes next.
  bool take(std::string_view token) {
    skip_blanks();
    const bool comes = rest_.starts_with(token);
    rest_.remove_prefix(comes ? token.size() : 0);
    return comes;
  }
  void expect_token(std::string_view token) {
    expect(take(token), "the header is not a dictionary as NumPy writes it: \"", token, "\" is missing before \"",
           printable(rest_.substr(0, 40)), "\".");
  }

  std::string_view quoted() {
    expect_token("'");
    const std::size_t end = rest_.find('\'');
    expect(end != std::string_view::npos, "a quoted string in the header does not end.");
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return word;
  }

  void read_header() {
    bool has_descr = false, has_order = false, has_shape = false;
    expect_token("{");
    while (!take("}")) {
      const std::string_view key = quoted();
      expect_token(":");
      bool& known = key == "descr" ? has_descr : key == "fortran_order" ? has_order : has_shape;
      expect((key == "descr" || key == "fortran_order" || key == "shape") && !known,
             "the header has the unknown or duplicate key '", printable(key), "'.");
      known = true;
      if (key == "descr") {
        read_type();
      } else if (key == "shape") {
        read_shape();
      } else {
        array_.by_columns = take("True");
        expect(array_.by_columns || take("False"), "fortran_order is neither True nor False.");
      }
      if (!take(",")) {
        expect_token("}");
        break;
      }
    }
    expect(has_descr && has_order && has_shape, "the header lacks descr, fortran_order or shape.");
    expect(!array_.by_columns || array_.shape.size() <= 2, "the array has ", array_.shape.size(),
           " dimensions in Fortran order. Save it with numpy.ascontiguousarray().");
  }

  void read_type() {
    skip_blanks();
    expect(rest_.starts_with('\''), "this is a structured array, expected plain numbers.");
    const std::string_view type = quoted();
    constexpr std::pair<std::string_view, Dtype> types[] = {{"<f8", Dtype::F64}, {"<f4", Dtype::F32}, {"<f2", Dtype::F16},
                                                            {"<i8", Dtype::I64}, {"<i4", Dtype::I32}, {"<i2", Dtype::I16},
                                                            {"|i1", Dtype::I8},  {"<u8", Dtype::U64}, {"<u4", Dtype::U32},
                                                            {"<u2", Dtype::U16}, {"|u1", Dtype::U8},  {"|b1", Dtype::BOOL}};
    const auto found = std::find_if(std::begin(types), std::end(types), [&](const auto& known) { return known.first == type; });
    expect(found != std::end(types), "the elements are of type '", printable(type),
           "', expected little-endian floating-point numbers, integers or bool.",
           type.starts_with('>')   ? " Save it with array.astype(array.dtype.newbyteorder('<'))."
           : type.starts_with('|') ? " Objects and strings are not numbers."
                                   : "");
    array_.dtype = found->second;
  }

  void read_shape() {
    expect_token("(");
    while (!take(")")) {
      skip_blanks();
      const std::string_view digits = rest_.substr(0, std::min(rest_.find_first_not_of("0123456789"), rest_.size()));
      Index size = 0;
      expect(std::from_chars(digits.data(), digits.data() + digits.size(), size).ec == std::errc(),
             "a size in the shape is not a number: \"", printable(rest_.substr(0, 40)), "\".");
      expect(array_.shape.size() < 32, "the array has more than 32 dimensions.");
      array_.shape.push_back(size);
      rest_.remove_prefix(digits.size());
      if (!take(",")) {
        expect_token(")");
        break;
      }
    }
  }

  std::span<const std::byte> file_;
  std::string_view name_;
  std::string_view rest_;  // the unparsed rest of the header
  NpyArray array_;
};

/// The bytes before the elements in an .npy file with a rows × columns array of T.
template <class T>
std::string npy_header(Index rows, Index columns) {
  constexpr const char* type = sizeof(T) == 8 ? "<f8" : "<f4";
  std::string header = text("{'descr': '", type, "', 'fortran_order': False, 'shape': (", rows, ", ", columns, "), }");
  header.resize((header.size() + 11 + 63) / 64 * 64 - 11, ' ');  // the elements start at a multiple of 64
  header += '\n';
  return text(std::string_view("\x93NUMPY\x01\x00", 8),
              std::string{static_cast<char>(header.size() % 256), static_cast<char>(header.size() / 256)}, header);
}

/// The rows and columns of a matrix that holds an array of this shape.
inline std::pair<Index, Index> matrix_size(const std::vector<Index>& shape) {
  if (shape.size() < 2) {
    return {shape.empty() ? 1 : shape[0], 1};
  }
  Index rows = 1;
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) {
    rows *= shape[i];
  }
  return {rows, shape.back()};
}

}  // namespace detail

/// Parses an .npy file in memory, which must outlive the result. Error messages refer to the file as `name`.
/// Errors: FileError for malformed files, and for arrays of strings, objects, structures or big-endian numbers.
/// Cost: reads the header only.
inline NpyArray parse_npy(std::span<const std::byte> file, std::string_view name) {
  return detail::NpyParser(file, name).parse();
}

/// `array` as a matrix: the last dimension becomes the columns, all others together the rows. A one-dimensional array becomes a
/// column.
/// Errors: FileError if an element does not fit T, or if T is an integer and the elements are floating-point numbers.
template <detail::Readable T>
Matrix<T> to_matrix(const NpyArray& array, std::string_view name) {
  const auto [rows, columns] = detail::matrix_size(array.shape);
  require<FileError>(is_readable_as<T>(array.dtype), name, ": the elements are ", name_of(array.dtype),
                     ", which cannot be read as integers.");
  const std::size_t misfit = first_misfit<T>(array.dtype, array.bytes);
  require<FileError>(misfit == array.count(), name, ": the element at index ", misfit, " does not fit ", name_of(dtype_of<T>()),
                     ".");
  const bool transposed = array.by_columns && array.shape.size() == 2;
  Matrix<T> numbers = transposed ? Matrix<T>(columns, rows) : Matrix<T>(rows, columns);
  convert<T>(array.dtype, array.bytes, std::span(numbers.data(), static_cast<std::size_t>(numbers.size())));
  if (transposed) {
    return numbers.transpose();
  }
  return numbers;
}

/// Reads a file written by numpy.save(); see to_matrix().
///
///     const Matrix<float> features = read_npy<float>("features.npy");   // (8, 196, 256) gives 8·196 × 256
///
/// Errors: FileError, starting with the path.
template <detail::Readable T>
Matrix<T> read_npy(const std::filesystem::path& path) {
  const MappedFile file(path);
  return to_matrix<T>(parse_npy(file.bytes(), path.string()), path.string());
}

/// Writes a matrix for numpy.load(), atomically.
/// Errors: FileError if the file cannot be written.
template <std::floating_point T>
void write_npy(const std::filesystem::path& path, const Matrix<T>& numbers) {
  AtomicFile file(path);
  const std::string header = detail::npy_header<T>(numbers.rows(), numbers.cols());
  file.write(std::as_bytes(std::span(header)));
  file.write(std::as_bytes(std::span(numbers.data(), static_cast<std::size_t>(numbers.size()))));
  file.commit();
}

}  // namespace gated
