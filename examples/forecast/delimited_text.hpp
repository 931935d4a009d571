#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gated/core/matrix.hpp"

namespace forecast {

/// The fields of a CSV or similar text.
struct DelimitedText {
  char separator = ',';
  struct Row {
    gated::Index line = 1;  ///< the line on which the row begins, counted from 1
    std::vector<std::string> fields;
  };
  std::vector<Row> rows;
};

/// Splits UTF-8 text at ',', ';' or tabs, whichever is most frequent in line 1. A separator that splits lines 1 and 2 into
/// equally many fields is preferred.
///
/// Lines end in LF, CR or CRLF; empty lines at the end are ignored. Fields may be quoted as in RFC 4180: "a ""b"", c". Blanks
/// around fields are dropped. Error messages begin with `name`.
/// Errors: FileError, with the line, for an unclosed quote and for text after a closing quote.
DelimitedText split(std::string_view text, const std::string& name);

/// `field`, quoted if necessary.
std::string as_field(const std::string& field, char separator);

}  // namespace forecast
