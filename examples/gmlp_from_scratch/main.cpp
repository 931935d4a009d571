// gmlp_from_scratch: a gMLP in sixty lines of plain Eigen, compared with the library layer by layer. See README.md.

#include <cstdio>
#include <map>

#include "gated/models/gmlp.hpp"
#include "gmlp.hpp"

namespace {

using gated::Index, gated::Matrix;

/// The parameters of a library block, as plain matrices.
scratch::Block copy_of(const gated::GmlpBlock<double>& block) {
  return {.norm = {block.norm.weight, block.norm.bias, block.config.norm_eps},
          .in = {block.proj_in.weight, block.proj_in.bias},
          .gate_norm = {block.gate.norm.weight, block.gate.norm.bias, block.config.gate_norm_eps},
          .spatial = block.gate.proj.weight,
          .spatial_bias = block.gate.proj.bias.transpose(),
          .out = {block.proj_out.weight, block.proj_out.bias}};
}

}  // namespace

int main() {
  gated::Random random(1);
  gated::Gmlp<double> model({.length = 9, .channels = 6, .hidden = 16, .depth = 3}, random);
  gated::for_each_parameter([&](const gated::ParameterInfo&, auto values) { gated::fill_normal(values, 0.5, random); }, model);
  Matrix<double> x(9, 6);
  gated::fill_normal(x, 1.0, random);

  // The library's results: the hook receives the path and the output of each layer.
  std::map<std::string, Matrix<double>> shown;
  gated::Workspace<double> workspace;
  workspace.set_hook([&](const std::string& path, gated::ConstView<double> output) { shown[path] = output; });
  model.forward(x, gated::Sequences::single(9), workspace);

  double largest = 0;
  const auto compare = [&](const std::string& path, const scratch::Matrix& expected) {
    const double difference = (shown.at(path) - expected).cwiseAbs().maxCoeff() / expected.cwiseAbs().maxCoeff();
    std::printf("%-24s %td x %2td   difference %.0e\n", path.c_str(), expected.rows(), expected.cols(), difference);
    largest = std::max(largest, difference);
  };
  scratch::Matrix y = x;
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    const std::string path = gated::text("blocks.", i);
    const scratch::Trace trace = scratch::run(copy_of(model.blocks[i]), y);
    compare(path + ".norm", trace.norm);
    compare(path + ".proj_in", trace.in);
    compare(path + ".gate.norm", trace.gate_norm);
    compare(path + ".gate.proj", trace.spatial);
    compare(path + ".gate", trace.gated);
    compare(path, trace.y);
    y = trace.y;
  }
  std::puts(largest < 1e-12 ? "the same, layer by layer" : "DIFFERENT");
  return largest < 1e-12 ? 0 : 1;
}
