#include "report.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

namespace digits {

namespace {

using gated::Index;

constexpr std::array<std::string_view, 5> blocks{" ", "░", "▒", "▓", "█"};
constexpr std::array<std::string_view, 8> letters{" ", ".", ":", "-", "+", "*", "#", "@"};

/// The size of a drawn image in characters, which are about twice as tall as wide.
struct Canvas {
  Index columns, lines;
};

Canvas canvas_for(gated::ImageSize image) {
  const Index columns = std::min<Index>(2 * image.width, 32);
  return {columns, std::max<Index>(columns * image.height / (2 * image.width), 1)};
}

/// The mean over all channels and all pixels that the character at (line, column) covers (at least one pixel).
float brightness(gated::ConstView<float> image, const gated::GmlpImageClassifierConfig& config, Canvas canvas, Index line,
                 Index column) {
  const auto [height, width] = config.image;
  const Index top = line * height / canvas.lines, left = column * width / canvas.columns;
  const Index bottom = std::max((line + 1) * height / canvas.lines, top + 1);
  const Index right = std::max((column + 1) * width / canvas.columns, left + 1);
  float sum = 0;
  for (Index channel = 0; channel < config.image_channels; ++channel) {
    for (Index y = top; y < bottom; ++y) {
      for (Index x = left; x < right; ++x) {
        sum += image(0, (channel * height + y) * width + x);
      }
    }
  }
  return sum / static_cast<float>(config.image_channels * (bottom - top) * (right - left));
}

std::string_view shade(float value, std::span<const std::string_view> shades) {
  const float level = value * static_cast<float>(shades.size() - 1) + 0.5F;
  return shades[std::min(static_cast<std::size_t>(level), shades.size() - 1)];
}

/// Pads `text`, which is `width` characters wide on the screen, with spaces to `columns` characters.
std::string cell(std::string text, Index width, Index columns) {
  text.append(static_cast<std::size_t>(std::max<Index>(columns - width, 0)), ' ');
  return text;
}

/// The images that draw() shows: at most four classified correctly, of different classes, then at most four misclassified.
std::vector<Index> choose(const LabelledImages& images, std::span<const Prediction> predictions) {
  std::vector<Index> right, wrong, classes;
  for (Index i = 0; i < images.count(); ++i) {
    const Index label = predictions[static_cast<std::size_t>(i)].label;
    if (label != images.labels[static_cast<std::size_t>(i)]) {
      wrong.push_back(i);
    } else if (right.size() < 4 && std::find(classes.begin(), classes.end(), label) == classes.end()) {
      right.push_back(i);
      classes.push_back(label);
    }
  }
  right.insert(right.end(), wrong.begin(), wrong.begin() + std::min<std::ptrdiff_t>(4, std::ssize(wrong)));
  return right;
}

}  // namespace

Index count_right(const LabelledImages& images, std::span<const Prediction> predictions) {
  Index right = 0;
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    right += predictions[i].label == images.labels[i] ? 1 : 0;
  }
  return right;
}

std::string draw(const LabelledImages& images, std::span<const Prediction> predictions,
                 const gated::GmlpImageClassifierConfig& config, bool ascii) {
  const auto chosen = choose(images, predictions);
  const Canvas canvas = canvas_for(config.image);
  const Index caption_width = 16 + 2 * std::ssize(gated::text(config.classes - 1)), gap = 2;  // "9  99.9 %  ✗ is 4"
  const Index columns = std::max(canvas.columns, caption_width) + gap;
  const auto shades = ascii ? std::span<const std::string_view>(letters) : std::span<const std::string_view>(blocks);
  std::string out;
  const auto end_line = [&] {
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  };
  const auto in_a_row = static_cast<std::size_t>(std::max<Index>((80 - 2 + gap) / columns, 1));
  for (std::size_t first = 0; first < chosen.size(); first += in_a_row) {
    const auto row = std::span(chosen).subspan(first, std::min(in_a_row, chosen.size() - first));
    for (Index line = 0; line < canvas.lines; ++line) {
      out += "  ";
      for (const Index i : row) {
        std::string picture;
        for (Index column = 0; column < canvas.columns; ++column) {
          picture += shade(brightness(images.pixels.row(i), config, canvas, line, column), shades);
        }
        out += cell(picture, canvas.columns, columns);
      }
      end_line();
    }
    out += "  ";
    for (const Index i : row) {
      const auto [label, probability] = predictions[static_cast<std::size_t>(i)];
      const Index truth = images.labels[static_cast<std::size_t>(i)];
      char percent[16];
      std::snprintf(percent, sizeof(percent), "%.1f %%", static_cast<double>(100 * probability));
      std::string caption = gated::text(label, "  ", percent);
      auto width = static_cast<Index>(caption.size());
      if (label != truth) {
        const std::string mark = gated::text(" is ", truth);
        caption += (ascii ? "  X" : "  ✗") + mark;
        width += 3 + static_cast<Index>(mark.size());
      }
      out += cell(caption, width, columns);
    }
    end_line();
    out += '\n';
  }
  return out;
}

std::string describe_mistakes(const LabelledImages& images, std::span<const Prediction> predictions) {
  std::map<std::pair<Index, Index>, int> times;  // the number of mistakes by (label, prediction)
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    if (predictions[i].label != images.labels[i]) {
      ++times[{images.labels[i], predictions[i].label}];
    }
  }
  std::vector<std::pair<std::pair<Index, Index>, int>> mistakes(times.begin(), times.end());
  std::stable_sort(mistakes.begin(), mistakes.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string out = gated::text(images.count() - count_right(images, predictions));
  for (std::size_t i = 0; i < mistakes.size() && i < 6; ++i) {
    const auto& [classes, count] = mistakes[i];
    out += gated::text(i > 0 ? ", " : ": ", classes.first, " as ", classes.second);
    out += count > 1 ? gated::text(" (", count, "x)") : "";
  }
  out += mistakes.size() > 6 ? ", and others" : "";
  return out;
}

}  // namespace digits
