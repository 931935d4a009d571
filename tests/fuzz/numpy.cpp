#include <map>
#include <string>
#include <vector>

#include "gated/io/npz.hpp"
#include "tests/fuzz/fuzz.hpp"

// The input is an .npz file if it starts with "PK", otherwise an .npy file. Checks that the elements of an accepted array are
// inside the file, and that an accepted matrix round-trips.

namespace gated::fuzz {
namespace {

template <std::floating_point T>
void expect_same_when_written(const Matrix<T>& numbers) {
  const std::string header = gated::detail::npy_header<T>(numbers.rows(), numbers.cols());
  std::vector<std::byte> file(std::as_bytes(std::span(header)).begin(), std::as_bytes(std::span(header)).end());
  const auto bytes = std::as_bytes(std::span(numbers.data(), static_cast<std::size_t>(numbers.size())));
  file.insert(file.end(), bytes.begin(), bytes.end());
  const NpyArray array = parse_npy(file, "output");
  promise(
      array.shape == std::vector<Index>{numbers.rows(), numbers.cols()} && array.dtype == dtype_of<T>() && !array.by_columns,
      "a written array has the same shape");
  promise(std::equal(array.bytes.begin(), array.bytes.end(), bytes.begin(), bytes.end()),
          "a written array has the same elements");
  promise(to_matrix<T>(array, "output").size() == numbers.size(), "a written array is readable");
}

void read(const NpyArray& array, std::span<const std::byte> file) {
  promise(array.bytes.empty() ||
              (array.bytes.data() >= file.data() && array.bytes.data() + array.bytes.size() <= file.data() + file.size()),
          "the elements of an array are inside the file");
  accepted([&] { expect_same_when_written(to_matrix<float>(array, "input")); });
  accepted([&] { expect_same_when_written(to_matrix<double>(array, "input")); });
  accepted([&] {
    const Matrix<std::int32_t> numbers = to_matrix<std::int32_t>(array, "input");
    promise(static_cast<std::size_t>(numbers.size()) == array.count(), "a matrix has all elements");
  });
  accepted([&] { to_matrix<std::uint8_t>(array, "input"); });
}

}  // namespace
}  // namespace gated::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gated;
  const auto file = std::as_bytes(std::span(data, size));
  fuzz::accepted([&] {
    if (fuzz::text_of(data, size).starts_with("PK")) {
      const NpzFile archive = NpzFile::parse(file, "input");
      std::size_t held = 0;
      for (const auto& [name, array] : archive.arrays()) {
        fuzz::read(array, file);
        held += array.bytes.size();
      }
      fuzz::promise(held <= size, "arrays do not overlap");
    } else {
      fuzz::read(parse_npy(file, "input"), file);
    }
  });
  return 0;
}
