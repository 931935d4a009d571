#include <list>

#include "tables.hpp"

namespace bench {

namespace {

constexpr Index columns = 1536;  // half the hidden width of gMLP-base

/// A spatial projection of one form, with its own workspace.
struct Form {
  const char* series;
  gated::SpatialProjection<float> projection;
  gated::Workspace<float> workspace;

  Form(const char* name, const gated::SpatialProjectionConfig& config, Threads threads)
      : series(name), projection(config), workspace(threads) {
    projection.weight.setRandom();
  }
};

void measure(const TableOptions& options, Index length) {
  std::list<Form> forms;  // a list, because workspaces are not movable
  const auto add = [&](const char* series, gated::SpatialForm form, bool causal) {
    forms.emplace_back(series, gated::SpatialProjectionConfig{.length = length, .causal = causal, .form = form},
                       options.threads);
  };
  add("dense", gated::SpatialForm::dense, false);
  add("Toeplitz", gated::SpatialForm::toeplitz, false);
  add("dense causal", gated::SpatialForm::dense, true);
  add("Toeplitz causal", gated::SpatialForm::toeplitz, true);
  add("scaled Toeplitz", gated::SpatialForm::scaled_toeplitz, true);

  const auto sequences = gated::Sequences::single(length);
  const gated::Matrix<float> v = gated::Matrix<float>::Random(length, columns);
  gated::Matrix<float> y = v;
  std::vector<Measurement> measurements{peak_of(options.threads)};
  for (Form& form : forms) {
    measurements.push_back(time_of(options, [&] { form.projection.forward(v, sequences, y, form.workspace); }));
  }
  const auto figures = by_turns(options.turns(), measurements);
  auto times = figures.begin() + 1;
  for (const auto& [series, projection, workspace] : forms) {
    const double time = median(*times++);
    const double flops = spatial_flops(columns, length, projection.is_causal());
    print_row("spatial", series, length, "ms", 1e3 * time);
    print_row("spatial", series, length, "of peak", flops / time / best(figures[0]));
    print_row("spatial", series, length, "weights MB", megabytes(projection));
    print_row("spatial", series, length, "scratch MB", megabytes(workspace.bytes()));
  }
}

}  // namespace

void table_of_spatial_forms(const TableOptions& options) {
  for (Index length = 128; length <= (options.quick ? 128 : 4096); length *= 2) {
    measure(options, length);
  }
}

}  // namespace bench
