#include "curve.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "common/canvas.hpp"

namespace digits {

using examples::Box, examples::Colour, gated::Image, gated::Index;

namespace {

constexpr Colour red{190, 40, 50}, blue{30, 90, 170};

/// The distance between ticks, a round number, so that there are about `count` of them.
double tick_distance(double range, double count) {
  const double power = std::pow(10, std::floor(std::log10(range / count)));
  for (const double step : {1.0, 2.0, 5.0}) {
    if (range / (step * power) <= count) {
      return step * power;
    }
  }
  return 10 * power;
}

/// A diagram: numbers from (0, lowest), left and below, to (epochs, highest), right and above.
class Panel {
 public:
  Panel(Image& image, const Box& box, double epochs, double lowest, double highest)
      : image_(image), box_(box), epochs_(epochs), lowest_(lowest), highest_(highest) {}

  void draw_axes(std::string_view title, bool name_epochs) {
    for (double y = 0, step = tick_distance(highest_ - lowest_, 5); y <= highest_; y += step) {
      if (y >= lowest_) {
        const std::string label = number(y, step);
        examples::fill(image_, {box_.left, row(y), box_.width, 1}, examples::pale(examples::grey, 0.4));
        examples::write(image_, box_.left - 8 - static_cast<Index>(label.size()) * examples::letter_width,
                        row(y) - examples::letter_height / 2, label, examples::black);
      }
    }
    for (double x = 0, step = std::max(tick_distance(epochs_, 10), 1.0); x <= epochs_; x += step) {
      const std::string label = number(x, 1);
      examples::fill(image_, {column(x), box_.top + box_.height, 1, 5}, examples::grey);
      if (name_epochs) {
        examples::write(image_, column(x) - static_cast<Index>(label.size()) * examples::letter_width / 2,
                        box_.top + box_.height + 10, label, examples::black);
      }
    }
    examples::draw_frame(image_, box_, examples::grey);
    examples::write(image_, box_.left, box_.top - examples::letter_height - 7, title, examples::black);
  }

  /// A line through `values`, which are spread evenly up to the last epoch; value i stands at its end.
  void draw_line(const std::vector<double>& values, const Colour& colour, Index thickness) {
    for (std::size_t i = 1; i < values.size(); ++i) {
      const auto place = [&](std::size_t k) {
        return epochs_ * static_cast<double>(k + 1) / static_cast<double>(values.size());
      };
      const Index from = column(place(i - 1)), to = column(place(i)), begin = row(values[i - 1]), end = row(values[i]);
      for (Index x = from; x <= to; ++x) {
        const auto at = [&](Index c) {
          return to == from ? end : begin + (end - begin) * (std::min(c, to) - from) / (to - from);
        };
        const Index y = to == from ? begin : at(x), next = to == from ? end : at(x + 1);
        examples::fill(image_, {x, std::min(y, next) - thickness / 2, thickness, std::abs(next - y) + thickness}, colour);
      }
    }
  }

 private:
  static std::string number(double value, double step) {
    char text[32];
    std::snprintf(text, sizeof text, "%.*f", step < 1 ? 1 : 0, value);
    return text;
  }
  Index column(double epoch) const {
    return box_.left + static_cast<Index>(std::lround(epoch / epochs_ * static_cast<double>(box_.width - 1)));
  }
  Index row(double value) const {
    const double part = std::clamp((value - lowest_) / (highest_ - lowest_), 0.0, 1.0);
    return box_.top + box_.height - 1 - static_cast<Index>(std::lround(part * static_cast<double>(box_.height - 1)));
  }

  Image& image_;
  Box box_;
  double epochs_, lowest_, highest_;
};

/// The mean of the last `count` values, at every value.
std::vector<double> moving_mean(const std::vector<double>& values, std::size_t count) {
  std::vector<double> means;
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    sum += values[i] - (i >= count ? values[i - count] : 0);
    means.push_back(sum / static_cast<double>(std::min(i + 1, count)));
  }
  return means;
}

}  // namespace

Image draw_curve(const History& history, double lowest) {
  Image image = examples::blank(840, 620);
  const std::size_t epochs = std::max<std::size_t>(history.accuracies.size(), 1);
  Panel loss(image, {70, 40, 740, 300}, static_cast<double>(epochs), 0, 2.5);
  loss.draw_axes("LOSS", false);
  loss.draw_line(history.losses, examples::pale(red, 0.3), 1);
  loss.draw_line(moving_mean(history.losses, history.losses.size() / epochs), red, 3);

  std::vector<double> percent;
  for (const double accuracy : history.accuracies) {
    percent.push_back(100 * accuracy);
  }
  Panel accuracy(image, {70, 400, 740, 160}, static_cast<double>(epochs), lowest, 100);
  accuracy.draw_axes("% RIGHT OF THE HELD-OUT", true);
  accuracy.draw_line(percent, blue, 3);
  examples::write(image, 70 + 740 - 5 * examples::letter_width, 560 + 35, "EPOCH", examples::black);
  return image;
}

}  // namespace digits
