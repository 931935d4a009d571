#pragma once

#include <array>
#include <string_view>

#include "gated/layers/linear.hpp"

/// @file
/// How the input joins the output of a layer.

namespace gated {

/// How a layer's input joins its output.
enum class Residual {
  none,
  plain,  ///< y + x
  scaled  ///< y + x ⊙ a learned scale per channel: mmpose
};

constexpr auto names_of(Residual) {
  return std::array{std::pair{Residual::none, std::string_view("none")}, std::pair{Residual::plain, std::string_view("plain")},
                    std::pair{Residual::scaled, std::string_view("scaled")}};
}

/// y = proj_out(attended), and x as the residual wants it.
template <class T>
void add_residual(const Linear<T>& proj_out, Residual residual, const Vector<T>& scale, const ConstView<T>& attended,
                  const ConstView<T>& x, View<T> y, Workspace<T>& workspace) {
  switch (residual) {
    case Residual::none:
      return proj_out.forward(attended, y, workspace.at("proj_out"));
    case Residual::plain:
      return proj_out.forward(attended, y, workspace.at("proj_out"), Add<T>(x));
    case Residual::scaled:
      return proj_out.forward(attended, y, workspace.at("proj_out"), AddScaled<T>(x, scale));
  }
}

}  // namespace gated
