#include "alignment.hpp"
#include "forms.hpp"
#include "tables.hpp"

/// @file
/// The table of a synthetic task.

namespace papers {

namespace {

/// Models of equal size on the alignment task, at three lengths. The task requires a comparison of two segments, like the
/// tasks for which the gMLP paper (§4.3) proposes aMLP.
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
    const auto layers = transformer(sizes, setup.quick ? 1 : 4, gated::RelativeBiasForm::none, parameters);
    const auto units = gau(sizes, gated::ScoreKernel::relu2, parameters);
    const std::string at = gated::text(" @ ", length, " tokens");
    forms.push_back(alignment_form<GmlpModel>(setup, "gMLP" + at, trunk, sizes.length, 2000));
    forms.push_back(alignment_form<GmlpModel>(setup, "aMLP" + at, with_attention, sizes.length, 2000));
    forms.push_back(alignment_form<TransformerModel>(setup, "Transformer" + at, layers, sizes.length, 2000));
    forms.push_back(alignment_form<GauModel>(setup, "GAU" + at, units, sizes.length, 2000));
    forms.push_back(alignment_form<FlashModel>(setup, "FLASH" + at, flash(sizes, 16, parameters), sizes.length, 2000));
  }
  return forms;
}

}  // namespace

std::vector<Table> task_tables() { return {{"alignment", alignment, true}}; }

}  // namespace papers
