#include "gated/io/npy.hpp"

#include <gtest/gtest.h>

#include "files.hpp"
#include "tests/core/numbers.hpp"

namespace gated::npy_test {
namespace {

using test::temporary;

std::filesystem::path case_file() { return std::filesystem::path(GATED_REFERENCE_DIR) / "../io/npy_cases_f4.npy"; }

/// An .npy file of version 1 with this header and `data_bytes` zeros.
std::string file_of(const std::string& header, std::size_t data_bytes) {
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size() % 256) + static_cast<char>(header.size() / 256) +
         header + std::string(data_bytes, '\0');
}

NpyArray parse(const std::string& file) { return parse_npy(std::as_bytes(std::span(file)), "x.npy"); }

void expect_refused(const std::string& file, std::string_view why) {
  const std::string what = test::error_of<FileError>([&] { parse(file); });
  EXPECT_TRUE(what.starts_with("x.npy: ")) << what;
  EXPECT_NE(what.find(why), std::string::npos) << what;
}

TEST(Npy, ReadsFilesWrittenByNumpy) {
  const Matrix<float> x = read_npy<float>(case_file());
  ASSERT_EQ(x.rows(), 6) << "all dimensions except the last are merged";
  ASSERT_EQ(x.cols(), 4);
  for (Index i = 0; i < x.size(); ++i) {
    EXPECT_EQ(x.data()[i], static_cast<float>(i - 5));
  }
  EXPECT_EQ(read_npy<double>(case_file()), x.cast<double>());
  EXPECT_THROW(read_npy<Index>(case_file()), FileError) << "floating values are not read as integers";
}

TEST(Npy, RoundTrips) {
  const auto path = temporary("x.npy");
  const auto expect = [&](const auto& x) {
    using T = typename std::remove_cvref_t<decltype(x)>::Scalar;
    write_npy(path, x);
    EXPECT_TRUE(test::same_bits(read_npy<T>(path), x));
  };
  expect(test::random_matrix<float>(5, 7, 1));
  expect(test::random_matrix<double>(1, 1, 2));
  EXPECT_EQ(test::files_beside(path), 1u);
  const Matrix<float> empty(0, 3);
  write_npy(path, empty);
  EXPECT_EQ(read_npy<float>(path).cols(), 3);
  EXPECT_EQ(read_npy<float>(path).rows(), 0);
}

TEST(Npy, DataStartsAtAMultipleOf64) {
  const auto path = temporary("x.npy");
  for (const Index columns : {1, 10, 100, 1000, 10000, 100000}) {
    write_npy<double>(path, Matrix<double>::Zero(1, columns));
    EXPECT_EQ((test::read_text(path).size() - 8 * static_cast<std::size_t>(columns)) % 64, 0u);
  }
}

TEST(Npy, ReadsHeadersOfAllVersions) {
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", data(24, '\0');
  EXPECT_EQ(parse(file_of(header, 24)).shape, (std::vector<Index>{2, 3}));
  for (const char version : {'\2', '\3'}) {
    const std::string start =
        std::string("\x93NUMPY") + version + '\0' + static_cast<char>(header.size()) + std::string(3, '\0');
    EXPECT_EQ(parse(start + header + data).shape, (std::vector<Index>{2, 3}));
  }
  EXPECT_TRUE(parse(file_of("{'shape':(),'fortran_order':False,'descr':'|b1'}", 1)).shape.empty());
  EXPECT_EQ(parse(file_of("{ 'shape' : ( 3 , ) , 'descr':'<i2', 'fortran_order': True }", 6)).shape, (std::vector<Index>{3}));
}

TEST(Npy, RefusesBrokenFiles) {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  expect_refused("", "this is not an .npy file");
  expect_refused("PK\3\4", "this is not an .npy file");
  expect_refused("\x93NUMPY\1", "truncated");
  expect_refused(std::string("\x93NUMPY\x07\x00\x00\x00", 10), "version 7, expected 1, 2 or 3");
  expect_refused(file_of(good, 24).substr(0, 30), "but only 20 bytes follow. Is the file truncated?");
  expect_refused(file_of(good, 23), "needs 24 bytes, but the file has 23");
  expect_refused(file_of(good, 25), "needs 24 bytes, but the file has 25");
  const auto header = [](const std::string& text, std::string_view why) { expect_refused(file_of(text, 24), why); };
  header("[]", "\"{\" is missing");
  header("{'descr': '<f4', 'shape': (2, 3)}", "lacks");
  header("{'descr': '<f4', 'descr': '<f4'}", "the unknown or duplicate key 'descr'");
  header("{'colour': 1}", "the unknown or duplicate key 'colour'");
  header("{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3)}", "newbyteorder");
  header("{'descr': '|O', 'fortran_order': False, 'shape': (2, 3)}", "Objects and strings are not numbers");
  header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3)}", "this is a structured array");
  header("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2, 3)}", "neither True nor False");
  header("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3, 1)}", "numpy.ascontiguousarray()");
  header("{'descr': '<f4', 'fortran_order': False, 'shape': (2, -3)}", "is not a number");
  header("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 99999999999999999999)}", "is not a number");
  header("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", "too many bytes");
  header("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3", "is missing");
  header("{'descr': '<f4", "does not end");
  EXPECT_TRUE(test::error_of<FileError>([] { read_npy<float>("/no/such/file.npy"); }).starts_with("/no/such/file.npy: "));
}

}  // namespace
}  // namespace gated::npy_test
