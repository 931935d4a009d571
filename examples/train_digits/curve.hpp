#pragma once

#include "common/chart.hpp"
#include "history.hpp"

namespace digits {

/// A picture of a training, over its epochs: the loss, and the accuracy on the held-out images in percent, from `lowest` on.
examples::Figure draw_curve(const History& history, double lowest);

}  // namespace digits
