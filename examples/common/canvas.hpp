#pragma once

#include <array>
#include <string_view>

#include "gated/io/image.hpp"

/// What the examples draw with: boxes, a colour scale, small letters.

namespace examples {

/// Red, green, blue, each from 0 to 255.
using Colour = std::array<double, 3>;

inline constexpr Colour white{255, 255, 255}, grey{136, 142, 150}, black{40, 42, 48};

/// A part of a picture, in pixels.
struct Box {
  gated::Index left, top, width, height;
};

/// A white picture.
gated::Image blank(gated::Index width, gated::Index height);

/// Paints what of `box` lies in the picture.
void fill(gated::Image& image, const Box& box, const Colour& colour);

/// A frame just inside of `box`.
void draw_frame(gated::Image& image, const Box& box, const Colour& colour);

/// White at 0, dark red at 1 and above, dark blue at -1 and below, through a lighter colour half way.
Colour diverging(double value);

/// `part` of `colour` on white.
Colour pale(const Colour& colour, double part);

inline constexpr gated::Index letter_width = 12, letter_height = 15;

/// Writes letters (capitals only), digits and . % - from (left, top) on, each in letter_width × letter_height pixels.
void write(gated::Image& image, gated::Index left, gated::Index top, std::string_view text, const Colour& colour);

}  // namespace examples
