#pragma once

#include "common/chart.hpp"
#include "history.hpp"

namespace digits {

/// Plots loss and held-out accuracy of a training run over its epochs. The accuracy axis runs from `lowest` to 100 %.
examples::Figure draw_curve(const History& history, double lowest);

}  // namespace digits
