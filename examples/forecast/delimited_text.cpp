#include "delimited_text.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "gated/core/error.hpp"

namespace forecast {

using gated::FileError, gated::Index, gated::require;

namespace {

std::string_view trimmed(std::string_view field) {
  const std::size_t first = std::min(field.find_first_not_of(" \t"), field.size());
  return field.substr(first, field.find_last_not_of(" \t") + 1 - first);
}

/// The numbers of unquoted separators in the first line and in the second.
std::pair<Index, Index> count_separators(std::string_view text, char separator) {
  Index counts[2] = {};
  bool in_quotes = false;
  for (std::size_t i = 0, line = 0; i < text.size() && line < 2; ++i) {
    in_quotes = in_quotes != (text[i] == '"');
    counts[line] += !in_quotes && text[i] == separator ? 1 : 0;
    line += !in_quotes && (text[i] == '\n' || (text[i] == '\r' && !text.substr(i).starts_with("\r\n"))) ? std::size_t{1} : 0;
  }
  return {counts[0], counts[1]};
}

char separator_of(std::string_view text) {
  char best = ',';
  std::pair<bool, Index> most{false, 0};
  for (const char separator : {',', ';', '\t'}) {
    const auto [first, second] = count_separators(text, separator);
    if (const std::pair score{first == second && first > 0, first}; score > most) {
      best = separator;
      most = score;
    }
  }
  return best;
}

}  // namespace

DelimitedText split(std::string_view text, const std::string& name) {
  if (text.starts_with("\xEF\xBB\xBF")) {
    text.remove_prefix(3);  // the byte order mark that spreadsheets write
  }
  DelimitedText split{.separator = separator_of(text), .rows = {}};
  const char ends[] = {split.separator, '\n', '\r', 0};
  for (Index line = 1; !text.empty(); ++line) {
    DelimitedText::Row row{line, {}};
    for (bool more = true; more;) {
      std::string field;
      const std::string_view blanks = split.separator == '\t' ? " " : " \t";
      text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
      const bool is_quoted = text.starts_with('"');
      if (is_quoted) {
        const Index opened = line;
        std::size_t at = 1;
        for (; at < text.size() && (text[at] != '"' || text.substr(at).starts_with("\"\"")); ++at) {
          at += text[at] == '"' ? std::size_t{1} : 0;
          line += text[at] == '\n' ? 1 : 0;
          field += text[at];
        }
        require<FileError>(at < text.size(), name, ": line ", opened, ": unclosed quote. Close it.");
        text.remove_prefix(at + 1);
      }
      const std::size_t end = std::min(text.find_first_of(ends), text.size());
      const std::string_view rest = trimmed(text.substr(0, end));
      require<FileError>(!is_quoted || rest.empty(), name, ": line ", line,
                         ": text after a closing quote. Double every quote inside a quoted field.");
      row.fields.push_back(field + std::string(rest));
      text.remove_prefix(end);
      more = text.starts_with(split.separator);
      text.remove_prefix(more ? 1 : 0);
    }
    text.remove_prefix(text.empty() ? 0 : text.starts_with("\r\n") ? 2 : 1);
    split.rows.push_back(std::move(row));
  }
  while (!split.rows.empty() && split.rows.back().fields == std::vector<std::string>{""}) {
    split.rows.pop_back();
  }
  return split;
}

std::string as_field(const std::string& field, char separator) {
  if (field.find_first_of(std::string{separator, '"', '\n', '\r'}) == std::string::npos && trimmed(field) == field) {
    return field;
  }
  std::string out = "\"";
  for (const char c : field) {
    out += c == '"' ? "\"\"" : std::string(1, c);
  }
  return out + '"';
}

}  // namespace forecast
