#include "curve.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

namespace digits {

using examples::Colour, examples::Form, examples::Series;

namespace {

/// Non-finite losses of a diverged training run become gaps.
double or_gap(double value) { return std::isfinite(value) ? value : std::nan(""); }

}  // namespace

examples::Figure draw_curve(const History& history, double lowest) {
  const std::size_t steps = history.losses.size(), epochs = std::max<std::size_t>(history.accuracies.size(), 1);
  const std::size_t places = std::min<std::size_t>(steps, 240);  // more points would not be visible
  Series each{.name = "each step", .colour = Colour::vermilion, .form = Form::band};
  Series mean{.name = "mean of an epoch", .colour = Colour::vermilion};
  for (std::size_t i = 0; i < places; ++i) {
    const std::size_t begin = steps * i / places, end = steps * (i + 1) / places;
    const auto here = std::span(history.losses).subspan(begin, end - begin);
    const auto epoch = std::span(history.losses).first(end).last(std::min(end, std::max<std::size_t>(steps / epochs, 1)));
    const auto [least, largest] = std::minmax_element(here.begin(), here.end());
    each.x.push_back(static_cast<double>(epochs) * static_cast<double>(end) / static_cast<double>(steps));
    each.y.push_back(or_gap(*least));
    each.high.push_back(or_gap(*largest));
    mean.y.push_back(or_gap(std::accumulate(epoch.begin(), epoch.end(), 0.0) / static_cast<double>(epoch.size())));
  }
  mean.x = each.x;
  Series right{.colour = Colour::blue, .form = epochs < 20 ? Form::dotted_line : Form::line};
  for (std::size_t i = 0; i < history.accuracies.size(); ++i) {
    right.x.push_back(static_cast<double>(i + 1));
    const double percent = 100 * history.accuracies[i];
    right.y.push_back(percent < lowest ? std::nan("") : percent);
  }
  const auto last = static_cast<double>(epochs);
  return {.title = "Training: loss and accuracy",
          .panels = {{.x = {.from = 0, .to = last}, .y = {.title = "loss", .from = 0}, .series = {each, mean}},
                     {.x = {.title = "epoch", .from = 0, .to = last},
                      .y = {.title = "accuracy on held-out images, %", .from = lowest, .to = 100},
                      .series = {right},
                      .height = 150}}};
}

}  // namespace digits
