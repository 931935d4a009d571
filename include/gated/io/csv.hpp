#pragma once

#include <concepts>
#include <filesystem>
#include <string_view>

#include "gated/core/matrix.hpp"

/// @file
/// CSV files of numbers.

namespace gated {

/// Options of parse_csv().
struct CsvOptions {
  Index header_lines = 0;  ///< lines to skip at the start
  char separator = ',';
};

/// Parses a table of numbers, one row per line, into a rows × columns matrix.
///
/// Lines end in LF or CRLF; the last line may omit its line end. All lines have the same number of fields. Numbers have C
/// syntax, nan and inf included; blanks around them are ignored. Error messages refer to the text as `name`.
/// Errors: FileError for empty text, empty lines, lines that end in CR alone, rows of different lengths, fields that are not
/// numbers or overflow `T`, and text in UTF-16 or UTF-32. Messages count lines and columns (fields) from 1.
/// Cost: one pass and one copy of the values.
template <std::floating_point T>
Matrix<T> parse_csv(std::string_view csv, std::string_view name, const CsvOptions& options = {});

/// Parses the file at `path`; see parse_csv().
/// Errors: those of parse_csv(); FileError if the file is missing or unreadable.
template <std::floating_point T>
Matrix<T> read_csv(const std::filesystem::path& path, const CsvOptions& options = {});

}  // namespace gated

#if !defined(GATED_COMPILED)
#include "gated/io/csv.inl"
#endif
