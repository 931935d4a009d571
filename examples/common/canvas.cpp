#include "common/canvas.hpp"

#include <algorithm>
#include <cmath>

namespace examples {

using gated::Image, gated::Index;

namespace {

/// Five rows of three dots, an octal digit per row.
struct Glyph {
  char letter;
  std::string_view rows;
};
constexpr std::array glyphs{
    Glyph{'0', "75557"}, Glyph{'1', "26227"}, Glyph{'2', "71747"}, Glyph{'3', "71717"}, Glyph{'4', "55711"},
    Glyph{'5', "74717"}, Glyph{'6', "74757"}, Glyph{'7', "71122"}, Glyph{'8', "75757"}, Glyph{'9', "75717"},
    Glyph{'A', "25755"}, Glyph{'B', "65656"}, Glyph{'C', "34443"}, Glyph{'D', "65556"}, Glyph{'E', "74647"},
    Glyph{'F', "74644"}, Glyph{'G', "34553"}, Glyph{'H', "55755"}, Glyph{'I', "72227"}, Glyph{'J', "11152"},
    Glyph{'K', "55655"}, Glyph{'L', "44447"}, Glyph{'M', "57755"}, Glyph{'N', "65555"}, Glyph{'O', "25552"},
    Glyph{'P', "65644"}, Glyph{'Q', "25573"}, Glyph{'R', "65655"}, Glyph{'S', "34216"}, Glyph{'T', "72222"},
    Glyph{'U', "55553"}, Glyph{'V', "55552"}, Glyph{'W', "55775"}, Glyph{'X', "55255"}, Glyph{'Y', "55222"},
    Glyph{'Z', "71247"}, Glyph{'.', "00002"}, Glyph{'%', "51245"}, Glyph{'-', "00700"}};
constexpr Index dot = 3;

}  // namespace

Image blank(Index width, Index height) {
  Image image{.width = width, .height = height, .channels = 3};
  image.pixels.assign(static_cast<std::size_t>(3 * width * height), 255);
  return image;
}

void fill(Image& image, const Box& box, const Colour& colour) {
  for (Index y = std::max<Index>(box.top, 0); y < std::min(box.top + box.height, image.height); ++y) {
    for (Index x = std::max<Index>(box.left, 0); x < std::min(box.left + box.width, image.width); ++x) {
      for (std::size_t c = 0; c < 3; ++c) {
        image.pixels[static_cast<std::size_t>(3 * (y * image.width + x)) + c] =
            static_cast<std::uint8_t>(std::lround(colour[c]));
      }
    }
  }
}

void draw_frame(Image& image, const Box& box, const Colour& colour) {
  fill(image, {box.left, box.top, box.width, 1}, colour);
  fill(image, {box.left, box.top + box.height - 1, box.width, 1}, colour);
  fill(image, {box.left, box.top, 1, box.height}, colour);
  fill(image, {box.left + box.width - 1, box.top, 1, box.height}, colour);
}

Colour diverging(double value) {
  constexpr std::array reds{white, Colour{240, 132, 96}, Colour{165, 15, 38}};
  constexpr std::array blues{white, Colour{96, 165, 214}, Colour{16, 62, 138}};
  const auto& ramp = value < 0 ? blues : reds;
  const double place = 2 * std::min(std::abs(value), 1.0);
  const std::size_t lower = place < 1 ? 0 : 1;
  Colour mixed{};
  for (std::size_t c = 0; c < 3; ++c) {
    mixed[c] = ramp[lower][c] + (ramp[lower + 1][c] - ramp[lower][c]) * (place - static_cast<double>(lower));
  }
  return mixed;
}

Colour pale(const Colour& colour, double part) {
  Colour mixed{};
  for (std::size_t c = 0; c < 3; ++c) {
    mixed[c] = white[c] + (colour[c] - white[c]) * part;
  }
  return mixed;
}

void write(Image& image, Index left, Index top, std::string_view text, const Colour& colour) {
  for (const char letter : text) {
    const auto glyph = std::find_if(glyphs.begin(), glyphs.end(), [&](const Glyph& g) { return g.letter == letter; });
    for (Index i = 0; glyph != glyphs.end() && i < 15; ++i) {
      if ((glyph->rows[static_cast<std::size_t>(i / 3)] - '0') >> (2 - i % 3) & 1) {
        fill(image, {left + i % 3 * dot, top + i / 3 * dot, dot, dot}, colour);
      }
    }
    left += letter_width;
  }
}

}  // namespace examples
