// Forecasts the series of a CSV, with the CSV reader and the windows of examples/forecast.

#include <cmath>
#include <optional>

#include "common/text_file.hpp"
#include "forecast/windows.hpp"
#include "page.hpp"

namespace {

using namespace forecast;

constexpr Index season = 7;  // rows per season of the naive forecast

std::optional<Model> model;
std::optional<Table> table;
std::optional<Series> series;
gated::Workspace<float> workspace;

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

}  // namespace

/// Replaces the CSV reader's file access: returns the text in page::input.
std::string examples::read_text_file(const std::filesystem::path&) { return std::string(page::input_text()); }

/// Loads the model from its file's bytes in page::input.
PAGE_EXPORT(int, open)() {
  return page::respond([] { model.emplace(page::load<Model>("births.safetensors")); });
}

/// Reads the CSV in page::input, after the file's name (the first `name_size` bytes). Output: four counts (series, rows, rows
/// that the model reads, rows that it forecasts) and, as text, the names of the series, one per line.
PAGE_EXPORT(int, read)(std::size_t name_size) {
  return page::respond([=] {
    const auto& opened = page::expect_open(model);
    const std::string name(page::input_text().substr(0, name_size));
    page::input.erase(page::input.begin(), page::input.begin() + static_cast<std::ptrdiff_t>(name_size));
    Table next = read_table(name);
    page::input = {};
    const Series standardized(next, opened.config.context, opened.out());  // refuses series that are too short
    series.reset();
    table.emplace(std::move(next));
    series.emplace(*table, opened.config.context, opened.out());
    for (const std::string& one : table->names) {
      page::answer.text += one + '\n';
    }
    for (const Index number : {table->series(), table->past, opened.config.context, opened.out()}) {
      page::answer.numbers.push_back(static_cast<float>(number));
    }
  });
}

/// Output: the times of all rows and of the `horizon` rows after them, one per line.
PAGE_EXPORT(int, times)() {
  return page::respond([] {
    const Table& all = page::expect_open(table);
    for (Index i = 0; i < all.past; ++i) {
      page::answer.text += all.times[at(i)] + '\n';
    }
    for (const std::string& time : times_after(all, series->horizon)) {
      page::answer.text += time + '\n';
    }
  });
}

/// Output: notes on the table, about gaps, missing rows and unknown times.
PAGE_EXPORT(int, remarks)() {
  return page::respond([] { page::answer.text = notes(page::expect_open(table)); });
}

/// Output: the values of the series with index `one`, with NaN for gaps.
PAGE_EXPORT(int, values)(int one) {
  return page::respond([=] {
    const Table& all = page::expect_open(table);
    for (Index i = 0; i < all.past; ++i) {
      page::answer.numbers.push_back(series->seen(one, i) ? static_cast<float>(all.values(one, i)) : std::nanf(""));
    }
  });
}

/// Forecasts the series with index `one`. The forecast starts at row `row`. Output: the model's forecast, then the naive
/// one, with NaN where there is none.
PAGE_EXPORT(int, predict)(int one, int row) {
  return page::respond([=] {
    const Series& all = page::expect_open(series);
    const Matrix<float> y = forecast_at(*model, all, row, 0, workspace).cast<float>();
    page::answer.numbers.assign(y.row(one).begin(), y.row(one).end());
    const double mean = all.mean[at(one)], deviation = all.deviation[at(one)];
    for (Index i = 0; i < all.horizon; ++i) {
      const auto value = static_cast<double>(season_before(season, all, one, row, i).value_or(std::nanf("")));
      page::answer.numbers.push_back(static_cast<float>(value * deviation + mean));
    }
  });
}
