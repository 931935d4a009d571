#include "gated/io/safetensors_view.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gated/io/weight_in_file.hpp"
#include "tests/io/files.hpp"

namespace gated::safetensors_view_test {
namespace {

using test::expect_error;

/// A file with this header, followed by the `size` bytes 0, 1, 2, ….
std::vector<std::byte> file_of(const std::string& header, std::size_t size) {
  std::vector<std::byte> file;
  detail::append_little_endian(file, header.size(), 8);
  for (const char c : header) {
    file.push_back(static_cast<std::byte>(c));
  }
  for (std::size_t i = 0; i < size; ++i) {
    file.push_back(static_cast<std::byte>(i));
  }
  return file;
}

TEST(SafetensorsView, FindsTensors) {
  const auto file = file_of(R"( {"__metadata__":{"a":"}\"{","b":"c"}, "a\"}":{"dtype":"F32","shape":[],"data_offsets":[0,4]},
      "x" : { "dtype" : "I8", "shape" : [2, 3, 1], "data_offsets" : [4, 10] },
      "y":{"data_offsets":[10,12],"shape":[1],"dtype":"BF16"}})",
                            12);
  const SafetensorsView view(file);
  const TensorView x = view.find("x"), y = view.find("y");
  EXPECT_EQ(x.dtype, Dtype::I8);
  EXPECT_EQ(x.rows, 2);
  EXPECT_EQ(x.columns, 3);
  ASSERT_EQ(x.bytes.size(), 6U);
  EXPECT_EQ(x.bytes[0], std::byte{4});
  EXPECT_EQ(y.dtype, Dtype::BF16);
  EXPECT_EQ(y.rows * y.columns, 1);
  EXPECT_FALSE(view.find("z"));
  EXPECT_FALSE(view.find("dtype"));
}

TEST(SafetensorsView, RefusesBrokenFiles) {
  expect_error<FileError>([] { SafetensorsView({}); }, {"the file has 0 bytes, expected at least 8."});
  auto file = file_of("{}", 0);
  EXPECT_FALSE(SafetensorsView(file).find("x"));
  file[7] = std::byte{1};
  expect_error<FileError>([&] { SafetensorsView{file}; }, {"the header claims 2 bytes or more, but 2 follow"});
  const auto refused = [](const std::string& header, std::string_view part) {
    const auto broken = file_of(header, 4);
    expect_error<FileError>([&] { static_cast<void>(SafetensorsView(broken).find("x")); }, {part});
  };
  refused("[]", "byte 8 of the file is not the { expected in a safetensors header");
  refused("{\"x", "the header ends within a string");
  refused("{\"y\":{", "the header ends within an object");
  refused(R"({"x":{"dtype":"F33","shape":[1],"data_offsets":[0,4]}})", "the dtype F33 is unknown");
  refused(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})",
          "a tensor of 2 × 1 has data_offsets [0, 4], expected a range of its size within 4");
  refused(R"({"x":{"dtype":"BF16","shape":[1],"data_offsets":[0,3]}})",
          "a tensor of 1 × 1 has data_offsets [0, 3], expected a range of its size within 4");
  refused(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
          "has data_offsets [4, 8], expected a range of its size within 4");
  refused(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})",
          "has data_offsets [4, 0], expected a range of its size within 4");
  refused(R"({"x":{"dtype":"F32","shape":[1234567890],"data_offsets":[0,4]}})", "is not a number below 10⁹");
  refused(R"({"x":{"dtype":"F32","shape":[999999999,999999999,999999999],"data_offsets":[0,4]}})",
          "expected a range of its size");
}

TEST(WeightInFile, ReadsAWeightOfTheGivenNameAndShape) {
  const auto file = file_of(
      R"({"b":{"dtype":"BF16","shape":[1,2,3],"data_offsets":[0,12]},"q":{"dtype":"I8","shape":[2,2],"data_offsets":[0,4]},)"
      R"("q.scale":{"dtype":"F32","shape":[2,1],"data_offsets":[12,20]},"u":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
      R"("r":{"dtype":"I8","shape":[2,2],"data_offsets":[0,4]}})",
      20);
  const SafetensorsView view(file);
  EXPECT_EQ(detail::WeightInFile(view, "b", 2, 3).rows(), 2);
  const detail::WeightInFile q(view, "q", 2, 2);
  float scale;
  std::memcpy(&scale, file.data() + file.size() - 4, sizeof(scale));
  EXPECT_EQ(q(1, 0), 2 * scale);
  expect_error<FileError>([&] { detail::WeightInFile(view, "q", 4, 1); },
                          {"q: I8 with scales of 2 × 1, expected F32 of 4 × 1"});
  expect_error<FileError>([&] { detail::WeightInFile(view, "r", 2, 2); }, {"r: I8 with scales of 0 × 0"});
  expect_error<FileError>([&] { detail::WeightInFile(view, "u", 4, 1); }, {"u: the dtype is U8, expected F32, BF16 or I8."});
  expect_error<FileError>([&] { detail::WeightInFile(view, "b", 3, 3); }, {"b: the file has 1 × 6 values, expected 3 × 3"});
  expect_error<ArgumentError>([&] { detail::TensorName(std::string(100, 'x').c_str()); }, {"more than 96 bytes"});
}

}  // namespace
}  // namespace gated::safetensors_view_test
