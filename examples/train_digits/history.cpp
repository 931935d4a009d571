#include "history.hpp"

#include "gated/io/csv.hpp"

namespace digits {

namespace {

/// The values, separated by commas, with enough digits to restore them exactly.
std::string joined(const std::vector<double>& values) {
  std::string out;
  for (const double value : values) {
    char digits[32];
    out.append(out.empty() ? "" : ",").append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  }
  return out;
}

std::vector<double> numbers(std::string_view line) {
  if (line.empty()) {
    return {};
  }
  const auto row = gated::parse_csv<double>(line, "the training history");
  return {row.data(), row.data() + row.size()};
}

}  // namespace

std::string History::text() const { return joined(losses) + "\n" + joined(accuracies); }

History History::from_text(std::string_view text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  return {numbers(text.substr(0, end)), numbers(text.substr(std::min(end + 1, text.size())))};
}

}  // namespace digits
