#include "picture.hpp"

#include "common/chart.hpp"
#include "gated/audio/spectrum.hpp"

namespace denoise {
namespace {

using gated::Index, gated::Matrix;

constexpr Index columns = 240, rows = 80;
constexpr float range = 60;  // dB

/// The mean power in dB: a column per part of the sound, a row per band of the spectrum, high frequencies first.
Matrix<float> spectrogram(const examples::Recording& recording) {
  const gated::SpectrumOptions options{.length = 2 * rows * ((recording.rate() / 50 + 2 * rows - 1) / (2 * rows)),
                                       .hop = recording.rate() / 100};
  const Index frames = recording.frames(), wide = std::min(columns, std::max<Index>(frames / options.hop, 1));
  const Index bins = options.length / 2 / rows;
  Matrix<float> picture(rows, wide);
  for (Index c = 0; c < wide; ++c) {
    // Reads only the first 100 ms of a longer column, to bound the time for long recordings.
    const Index begin = c * frames / wide,
                longest = std::min((c + 1) * frames / wide - begin + options.length, recording.rate() / 10);
    const Index count = std::min(longest, frames - begin);
    gated::Vector<float> samples = gated::Vector<float>::Zero(std::max(count, options.length));
    samples.head(count) = recording.read(begin, count).col(0);
    const gated::Vector<float> power = gated::power_spectrum<float>(samples, options).colwise().mean();
    for (Index r = 0; r < rows; ++r) {
      picture(rows - 1 - r, c) = 10 * std::log10(power.segment(r * bins, bins).mean() + 1e-12f);
    }
  }
  return picture;
}

}  // namespace

void draw(const std::filesystem::path& path, const examples::Recording& before, const examples::Recording& after) {
  examples::Figure figure{
      .title = "Before and after", .panels = {}, .full_colour = range, .colour_title = "dB above the faintest"};
  float faintest = 0;
  for (const auto& [title, recording] : {std::pair{"before", &before}, std::pair{"after", &after}}) {
    const Matrix<float> power = spectrogram(*recording);
    if (figure.panels.empty()) {
      faintest = power.maxCoeff() - range;
    }
    figure.panels.push_back({.title = title,
                             .x = {.title = "seconds", .from = 0, .to = recording->seconds()},
                             .y = {.title = "kHz", .from = 0, .to = static_cast<double>(recording->rate()) / 2000},
                             .heat_map = examples::HeatMap{.values = (power.array() - faintest).cwiseMax(0.0f).matrix()}});
  }
  examples::write_svg(path, figure);
}

}  // namespace denoise
