#include "gated/models/prepare.hpp"
#include "gated/ops/int8_products.hpp"
#include "tables.hpp"

namespace bench {

namespace {

using gated::Arithmetic, gated::WeightFormat;

/// Prints the time with Arithmetic::portable divided by the time with Arithmetic::fastest, for one kernel form and one weight
/// format.
template <class Model>
void measure(const TableOptions& options, const TrunkCase<Model>& trunk, gated::KernelForm form, WeightFormat format) {
  gated::use_kernels(form);
  const bool quantized = format != WeightFormat::float32;
  const auto weights = gated::prepare(trunk.model, format);
  gated::Workspace<float> workspace;
  workspace.use(weights);
  workspace.use(quantized ? gated::int8_products() : nullptr);
  gated::Matrix<float> y = trunk.x;
  const auto time_in = [&](Arithmetic arithmetic) {
    return time_of(options, [&, arithmetic] {
      gated::use_arithmetic(arithmetic);
      trunk.model.forward(trunk.x, trunk.sequences, y, workspace);
    });
  };
  const auto figures = by_turns(options.turns(), std::vector{time_in(Arithmetic::fastest), time_in(Arithmetic::portable)});
  gated::use_arithmetic(Arithmetic::fastest);
  const std::string quantity = gated::text(gated::detail::word_of(form), quantized ? " int8" : " float");
  print_row("arithmetic", trunk.name, 1, quantity, median(figures[1]) / median(figures[0]));
}

}  // namespace

void table_of_arithmetic(const TableOptions& options) {
  const gated::KernelForm best = gated::kernels();
  for_each_trunk(options, true, [&](const auto& trunk) {
    for (const gated::KernelForm form : gated::available_kernels()) {
      for (const WeightFormat format : {WeightFormat::float32, WeightFormat::int8_rows}) {
        if (trunk.count == 1) {  // batches are skipped: they use the same kernels
          measure(options, trunk, form, format);
        }
      }
    }
  });
  gated::use_kernels(best);
}

}  // namespace bench
