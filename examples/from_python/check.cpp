// from_python_check: computes demo.py's results in C++ and compares them, bit for bit, with the files that demo.py wrote.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "gated/io/csv.hpp"
#include "gated/io/model_file.hpp"
#include "gated/io/npy.hpp"
#include "gated/io/prepared_model.hpp"
#include "gated/models/flash.hpp"
#include "gated/models/gmlp.hpp"
#include "gated/models/tiny_time_mixer.hpp"

namespace {

using namespace gated;

const std::filesystem::path examples = FROM_PYTHON_EXAMPLES;

Matrix<float> scores() {
  const auto all = read_csv<float>(examples / "classify_digits/digits.csv");
  Matrix<float> images(all.rows() / 5, 64);
  for (Index i = 0; i < images.rows(); ++i) {
    images.row(i) = all.row(5 * i + 4).leftCols(64).array() / 8 - 1;
  }
  return load_model<GmlpImageClassifier<float>>(examples / "classify_digits/digits_gmlp.safetensors").forward(images);
}

Matrix<float> forecast() {
  const auto model = load_model<TinyTimeMixer<float>>(examples / "forecast/births_ttm.safetensors");
  std::ifstream file(examples / "forecast/us_births_daily.csv");  // a date and a number per line
  std::string line, last_column;
  for (std::getline(file, line); std::getline(file, line);) {
    last_column += line.substr(line.find(',') + 1) + '\n';
  }
  const Matrix<float> births = parse_csv<float>(last_column, "births").bottomRows(model.in()).transpose();
  Workspace<float> workspace;
  return model.forward(births, Sequences::single(1), workspace);
}

Matrix<float> logits() {
  const auto opened = load_prepared<FlashLanguageModel<float>>(examples / "generate_text/bible.int8.safetensors");
  Workspace<float> workspace;
  workspace.use(opened.weights);
  auto state = opened.model.start();
  constexpr std::string_view prompt = "And Noah opened the gate";
  Matrix<float> next(1, opened.model.out());
  opened.model.extend(std::vector<Index>(prompt.begin(), prompt.end()), state, next, workspace);
  for (int i = 0; i < 60; ++i) {
    Index token;
    next.row(0).maxCoeff(&token);
    opened.model.step(token, state, next, workspace);
  }
  return next;
}

bool same(const std::filesystem::path& file, const Matrix<float>& expected) {
  const auto found = read_npy<float>(file);
  const bool are = found.rows() == expected.rows() && found.cols() == expected.cols() && found == expected;
  std::printf("%-14s %s\n", file.filename().string().c_str(), are ? "the same bits" : "OTHER BITS");
  return are;
}

}  // namespace

int main(int, char** folder) {
  const std::filesystem::path from = folder[1];
  const bool first = same(from / "scores.npy", scores()), second = same(from / "forecast.npy", forecast());
  return same(from / "logits.npy", logits()) && first && second ? 0 : 1;
}
