#pragma once

#include "gated/io/image.hpp"
#include "history.hpp"

namespace digits {

/// A picture of a training, over its epochs. Above, the loss: every step pale, and the mean of the last epoch's steps. Below,
/// the accuracy on the held-out images in percent, from 90 on.
gated::Image draw_curve(const History& history);

}  // namespace digits
