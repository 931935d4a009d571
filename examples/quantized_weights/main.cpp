// quantized_weights: measures how much accuracy a model loses in bf16 and int8, and writes quantized models. See README.md.

#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "common/labelled_images.hpp"
#include "common/mnist.hpp"
#include "common/run_main.hpp"
#include "distortion.hpp"
#include "forecast/table.hpp"
#include "gated/gated.hpp"
#include "gated/io/model_file.hpp"
#include "gated/io/tiny_time_mixer.hpp"
#include "options.hpp"
#include "train_text/corpus.hpp"

namespace {

using gated::Index, gated::Matrix, gated::WeightFormat, gated::Workspace;
using GmlpModel = gated::GmlpLanguageModel<float>;
using FlashModel = gated::FlashLanguageModel<float>;
using Classifier = gated::GmlpImageClassifier<float>;
using Forecaster = gated::TinyTimeMixer<float>;

constexpr WeightFormat formats[] = {WeightFormat::bf16, WeightFormat::int8, WeightFormat::int8_rows};

std::string name_of(WeightFormat format) { return std::string(gated::name_of(format)); }

/// Prints one line per tensor: for each format, the signal-to-noise ratio, the largest error and the share of nonzero values
/// rounded to 0.
template <class Model>
void print_tensors(const Model& model) {
  std::printf("  tensor%*s", 49, "");
  for (const WeightFormat format : formats) {
    std::printf("  %9s dB   error    zero", name_of(format).c_str());
  }
  std::printf("\n");
  gated::for_each_parameter(
      [](const gated::ParameterInfo& info, auto values) {
        if (!gated::may_be_quantized(info)) {
          return;
        }
        const Index rows = info.shape[0], columns = info.shape.count() / rows;
        std::printf("  %-42s %12s", info.path().c_str(), info.shape.describe().c_str());
        for (const WeightFormat format : formats) {
          const auto encoded = gated::EncodedWeight::of(values.data(), rows, columns, format);
          gated::require<gated::FileError>(encoded.has_value(), info.path(), ": has values that ", name_of(format),
                                           " cannot represent.");
          std::vector<float> rounded(values.size());
          encoded->codes().read(std::span<float>(rounded));
          const auto distortion = small::compare(values, rounded);
          std::printf("  %12.1f %7.4f %5.2f %%", distortion.signal_to_noise, distortion.largest_error, 100 * distortion.lost);
        }
        std::printf("\n");
      },
      model);
  std::printf("\n");
}

/// The precision of a model's weights and products.
struct Precision {
  std::string name;
  WeightFormat weights;
  const gated::ProductEngine<float>* products = nullptr;
};

/// Float products with weights in each format, bf16 products if the CPU supports them, and int8 products.
std::vector<Precision> precisions() {
  std::vector<Precision> all{{name_of(WeightFormat::float32), WeightFormat::float32}};
  for (const WeightFormat format : formats) {
    all.push_back({name_of(format), format});
  }
  if (const auto* const products = gated::bf16_products()) {
    all.push_back({"bf16 products", WeightFormat::bf16, products});
  }
  for (const WeightFormat format : {WeightFormat::int8, WeightFormat::int8_rows}) {
    all.push_back({name_of(format) + " products", format, gated::int8_products()});
  }
  return all;
}

/// Prints a row per precision. `answers(model, workspace, f)` must call f(logits, labels) for the same batches each time.
template <class Model, class Answers>
void print_answers(const Model& model, int threads, const char* last, const Answers& answers) {
  std::printf("  %-18s %8s %13s %10s %11s %10s\n", "weights", "MB", "logits", "KL", "same first", last);
  std::vector<Matrix<float>> exact;
  for (const Precision& precision : precisions()) {
    const auto weights = gated::prepare(model, precision.weights);
    Workspace<float> workspace{gated::Threads{threads}};
    workspace.use(weights);
    workspace.use(precision.products);
    small::AnswerDistortion distortion;
    std::size_t batch = 0;
    answers(model, workspace, [&](const Matrix<float>& logits, const std::vector<Index>& right) {
      if (precision.weights == WeightFormat::float32) {
        exact.push_back(logits);
      }
      const Matrix<float>& wanted = exact[batch++];
      for (Index i = 0; i < logits.rows(); ++i) {
        const auto row = [i](const Matrix<float>& x) {
          return std::span<const float>(x.data() + i * x.cols(), static_cast<std::size_t>(x.cols()));
        };
        distortion.add(row(wanted), row(logits), right[static_cast<std::size_t>(i)]);
      }
    });
    gated::require<gated::FileError>(distortion.count() > 0, "the held-out text is too short to measure. Give longer files.");
    const bool texts = std::string_view(last) == "bits/byte";
    std::printf("  %-18s %8.2f %13.2e %10.2e %9.2f %% %9.*f%s\n", precision.name.c_str(),
                static_cast<double>(weights.bytes()) / 1e6, distortion.logits_error(), distortion.divergence(),
                100 * distortion.same_first(), texts ? 4 : 2, texts ? distortion.bits() : 100 * distortion.accuracy(),
                texts ? "" : " %");
  }
}

/// Predicts the held-out bytes of each file, except the first byte, from at most 512 bytes before them. A gMLP that accepts
/// only full sequences skips a shorter rest of a file.
template <class Model>
void measure(const Model& model, const small::Options& options, const text::Corpus& corpus) {
  const auto length = static_cast<std::size_t>(std::min<Index>(512, model.longest()));
  std::printf("  texts     %zu files, %zu bytes held out\n\n", corpus.documents().size(), corpus.held_out_bytes());
  print_answers(model, options.threads, "bits/byte", [&](const Model& m, Workspace<float>& workspace, const auto& f) {
    for (const text::Document& document : corpus.documents()) {
      std::vector<Index> bytes;
      for (const char c : document.bytes.substr(document.held_out)) {
        bytes.push_back(static_cast<unsigned char>(c));
      }
      for (std::size_t at = 0; at + 1 < bytes.size(); at += length) {
        const std::size_t count = std::min(length, bytes.size() - 1 - at);
        const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(at);
        if constexpr (std::is_same_v<Model, GmlpModel>) {
          if (count < length && model.config.trunk.length_policy != gated::LengthPolicy::slice) {
            continue;
          }
        }
        const gated::Tokens tokens(&*from, count);
        f(m.forward(tokens, gated::Sequences::single(static_cast<Index>(count)), workspace),
          std::vector<Index>(from + 1, from + 1 + static_cast<std::ptrdiff_t>(count)));
      }
    }
  });
}

void measure(const Classifier& model, const small::Options& options) {
  const auto images = options.mnist.empty()
                          ? digits::read_images(options.images, model.config, options.max_pixel, digits::Part::held_out)
                          : digits::read_mnist(options.mnist, digits::MnistSet::test, model.config);
  std::printf("  images    %td, held out\n\n", images.count());
  print_answers(model, options.threads, "right", [&](const Classifier& m, Workspace<float>& workspace, const auto& f) {
    for (Index first = 0; first < images.count(); first += 500) {
      const auto part = digits::part_of(images, first, std::min<Index>(500, images.count() - first));
      f(m.forward(digits::inputs_from(part.pixels, model.config), workspace), part.labels);
    }
  });
}

/// The last column of a CSV (see forecast::read_table()), as one row.
/// Errors: FileError for a gap in it.
Matrix<double> read_series(const std::filesystem::path& path) {
  const forecast::Table table = forecast::read_table(path);
  forecast::expect_no_gaps(table, table.series() - 1, table.length(), "--series");
  std::printf("%s", forecast::notes(table).c_str());
  return table.values.bottomRows(1);
}

/// Forecasts the last tenth of a series, window by window. The series is standardized by the mean
/// and deviation of its first nine tenths.
void measure(const Forecaster& model, const small::Options& options) {
  const Matrix<double> values = read_series(options.series);
  const Index context = model.config.context, horizon = model.out(), past = values.cols() - values.cols() / 10;
  const Index count = (values.cols() - past) / horizon;
  gated::require<gated::FileError>(model.config.series == 1 && past >= context && count > 0, options.series.string(), ": has ",
                                   values.cols(), " values, expected more than ", 10 * std::max(context, horizon),
                                   " values, and a model that forecasts one series.");
  const double mean = values.leftCols(past).mean();
  const double deviation = std::sqrt((values.leftCols(past).array() - mean).square().mean());
  const Matrix<float> series = ((values.array() - mean) / (deviation > 0 ? deviation : 1)).cast<float>().matrix();
  Matrix<float> x(count, context), truth(count, horizon), exact;
  for (Index i = 0; i < count; ++i) {
    x.row(i) = series.middleCols(past + i * horizon - context, context);
    truth.row(i) = series.middleCols(past + i * horizon, horizon);
  }
  std::printf("  series    %td forecasts of %td values\n\n  %-18s %8s %13s %10s\n", count, horizon, "weights", "MB",
              "forecasts", "MSE");
  for (const Precision& precision : precisions()) {
    const auto weights = gated::prepare(model, precision.weights);
    Workspace<float> workspace{gated::Threads{options.threads}};
    workspace.use(weights);
    workspace.use(precision.products);
    const Matrix<float> y = model.forward(x, gated::Sequences::uniform(count, 1), workspace);
    exact = precision.weights == WeightFormat::float32 ? y : exact;
    std::printf("  %-18s %8.2f %13.2e %10.4f\n", precision.name.c_str(), static_cast<double>(weights.bytes()) / 1e6,
                static_cast<double>((y - exact).norm() / exact.norm()),
                static_cast<double>((y - truth).array().square().mean()));
  }
}

template <class Model>
int run_with(const gated::SafetensorsFile& file, const small::Options& options) {
  const auto model = gated::load_model<Model>(file);
  std::printf("  model     %s: %td parameters\n", options.model.filename().string().c_str(), gated::parameter_count(model));
  if (options.tensors) {
    print_tensors(model);
  }
  if constexpr (std::is_same_v<Model, Forecaster>) {
    gated::require<examples::UsageError>(options.texts.empty() && options.images.empty() && options.mnist.empty(),
                                         "--texts, --images, --mnist: the model is a forecaster. Give --series.");
    if (!options.series.empty()) {
      measure(model, options);
    }
  } else if constexpr (std::is_same_v<Model, Classifier>) {
    gated::require<examples::UsageError>(options.texts.empty() && options.series.empty(),
                                         "--texts, --series: the model is an image classifier. Give --images or --mnist.");
    if (!options.images.empty() || !options.mnist.empty()) {
      measure(model, options);
    }
  } else {
    gated::require<examples::UsageError>(options.images.empty() && options.mnist.empty() && options.series.empty(),
                                         "--images, --mnist, --series: the model is a language model. Give --texts.");
    gated::require<gated::FileError>(model.config.vocabulary == 256 && model.head.has_value(), file.name(),
                                     ": expected a byte-level language model with a head.");
    if (!options.texts.empty()) {
      measure(model, options, text::Corpus(text::text_files(options.texts)));
    }
  }
  if (!options.out.empty()) {
    std::map<std::string, std::string> metadata;
    for (const char* const kept : {"labels", "loss"}) {
      if (const auto found = file.metadata().find(kept); found != file.metadata().end()) {
        metadata.insert(*found);
      }
    }
    gated::save_model(model, options.out, std::move(metadata), gated::value_named<WeightFormat>(options.format).value());
    std::printf("\n  saved     %s: %.2f MB\n", options.out.string().c_str(),
                static_cast<double>(std::filesystem::file_size(options.out)) / 1e6);
  }
  return 0;
}

int run(const small::Options& options) {
  const gated::SafetensorsFile file(options.model);
  const std::string architecture = gated::architecture_of(file);
  if (architecture == GmlpModel::architecture) {
    return run_with<GmlpModel>(file, options);
  }
  if (architecture == FlashModel::architecture) {
    return run_with<FlashModel>(file, options);
  }
  if (architecture == Forecaster::architecture) {
    return run_with<Forecaster>(file, options);
  }
  return run_with<Classifier>(file, options);
}

}  // namespace

int main(int count, char** arguments) {
  return examples::run_main(
      "quantized_weights", [&] { return small::parse_options(count, arguments); }, run);
}
