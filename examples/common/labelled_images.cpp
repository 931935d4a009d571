#include "common/labelled_images.hpp"

#include <cmath>
#include <string_view>

#include "gated/io/csv.hpp"
#include "gated/io/mapped_file.hpp"

namespace digits {

using gated::Index, gated::FileError, gated::require;

void expect_classes(const gated::GmlpImageClassifierConfig& config) {
  require<FileError>(config.classes > 0 && config.pooling != gated::Pooling::tokens,
                     "--model: this model outputs features. Use a model with an image classification head.");
}

LabelledImages read_images(const std::filesystem::path& path, const gated::GmlpImageClassifierConfig& config, float max_pixel,
                           Part part) {
  return images_of(read_image_table(path), path.string(), config, max_pixel, part);
}

ImageTable read_image_table(const std::filesystem::path& path) {
  const gated::MappedFile file(path);
  const std::string_view text = gated::text_of(file);
  require<FileError>(!text.starts_with("\x89PNG") && !text.starts_with("\xFF\xD8"), path.string(),
                     ": is a picture, expected a CSV file with an image per line.");
  const std::string_view line = text.substr(0, text.find('\n'));
  const char* const separators = ",;\t";
  const std::size_t at = line.find_first_of(separators);
  gated::CsvOptions options{.separator = at == std::string_view::npos ? ',' : line[at]};
  constexpr const char* letters = "_abcdfghijklmopqrstuvwxyzABCDFGHIJKLMOPQRSTUVWXYZ";  // without that of 1e5
  options.header_lines = at != std::string_view::npos && line.find_first_of(letters) != std::string_view::npos ? 1 : 0;
  return {gated::parse_csv<float>(text, path.string(), options), options.header_lines + 1};
}

LabelledImages images_of(const ImageTable& read, const std::string& file, const gated::GmlpImageClassifierConfig& config,
                         float max_pixel, Part part) {
  const gated::Matrix<float>& table = read.numbers;
  expect_classes(config);
  const Index pixels = config.image_channels * config.image.area();
  require<FileError>(table.cols() == pixels + 1, file, ": ", table.cols(), " columns, expected ", pixels + 1, ": ",
                     config.image_channels, " × ", config.image.height, " × ", config.image.width, " pixels and a label.");

  LabelledImages images;
  images.rows_in_file = table.rows();
  for (Index row = 0; row < table.rows(); ++row) {
    if (part != Part::all && (part == Part::held_out) != (row % 5 == 4)) {
      continue;
    }
    const float label = table(row, pixels);
    require<FileError>(label >= 0 && label < static_cast<float>(config.classes) && label == std::floor(label), file, ": line ",
                       row + read.first_line, ": label ", label, ", expected a class from 0 to ", config.classes - 1, ".");
    images.labels.push_back(static_cast<Index>(label));
    images.rows.push_back(row);
  }
  require<FileError>(!images.rows.empty(), file, ": none of ", table.rows(), " lines has index % 5 ",
                     part == Part::training ? "!=" : "==", " 4",
                     part == Part::held_out ? ". Use --all to classify every line." : ".");

  images.pixels.resize(static_cast<Index>(images.rows.size()), pixels);
  for (Index i = 0; i < images.count(); ++i) {
    const Index row = images.rows[static_cast<std::size_t>(i)];
    for (Index j = 0; j < pixels; ++j) {
      const float pixel = table(row, j);
      require<FileError>(pixel >= 0 && pixel <= max_pixel, file, ": line ", row + read.first_line, ", column ", j + 1,
                         ": pixel ", pixel, ", expected 0 to ", max_pixel, " (see --max-pixel).");
      images.pixels(i, j) = pixel / max_pixel;
    }
  }
  return images;
}

LabelledImages part_of(const LabelledImages& images, Index first, Index count) {
  const auto part = [&](const std::vector<Index>& numbers) {
    return std::vector<Index>(numbers.begin() + first, numbers.begin() + first + count);
  };
  return {images.pixels.middleRows(first, count), part(images.labels), part(images.rows), images.rows_in_file};
}

gated::Matrix<float> inputs_from(const gated::Matrix<float>& pixels, const gated::GmlpImageClassifierConfig& config) {
  gated::Matrix<float> inputs = pixels;
  gated::scale_pixels<float>(inputs, config);
  return inputs;
}

}  // namespace digits
