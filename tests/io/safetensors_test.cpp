#include "gated/io/safetensors.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "files.hpp"
#include "gated/io/safetensors_writer.hpp"

namespace gated::safetensors_test {
namespace {

using test::error_of;
using test::expect_error;
using test::temporary;

template <class T>
TensorToWrite to_write(std::string name, const std::vector<T>& values, std::vector<Index> shape) {
  return {std::move(name), dtype_of<T>(), std::move(shape), std::as_bytes(std::span(values))};
}

template <class Stored>
void expect_round_trip(const std::vector<Stored>& values) {
  const auto path = temporary("round_trip.safetensors");
  write_safetensors(path, {to_write("x", values, {static_cast<Index>(values.size())})});
  const SafetensorsFile file(path);
  EXPECT_EQ(file.tensor("x").dtype, dtype_of<Stored>());
  EXPECT_EQ(file.read<Stored>("x"), values) << name_of(dtype_of<Stored>());
  const std::vector<double> doubles = file.read<double>("x");
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(doubles[i], static_cast<double>(values[i])) << name_of(dtype_of<Stored>());
  }
}

TEST(Safetensors, EveryPlainDtypeRoundTrips) {
  expect_round_trip<double>({1.0 / 3, -1e300, 5e-324});
  expect_round_trip<float>({1.0f / 3, -3e38f, 1e-45f});
  expect_round_trip<std::int64_t>({-3, 1LL << 50});
  expect_round_trip<std::int32_t>({-2147483647 - 1, 2147483647});
  expect_round_trip<std::int16_t>({-32768, 32767});
  expect_round_trip<std::int8_t>({-128, 127});
  expect_round_trip<std::uint64_t>({0, 1ULL << 63});
  expect_round_trip<std::uint32_t>({0, 4294967295u});
  expect_round_trip<std::uint16_t>({0, 65535});
  expect_round_trip<std::uint8_t>({0, 255});
}

TEST(Safetensors, ReadsHalfAndBoolAsOtherTypes) {
  const std::vector<std::uint16_t> half{0x3C00, 0x0001, 0x7C00}, bfloat{0x3F80, 0x0001, 0xFF80};
  const std::vector<std::uint8_t> truth{0, 1, 1};
  const auto path = temporary("x.safetensors");
  write_safetensors(path, {{"half", Dtype::F16, {3}, std::as_bytes(std::span(half))},
                           {"bfloat", Dtype::BF16, {3}, std::as_bytes(std::span(bfloat))},
                           {"truth", Dtype::BOOL, {3}, std::as_bytes(std::span(truth))}});
  const SafetensorsFile file(path);
  EXPECT_EQ(file.read<float>("half"), (std::vector<float>{1.0f, 0x1p-24f, INFINITY}));
  EXPECT_EQ(file.read<double>("bfloat"), (std::vector<double>{1.0, 0x1p-133, -INFINITY}));
  EXPECT_EQ(file.read<float>("truth"), (std::vector<float>{0, 1, 1}));
  EXPECT_EQ(file.read<std::int32_t>("truth"), (std::vector<std::int32_t>{0, 1, 1}));
}

TEST(Safetensors, WritesTheSpecifiedLayout) {
  const std::vector<std::uint8_t> bytes{7, 8};
  const std::vector<float> floats{1.0f};
  const auto path = temporary("x.safetensors");
  write_safetensors(path, {to_write("small", bytes, {2}), to_write("wide", floats, {1, 1})}, {{"who", "\"me\""}});
  const std::string content = test::read_text(path);
  std::string header = R"({"__metadata__":{"who":"\"me\""},"wide":{"data_offsets":[0,4],"dtype":"F32","shape":[1,1]},)"
                       R"("small":{"data_offsets":[4,6],"dtype":"U8","shape":[2]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const std::string length{static_cast<char>(header.size()), 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(content, length + header + std::string("\x00\x00\x80\x3F\x07\x08", 6));
}

TEST(Safetensors, EqualContentsMakeEqualFiles) {
  const std::vector<float> a{1}, b{2};
  const auto first = temporary("first"), second = temporary("second");
  write_safetensors(first, {to_write("a", a, {1}), to_write("b", b, {})}, {{"x", "1"}, {"y", "2"}});
  write_safetensors(second, {to_write("b", b, {}), to_write("a", a, {1})}, {{"y", "2"}, {"x", "1"}});
  EXPECT_EQ(test::read_text(first), test::read_text(second));
}

TEST(Safetensors, WritesScalarsAndTensorsOfSizeZero) {
  const std::vector<float> one{3}, none;
  const auto path = temporary("x.safetensors");
  write_safetensors(path, {to_write("one", one, {}), to_write("none", none, {0, 4})});
  const SafetensorsFile file(path);
  EXPECT_EQ(file.read<float>("one"), one);
  EXPECT_EQ(file.read<float>("none"), none);
  EXPECT_EQ(file.tensor("none").shape, (std::vector<Index>{0, 4}));
  write_safetensors(path, {});
  EXPECT_TRUE(SafetensorsFile(path).tensors().empty());
}

TEST(Safetensors, VerifiesContentsInAnyLayout) {
  const std::string sum = "0831df26eff7b11a";  // computed independently by the formula in checksum_of()'s comment
  const std::string texts = R"({"note": "", "gated.checksum": ")" + sum + R"(", "who": "me"})";
  const auto file_of = [](std::string header, std::string_view data) {
    header.resize((header.size() + 7) / 8 * 8, ' ');
    return std::string{static_cast<char>(header.size()), 0, 0, 0, 0, 0, 0, 0} + header + std::string(data);
  };
  const auto verify = [](const std::string& file) { SafetensorsFile::parse(std::as_bytes(std::span(file)), "x").verify(); };
  const std::string floats("\0\0\x80\x3F\0\0\0\xC0", 8), bytes("\x07\x08");
  const std::string a = R"("a": {"dtype": "F32", "shape": [2, 1], "data_offsets": )",
                    b = R"("b": {"dtype": "U8", "shape": [2], "data_offsets": )";
  const std::string whole = file_of(R"({"__metadata__": )" + texts + ", " + a + "[0, 8]}, " + b + "[8, 10]}}", floats + bytes);
  const std::string other = file_of("{" + b + "[0, 2]}, " + a + R"([2, 10]}, "__metadata__": )" + texts + "}", bytes + floats);
  EXPECT_NO_THROW(verify(whole));
  EXPECT_NO_THROW(verify(other));
  const std::pair<std::string, std::string> changes[] = {{"me\"", "mi\""},     {"who", "whu"},       {"\"a\"", "\"c\""},
                                                         {"[2, 1]", "[1, 2]"}, {"\"U8\"", "\"I8\""}, {"\x07", "\x17"},
                                                         {"7b11a", "7b11b"}};
  for (const auto& [from, to] : changes) {
    std::string changed = whole;
    changed.replace(changed.find(from), from.size(), to);
    expect_error<FileError>([&] { verify(changed); }, {"x: the file is damaged: its checksum is ", "Copy or download"});
  }
  std::string foreign = whole;
  foreign.replace(foreign.find("gated."), 6, "other.");
  EXPECT_NO_THROW(verify(foreign)) << "a file without a checksum";
}

TEST(Safetensors, KeepsTextInAnyScript) {
  const std::vector<float> x{1};
  const auto path = temporary("x.safetensors");
  write_safetensors(path, {to_write("Gewicht ≥ 1", x, {1})}, {{"ключ", "値\n\t\x01"}});
  const SafetensorsFile file(path);
  EXPECT_TRUE(file.contains("Gewicht ≥ 1"));
  EXPECT_EQ(file.metadata().at("ключ"), "値\n\t\x01");
}

TEST(Safetensors, RefusesToWriteWhatItCannotRead) {
  const std::vector<float> x{1, 2};
  const auto path = temporary("x.safetensors");
  const auto refused = [&](std::vector<TensorToWrite> tensors, std::map<std::string, std::string> metadata,
                           std::string_view why) {
    expect_error<ArgumentError>([&] { write_safetensors(path, tensors, metadata); }, {why, "x.safetensors"});
  };
  refused({to_write("x", x, {2}), to_write("x", x, {2})}, {}, "two tensors are called \"x\"");
  refused({to_write("__metadata__", x, {2})}, {}, "cannot be called __metadata__");
  refused({to_write("x", x, {3})}, {}, "has 8 bytes, which do not fit F32 [3]");
  refused({to_write("x", x, {-1, -2})}, {}, "do not fit F32 [-1, -2]");
  refused({to_write("\xFF", x, {2})}, {}, "not valid UTF-8");
  refused({to_write("x", x, {2})}, {{"k", "\xC3"}}, "the string \"\xC3\" is not valid UTF-8");
  EXPECT_EQ(test::files_beside(path), 0u);
}

TEST(Safetensors, RefusesAMissingFile) {
  const auto path = temporary("nowhere.safetensors");
  expect_error<FileError>([&] { SafetensorsFile file(path); }, {path.string() + ": cannot open: No such file"});
}

TEST(Safetensors, RefusesADirectory) {
  const auto path = temporary("folder");
  std::filesystem::create_directories(path);
  expect_error<FileError>([&] { SafetensorsFile file(path); }, {path.string() + ": is a directory"});
}

#if GATED_HAS_MMAP
TEST(Safetensors, RefusesAPipeWithoutWaitingForIt) {
  const auto path = temporary("pipe");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  expect_error<FileError>([&] { SafetensorsFile file(path); }, {"is not a regular file"});
}
#endif

TEST(Safetensors, RefusesAnEmptyFile) {
  const auto path = temporary("empty.safetensors");
  test::write_text(path, "");
  expect_error<FileError>([&] { SafetensorsFile file(path); }, {path.string() + ": the file is empty"});
}

TEST(Safetensors, RefusesFilesTruncatedAnywhere) {
  const std::vector<float> x{1, 2, 3};
  const auto path = temporary("x.safetensors");
  write_safetensors(path, {to_write("x", x, {3})});
  const std::string whole = test::read_text(path);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    test::write_text(path, whole.substr(0, size));
    EXPECT_THROW(SafetensorsFile{path}, FileError) << size;
  }
}

TEST(Safetensors, NamesAMissingTensorAndTheNearestName) {
  const std::vector<float> x{1};
  const auto path = temporary("x.safetensors");
  write_safetensors(path, {to_write("blocks.0.norm.weight", x, {1}), to_write("head.weight", x, {1})});
  const SafetensorsFile file(path);
  EXPECT_FALSE(file.contains("head.wieght"));
  expect_error<FileError>([&] { file.tensor("head.wieght"); },
                          {path.string(), "no tensor \"head.wieght\"; the nearest name is \"head.weight\""});
}

TEST(Safetensors, RefusesLossyConversionsBeforeWriting) {
  const std::vector<double> wide{1.0, 1e300};
  const std::vector<std::int64_t> whole{1, 300};
  const auto path = temporary("x.safetensors");
  write_safetensors(path, {to_write("wide", wide, {2}), to_write("whole", whole, {2})});
  const SafetensorsFile file(path);
  std::vector<float> floats{-1, -1, -1};
  expect_error<FileError>([&] { file.read<float>("wide", std::span(floats).first(2)); },
                          {"tensor \"wide\" is F64; its value at index 1 does not fit F32"});
  expect_error<FileError>([&] { file.read<std::int8_t>("whole"); }, {"value at index 1 does not fit I8"});
  expect_error<FileError>([&] { file.read<std::int64_t>("wide"); }, {"is F64, which cannot be read as integers"});
  expect_error<ShapeError>([&] { file.read<float>("whole", std::span(floats)); }, {"has 2 values, shape [2], but out has 3"});
  EXPECT_EQ(floats, (std::vector<float>{-1, -1, -1}));
}

TEST(Safetensors, ReadsFromMemoryOfAnyAlignment) {
  const std::vector<double> x{1.5, -2.5};
  const auto path = temporary("x.safetensors");
  write_safetensors(path, {to_write("x", x, {2})});
  for (std::size_t shift = 0; shift < 8; ++shift) {
    const std::string memory = std::string(shift, '?') + test::read_text(path);
    const auto file = SafetensorsFile::parse(std::as_bytes(std::span(memory)).subspan(shift), "memory");
    EXPECT_EQ(file.read<double>("x"), x);
    EXPECT_EQ(file.read<float>("x"), (std::vector<float>{1.5f, -2.5f}));
  }
}

TEST(Safetensors, CopiesOutliveTheOriginalAndItsFile) {
  const std::vector<float> x{4};
  const auto path = temporary("x.safetensors");
  write_safetensors(path, {to_write("x", x, {1})});
  std::optional<SafetensorsFile> original(path);
  const SafetensorsFile copy = *original;
  original.reset();
  const std::vector<float> y{5};
  write_safetensors(path, {to_write("x", y, {1})});
  EXPECT_EQ(copy.read<float>("x"), x);
  EXPECT_EQ(SafetensorsFile(path).read<float>("x"), y);
}

}  // namespace
}  // namespace gated::safetensors_test
