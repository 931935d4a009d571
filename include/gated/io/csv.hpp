#pragma once

#include <concepts>
#include <filesystem>
#include <string_view>

#include "gated/core/matrix.hpp"

/// @file
/// Tables of numbers as text.

namespace gated {

/// What parse_csv() should know about a file.
struct CsvOptions {
  Index header_lines = 0;  ///< lines to skip at the start
  char separator = ',';
};

/// The numbers in `csv`, one row per line: a rows × columns matrix.
///
/// Lines end in LF or CRLF, the last one also without. Every line has as many fields as the first; a number is written as in C,
/// with blanks around it if need be, and nan and inf are numbers. `name` stands for the text in messages.
/// Errors: FileError with line and column (both from 1, the column counting fields) for empty text, empty lines, lines that end
/// in CR alone, rows of another length, and fields that are no numbers or too large for `T`; for a text in UTF-16.
/// Cost: one pass, and one copy of the numbers.
template <std::floating_point T>
Matrix<T> parse_csv(std::string_view csv, std::string_view name, const CsvOptions& options = {});

/// The numbers in the file at `path`; see parse_csv().
/// Errors: FileError also if the file is missing or unreadable.
template <std::floating_point T>
Matrix<T> read_csv(const std::filesystem::path& path, const CsvOptions& options = {});

}  // namespace gated

#if !defined(GATED_COMPILED)
#include "gated/io/csv.inl"
#endif
