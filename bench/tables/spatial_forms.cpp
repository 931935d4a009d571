#include "tables.hpp"

namespace bench {

void table_of_spatial_forms(const TableOptions& options) {
  constexpr Index columns = 1536;  // of gMLP-base, behind the gate's split
  struct Form {
    const char* series;
    gated::SpatialForm form;
    bool causal;
  };
  constexpr Form forms[] = {{"dense", gated::SpatialForm::dense, false},
                            {"Toeplitz", gated::SpatialForm::toeplitz, false},
                            {"dense causal", gated::SpatialForm::dense, true},
                            {"Toeplitz causal", gated::SpatialForm::toeplitz, true},
                            {"scaled Toeplitz", gated::SpatialForm::scaled_toeplitz, true}};
  for (Index length = 128; length <= (options.quick ? 128 : 4096); length *= 2) {
    const auto sequences = gated::Sequences::single(length);
    const gated::Matrix<float> v = gated::Matrix<float>::Random(length, columns);
    gated::Matrix<float> y = v;
    for (const auto& [series, form, causal] : forms) {
      gated::SpatialProjection<float> projection({.length = length, .causal = causal, .form = form});
      projection.weight.setRandom();
      gated::Workspace<float> workspace(options.threads);
      const double ms = milliseconds(options, [&] { projection.forward(v, sequences, y, workspace); });
      const double flops = 2.0 * columns * pairs(static_cast<double>(length), causal);
      print_row("spatial", series, length, "ms", ms);
      print_row("spatial", series, length, "of peak", flops / ms * 1e3 / peak(options.threads));
      print_row("spatial", series, length, "weights MB", megabytes(projection));
      print_row("spatial", series, length, "scratch MB", megabytes(workspace.bytes()));
    }
  }
}

}  // namespace bench
