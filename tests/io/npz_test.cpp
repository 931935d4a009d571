#include "gated/io/npz.hpp"

#include <gtest/gtest.h>

#include "files.hpp"
#include "tests/core/numbers.hpp"

namespace gated::npz_test {
namespace {

using test::temporary;

const std::filesystem::path case_file = std::filesystem::path(GATED_REFERENCE_DIR) / "../io/npy_cases.npz";

TEST(Npz, ReadsEverySupportedType) {
  const NpzFile file(case_file);
  EXPECT_EQ(file.arrays().size(), 16u);
  for (const char* const name : {"f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1"}) {
    const Matrix<double> x = file.read<double>(name);
    ASSERT_EQ(x.rows(), 6) << name;
    ASSERT_EQ(x.cols(), 4) << name;
    for (Index i = 0; i < x.size(); ++i) {
      EXPECT_EQ(x.data()[i], static_cast<double>(i - (name[0] == 'u' ? 0 : 5))) << name;
    }
  }
  EXPECT_EQ(file.read<Index>("i8")(5, 3), 18);
  EXPECT_EQ(file.read<std::uint8_t>("bool"), (Matrix<std::uint8_t>(3, 4) << 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1).finished());
}

TEST(Npz, ReadsArraysOfAnyRankAsMatrices) {
  const NpzFile file(case_file);
  EXPECT_EQ(file.read<float>("by_columns"), (Matrix<float>(3, 4) << 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11).finished());
  EXPECT_EQ(file.read<double>("scalar"), Matrix<double>::Constant(1, 1, 2.5));
  EXPECT_EQ(file.read<float>("vector"), (Matrix<float>(3, 1) << 1.5f, -2.5f, 3.5f).finished());
  EXPECT_EQ(file.read<float>("empty").rows(), 0);
  EXPECT_EQ(file.read<float>("empty").cols(), 4);
}

TEST(Npz, RoundTrips) {
  const auto path = temporary("x.npz");
  const std::map<std::string, Matrix<float>> arrays{
      {"a", test::random_matrix<float>(5, 7, 1)}, {"blocks.0/weight", test::random_matrix<float>(3, 2, 2)}, {"e", {}}};
  write_npz(path, arrays);
  const NpzFile file(path);
  ASSERT_EQ(file.arrays().size(), 3u);
  for (const auto& [name, numbers] : arrays) {
    EXPECT_TRUE(test::same_bits(file.read<float>(name), numbers)) << name;
  }
  write_npz<double>(path, {});
  EXPECT_TRUE(NpzFile(path).arrays().empty());
}

TEST(Npz, ExplainsMissingArraysAndWrongTypes) {
  const NpzFile file(case_file);
  EXPECT_NE(test::error_of<FileError>([&] {
              file.read<float>("vectr");
            }).find("there is no array \"vectr\"; the nearest name is \"vector\"."),
            std::string::npos);
  EXPECT_NE(test::error_of<FileError>([&] { file.read<Index>("f4"); }).find("npy_cases.npz: f4: the elements are F32"),
            std::string::npos);
  EXPECT_THROW(file.read<std::uint8_t>("i8"), FileError) << "negative values do not fit";
}

TEST(Npz, RefusesBrokenArchives) {
  const std::string good = test::read_text(case_file);
  const auto refused = [](std::string file, std::string_view why) {
    const std::string what = test::error_of<FileError>([&] { NpzFile::parse(std::as_bytes(std::span(file)), "x.npz"); });
    EXPECT_TRUE(what.starts_with("x.npz: ")) << what;
    EXPECT_NE(what.find(why), std::string::npos) << what;
  };
  refused("", "too short");
  refused(std::string(100, 'x'), "this is not an .npz file");
  refused(good.substr(0, good.size() - 1), "this is not an .npz file");
  refused(good.substr(1), "");
  const auto changed = [&](std::size_t at, char to) {
    std::string file = good;
    file[at] = to;
    return file;
  };
  const std::size_t directory = good.find("PK\1\2");
  refused(changed(directory, 'X'), "directory is broken");
  refused(changed(directory + 10, '\10'), "is compressed. Save it with numpy.savez()");
  refused(changed(directory + 16, static_cast<char>(good[directory + 16] + 1)), "checksum");
  refused(changed(directory + 45, '\100'), "outside itself");
  refused(changed(200, static_cast<char>(good[200] ^ 1)), "checksum");

  // Two directory entries refer to the same array (`twice`), or two arrays have the same name (`same`, `short_name`).
  const auto path = temporary("x.npz");
  write_npz<float>(path, {{"a", Matrix<float>::Ones(20, 20)}, {"b", Matrix<float>::Zero(1, 1)}});
  std::string twice = test::read_text(path);
  const std::size_t first = twice.find("PK\1\2"), second = twice.find("PK\1\2", first + 1);
  twice.replace(second + 16, 12, twice, first + 16, 12);  // checksum and sizes
  twice.replace(second + 42, 4, twice, first + 42, 4);    // offset
  refused(twice, "overlap");
  std::string same = test::read_text(path);
  for (std::size_t at = same.find("b.npy"); at != std::string::npos; at = same.find("b.npy")) {
    same.replace(at, 5, "a.npy");
  }
  refused(same, "is in the archive twice");
  std::string short_name = test::read_text(path);
  const std::size_t local = short_name.find("b.npy"), listed = short_name.rfind("b.npy");
  short_name.replace(local, 5, "a....");  // the name in the local header is not read
  short_name.replace(listed, 5, "a");
  short_name[listed - 46 + 28] = 1;  // length of the name
  short_name[short_name.size() - 22 + 12] =
      static_cast<char>(short_name[short_name.size() - 22 + 12] - 4);  // size of the directory
  refused(short_name, "another array has this name");
  EXPECT_NO_THROW(NpzFile::parse(std::as_bytes(std::span(good))));
}

TEST(Npz, DamagedFilesAreRefusedOrHarmless) {
  const std::string good = test::read_text(case_file);
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (std::string file : {good, good.substr(0, at)}) {
      if (at < file.size()) {
        file[at] = static_cast<char>(~file[at]);
      }
      try {
        const NpzFile read = NpzFile::parse(std::as_bytes(std::span(file)), "x.npz");
        for (const auto& [name, array] : read.arrays()) {
          to_matrix<double>(array, name);
        }
      } catch (const FileError&) {
      }
    }
  }
}

}  // namespace
}  // namespace gated::npz_test
