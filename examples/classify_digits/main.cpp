// classify_digits: opens a checkpoint with timm's names, classifies scanned digits, and checks the answers. See README.md.

#include <cstdio>

#include "common/filters.hpp"
#include "common/mnist.hpp"
#include "common/run_main.hpp"
#include "common/stopwatch.hpp"
#include "gated/gated.hpp"
#include "gated/io/model_file.hpp"
#include "options.hpp"
#include "report.hpp"

namespace {

using gated::Index, gated::Matrix, gated::Workspace;
using Model = gated::GmlpImageClassifier<float>;

/// The most probable class of each image, and its probability.
std::vector<digits::Prediction> predict(const Matrix<float>& logits, Workspace<float>& workspace) {
  Matrix<float> probabilities = logits;
  gated::softmax<float>(probabilities, workspace);
  std::vector<digits::Prediction> predictions;
  for (Index i = 0; i < logits.rows(); ++i) {
    Index label = 0;
    const float probability = probabilities.row(i).maxCoeff(&label);
    predictions.push_back({label, probability});
  }
  return predictions;
}

/// The largest difference from PyTorch's logits (stored for rows with index % 5 == 4), or NaN if any difference is NaN.
float difference_to_pytorch(const std::filesystem::path& path, const Matrix<float>& logits, const std::vector<Index>& rows) {
  Matrix<float> theirs(rows.back() / 5 + (rows.back() % 5 == 4 ? 1 : 0), logits.cols());
  gated::SafetensorsFile(path).read<float>("logits", {theirs.data(), static_cast<std::size_t>(theirs.size())});
  Matrix<float> ours(theirs.rows(), theirs.cols());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] % 5 == 4) {
      ours.row(rows[i] / 5) = logits.row(static_cast<Index>(i));
    }
  }
  return (ours - theirs).cwiseAbs().maxCoeff<Eigen::PropagateNaN>();
}

/// Measures and prints the time per image, one by one and in a batch.
void print_times(const Model& model, const Matrix<float>& inputs, Index batch, Workspace<float>& workspace, int threads) {
  Matrix<float> one(1, model.out()), many(batch, model.out());
  Index next = 0;
  const double alone = examples::median_ms([&] { model.forward(inputs.row(next++ % inputs.rows()), one, workspace); });
  const double together = examples::median_ms([&] { model.forward(inputs.topRows(batch), many, workspace); });
  std::printf("  time      %.3f ms per image one by one, %.3f ms in a batch of %td, %d thread%s\n", alone,
              together / static_cast<double>(batch), batch, threads, threads > 1 ? "s" : "");
}

int run(const digits::Options& options) {
  const auto model = gated::load_model<Model>(options.model);
  const auto& config = model.config;
  const bool all = options.all || !options.mnist.empty();
  const auto& source = options.mnist.empty() ? options.data : options.mnist;
  const auto images = options.mnist.empty() ? digits::read_images(options.data, config, options.max_pixel,
                                                                  options.all ? digits::Part::all : digits::Part::held_out)
                                            : digits::read_mnist(options.mnist, digits::MnistSet::test, config);
  std::printf("  model     %s: %td blocks, %td parameters, %td x %td pixels\n", options.model.filename().string().c_str(),
              config.trunk.depth, gated::parameter_count(model), config.image.height, config.image.width);
  std::printf("  images    %s: %td of %td%s\n\n", source.filename().string().c_str(), images.count(), images.rows_in_file,
              all ? "" : ", those with index % 5 == 4");

  const Matrix<float> inputs = digits::inputs_from(images.pixels, config);
  Workspace<float> workspace(gated::Threads{options.threads});
  const Index batch = std::min<Index>(images.count(), 512);  // bounds the memory for activations
  Matrix<float> logits(images.count(), model.out());
  for (Index first = 0; first < images.count(); first += batch) {
    const Index count = std::min(batch, images.count() - first);
    model.forward(inputs.middleRows(first, count), logits.middleRows(first, count), workspace);
  }
  const auto predictions = predict(logits, workspace);
  std::fputs(digits::draw(images, predictions, config, options.ascii).c_str(), stdout);
  const Index right = digits::count_right(images, predictions);
  std::printf("  right     %.1f %%, %td of %td\n", 100 * static_cast<double>(right) / static_cast<double>(images.count()),
              right, images.count());
  std::printf("  mistakes  %s\n", digits::describe_mistakes(images, predictions).c_str());
  print_times(model, inputs, batch, workspace, options.threads);

  if (!options.svg.empty()) {
    examples::write_svg(options.svg, examples::spatial_weights(model));
    std::printf("  picture   %s: the learned spatial weights\n", options.svg.string().c_str());
  }
  if (options.expected.empty()) {
    return 0;
  }
  const float difference = difference_to_pytorch(options.expected, logits, images.rows);
  const bool same = difference < 1e-4F;
  std::printf("  PyTorch   %s: the logits differ by at most %.1e\n", same ? "the same numbers" : "DIFFERENT NUMBERS",
              static_cast<double>(difference));
  return same ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  return examples::run_main(
      "classify_digits", [&] { return digits::parse_options(count, arguments); }, run);
}
