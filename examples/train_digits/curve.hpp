#pragma once

#include "gated/io/image.hpp"
#include "history.hpp"

namespace digits {

/// A picture of a training, over its epochs. Above, the loss: every step pale, and the mean of the last epoch's steps. Below,
/// the accuracy on the held-out images in percent, from `lowest` on.
gated::Image draw_curve(const History& history, double lowest);

}  // namespace digits
