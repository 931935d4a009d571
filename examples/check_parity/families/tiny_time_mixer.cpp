#include "gated/io/tiny_time_mixer.hpp"

#include "../inputs.hpp"

namespace parity {

namespace tiny_time_mixer {

/// Transposes each item: [items, times, series] to [items, series, times], or back.
template <class T>
Matrix<T> by_series(const Matrix<T>& x, Index items) {
  const Index times = x.rows() / items, series = x.cols();
  Matrix<T> y(items * series, times);
  for (Index b = 0; b < items; ++b) {
    y.middleRows(b * series, series) = x.middleRows(b * times, times).transpose();
  }
  return y;
}

/// The case's mask, transposed by by_series().
std::vector<std::uint8_t> mask_by_series(const CaseFile& file) {
  if (!file.has("mask")) {
    return {};
  }
  const Matrix<double> mask = by_series(file.matrix<double>("mask"), file.shape("mask").at(0));
  return {mask.data(), mask.data() + mask.size()};
}

/// The inputs of a forecaster other than the series.
template <class Run>
using OptionsIn = typename gated::TinyTimeMixer<typename Run::Scalar>::template Options<Run>;

template <class T>
Result<T> run_forecaster(const CaseFile& file, const gated::TinyTimeMixerConfig& config, const gated::NameMap& names) {
  gated::TinyTimeMixer<T> model(config);
  file.load(model, names);
  const Index items = file.shape("input").at(0), series = file.shape("input").at(2);
  const auto sequences = Sequences::uniform(items, series);
  const Matrix<T> whole = by_series(file.matrix<T>("input"), items);
  const Matrix<T> x = model.last_context(whole);
  const auto observed = mask_by_series(file);
  const auto resolution = ids_of(file, "freq_token");
  const Matrix<T> future = file.has("future_values") ? by_series(file.matrix<T>("future_values"), items) : Matrix<T>();

  Result<T> result;
  gated::Workspace<T> workspace;
  const auto with_future = [&](auto options, const auto& rows) {
    options.observed = observed;
    options.resolution = resolution;
    if (future.size() > 0) {
      options.future = rows;
    }
    return options;
  };
  const gated::RunMatrix<T> future_rows(gated::input_view<T>(future));
  const Matrix<T> y = model.forward(x, sequences, workspace, with_future(OptionsIn<gated::Batch<T>>(), future_rows));
  result.output = by_series(y, items);

  // Frozen parameters have no gradients, here and in the file.
  const auto frozen = argument(file.call(), "frozen", std::vector<std::string>());
  add_gradients<T>(
      result, file, model, names,
      [&](auto& tape, auto& input) {
        const auto variable = input("input", whole);
        const Index rest = whole.cols() - config.context;
        const auto last = rest > 0 ? tape.columns(variable, rest, config.context) : variable;
        const auto known = future.size() > 0 ? input("future_values", future) : gated::Variable();
        gated::Recording<T> recording(tape, sequences);
        return recording(model, last, with_future(OptionsIn<gated::Recording<T>>(), known));
      },
      [&](const Matrix<T>& matrix) { return by_series(matrix, items); }, [](auto&) {}, frozen);
  return result;
}

template <class T>
Result<T> run_ttm(const CaseFile& file) {
  const auto config = gated::ttm_config(file.arguments().dump());
  return run_forecaster<T>(file, config, gated::ttm_names(config));
}

template <class T>
Result<T> run_patchtsmixer(const CaseFile& file) {
  const auto config = gated::patchtsmixer_config(file.arguments().dump());
  return run_forecaster<T>(file, config, gated::patchtsmixer_names());
}

constexpr Family families[] = {
    {"ttm", "TinyTimeMixerForPrediction", run_ttm<float>, run_ttm<double>},
    {"patchtsmixer", "PatchTSMixerForPrediction", run_patchtsmixer<float>, run_patchtsmixer<double>}};

}  // namespace tiny_time_mixer

std::span<const Family> time_mixer_families() { return tiny_time_mixer::families; }

}  // namespace parity
