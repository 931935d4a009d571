#pragma once

#include <filesystem>
#include <string>

namespace examples {

/// The bytes of a text file.
/// Errors: FileError, naming the file, if it is missing, a directory, unreadable, or in UTF-16 or UTF-32.
std::string read_text_file(const std::filesystem::path& path);

/// read_text_file() with line ends in LF: those of Windows (CRLF) and old Macs (CR) are replaced.
std::string read_lines(const std::filesystem::path& path);

}  // namespace examples
