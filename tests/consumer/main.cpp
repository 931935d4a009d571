// A user's program: a model of its own, and its table.

#include <cstdio>
#include <gated/core/summary.hpp>
#include <tuple>

struct Line {
  gated::Matrix<float> weight = gated::Matrix<float>::Zero(2, 3);
  gated::Vector<float> bias = gated::Vector<float>::Zero(2);

  static constexpr auto fields() {
    return std::tuple{gated::field("weight", &Line::weight, gated::Role::weight),
                      gated::field("bias", &Line::bias, gated::Role::bias)};
  }
};

int main() {
  const Line line;
  std::fputs(gated::summary(line).c_str(), stdout);
  return gated::parameter_count(line) == 8 ? 0 : 1;
}
