#include "common/filters.hpp"
#include "forms.hpp"
#include "tables.hpp"

/// @file
/// The tables of gMLP's paper (arXiv:2105.08050).

namespace papers {

namespace {

/// A gMLP, trained as a masked language model on sequences of `config.trunk.length` tokens.
Form gmlp_form(const Setup& setup, const std::string& name, const gated::GmlpLanguageModelConfig& config, Index steps = 4000,
               const Changes<GmlpModel>& changes = {}) {
  return language_form<GmlpModel>(setup, name, config, config.trunk.length, steps, changes);
}

/// The paper's model: a split gate and a Toeplitz W that starts near zero.
Form paper_form(const Setup& setup) { return gmlp_form(setup, "gMLP", gmlp(Sizes(setup))); }

/// Table 3: the forms of the gate s(Z).
std::vector<Form> gates(const Setup& setup) {
  const Sizes sizes(setup);
  const auto multiplicative = gmlp(sizes, GateForm::multiplicative);
  const auto split =
      fitted<GmlpModel>(parameters_of(multiplicative), [&](Index hidden) { return gmlp(sizes, GateForm::split, hidden); });
  return {gmlp_form(setup, "no mixing", gmlp(sizes, GateForm::identity)),
          gmlp_form(setup, "linear", gmlp(sizes, GateForm::linear)),
          gmlp_form(setup, "additive", gmlp(sizes, GateForm::additive)),
          gmlp_form(setup, "multiplicative", multiplicative),
          paper_form(setup),
          gmlp_form(setup, "split at their parameters", split)};
}

/// The share of ‖W‖² due to the means of W's diagonals: 1 for a Toeplitz W, about (2n − 1)/n² for an n × n W
/// of independent weights.
double toeplitz_share(const gated::Matrix<float>& w) {
  double all = w.cast<double>().squaredNorm(), toeplitz = 0;
  for (Index d = 1 - w.rows(); d < w.cols(); ++d) {
    const auto diagonal = w.cast<double>().diagonal(d).eval();
    toeplitz += diagonal.sum() * diagonal.sum() / static_cast<double>(diagonal.size());
  }
  return toeplitz / all;
}

/// Draws the spatial weight W of each block.
void draw_weights(const std::filesystem::path& path, const std::string& title, const GmlpModel& model) {
  examples::Figure figure{.title = title, .panels = {}, .columns = 3};
  for (std::size_t i = 0; i < model.trunk.blocks.size(); ++i) {
    const gated::Matrix<float>& w = model.trunk.blocks[i].gate.proj.weight;
    figure.panels.push_back({.title = gated::text("block ", i), .heat_map = examples::HeatMap{.values = w}});
    figure.full_colour = std::max(figure.full_colour, static_cast<double>(examples::full_colour(w)));
  }
  examples::write_svg(path, figure);
}

/// §4: a Toeplitz W against a dense one. Figure 9: how close a dense W comes to a Toeplitz matrix in training. In the run with
/// seed 1, draws this W after a tenth of the steps and at the end.
std::vector<Form> weights(const Setup& setup) {
  const Sizes sizes(setup);
  const auto watch = [folder = setup.folder](const GmlpModel& model, const Run& run, Index step, Rows& rows) {
    double sum = 0;
    for (const auto& block : model.trunk.blocks) {
      sum += toeplitz_share(block.gate.proj.weight);
    }
    rows.push_back({step, "Toeplitz share", sum / static_cast<double>(model.trunk.blocks.size())});
    if (run.seed == 1 && (step == run.steps / 10 || step == run.steps)) {
      draw_weights(folder / gated::text("W_", step, ".svg"), gated::text("W after ", step, " steps"), model);
    }
  };
  const auto dense = [&](Index hidden) { return gmlp(sizes, GateForm::split, hidden, SpatialForm::dense); };
  return {paper_form(setup), gmlp_form(setup, "dense W", dense(0), 4000, {.watch = watch}),
          gmlp_form(setup, "dense W at gMLP's parameters", fitted<GmlpModel>(parameters_of(gmlp(sizes)), dense))};
}

/// §2.1: W starts near zero and b at 1, so a block starts as a feed-forward layer. Other starts: W from N(0, 0.02²); or, as in
/// a linear layer, W from N(0, 1/n) for n tokens, and b = 0.
std::vector<Form> starts(const Setup& setup) {
  const auto small = [](GmlpModel& model, gated::Random& random) {
    for (auto& block : model.trunk.blocks) {
      gated::fill_normal(block.gate.proj.weight, 0.02, random);
    }
  };
  const auto usual = [](GmlpModel& model, gated::Random& random) {
    for (auto& block : model.trunk.blocks) {
      gated::fill_normal(block.gate.proj.weight, 1 / std::sqrt(static_cast<double>(block.config.length)), random);
      block.gate.proj.bias.setZero();
    }
  };
  const auto deep = gmlp(Sizes(setup, 32, 24));
  return {paper_form(setup),
          gmlp_form(setup, "deviation 0.02", gmlp(Sizes(setup)), 4000, {.start = small}),
          gmlp_form(setup, "deviation 1/√n and b = 0", gmlp(Sizes(setup)), 4000, {.start = usual}),
          gmlp_form(setup, "24 blocks", deep, 2000),
          gmlp_form(setup, "24 blocks; deviation 0.02", deep, 2000, {.start = small}),
          gmlp_form(setup, "24 blocks; deviation 1/√n and b = 0", deep, 2000, {.start = usual})};
}

/// §4.3: tiny attention beside the gate, at equal parameters.
std::vector<Form> amlp(const Setup& setup) {
  const Sizes sizes(setup);
  const auto config = fitted<GmlpModel>(parameters_of(gmlp(sizes)), [&](Index hidden) {
    return gmlp(sizes, GateForm::split, hidden, SpatialForm::toeplitz, setup.quick ? 8 : 32);
  });
  return {paper_form(setup), language_form<GmlpModel>(setup, "aMLP", config, sizes.length, 4000, {}, attention_warmups)};
}

/// §4.2, Figure 4: gMLP and the Transformer in four sizes; the largest has 16 times the block parameters of the smallest.
std::vector<Form> scaling(const Setup& setup) {
  std::vector<Form> forms;
  for (const Index channels : {24, 40, 64, 96}) {
    const Sizes sizes(setup, channels);
    const auto config = gmlp(sizes);
    const std::string at = gated::text(" @ ", channels, " channels");
    forms.push_back(gmlp_form(setup, "gMLP" + at, config, 2000));
    const auto layers = transformer(sizes, setup.quick ? 1 : 4, gated::RelativeBiasForm::t5, parameters_of(config));
    forms.push_back(
        language_form<TransformerModel>(setup, "Transformer" + at, layers, sizes.length, 2000, {}, attention_warmups));
  }
  return forms;
}

/// Table 4: depth at equal parameters.
std::vector<Form> depth(const Setup& setup) {
  const Index parameters = parameters_of(gmlp(Sizes(setup)));
  std::vector<Form> forms;
  for (const Index blocks : {2, 4, 6, 12, 24}) {
    Sizes sizes(setup, 8, blocks);
    while (parameters_of(gmlp(sizes)) < parameters) {
      sizes.channels += 4;
    }
    const auto config = fitted<GmlpModel>(parameters, [&](Index hidden) { return gmlp(sizes, GateForm::split, hidden); });
    forms.push_back(gmlp_form(setup, gated::text("gMLP @ ", blocks, " blocks"), config, 2000));
  }
  return forms;
}

}  // namespace

std::vector<Table> gmlp_tables() {
  return {{"gates", gates}, {"weights", weights},       {"starts", starts},
          {"amlp", amlp},   {"scaling", scaling, true}, {"depth", depth, true}};
}

}  // namespace papers
