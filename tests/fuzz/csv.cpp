#include "gated/io/csv.hpp"

#include <charconv>
#include <cmath>
#include <string>

#include "tests/fuzz/fuzz.hpp"

// The first byte of the input selects the options; the rest is the table. An accepted table round-trips.

namespace gated::fuzz {
namespace {

template <class T>
std::string written(const Matrix<T>& numbers, char separator) {
  std::string csv;
  for (Index i = 0; i < numbers.rows(); ++i) {
    for (Index j = 0; j < numbers.cols(); ++j) {
      char digits[64];
      const auto end = std::to_chars(digits, digits + sizeof(digits), numbers(i, j)).ptr;
      csv.append(digits, end);
      csv += j + 1 < numbers.cols() ? separator : '\n';
    }
  }
  return csv;
}

template <class T>
bool same(const Matrix<T>& a, const Matrix<T>& b) {
  return a.rows() == b.rows() && a.cols() == b.cols() &&
         a.binaryExpr(b, [](T x, T y) { return static_cast<T>(x == y || (std::isnan(x) && std::isnan(y)) ? 1 : 0); }).all();
}

template <class T>
void read(std::string_view csv, const CsvOptions& options) {
  accepted([&] {
    const Matrix<T> numbers = parse_csv<T>(csv, "input", options);
    promise(numbers.rows() > 0 && numbers.cols() > 0, "an accepted table is not empty");
    promise(same(parse_csv<T>(written(numbers, options.separator), "output", {.separator = options.separator}), numbers),
            "a table round-trips");
  });
}

}  // namespace
}  // namespace gated::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gated;
  if (size == 0) {
    return 0;
  }
  const std::uint8_t choice = data[0];
  const CsvOptions options{.header_lines = choice % 4, .separator = ",;\t|"[choice / 4 % 4]};
  const std::string_view csv = fuzz::text_of(data + 1, size - 1);
  fuzz::read<float>(csv, options);
  fuzz::read<double>(csv, options);
  return 0;
}
