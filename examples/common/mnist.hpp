#pragma once

#include <filesystem>

#include "common/labelled_images.hpp"

namespace digits {

/// The two sets of MNIST, whose file names begin with "train" and "t10k".
enum class MnistSet { train, test };

/// Reads a set of MNIST from `folder`, which holds the published IDX files: train-images-idx3-ubyte, train-labels-idx1-ubyte
/// and the same two with t10k. Other data in this format works too, if its image size is the model's. Pixel value 255 is white.
/// Errors: FileError for a file that is missing, compressed, truncated or in another format, and for images or labels that do
/// not fit the model or each other.
LabelledImages read_mnist(const std::filesystem::path& folder, MnistSet set, const gated::GmlpImageClassifierConfig& config);

}  // namespace digits
