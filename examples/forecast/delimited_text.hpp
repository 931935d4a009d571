#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gated/core/matrix.hpp"

namespace forecast {

/// The fields of a text like CSV.
struct DelimitedText {
  char separator = ',';
  struct Row {
    gated::Index line = 1;  ///< where it begins, from 1
    std::vector<std::string> fields;
  };
  std::vector<Row> rows;
};

/// Splits UTF-8 at ',', ';' or tabs, whichever gives the first two lines the same fields, and most of them.
///
/// Lines end in LF, CR or both; empty ones at the end do not count. A field may be quoted, as RFC 4180 has it: "a ""b"", c".
/// Blanks around fields are left out. `name` stands for the text in messages.
/// Errors: FileError with the line for a quote that is not closed, and for text after one that is.
DelimitedText split(std::string_view text, const std::string& name);

/// `field`, quoted if it needs to be.
std::string as_field(const std::string& field, char separator);

}  // namespace forecast
