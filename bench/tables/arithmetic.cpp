#include "gated/models/prepare.hpp"
#include "gated/ops/int8_products.hpp"
#include "gated/train/recording.hpp"
#include "gated/train/regression_loss.hpp"
#include "tables.hpp"

namespace bench {

namespace {

using gated::Arithmetic, gated::WeightFormat;

/// Prints the time of `f` with Arithmetic::portable divided by its time with Arithmetic::fastest.
template <class F>
void print_cost(const TableOptions& options, const char* model, const char* what, const F& f) {
  const auto time_in = [&](Arithmetic arithmetic) {
    return time_of(options, [&f, arithmetic] {
      gated::use_arithmetic(arithmetic);
      f();
    });
  };
  const auto figures = by_turns(options.turns(), std::vector{time_in(Arithmetic::fastest), time_in(Arithmetic::portable)});
  gated::use_arithmetic(Arithmetic::fastest);
  print_row("arithmetic", model, 1, gated::text(gated::detail::word_of(gated::kernels()), what),
            median(figures[1]) / median(figures[0]));
}

/// A forward pass in float and with int8 products, and the gradient of a loss.
template <class Model>
void measure(const TableOptions& options, const TrunkCase<Model>& trunk) {
  gated::Matrix<float> y = trunk.x;
  for (const WeightFormat format : {WeightFormat::float32, WeightFormat::int8_rows}) {
    const bool quantized = format != WeightFormat::float32;
    const auto weights = gated::prepare(trunk.model, format);
    gated::Workspace<float> workspace;
    workspace.use(weights);
    workspace.use(quantized ? gated::int8_products() : nullptr);
    print_cost(options, trunk.name, quantized ? " int8" : " float",
               [&] { trunk.model.forward(trunk.x, trunk.sequences, y, workspace); });
  }
  Model gradient = zeros_like(trunk.model);
  gated::Tape<float> tape;
  print_cost(options, trunk.name, " gradient", [&] {
    tape.begin(trunk.model, gradient);
    const gated::Variable out = record(tape, trunk.model, tape.input(trunk.x), trunk.sequences);
    tape.backward(gated::regression_loss<float>(tape, out, y));
  });
}

}  // namespace

void table_of_arithmetic(const TableOptions& options) {
  const gated::KernelForm best = gated::kernels();
  for_each_trunk(options, true, [&](const auto& trunk) {
    for (const gated::KernelForm form : gated::available_kernels()) {
      if (trunk.count == 1 && (!options.quick || form == best)) {  // batches are skipped: they use the same kernels
        gated::use_kernels(form);
        measure(options, trunk);
      }
    }
  });
  gated::use_kernels(best);
}

}  // namespace bench
