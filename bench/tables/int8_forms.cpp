#include "gated/models/prepare.hpp"
#include "gated/ops/int8_products.hpp"
#include "tables.hpp"

namespace bench {

namespace {

using gated::KernelForm, gated::WeightFormat;

/// Kernels of integer products, and the form whose float kernels they complement.
struct Form {
  const char* name;
  KernelForm kernels;
  const gated::ProductEngine<float>* products;
};

template <const gated::Int8Kernels& table>
Form form(const char* name, KernelForm kernels) {
  return {name, kernels, &gated::detail::gemm::int8_engine_of<table>};
}

/// All that this machine can run: int8_products() itself chooses only the best of each form.
std::vector<Form> forms() {
#if GATED_CHOOSES_FORM
  const KernelForm best = gated::available_kernels().back();
  std::vector<Form> all{form<gated::sse2::int8::kernels>("sse2", KernelForm::sse2)};
  const auto add = [&](bool has, const Form& one) {
    if (has && one.kernels <= best) {
      all.push_back(one);
    }
  };
  add(true, form<gated::avx2::int8::kernels>("avx2", KernelForm::avx2));
  add(gated::detail::machine_has_avx_vnni, form<gated::avx2_vnni::int8::kernels>("avx2 with VNNI", KernelForm::avx2));
  add(true, form<gated::avx512::int8::kernels>("avx512", KernelForm::avx512));
  add(gated::detail::machine_has_avx512_vnni, form<gated::avx512_vnni::int8::kernels>("avx512 with VNNI", KernelForm::avx512));
#if GATED_HAS_AMX_KERNELS
  add(gated::detail::granted_amx().int8,
      form<gated::avx512_vnni::amx_kernels<gated::avx512_vnni::TileRegisters>>("avx512 with AMX", KernelForm::avx512));
#endif
  return all;
#else
  return {form<gated::GATED_INT8_BASELINE::int8::kernels>("baseline", gated::kernels())};
#endif
}

/// Prints the time of a forward pass with int8 products, divided by its time in float with the same form.
template <class Model>
void measure(const TableOptions& options, const TrunkCase<Model>& trunk, const Form& form) {
  gated::use_kernels(form.kernels);
  const auto numbers = gated::prepare(trunk.model), codes = gated::prepare(trunk.model, WeightFormat::int8_rows);
  gated::Workspace<float> in_float, in_int8;
  in_float.use(numbers);
  in_int8.use(codes);
  in_int8.use(form.products);
  gated::Matrix<float> y = trunk.x;
  const auto time_in = [&](gated::Workspace<float>& workspace) {
    return time_of(options, [&] { trunk.model.forward(trunk.x, trunk.sequences, y, workspace); });
  };
  const auto figures = by_turns(options.turns(), std::vector{time_in(in_float), time_in(in_int8)});
  print_row("int8_forms", trunk.name, 1, form.name, median(figures[1]) / median(figures[0]));
}

}  // namespace

void table_of_int8_forms(const TableOptions& options) {
  const KernelForm best = gated::kernels();
  for_each_trunk(options, false, [&](const auto& trunk) {
    if (trunk.count == 1) {  // batches are skipped: they use the same kernels
      for (const Form& form : forms()) {
        measure(options, trunk, form);
      }
    }
  });
  gated::use_kernels(best);
}

}  // namespace bench
