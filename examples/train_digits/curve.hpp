#pragma once

#include "common/chart.hpp"
#include "history.hpp"

namespace digits {

/// Curves of a training run over its epochs: the loss, and the accuracy on the held-out images in percent, from `lowest` up.
examples::Figure draw_curve(const History& history, double lowest);

}  // namespace digits
