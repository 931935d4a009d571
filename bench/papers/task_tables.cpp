#include <type_traits>

#include "alignment.hpp"
#include "forms.hpp"
#include "tables.hpp"

/// @file
/// The table of a task made by rule.

namespace papers {

namespace {

/// Why aMLP exists (gMLP, §4.3): comparing two segments, by length, at equal parameters.
std::vector<Form> alignment(const Setup& setup) {
  std::vector<Form> forms;
  for (const Index length : {16, 32, 64}) {
    Sizes sizes(setup, 64, 6, length);
    sizes.vocabulary = AlignmentBatch::vocabulary;
    const auto trunk = gmlp(sizes);
    const Index parameters = parameters_of(trunk);
    const auto with_attention = fitted<GmlpModel>(parameters, [&](Index hidden) {
      return gmlp(sizes, GateForm::split, hidden, SpatialForm::toeplitz, setup.quick ? 8 : 64);
    });
    const auto add = [&]<class Model>(const char* name, const typename Model::Config& config, std::type_identity<Model>) {
      forms.push_back(alignment_form<Model>(setup, gated::text(name, " @ ", length, " tokens"), config, sizes.length, 2000));
    };
    const auto layers = transformer(sizes, setup.quick ? 1 : 4, gated::RelativeBiasForm::none, parameters);
    add("gMLP", trunk, std::type_identity<GmlpModel>());
    add("aMLP", with_attention, std::type_identity<GmlpModel>());
    add("Transformer", layers, std::type_identity<TransformerModel>());
    add("GAU", gau(sizes, gated::ScoreKernel::relu2, parameters), std::type_identity<GauModel>());
    add("FLASH", flash(sizes, 16, parameters), std::type_identity<FlashModel>());
  }
  return forms;
}

}  // namespace

std::vector<Table> task_tables() { return {{"alignment", alignment}}; }

}  // namespace papers
