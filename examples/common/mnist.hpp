#pragma once

#include <filesystem>

#include "common/labelled_images.hpp"

namespace digits {

/// Which of the two sets of MNIST: their files begin with "train" and "t10k".
enum class MnistSet { train, test };

/// Reads a set of MNIST as it was published: `folder` has four IDX files, train-images-idx3-ubyte, train-labels-idx1-ubyte and
/// two that begin with t10k. Others in this format, of other sizes too, are read likewise. A pixel of 255 is white.
/// Errors: FileError for a file that is missing, compressed, cut off or of another format, and for images or labels that do not
/// fit the model or each other.
LabelledImages read_mnist(const std::filesystem::path& folder, MnistSet set, const gated::GmlpImageClassifierConfig& config);

}  // namespace digits
