// Runs on a Cortex-M7 without an operating system, exceptions or RTTI. Opens the digits checkpoint in flash, classifies
// held-out images, and compares the logits with PyTorch's. Compares the signatures of the digits model and of random models
// with those of other machines.

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <gated/gated.hpp>
#include <gated/io/model_file.hpp>
#include <gated/io/signature.hpp>

#include "tests/ops/signed_models.hpp"

// Files of examples/classify_digits, which flash.S puts into flash.
extern "C" const std::byte model_begin[], model_end[], expected_begin[], expected_end[];
extern "C" const char digits_begin[];

namespace {

using gated::Index;
using gated::Matrix;

constexpr Index image_count = 40;

std::jmp_buf refused;

void expect(bool condition, const char* what) {
  if (!condition) {
    std::printf("FAILED: %s\n", what);
    std::exit(1);
  }
}

/// Expects the signatures that `model` has on other machines. Models in double have no `with_int8`.
template <class Model>
void expect_signatures(const Model& model, const char* expected, const char* with_int8) {
  const std::string got = gated::signature_text(gated::signature(model));
  std::printf("signature %s\n", got.c_str());
  expect(got == expected, "the signature equals that of other machines");
  if constexpr (std::is_same_v<typename Model::Scalar, float>) {
    expect(gated::signature_text(gated::signature(model, {.int8_products = true})) == with_int8,
           "the signature with int8 products equals that of other machines");
  }
}

/// Rows 4, 9, 14, … of the CSV file. Each has 64 pixels and a label.
Matrix<float> held_out_digits() {
  Matrix<float> digits(image_count, 65);
  const char* at = digits_begin;
  for (Index row = 0; row < 5 * image_count; ++row) {
    for (Index column = 0; column < 65; ++column) {
      char* end = nullptr;
      const long value = std::strtol(at, &end, 10);
      at = end + 1;  // skips a comma or the end of the line
      if (row % 5 == 4) {
        digits(row / 5, column) = static_cast<float>(value);
      }
    }
  }
  return digits;
}

}  // namespace

int main() {
  using Model = gated::GmlpImageClassifier<float>;
  const auto model = gated::load_model<Model>(gated::SafetensorsFile::parse({model_begin, model_end}));
  const Matrix<float> digits = held_out_digits();
  const Matrix<float> images = digits.leftCols(64).array() / 8 - 1;

  gated::Workspace<float> workspace(gated::Threads{4});
  expect(workspace.threads().count() == 1, "there is one thread, however many are requested");
  Matrix<float> logits(image_count, 10), again(1, 10);
  model.forward(images, logits, workspace);

  Matrix<float> theirs(359, 10);
  gated::SafetensorsFile::parse({expected_begin, expected_end})
      .read<float>("logits", {theirs.data(), static_cast<std::size_t>(theirs.size())});
  const float difference = (logits - theirs.topRows(image_count)).cwiseAbs().maxCoeff() / theirs.cwiseAbs().maxCoeff();
  expect(difference < 1e-5F, "the logits match PyTorch");

  int right = 0;
  for (Index i = 0; i < image_count; ++i) {
    Index digit = 0;
    logits.row(i).maxCoeff(&digit);
    right += digit == static_cast<Index>(digits(i, 64));
  }
  expect(right >= image_count * 9 / 10, "nine of ten digits are recognized");

  model.forward(images.topRows(1), again, workspace);
  expect(again == logits.topRows(1), "an image's logits are bit-equal alone and in a batch");

  expect_signatures(model, GATED_SIGNATURE, GATED_SIGNATURE_INT8);
  gated::test::for_each_signed_model([](const auto& random_model, const char* expected, const char* with_int8) {
    expect_signatures(random_model, expected, with_int8);
  });

  gated::set_error_handler([](const char* message) {
    std::printf("%s\n", message);
    std::longjmp(refused, 1);
  });
  if (setjmp(refused) == 0) {
    model.forward(digits.topRows(1), again, workspace);
    expect(false, "65 pixels are refused");
  }
  std::printf("%d parameters in flash, %d of %d digits right, difference to PyTorch %.1e\nall is well\n",
              static_cast<int>(gated::parameter_count(model)), right, static_cast<int>(image_count),
              static_cast<double>(difference));
}
