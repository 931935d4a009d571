#include "gated/io/safetensors_header.hpp"

#include <gtest/gtest.h>

#include "files.hpp"
#include "gated/core/random.hpp"

namespace gated::safetensors_header_test {
namespace {

/// A file of an 8-byte header length, `header`, and `data_bytes` zeros.
std::string file_of(const std::string& header, std::size_t data_bytes) {
  const std::uint64_t length = header.size();
  std::string file(8, '\0');
  std::memcpy(file.data(), &length, 8);
  return file + header + std::string(data_bytes, '\0');
}

SafetensorsContents parse(const std::string& file) {
  return parse_safetensors(std::as_bytes(std::span(file)), "x.safetensors");
}

void expect_refused(const std::string& file, std::string_view why) {
  test::expect_error<FileError>([&] { parse(file); }, {why});
  EXPECT_TRUE(test::error_of<FileError>([&] { parse(file); }).starts_with("x.safetensors: "));
}

/// Expects that a file with this header and 8 bytes of data is refused.
void expect_header_refused(const std::string& header, std::string_view why) { expect_refused(file_of(header, 8), why); }

TEST(SafetensorsHeader, AcceptsTensorsMetadataAndPadding) {
  const std::string file = file_of(R"({"__metadata__":{"who":"me"},"b":{"dtype":"I8","shape":[],"data_offsets":[4,5]},)"
                                   R"("a":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]}}   )",
                                   5);
  const SafetensorsContents contents = parse(file);
  EXPECT_EQ(contents.metadata.at("who"), "me");
  ASSERT_EQ(contents.tensors.size(), 2u);
  const TensorEntry& a = contents.tensors.at("a");
  EXPECT_EQ(a.dtype, Dtype::F32);
  EXPECT_EQ(a.shape, (std::vector<Index>{1, 1}));
  EXPECT_EQ(a.bytes.data(), std::as_bytes(std::span(file)).data() + file.size() - 5);
  EXPECT_EQ(a.count(), 1u);
  EXPECT_EQ(contents.tensors.at("b").count(), 1u);
}

TEST(SafetensorsHeader, NamesTheFormatOfOtherFiles) {
  const std::string rest(100, '\1');
  expect_refused("PK\x03\x04" + rest, "this is a ZIP archive, such as torch.save() writes (.pth, .pt, .bin)");
  expect_refused("\x80\x02\x8a\x0a" + rest, "this is a Python pickle");
  expect_refused("PK\x03\x04" + rest, "examples/convert/convert.py");
  expect_refused("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 77\n", "this is a Git-LFS pointer");
  expect_refused("<!DOCTYPE html>" + rest, "this is a web page");
}

TEST(SafetensorsHeader, AcceptsAFileWithoutTensors) { EXPECT_TRUE(parse(file_of("{}", 0)).tensors.empty()); }

TEST(SafetensorsHeader, AcceptsTensorsOfSizeZero) {
  const SafetensorsContents contents = parse(
      file_of(R"({"a":{"dtype":"F32","shape":[0,7],"data_offsets":[0,0]},"b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
              R"("c":{"dtype":"F64","shape":[3,0],"data_offsets":[2,2]}})",
              2));
  EXPECT_EQ(contents.tensors.at("a").count(), 0u);
  EXPECT_EQ(contents.tensors.at("c").count(), 0u);
}

TEST(SafetensorsHeader, AcceptsEveryDtype) {
  for (const auto& [dtype, name] : names_of(Dtype{})) {
    const std::string size = text(size_of(dtype));
    const std::string file = file_of(
        text(R"({"a":{"dtype":")", name, R"(","shape":[3],"data_offsets":[0,)", 3 * size_of(dtype), "]}}"), 3 * size_of(dtype));
    EXPECT_EQ(parse(file).tensors.at("a").dtype, dtype) << name;
    EXPECT_EQ(parse(file).tensors.at("a").count(), 3u) << name;
  }
}

TEST(SafetensorsHeader, RefusesAnEmptyFile) { expect_refused("", "the file is empty"); }
TEST(SafetensorsHeader, RefusesFilesShorterThanEightBytes) { expect_refused("1234567", "the file has 7 bytes, too short"); }

TEST(SafetensorsHeader, RefusesAHeaderLongerThanTheFile) {
  std::string file = file_of("{}", 0);
  file[0] = 3;
  expect_refused(file, "is 3 bytes long according to the file's first 8 bytes, but only 2 bytes follow");
}

TEST(SafetensorsHeader, RefusesHeadersOver100Megabytes) {
  expect_refused(std::string(16, '\xFF'),
                 "18446744073709551615 bytes long according to the file's first 8 bytes, expected at most 100000000");
}

TEST(SafetensorsHeader, RefusesAnEmptyHeader) { expect_refused(std::string(16, '\0'), "the header is empty"); }

TEST(SafetensorsHeader, RefusesAHeaderWithoutABraceAtTheStart) {
  expect_header_refused(" {}", "does not begin with '{'");
  expect_header_refused("[]", "does not begin with '{'");
  expect_header_refused("\xEF\xBB\xBF{}", "does not begin with '{'");
}

TEST(SafetensorsHeader, RefusesInvalidJson) {
  expect_header_refused(R"({"a":)", "invalid JSON at line 1, column 6");
  expect_header_refused(R"({"a":{}} x)", "invalid JSON");
  expect_header_refused(R"({'a':1})", "invalid JSON");
  expect_header_refused(std::string("{}\0{}", 5), "line 1, column 3: expected the end");
  expect_header_refused("{} // comment", "invalid JSON");
}

TEST(SafetensorsHeader, RefusesInvalidUtf8) {
  expect_header_refused("{\"a\xFF\":{}}", "ill-formed UTF-8");
  expect_header_refused(R"({"\ud800":{}})", "surrogate");
}

TEST(SafetensorsHeader, RefusesDuplicateKeys) {
  expect_header_refused(
      R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},"a":{"dtype":"I8","shape":[8],"data_offsets":[0,8]}})",
      "duplicate key \"a\"");
  expect_header_refused(R"({"a":{"dtype":"U8","dtype":"I8","shape":[8],"data_offsets":[0,8]}})", "duplicate key \"dtype\"");
  expect_header_refused(R"({"__metadata__":{"k":"1","k":"2"}})", "duplicate key \"k\"");
}

TEST(SafetensorsHeader, RefusesEntriesThatAreNotObjects) {
  expect_header_refused(R"({"a":[]})", "tensor \"a\" is an array, expected an object");
  expect_header_refused(R"({"a":7})", "tensor \"a\" is 7, expected an object");
  expect_header_refused(R"({"a":null})", "tensor \"a\" is null, expected an object");
}

TEST(SafetensorsHeader, RefusesMissingFields) {
  expect_header_refused(R"({"a":{"shape":[8],"data_offsets":[0,8]}})", "has no dtype");
  expect_header_refused(R"({"a":{"dtype":"U8","data_offsets":[0,8]}})", "has no shape");
  expect_header_refused(R"({"a":{"dtype":"U8","shape":[8]}})", "has no data_offsets");
}

TEST(SafetensorsHeader, RefusesUnknownFields) {
  expect_header_refused(R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8],"x":1}})", "has the unknown field \"x\"");
}

TEST(SafetensorsHeader, RefusesUnknownDtypes) {
  expect_header_refused(R"({"a":{"dtype":"F7","shape":[8],"data_offsets":[0,8]}})",
                        "unknown dtype \"F7\", expected one of F64, F32");
  expect_header_refused(R"({"a":{"dtype":"f32","shape":[2],"data_offsets":[0,8]}})", "unknown dtype \"f32\"");
  expect_header_refused(R"({"a":{"dtype":1,"shape":[2],"data_offsets":[0,8]}})", "dtype is 1, expected a string");
}

TEST(SafetensorsHeader, RefusesShapesThatAreNotIntegers) {
  const auto with_shape = [](const std::string& shape) {
    return R"({"a":{"dtype":"U8","shape":)" + shape + R"(,"data_offsets":[0,8]}})";
  };
  expect_header_refused(with_shape("[-8]"), "shape holds the negative number -8");
  expect_header_refused(with_shape("[8.5]"), "shape holds 8.5, expected a whole number");
  expect_header_refused(with_shape("[8.0]"), "shape holds 8.0, expected a whole number");
  expect_header_refused(with_shape("[\"8\"]"), "shape holds \"8\", expected a whole number");
  expect_header_refused(with_shape("[true]"), "shape holds true, expected a whole number");
  expect_header_refused(with_shape("[null]"), "shape holds null, expected a whole number");
  expect_header_refused(with_shape("8"), "shape is 8, expected an array");
  expect_header_refused(with_shape("{}"), "shape is an object, expected an array");
}

TEST(SafetensorsHeader, RefusesHugeNumbers) {
  const auto with_shape = [](const std::string& shape) {
    return R"({"a":{"dtype":"U8","shape":)" + shape + R"(,"data_offsets":[0,8]}})";
  };
  expect_header_refused(with_shape("[18446744073709551615]"), "shape holds 18446744073709551615, which is too large");
  expect_header_refused(with_shape("[18446744073709551616]"), "expected a whole number");
  expect_header_refused(with_shape("[1e999]"), "invalid JSON");
  expect_header_refused(with_shape("[" + std::string(5000, '9') + "]"), "invalid JSON");
}

TEST(SafetensorsHeader, RefusesShapesThatOverflow) {
  expect_header_refused(R"({"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", "overflows");
  expect_header_refused(R"({"a":{"dtype":"F64","shape":[1152921504606846977],"data_offsets":[0,8]}})", "overflows");
}

TEST(SafetensorsHeader, RefusesMoreThan64Dimensions) {
  std::string ones = "1";
  for (int i = 0; i < 64; ++i) {
    ones += ",1";
  }
  expect_header_refused(R"({"a":{"dtype":"F64","shape":[)" + ones + R"(],"data_offsets":[0,8]}})",
                        "has 65 dimensions, at most 64");
  for (int i = 0; i < 1000; ++i) {
    ones += ",1";
  }
  expect_header_refused(R"({"a":{"dtype":"F64","shape":[)" + ones + R"(],"data_offsets":[0,8]}})",
                        "an array of more than 1000 elements");
}

TEST(SafetensorsHeader, RefusesOffsetsThatAreNotTwoIntegers) {
  const auto with_offsets = [](const std::string& offsets) {
    return R"({"a":{"dtype":"U8","shape":[8],"data_offsets":)" + offsets + "}}";
  };
  expect_header_refused(with_offsets("[0]"), "expected [begin, end]");
  expect_header_refused(with_offsets("[0,4,8]"), "expected [begin, end]");
  expect_header_refused(with_offsets("8"), "data_offsets is 8, expected [begin, end]");
  expect_header_refused(with_offsets("[-8,0]"), "data_offsets holds the negative number -8");
  expect_header_refused(with_offsets("[0,8.5]"), "data_offsets holds 8.5, expected a whole number");
  expect_header_refused(with_offsets("[0,18446744073709551615]"), "which is too large");
}

TEST(SafetensorsHeader, RefusesTensorsThatEndBeforeTheyBegin) {
  expect_header_refused(R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[8,0]}})",
                        "begins at byte 8 of the data, after its end at 0");
}

TEST(SafetensorsHeader, RefusesTensorsBeyondTheData) {
  expect_header_refused(R"({"a":{"dtype":"U8","shape":[9],"data_offsets":[0,9]}})",
                        "ends at byte 9 of the data, which has 8 bytes. Is the file truncated?");
}

TEST(SafetensorsHeader, RefusesBytesThatDoNotMatchTheShape) {
  expect_header_refused(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", "has 8 bytes, expected 12 for F32 [3]");
}

TEST(SafetensorsHeader, RefusesOverlaps) {
  expect_header_refused(
      R"({"a":{"dtype":"U8","shape":[6],"data_offsets":[0,6]},"b":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})",
      "tensors \"a\" and \"b\" overlap at byte 4");
  expect_header_refused(
      R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[0],"data_offsets":[4,4]}})",
      "tensors \"a\" and \"b\" overlap at byte 4");
}

TEST(SafetensorsHeader, RefusesGaps) {
  expect_header_refused(R"({"a":{"dtype":"U8","shape":[7],"data_offsets":[0,7]}})",
                        "bytes 7 to 8 of the data belong to no tensor");
  expect_header_refused(R"({"a":{"dtype":"U8","shape":[7],"data_offsets":[1,8]}})",
                        "bytes 0 to 1 of the data belong to no tensor");
  expect_header_refused("{}", "bytes 0 to 8 of the data belong to no tensor");
}

TEST(SafetensorsHeader, RefusesMetadataThatIsNotText) {
  expect_header_refused(R"({"__metadata__":{"k":1}})", "__metadata__: \"k\" is 1, expected a string");
  expect_header_refused(R"({"__metadata__":{"k":{}}})", "__metadata__: \"k\" is an object, expected a string");
  expect_header_refused(R"({"__metadata__":"k"})", "__metadata__ is \"k\", expected an object");
}

TEST(SafetensorsHeader, RefusesDeepNestingWithoutStackOverflow) {
  const std::size_t depth = 2'000'000;
  expect_header_refused(R"({"a":)" + std::string(depth, '['), "nested more than 3 deep");
  std::string objects;
  for (std::size_t i = 0; i < depth; ++i) {
    objects += R"({"a":)";
  }
  expect_header_refused(objects, "nested more than 3 deep");
}

TEST(SafetensorsHeader, EscapesHostileNames) {
  const std::string what =
      test::error_of<FileError>([] { parse(file_of(R"({"a\nb\u0007)" + std::string(5000, 'x') + R"(":1})", 0)); });
  EXPECT_NE(what.find("a?b?xxx"), std::string::npos);
  EXPECT_LT(what.size(), 400u);
}

TEST(SafetensorsHeader, ParsesEveryMutationOrThrowsAFileError) {
  const std::string valid = file_of(
      R"({"__metadata__":{"who":"me"},"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
      R"("b":{"dtype":"I16","shape":[2],"data_offsets":[24,28]},"c":{"dtype":"U8","shape":[0],"data_offsets":[28,28]}})",
      28);
  const std::string_view alphabet = "{}[]\",:0123456789.-eEFIU\\\xFF";
  Random random(1);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random.bits() % n); };
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string file = valid;
    for (std::size_t change = 0; change <= below(3); ++change) {
      const std::size_t at = below(file.size());
      switch (below(4)) {
        case 0:
          file[at] = alphabet[below(alphabet.size())];
          break;
        case 1:
          file[at] = static_cast<char>(file[at] ^ static_cast<char>(1u << below(8)));
          break;
        case 2:
          file.erase(at, 1 + below(8));
          break;
        default:
          file.insert(at, file.substr(below(file.size()), below(16)));
      }
    }
    const std::vector<char> exact(file.begin(), file.end());  // sanitizers detect a read past the end
    try {
      for (const auto& [name, entry] : parse_safetensors(std::as_bytes(std::span(exact)), "x").tensors) {
        ASSERT_EQ(byte_count(entry.dtype, entry.shape), entry.bytes.size());
        std::vector<double> values(entry.count());
        convert<double>(entry.dtype, entry.bytes, values);
      }
      ++accepted;
    } catch (const FileError&) {
    }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_LT(accepted, 15000);
}

}  // namespace
}  // namespace gated::safetensors_header_test
