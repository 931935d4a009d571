// Charts: the text of the SVG, the positions of values, and refused input.

#include "common/chart.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <regex>

#include "common/ticks.hpp"
#include "gated/core/error.hpp"

namespace examples {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();

Figure figure_of(const Series& series) { return {.title = "A title", .panels = {{.series = {series}}}}; }

std::string message_of(const Figure& figure) {
  try {
    svg(figure);
  } catch (const gated::ArgumentError& error) {
    return error.what();
  }
  return "";
}

/// The first capture group of each match of `pattern` in `text`.
std::vector<std::string> found(const std::string& text, const std::string& pattern) {
  std::vector<std::string> all;
  const std::regex regex(pattern);
  for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match) {
    all.push_back((*match)[1]);
  }
  return all;
}

std::vector<std::string> labels_of(const std::vector<Tick>& ticks) {
  std::vector<std::string> labels;
  for (const Tick& tick : ticks) {
    labels.push_back(tick.label + (tick.below.empty() ? "" : "|" + tick.below));
  }
  return labels;
}

/// Seconds since 1970.
double date(int year, unsigned month, unsigned day, int hour = 0) {
  using namespace std::chrono;
  return static_cast<double>(
      (sys_days(std::chrono::year(year) / static_cast<int>(month) / static_cast<int>(day)).time_since_epoch() + hours(hour)) /
      seconds(1));
}

using Labels = std::vector<std::string>;

TEST(Ticks, AreRoundNumbers) {
  EXPECT_EQ(labels_of(round_ticks(6763, 13863, 5)), (Labels{"8,000", "10,000", "12,000"}));
  EXPECT_EQ(labels_of(round_ticks(-0.05, 0.11, 4)), (Labels{"−0.05", "0", "0.05", "0.10"}));
  EXPECT_EQ(labels_of(round_ticks(0, 3.1e-6, 4)), (Labels{"0", "1e−6", "2e−6", "3e−6"}));
  EXPECT_EQ(labels_of(round_ticks(0, 4e6, 2)), (Labels{"0", "2,000,000", "4,000,000"}));
  EXPECT_EQ(labels_of(round_ticks(0, 3e10, 3)), (Labels{"0", "1e10", "2e10", "3e10"}));
}

TEST(Ticks, ArePowersOfTenOnLogarithmicAxes) {
  EXPECT_EQ(labels_of(log_ticks(1, 2e6)), (Labels{"1", "10", "100", "1k", "10k", "100k", "1M"}));
  EXPECT_EQ(labels_of(log_ticks(2, 20)), (Labels{"2", "5", "10", "20"}));
  EXPECT_EQ(labels_of(log_ticks(0.2, 2)), (Labels{"0.2", "0.5", "1", "2"}));
}

TEST(Ticks, AreRoundDates) {
  EXPECT_EQ(labels_of(time_ticks(date(2014, 10, 9), date(2015, 2, 20), 5)), (Labels{"Nov|2014", "Dec", "Jan|2015", "Feb"}));
  EXPECT_EQ(labels_of(time_ticks(date(2014, 12, 4), date(2014, 12, 31), 5)),
            (Labels{"8 Dec|2014", "15 Dec", "22 Dec", "29 Dec"}));
  EXPECT_EQ(labels_of(time_ticks(date(2024, 2, 28, 20), date(2024, 3, 1, 5), 4)),
            (Labels{"00:00|29 Feb 2024", "12:00", "00:00|1 Mar"}));
  EXPECT_EQ(labels_of(time_ticks(date(1969, 12, 1), date(1970, 2, 2), 4)), (Labels{"Dec|1969", "Jan|1970", "Feb"}));
  EXPECT_EQ(labels_of(time_ticks(date(1903, 5, 1), date(1961, 5, 1), 4)), (Labels{"1920", "1940", "1960"}));
}

TEST(Chart, EscapesText) {
  const std::string all = svg(figure_of({.name = "a < \"b\" & c\n", .x = {0, 1}, .y = {0, 1}}));
  EXPECT_NE(all.find(">a &lt; &quot;b&quot; &amp; c <"), std::string::npos) << all;
}

TEST(Chart, ScalesToAnyWidth) {
  const std::string all = svg(figure_of({.x = {0, 1}, .y = {0, 1}}));
  EXPECT_EQ(found(all, "(<svg[^>]* width=)"), Labels{});
  EXPECT_EQ(found(all, "viewBox=\"0 0 ([0-9]+) "), Labels{"640"});
  EXPECT_EQ(found(all, "@media.prefers-color-scheme:(dark)"), Labels{"dark"});
}

// Each y tick must be at the height of its value in the plot, and each x tick below its value.
TEST(Chart, PlacesValuesOnTheirTicks) {
  const std::string all = svg(
      {.title = "",
       .panels = {
           {.x = {.from = 0, .to = 100}, .y = {.from = 0, .to = 40}, .series = {{.x = {0, 50, 100}, .y = {40, nan, 20}}}}}});
  const Labels x = found(all, "middle\" x=\"([0-9.]+)\""), y = found(all, "end\" x=\"[0-9.]+\" y=\"([0-9.]+)\"");
  EXPECT_EQ(found(all, "middle\"[^>]*>([^<]+)<"), (Labels{"0", "20", "40", "60", "80", "100"}));
  EXPECT_EQ(found(all, "end\"[^>]*>([^<]+)<"), (Labels{"0", "10", "20", "30", "40"}));
  EXPECT_EQ(found(all, "class=\"line c0\" d=\"([^\"]+)\""), Labels{"M" + x[0] + " " + y[4] + "h0M" + x[5] + " " + y[2] + "h0"});
}

TEST(Chart, PlacesValuesOnLogarithmicAxes) {
  const Axis axis{.title = "", .scale = Scale::logarithmic};
  const std::string all =
      svg({.title = "", .panels = {{.x = axis, .y = axis, .series = {{.x = {1, 10, 100}, .y = {1, 10, 100}}}}}});
  double x[3], y[3];
  ASSERT_EQ(std::sscanf(found(all, "class=\"line c0\" d=\"([^\"]+)\"").at(0).c_str(), "M%lf %lfh0L%lf %lfL%lf %lf", &x[0],
                        &y[0], &x[1], &y[1], &x[2], &y[2]),
            6);
  EXPECT_NEAR(x[1] - x[0], x[2] - x[1], 0.11);
  EXPECT_NEAR(y[0] - y[1], y[1] - y[2], 0.11);
}

TEST(Chart, DrawsBandsBarsAndDots) {
  const Series band{.form = Form::band, .x = {0, 1, 2, 3}, .y = {0, 0, nan, 0}, .high = {1, 1, 1, 1}};
  EXPECT_EQ(found(svg(figure_of(band)), "class=\"band c0\" d=\"M[^Mz]*(L[^Mz]*L[^Mz]*L[^Mz]*z)").size(), 1U);
  const Series bars{.form = Form::bars, .x = {0, 1}, .y = {2, -2}};
  const Labels heights = found(found(svg(figure_of(bars)), "class=\"bars c0\" d=\"([^\"]+)").at(0), "v([-0-9.]+)");
  ASSERT_EQ(heights.size(), 2U);
  EXPECT_EQ("-" + heights[0], heights[1]);
  const Series dots{.form = Form::dotted_line, .x = {0, 1}, .y = {2, 1}};
  EXPECT_EQ(found(svg(figure_of(dots)), "class=\"dots c0\" d=\"M[^M]*h0M[^M]*(h0)\"").size(), 1U);
}

// Two curves end at the same height. Their names, right of the plot, must be at least one line of text apart.
TEST(Chart, KeepsNamesApartAndOffTheCurves) {
  const std::string all =
      svg({.title = "",
           .panels = {{.x = {.from = 0, .to = 1},
                       .series = {{.name = "one", .x = {0, 1}, .y = {0, 1}}, {.name = "two", .x = {0, 1}, .y = {1, 1}}}}}});
  const Labels y = found(all, "class=\"\" x=\"[0-9.]+\" y=\"([0-9.]+)\""), names = found(all, "class=\"\"[^>]*>([^<]+)<");
  ASSERT_EQ(names, (Labels{"one", "two"}));
  EXPECT_GE(std::stod(y[1]) - std::stod(y[0]), 19);
  const double right = std::stod(found(all, "class=\"line c0\" d=\"M[^L]*L([0-9.]+)").at(0));
  EXPECT_GT(std::stod(found(all, "class=\"\" x=\"([0-9.]+)\"").at(0)), right);
}

TEST(Chart, ShortensTitlesThatDoNotFit) {
  const std::string all =
      svg({.title = "", .panels = {{.title = std::string(99, 'x'), .series = {{.x = {0}, .y = {0}}}}}, .columns = 3});
  EXPECT_EQ(found(all, ">x+(…)<").size(), 1U) << all;
}

TEST(Chart, LabelsHeatMapsInTheUnitsOfTheirAxes) {
  const gated::Matrix<float> values = gated::Matrix<float>::Constant(40, 100, 1);
  const std::string all = svg({.title = "",
                               .panels = {{.x = {.title = "seconds", .from = 0, .to = 2},
                                           .y = {.title = "kHz", .from = 0, .to = 8},
                                           .heat_map = HeatMap{.values = values}}}});
  const auto height_of = [&](const std::string& label) {
    const std::size_t end = all.find("\" dy=\".35em\">" + label + "<"), begin = all.rfind("y=\"", end);
    EXPECT_NE(end, std::string::npos) << label;
    return std::stod(all.substr(begin + 3));
  };
  EXPECT_GT(height_of("2"), height_of("8"));
  EXPECT_NE(all.find(">1.5<"), std::string::npos);
  EXPECT_EQ(all.find(">50<"), std::string::npos);
}

TEST(Chart, GivesHeatMapsAColourBar) {
  gated::Matrix<float> values(2, 3);
  values << 0.5F, 0.5F, 0, -1, 0, 0.01F;
  const std::string all = svg({.title = "", .panels = {{.heat_map = HeatMap{.values = values}}}, .colour_title = "weight"});
  EXPECT_EQ(found(all, "middle\"[^>]*>([^<]+)<"), (Labels{"−1.0", "−0.5", "0", "0.5", "1.0"}));
  EXPECT_NE(all.find(">weight<"), std::string::npos);
  const std::string map = all.substr(all.rfind("class=\"cells\""));  // the last match: earlier ones are the colour bar
  EXPECT_EQ(found(map, "class=\"more\" opacity=\"0.5\" d=\"([^\"]+)\""), Labels{"m0 0h2"});
  EXPECT_EQ(found(map, "class=\"less\" opacity=\"1\" d=\"([^\"]+)\""), Labels{"m0 1h1"});
  EXPECT_EQ(found(map, "(opacity)").size(), 2U);
}

TEST(Chart, RefusesWhatItCannotDraw) {
  EXPECT_EQ(message_of({.title = "A title", .panels = {}}), "chart: \"A title\" has no panels.");
  EXPECT_EQ(message_of({.title = "", .panels = {{.title = "loss"}}}), "chart: the panel \"loss\" has nothing to draw.");
  EXPECT_EQ(message_of(figure_of({.name = "loss"})),
            "chart: \"loss\" has 0 x, 0 y and 0 high values. Give at least one x, a y for each x and, for a band, a high for "
            "each x.");
  EXPECT_NE(message_of(figure_of({.name = "loss", .x = {0, 1}, .y = {0}})).find("\"loss\" has 2 x, 1 y"), std::string::npos);
  EXPECT_EQ(message_of(figure_of({.name = "loss", .x = {0}, .y = {infinity}})),
            "chart: \"loss\" has the value inf, expected a finite number.");
  EXPECT_EQ(message_of(figure_of({.name = "loss", .x = {nan}, .y = {1}})),
            "chart: \"loss\" has the value nan, expected a finite number.");
  EXPECT_EQ(message_of({.title = "",
                        .panels = {{.title = "rate", .y = {.scale = Scale::logarithmic}, .series = {{.x = {0}, .y = {0}}}}}}),
            "chart: \"rate\" has the value 0, expected a positive number.");
  EXPECT_EQ(message_of({.title = "",
                        .panels = {{.title = "W", .heat_map = HeatMap{.values = gated::Matrix<float>::Constant(1, 1, NAN)}}}}),
            "chart: the heat map \"W\" has a value that is not finite.");
}

TEST(Chart, DrawsASingleValueAndGaps) {
  EXPECT_EQ(message_of(figure_of({.x = {3}, .y = {0}})), "");
  EXPECT_EQ(message_of(figure_of({.x = {1, 2}, .y = {nan, nan}})), "");
  EXPECT_EQ(message_of({.title = "", .panels = {{.heat_map = HeatMap{.values = gated::Matrix<float>::Zero(1, 1)}}}}), "");
}

}  // namespace
}  // namespace examples
