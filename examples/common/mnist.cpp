#include "common/mnist.hpp"

#include <cstdint>
#include <fstream>
#include <iterator>

#include "gated/core/count.hpp"

namespace digits {

using gated::FileError, gated::Index, gated::require;

namespace {

/// An IDX file of unsigned bytes. It begins with 0, 0, the type and the number of dimensions. Then come the dimensions, as
/// big-endian 32-bit integers, and the bytes, in row-major order.
struct Idx {
  std::vector<Index> dimensions;
  std::string bytes;
};

/// Reads an IDX file that must have `rank` dimensions.
Idx read_idx(const std::filesystem::path& path, std::size_t rank) {
  const std::string name = path.string();
  std::ifstream file(path, std::ios::binary);
  require<FileError>(file.good(), name, ": cannot be opened. Fetch MNIST with fetch_mnist.sh.");
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  const auto byte = [&](std::size_t at) { return static_cast<Index>(static_cast<std::uint8_t>(content[at])); };
  require<FileError>(content.size() < 2 || byte(0) != 0x1f || byte(1) != 0x8b, name,
                     ": is compressed. Unpack it with gunzip first.");

  const std::size_t header = 4 + 4 * rank;
  require<FileError>(content.size() >= header, name, ": ", content.size(), " bytes, expected a header of ", header, ".");
  constexpr Index unsigned_bytes = 8;
  require<FileError>(byte(0) == 0 && byte(1) == 0 && byte(2) == unsigned_bytes && byte(3) == static_cast<Index>(rank), name,
                     ": begins with the bytes ", byte(0), " ", byte(1), " ", byte(2), " ", byte(3), ", expected 0 0 8 ", rank,
                     ": an IDX file of unsigned bytes with ", rank, rank == 1 ? " dimension." : " dimensions.");
  Idx idx;
  gated::Count count = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t at = 4 + 4 * i;
    idx.dimensions.push_back(byte(at) << 24 | byte(at + 1) << 16 | byte(at + 2) << 8 | byte(at + 3));
    count = count * idx.dimensions.back();
  }
  const auto rest = static_cast<Index>(content.size() - header);
  require<FileError>(count.value() == rest, name, ": ", rest, " bytes after the header, expected ", count.value(),
                     ", the product of its dimensions.");
  idx.bytes = content.substr(header);
  return idx;
}

}  // namespace

LabelledImages read_mnist(const std::filesystem::path& folder, MnistSet set, const gated::GmlpImageClassifierConfig& config) {
  expect_classes(config);
  const std::string start = set == MnistSet::train ? "train" : "t10k";
  const auto images_path = folder / (start + "-images-idx3-ubyte"), labels_path = folder / (start + "-labels-idx1-ubyte");
  const Idx pixels = read_idx(images_path, 3), labels = read_idx(labels_path, 1);
  const Index count = pixels.dimensions[0], height = pixels.dimensions[1], width = pixels.dimensions[2];
  require<FileError>(config.image_channels == 1 && height == config.image.height && width == config.image.width,
                     images_path.string(), ": images of ", height, " × ", width, " pixels, expected ", config.image_channels,
                     " × ", config.image.height, " × ", config.image.width, ".");
  require<FileError>(count > 0 && labels.dimensions[0] == count, labels_path.string(), ": ", labels.dimensions[0],
                     " labels, expected one for each of ", count, " images.");

  LabelledImages images;
  images.rows_in_file = count;
  images.pixels.resize(count, height * width);
  for (Index i = 0; i < images.pixels.size(); ++i) {
    const auto pixel = static_cast<std::uint8_t>(pixels.bytes[static_cast<std::size_t>(i)]);
    images.pixels.data()[i] = static_cast<float>(pixel) / 255;
  }
  for (Index i = 0; i < count; ++i) {
    const auto label = static_cast<Index>(static_cast<std::uint8_t>(labels.bytes[static_cast<std::size_t>(i)]));
    require<FileError>(label < config.classes, labels_path.string(), ": label ", label, " of image ", i,
                       ", expected a class from 0 to ", config.classes - 1, ".");
    images.labels.push_back(label);
    images.rows.push_back(i);
  }
  return images;
}

}  // namespace digits
