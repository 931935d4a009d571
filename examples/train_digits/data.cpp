#include "data.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "common/class_folder.hpp"
#include "common/mnist.hpp"
#include "common/run_main.hpp"
#include "gated/core/random.hpp"
#include "gated/io/image_input.hpp"
#include "gated/io/image_reader.hpp"

namespace digits {

namespace {

using examples::UsageError, gated::FileError, gated::Index, gated::require;

void read_scanned_digits(Data& data) {
  data.recipe = scanned_digits;
  data.name = data.recipe.data;
  const auto config = data.recipe.described();
  data.images = read_images(DIGITS_FOLDER "digits.csv", config, 16, Part::training);
  data.held_out = read_images(DIGITS_FOLDER "digits.csv", config, 16, Part::held_out);
}

void read_mnist(const Options& options, Data& data) {
  data.recipe = mnist;
  data.name = data.recipe.data + (options.validate ? " --validate" : "");
  const auto config = data.recipe.described();
  data.images = read_mnist(options.mnist, MnistSet::train, config);
  if (options.validate) {
    const Index count = std::min<Index>(5000, data.images.count() / 2), rest = data.images.count() - count;
    data.held_out = part_of(data.images, rest, count);
    data.images = part_of(data.images, 0, rest);
  } else {
    data.held_out = read_mnist(options.mnist, MnistSet::test, config);
  }
}

/// Reads the pictures of a folder and prepares them as gated::ImageInput does.
void read_folder(const Options& options, const std::string& name, Data& data) {
  require<UsageError>(!options.max_pixel, "--max-pixel: in pictures, white is always 255; the option is for a CSV.");
  auto classes = examples::list_classes(options.data);
  const auto& pictures = classes.pictures;
  const Index side = options.size.value_or(28);
  std::vector<gated::Image> seen;
  Index channels = 1;
  for (const auto& picture : pictures) {
    seen.push_back(gated::evaluation_crop(gated::read_image(picture.path), {side, side}, 1.0));
    channels = seen.back().channels > 2 ? 3 : channels;
  }
  const auto held_out = std::count_if(pictures.begin(), pictures.end(), [](const auto& picture) { return picture.held_out; });
  data.recipe = recipe_for(name, side, channels, std::ssize(classes.labels), std::ssize(pictures) - held_out);
  auto config = data.recipe.described();
  config.pixel_mean = 0;  // pixels stay in [0, 1]
  config.pixel_deviation = 1;
  gated::ImageInput<float> prepare(config);
  for (LabelledImages* const part : {&data.images, &data.held_out}) {
    for (std::size_t i = 0; i < pictures.size(); ++i) {
      if (pictures[i].held_out == (part == &data.held_out)) {
        part->labels.push_back(pictures[i].label);
        part->rows.push_back(static_cast<Index>(i));
      }
    }
    part->rows_in_file = std::ssize(pictures);
    part->pixels.resize(std::ssize(part->rows), channels * side * side);
    for (Index i = 0; i < part->count(); ++i) {
      prepare(seen[static_cast<std::size_t>(part->rows[static_cast<std::size_t>(i)])], part->pixels.row(i));
    }
  }
  data.labels = std::move(classes.labels);
}

/// Reads the images of a CSV; those with index % 5 == 4 are held out.
void read_table(const Options& options, const std::string& name, Data& data) {
  require<UsageError>(!options.size, "--size: the images of a CSV keep their size; the option is for a folder of pictures.");
  const std::string file = options.data.string();
  const auto read = read_image_table(options.data);
  const auto& table = read.numbers;
  const Index pixels = table.cols() - 1, count = table.rows();
  require<FileError>(count >= 10, file, ": ", count, " images, expected at least 10.");
  const auto side_of = [&](Index channels) {
    return static_cast<Index>(std::lround(std::sqrt(static_cast<double>(pixels) / static_cast<double>(channels))));
  };
  const Index channels = side_of(1) * side_of(1) == pixels ? 1 : 3, side = side_of(channels);
  require<FileError>(channels * side * side == pixels && pixels > 0, file, ": ", table.cols(),
                     " columns, expected the pixels of a square image, in grey or three channels, and its class.");
  std::set<float> classes;
  for (Index i = 0; i < count; ++i) {
    const float label = table(i, pixels);
    require<FileError>(label >= 0 && label == std::floor(label), file, ": line ", i + read.first_line, ": label ", label,
                       ", expected a whole number, 0 or more.");
    classes.insert(label);
  }
  const auto found = std::ssize(classes);
  require<FileError>(found >= 2, file, ": all images are of class ", *classes.begin(), ", expected 2 classes or more.");
  require<FileError>(*classes.rbegin() == static_cast<float>(found - 1), file, ": ", found, " classes from ", *classes.begin(),
                     " to ", *classes.rbegin(), ". Number them from 0 to ", found - 1, ".");
  const float largest = table.leftCols(pixels).maxCoeff<Eigen::PropagateNumbers>();
  require<FileError>(largest > 0, file, ": no pixel is above 0, expected at least one.");
  data.recipe = recipe_for(name, side, channels, found, count - count / 5);
  const auto config = data.recipe.described();
  data.images = images_of(read, file, config, options.max_pixel.value_or(largest), Part::training);
  data.held_out = images_of(read, file, config, options.max_pixel.value_or(largest), Part::held_out);
}

/// A 64-bit hash of pixels and labels.
std::uint64_t fingerprint(const Data& data) {
  std::uint64_t bits = 0;
  for (const LabelledImages* const part : {&data.images, &data.held_out}) {
    for (const float pixel : part->pixels.reshaped()) {
      bits = gated::random_bits_at(bits, std::bit_cast<std::uint32_t>(pixel));
    }
    for (const Index label : part->labels) {
      bits = gated::random_bits_at(bits, static_cast<std::uint64_t>(label));
    }
  }
  return bits;
}

}  // namespace

Data read_data(const Options& options) {
  Data data;
  if (!options.data.empty()) {
    const auto kind = std::filesystem::status(options.data);
    const bool folder = exists(kind) ? is_directory(kind) : !options.data.has_extension();
    const auto whole = std::filesystem::weakly_canonical(options.data);
    if (folder) {
      read_folder(options, whole.filename().string(), data);
    } else {
      read_table(options, whole.stem().string(), data);
    }
    data.name = gated::text("the images ", fingerprint(data));
  } else if (!options.mnist.empty()) {
    read_mnist(options, data);
  } else {
    read_scanned_digits(data);
  }
  require<FileError>(data.steps_per_epoch() > 0, (options.data.empty() ? options.mnist : options.data).string(), ": ",
                     data.images.count(), " training images, expected at least ", data.recipe.batch_size, ", one batch.");
  data.recipe = changed(std::move(data.recipe), options);
  data.held_out_inputs = inputs_from(data.held_out.pixels, data.recipe.described());
  return data;
}

}  // namespace digits
