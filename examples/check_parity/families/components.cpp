#include <cstdlib>

#include "../inputs.hpp"
#include "gated/layers/offset_scale.hpp"
#include "gated/layers/relative_bias.hpp"

// Single functions of the originals: activations, norms, position codes, bucket tables, spatial forms, token shifts. A tensor's
// name states the function and its arguments: "layernorm_eps1e-5_noaffine.output", "t5.bucket.causal.b32.d128".

namespace parity {

namespace components {

/// The number after the last occurrence of `word` in `name`: number_after("t5.bucket.causal.b32.d128", ".b") = 32.
double number_after(const std::string& name, const std::string& word) {
  const std::size_t at = name.rfind(word);
  gated::require<gated::FileError>(at != std::string::npos, name, ": expected a number after \"", word, "\" in this name.");
  return std::strtod(name.c_str() + at + word.size(), nullptr);
}

/// number_after(), rounded to float: the originals keep learned parameters in float32, even when they compute in float64.
template <class T>
T parameter(const std::string& name, const std::string& word) {
  return static_cast<T>(static_cast<float>(number_after(name, word)));
}

bool is_causal(const std::string& name) { return name.find("noncausal") == std::string::npos; }

template <class T>
gated::Vector<T> vector(const CaseFile& file, const std::string& tensor) {
  return file.matrix<T>(tensor, 0).transpose();
}

template <class T>
Matrix<T> activated(const CaseFile& file, const std::string& input, gated::Activation activation) {
  Matrix<T> y = file.matrix<T>(input, 0);
  gated::Workspace<T> workspace;
  const Matrix<T> one = Matrix<T>::Ones(1, 1), x = y;
  gated::matmul(one, x, y, workspace, {.activation = activation});
  return y;
}

template <class T, gated::NormForm form>
Matrix<T> normalized(const CaseFile& file, const std::string& name) {
  Matrix<T> y = file.matrix<T>(name + ".input");
  const T gain = form == gated::NormForm::layer_norm ? T{1} : parameter<T>(name, "_g");
  const gated::NormParameters<T> norm{.form = form, .eps = number_after(name, "_eps"), .gain = &gain};
  gated::normalize<T>(y, norm, y, gated::Workspace<T>());
  return y;
}

template <class T>
Matrix<T> rotated(const CaseFile& file, const std::string& name, gated::Rotary layout, Index dimensions) {
  Matrix<T> x = file.matrix<T>(name + ".input");
  const auto sequences = sequences_of(file, (name + ".input").c_str());
  gated::Workspace<T> workspace;
  const auto frame = workspace.frame();
  gated::Batch<T> run(workspace, sequences);
  const auto [turned] = gated::RotaryEmbedding<T>(layout, dimensions, 10000.0).rotate(run, gated::RunMatrix<T>(x));
  return run[turned];
}

template <class T>
Matrix<T> sinusoid(const CaseFile& file, const std::string& name) {
  const auto& shape = file.shape(name + ".output");
  Matrix<T> y = Matrix<T>::Zero(shape.at(0), shape.at(1));
  gated::add_sinusoid<T>(gated::rotary_frequencies<T>(y.cols()), 0, parameter<T>(name, "_scale"), y);
  return y;
}

template <class T>
Matrix<T> preshifted(const CaseFile& file, const std::string& name) {
  const auto x = file.matrix<T>(name + ".input");
  const double last = std::strtod(name.c_str() + name.rfind('_', name.rfind("_dim") - 1) + 1, nullptr);
  Matrix<T> y(x.rows(), x.cols());
  gated::token_shift<T>(x, sequences_of(file, (name + ".input").c_str()),
                        {.amount = static_cast<Index>(last), .causal = name.find("_-") == std::string::npos}, y);
  return y;
}

template <class T>
Matrix<T> buckets(const CaseFile& file, const std::string& name) {
  auto y = file.matrix<T>("t5.relative_position_k_minus_q", 0);
  const gated::T5Buckets form{.causal = is_causal(name),
                              .buckets = static_cast<Index>(number_after(name, ".b")),
                              .max_distance = static_cast<Index>(number_after(name, ".d"))};
  for (Index i = 0; i < y.size(); ++i) {
    y(0, i) = static_cast<T>(gated::t5_bucket(-static_cast<Index>(y(0, i)), form));
  }
  return y;
}

/// A relative bias as an n × n matrix.
template <class T>
Matrix<T> expanded(const gated::RelativeBias<T>& bias, Index n) {
  gated::Workspace<T> workspace;
  const auto frame = workspace.frame();
  const T* const relative = bias.for_length(n, workspace);
  Matrix<T> y(n, n);
  for (Index i = 0; i < n; ++i) {
    std::copy_n(relative - i, n, &y(i, 0));
  }
  return y;
}

template <class T>
Matrix<T> t5_bias(const CaseFile& file, const std::string& name) {
  const T scale = std::sqrt(static_cast<T>(number_after(name, "scale_sqrt")));
  gated::RelativeBias<T> bias(gated::RelativeBiasForm::t5, is_causal(name), scale, 0);
  bias.weight = vector<T>(file, "t5.bias.table");
  return expanded(bias, static_cast<Index>(number_after(name, ".n")));
}

template <class T>
Matrix<T> toeplitz(const CaseFile& file, const std::string& name) {
  gated::RelativeBias<T> bias(gated::RelativeBiasForm::toeplitz, false, T{1}, 1);
  bias.weight = vector<T>(file, "junnyu_toeplitz.w");
  return expanded(bias, static_cast<Index>(number_after(name, "bias_")));
}

template <class T>
Matrix<T> circulant(const CaseFile& file, const std::string& name) {
  const auto& shape = file.shape(name);
  gated::SpatialProjection<T> projection(
      {.length = shape.at(1), .heads = shape.at(0), .form = gated::SpatialForm::scaled_toeplitz});
  projection.weight = file.matrix<T>("lucid_circulant.weight");
  projection.position_x = file.matrix<T>("lucid_circulant.pos_x");
  projection.position_y = file.matrix<T>("lucid_circulant.pos_y");
  Matrix<T> y(shape.at(0) * shape.at(1), shape.at(2));
  for (Index head = 0; head < shape.at(0); ++head) {
    y.middleRows(head * shape.at(1), shape.at(1)) = projection.effective_weight(head, shape.at(1));
  }
  return y;
}

template <class T>
Matrix<T> offset_scaled(const CaseFile& file, const std::string& name) {
  const auto x = file.matrix<T>("offsetscale.input");
  gated::OffsetScale<T> layer(file.shape("offsetscale.gamma").at(0), x.cols(), true);
  layer.weight = file.matrix<T>("offsetscale.gamma");
  layer.bias = file.matrix<T>("offsetscale.beta");
  Matrix<T> y(x.rows(), x.cols());
  gated::Workspace<T> workspace;
  layer.forward(static_cast<Index>(number_after(name, "output")), x, y, workspace);
  return y;
}

/// Recomputes, with gated, tensors whose names start with `beginning`. `name` is the tensor's name without ".output".
template <class T>
struct Component {
  std::string_view beginning;
  Matrix<T> (*compute)(const CaseFile&, const std::string& name);
};

template <class T, gated::Activation activation>
Matrix<T> activation_of(const CaseFile& file, const std::string& name) {
  return activated<T>(file, name + ".input", activation);
}

template <class T>
constexpr Component<T> components[] = {
    {"gelu_erf", activation_of<T, gated::Activation::gelu>},
    {"silu", activation_of<T, gated::Activation::silu>},
    {"relu_squared", activation_of<T, gated::Activation::relu2>},
    {"laplace_attn_fn", activation_of<T, gated::Activation::laplace>},
    {"layernorm_eps", normalized<T, gated::NormForm::layer_norm>},
    {"lucid_scalenorm", normalized<T, gated::NormForm::scale_norm>},
    {"junnyu_scalenorm", normalized<T, gated::NormForm::scale_norm_rsqrt>},
    {"lucid_rotary_interleaved_",
     [](const CaseFile& f, const std::string& n) {
       return rotated<T>(f, n, gated::Rotary::interleaved, static_cast<Index>(number_after(n, "interleaved_")));
     }},
    {"junnyu_rope_half_dim",
     [](const CaseFile& f, const std::string& n) {
       return rotated<T>(f, n, gated::Rotary::half, static_cast<Index>(number_after(n, "_dim")));
     }},
    {"lucid_scaled_sinu_dim", sinusoid<T>},
    {"lucid_preshift_", preshifted<T>},
    {"t5.bucket.", buckets<T>},
    {"t5.bias.causal", t5_bias<T>},
    {"t5.bias.noncausal", t5_bias<T>},
    {"junnyu_toeplitz.bias_", toeplitz<T>},
    {"lucid_circulant.W_effective", circulant<T>},
    {"offsetscale.output", offset_scaled<T>},
};

template <class T>
Result<T> run(const CaseFile& file) {
  Result<T> result;
  for (const auto& [tensor, entry] : file.file().tensors()) {
    if (tensor.ends_with(".input") || tensor.ends_with("_f64")) {
      continue;
    }
    for (const auto& component : components<T>) {
      if (tensor.starts_with(component.beginning)) {
        const std::size_t end = tensor.rfind(".output");
        const bool has_input = end != std::string::npos && end + std::string_view(".output").size() == tensor.size();
        result.others.push_back({tensor, component.compute(file, has_input ? tensor.substr(0, end) : tensor)});
      }
    }
  }
  return result;
}

constexpr Family families[] = {{"components", "", run<float>, run<double>}};

}  // namespace components

std::span<const Family> component_families() { return components::families; }

}  // namespace parity
