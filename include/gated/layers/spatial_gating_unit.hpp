#pragma once

#include "gated/layers/layer_norm.hpp"
#include "gated/layers/spatial_projection.hpp"
#include "gated/ops/activation.hpp"

/// @file
/// The spatial gating unit: s(·) of the gMLP paper.

namespace gated {

/// The forms of s(Z) that the gMLP paper compares (arXiv:2105.08050, §2.1 and Table 3), with f(V) = W LN(V) + b.
enum class GateForm {
  split,           ///< Z₁ ⊙ f(Z₂), Z split in halves along the channels: the form that is called the SGU (eq. 6)
  multiplicative,  ///< Z ⊙ f(Z) (eq. 5)
  additive,        ///< Z + f(Z)
  linear           ///< f(Z) (eq. 4)
};

constexpr auto names_of(GateForm) {
  return std::array{std::pair{GateForm::split, std::string_view("split")},
                    std::pair{GateForm::multiplicative, std::string_view("multiplicative")},
                    std::pair{GateForm::additive, std::string_view("additive")},
                    std::pair{GateForm::linear, std::string_view("linear")}};
}

/// The options of a spatial gating unit.
struct SpatialGatingUnitConfig {
  Index channels = 0;                            ///< F, of the input; the split form halves them
  GateForm form = GateForm::split;               ///< the form of s(Z)
  SpatialProjectionConfig spatial{};             ///< of W
  Activation activation = Activation::identity;  ///< of the gate, after the bias and what is added to it
  double norm_eps = 1e-5;                        ///< ε of the norm of v
};

/// y = u ⊙ act(W LN(v) + b + a), where (u, v) are the halves of x and `a` is an optional addition (tiny attention).
///
/// The other forms of GateForm replace the product. At initialisation the unit passes its input on: W is near zero and b = 1
/// for the products, b = 0 for the sum, and W = I, b = 0 for the linear form, so that a block starts as a plain feed-forward.
/// Shapes: x is rows × F; y and a are rows × F/2 (split) or rows × F. y must not overlap x, but may take
/// the place of u.
/// Errors: ShapeError for wrong rows, channels or lengths. Cost: N²·F flops a sequence (split); scratch rows × F/2.
template <class T>
struct SpatialGatingUnit {
  using Scalar = T;

  SpatialGatingUnitConfig config;
  LayerNorm<T> norm;
  SpatialProjection<T> proj;

  SpatialGatingUnit() = default;
  /// Weights of zero and biases of 1, or of 0 where the gate does not multiply.
  explicit SpatialGatingUnit(const SpatialGatingUnitConfig& c) : config(c) {
    require<ArgumentError>(c.channels > 0 && (c.form != GateForm::split || c.channels % 2 == 0),
                           "SpatialGatingUnit: channels = ", c.channels, ", expected a positive",
                           c.form == GateForm::split ? " even number: the input is split in halves." : " number.");
    require<ArgumentError>(c.spatial.heads > 0 && out() % c.spatial.heads == 0, "SpatialGatingUnit: heads = ", c.spatial.heads,
                           " does not divide the ", out(), " gated channels.");
    norm = LayerNorm<T>(out(), c.norm_eps);
    proj = SpatialProjection<T>(c.spatial);
    if (!is_product()) {
      proj.bias.setZero();
    }
  }

  static constexpr auto fields() {
    return std::tuple{field("norm", &SpatialGatingUnit::norm), field("proj", &SpatialGatingUnit::proj)};
  }

  /// The channels that leave the unit.
  Index out() const { return config.form == GateForm::split ? config.channels / 2 : config.channels; }

  /// Near-zero weights, N(0, 1e-6), around the start that GateForm asks for.
  void initialize(Random& random) {
    fill_normal(proj.weight, 1e-6, random);
    if (config.form == GateForm::linear) {
      add_identity();
    }
  }

  /// s(Z) for all sequences at once.
  void forward(ConstView<T> x, const Sequences& sequences, View<T> y, Workspace<T>& workspace) const {
    check(x, sequences);
    const auto frame = workspace.frame();
    forward_with(x, sequences, workspace.matrix(x.rows(), out()), y, workspace);
  }

  /// With `addition` (rows × out()) added to the gate before its activation.
  void forward(ConstView<T> x, const Sequences& sequences, ConstView<T> addition, View<T> y, Workspace<T>& workspace) const {
    expect_addition(addition, x.rows());
    check(x, sequences);
    const auto frame = workspace.frame();
    forward_with(x, sequences, workspace.matrix(x.rows(), out()), y, workspace, Add<T>(addition));
  }

  /// The same for the split form where z, the input, may be overwritten: the result is in its left half, and norm(v) in its
  /// right one, so that a block's tokens stay in nearer caches. `addition` may have no rows. Errors: also ArgumentError for
  /// another form.
  void forward_in_place(View<T> z, const Sequences& sequences, ConstView<T> addition, Workspace<T>& workspace) const {
    require<ArgumentError>(config.form == GateForm::split, "SpatialGatingUnit::forward_in_place: the gate is ",
                           name_of(config.form), ", which has no half to overwrite. Call forward().");
    check(z, sequences);
    const View<T> u = z.leftCols(out()), v = z.rightCols(out());
    if (addition.rows() > 0) {
      expect_addition(addition, z.rows());
      forward_with(z, sequences, v, u, workspace, Add<T>(addition));
    } else {
      forward_with(z, sequences, v, u, workspace);
    }
  }

  /// The same for the tokens from position `first` on of one causal sequence. `seen` (N × out()) holds the earlier tokens'
  /// normalised gate inputs and receives those of x; `addition` may have no rows. Shapes: x, addition and y as in forward(),
  /// first + x.rows() ≤ N.
  void extend(ConstView<T> x, Index first, View<T> seen, ConstView<T> addition, View<T> y, Workspace<T>& workspace) const {
    constexpr const char* where = "SpatialGatingUnit::extend";
    expect_columns<T>(where, "x", x, "channels", config.channels);
    expect_shape<T>(where, "y", y, x.rows(), out());
    expect_shape<T>(where, "seen", seen, proj.config.length, out());
    expect_positions(where, x.rows(), first, proj.config.length, "of the gate.");
    norm.forward(x.rightCols(out()), seen.middleRows(first, x.rows()), workspace.at("norm"));
    const ConstView<T> v = seen.topRows(first + x.rows());
    if (workspace.observed()) {  // as in forward(), an observer sees the projection alone
      const auto frame = workspace.frame();
      MatrixMap<T> alone = workspace.matrix(y.rows(), y.cols());
      const auto scope = workspace.at("proj");
      proj.project_rows(v, first, alone, workspace);
      workspace.show(alone);
    }
    const auto project = [&](const auto&... stages) {
      finish(x, [&](const auto&... last) { proj.project_rows(v, first, y, workspace.at("proj"), stages..., last...); });
    };
    if (addition.rows() > 0) {
      expect_addition(addition, x.rows());
      project(Add<T>(addition));
    } else {
      project();
    }
    workspace.show(y);
  }

  /// Raises ShapeError unless x has the rows and channels that forward() takes.
  void check(const ConstView<T>& x, const Sequences& sequences) const {
    expect_columns<T>("SpatialGatingUnit::forward", "x", x, "channels", config.channels);
    sequences.expect_total("SpatialGatingUnit::forward", x.rows());
    proj.expect_lengths("SpatialGatingUnit::forward", sequences);
  }

  /// Raises ShapeError unless `addition` is `rows` × out().
  void expect_addition(const ConstView<T>& addition, Index rows) const {
    require<ShapeError>(addition.rows() == rows && addition.cols() == out(), "SpatialGatingUnit::forward: addition is ",
                        addition.rows(), " × ", addition.cols(), ", expected ", rows, " × ", out(),
                        " (tokens × gated channels).");
  }

 private:
  bool is_product() const { return config.form == GateForm::split || config.form == GateForm::multiplicative; }

  /// `v` receives the normalised gate input, which may be its place in x.
  template <class... Additions>
  void forward_with(const ConstView<T>& x, const Sequences& sequences, View<T> v, View<T> y, Workspace<T>& workspace,
                    const Additions&... additions) const {
    expect_shape<T>("SpatialGatingUnit::forward", "y", y, x.rows(), out());
    norm.forward(x.rightCols(out()), v, workspace.at("norm"));
    finish(x, [&](const auto&... last) { proj.forward(v, sequences, y, workspace.at("proj"), additions..., last...); });
    workspace.show(y);
  }

  /// Calls `project` with the stages that turn the projected gate into the output: its activation, then what the form does.
  template <class Project>
  void finish(const ConstView<T>& x, const Project& project) const {
    const Activate activation{config.activation};
    if (is_product()) {
      project(activation, Multiply<T>(x.leftCols(out())));
    } else if (config.form == GateForm::additive) {
      project(activation, Add<T>(x));
    } else {
      project(activation);
    }
  }

  void add_identity() {
    const Index n = config.spatial.length;
    for (Index head = 0; head < config.spatial.heads; ++head) {
      switch (config.spatial.form) {
        case SpatialForm::dense:
          proj.weight.middleRows(head * n, n).diagonal().array() += T{1};
          break;
        case SpatialForm::toeplitz:
        case SpatialForm::scaled_toeplitz:
          proj.weight(head, n - 1) += T{1};  // the entry of the main diagonal in both forms
          break;
      }
    }
  }
};

}  // namespace gated
