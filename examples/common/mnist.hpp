#pragma once

#include <filesystem>

#include "common/labelled_images.hpp"

namespace digits {

/// The two sets of MNIST, whose file names begin with "train" and "t10k".
enum class MnistSet { train, test };

/// Reads a set of MNIST from `folder`, which holds the published IDX files: train-images-idx3-ubyte, train-labels-idx1-ubyte
/// and their t10k counterparts. Other data sets in this format work too, if their images have the model's size. Pixel value
/// 255 is white. Errors: FileError for a file that is missing, compressed, truncated or in another format, for images or labels
/// that do not fit the model, and for different numbers of images and labels.
LabelledImages read_mnist(const std::filesystem::path& folder, MnistSet set, const gated::GmlpImageClassifierConfig& config);

}  // namespace digits
