#pragma once

#include <utility>

#include "gated/core/settings.hpp"
#include "gated/core/unset.hpp"
#include "gated/layers/norm_position.hpp"

/// @file
/// The residual branch around a mixer: norm, layer scale, residual.

namespace gated {

/// The options of a branch.
struct BranchOptions {
  Index channels = 0;                              ///< C
  NormForm norm = NormForm::layer_norm;            ///< type of the norm
  NormPosition norm_position = NormPosition::pre;  ///< normalizes the mixer's input, the residual sum, or the mixer's output
  double norm_eps = 1e-5;                          ///< ε of the norm
  double layer_scale = 0;                          ///< initial value of the per-channel scales; 0 for none
  double drop_path = 0;                            ///< probability that training drops the branch: see TapeOptions
  double factor = 1;                               ///< constant scale, instead of learned scales; ½ in macaron layers
};

/// y = x + s ⊙ mixer(norm(x)) (pre-norm), norm(x + s ⊙ mixer(x)) (post-norm) or x + s ⊙ norm(mixer(x)) (res-post-norm). s is
/// optional: learned per-channel scales (LayerScale, arXiv:2103.17239), or a constant factor.
///
///     Branch<FeedForward<float>> branch({.channels = 512, .layer_scale = 1e-4}, {.channels = 512, .hidden = 2048});
///
/// A mixer is any layer whose y has the shape of x. If its apply() takes an epilogue, its last op is fused with s and the
/// residual. Otherwise, and with res-post-norm, s and the residual need one more pass. Streaming, masks and sequence lengths
/// are up to the mixer.
/// Shapes: x and y are rows × C.
/// Errors: ArgumentError from the constructor for invalid options.
/// Cost: the mixer's.
template <class Mixer>
struct Branch : Layer<Branch<Mixer>> {
  using T = typename Mixer::Scalar;
  static constexpr const char* name = "Branch";

  NormPosition norm_position = NormPosition::pre;
  double drop_path = 0;
  Norm<T> norm;
  Mixer mixer;
  Vector<T> scale;  ///< C, or empty

  Branch() = default;
  /// Uninitialized weights, to be loaded from a checkpoint. `mixer_config` is passed to the mixer's constructor.
  template <class MixerConfig = typename Mixer::Config>
  Branch(const BranchOptions& o, const MixerConfig& mixer_config) : norm_position(o.norm_position), drop_path(o.drop_path) {
    require<ArgumentError>(o.drop_path >= 0 && o.drop_path < 1, name, ": drop_path = ", o.drop_path,
                           ", expected 0 ≤ drop_path < 1.");
    require<ArgumentError>(o.layer_scale >= 0, name, ": layer_scale = ", o.layer_scale, " must not be negative.");
    norm = Norm<T>(o.channels, o.norm_eps, o.norm);
    mixer = Mixer(mixer_config);
    const Contract contract = mixer.contract();
    require<ArgumentError>(
        (contract.in == Contract::any || contract.in == o.channels) && contract.output_columns(o.channels) == o.channels, name,
        ": ", Mixer::name, " maps ", contract.in, " channels to ", contract.out, ", expected ", o.channels, " to ", o.channels,
        " for the residual. Build it with equal input and output channels.");
    require<ArgumentError>(contract.rows == contract.of_rows, name, ": ", Mixer::name, " maps ", contract.of_rows, " rows to ",
                           contract.rows, ", expected equal numbers of rows for the residual.");
    require<ArgumentError>(o.factor == 1 || o.layer_scale == 0, name, ": factor = ", o.factor,
                           " and layer_scale = ", o.layer_scale, " are both given, expected one of them.");
    scale = filled_vector<T>(static_cast<T>(o.layer_scale), o.layer_scale > 0 ? o.channels : 0, name);
    factors_ = filled_vector<T>(static_cast<T>(o.factor), o.factor != 1 ? o.channels : 0, name);
  }

  static constexpr auto fields() {
    return Fields(field("norm", &Branch::norm), field("mixer", &Branch::mixer), field("scale", &Branch::scale, Role::norm));
  }

  Contract contract() const { return norm.contract().then(mixer.contract()); }

  template <class Run>
  MatrixOf<Run> apply(Run& run, MatrixOf<Run> x) const {
    const T* const s = factors_.size() > 0 ? factors_.data() : scale.data();
    auto [of_mixer, of_norm] = place_residual<Run>(norm_position, {.scale = s, .residual = x, .drop_path = drop_path});
    auto input = norm_before(run, norm_position, norm, std::move(x));
    auto y = run(mixer, std::move(input), std::move(of_mixer));  // rows × C
    return norm_after(run, norm_position, norm, std::move(y), std::move(of_norm));
  }

 private:
  Vector<T> factors_;  // BranchOptions::factor, repeated C times; empty if it is 1
};

}  // namespace gated
