/// Runs a gMLP trunk, hand-written with oneDNN's primitives. For 7 runs: echo 7 | run_onednn WORK.safetensors THREADS
///
/// Reads run counts from stdin, as compare_peers does, but prints only the error and the milliseconds. Everything that oneDNN
/// can fuse is fused (bias, GELU, gate, residual), and weights have the layouts that oneDNN chooses.

#include <cstdlib>
#include <dnnl.hpp>
#include <unordered_map>
#include <utility>

#include "gated/io/lucidrains.hpp"
#include "work_file.hpp"

namespace {

using dnnl::memory, dnnl::primitive;
using Dims = memory::dims;
using Tag = memory::format_tag;
using Arguments = std::unordered_map<int, memory>;

memory::desc floats(const Dims& dims, Tag tag) { return {dims, memory::data_type::f32, tag}; }

/// The trunk, with its weights and scratch.
class Trunk {
 public:
  Trunk(const gated::Gmlp<float>& model, gated::Index batch)
      : batch_(batch), tokens_(model.config.length), channels_(model.config.channels), half_(model.config.hidden / 2) {
    const memory::dim rows = batch_ * tokens_;
    x_ = make(floats({rows, channels_}, Tag::ab));
    const memory z = make(floats({rows, channels_}, Tag::ab)), u = make(floats({rows, half_}, Tag::ab)),
                 v = make(floats({rows, half_}, Tag::ab)), g = make(floats({rows, half_}, Tag::ab));
    const auto sequences = [&](const memory& m) {
      return memory(floats({batch_, tokens_, half_}, Tag::abc), engine_, m.get_data_handle());
    };
    for (const auto& block : model.blocks) {
      norm(block.norm, x_, z);
      const auto& w = block.proj_in.weight;
      dnnl::post_ops gelu;
      gelu.append_eltwise(1, dnnl::algorithm::eltwise_gelu_erf, 0, 0);
      linear(z, w.data(), block.proj_in.bias.data(), u, gelu);
      linear(z, w.data() + half_ * channels_, block.proj_in.bias.data() + half_, v, gelu);
      norm(block.gate.norm, v, v);
      mix(block.gate.proj, sequences(v), sequences(u), sequences(g));
      dnnl::post_ops residual;
      residual.append_sum(1);
      linear(g, block.proj_out.weight.data(), block.proj_out.bias.data(), x_, residual);
    }
    input_.resize(static_cast<std::size_t>(rows * channels_));
  }

  std::span<float> input() { return input_; }
  std::span<const float> output() const { return {static_cast<const float*>(x_.get_data_handle()), input_.size()}; }

  void run() {
    std::copy(input_.begin(), input_.end(), static_cast<float*>(x_.get_data_handle()));
    for (const auto& [step, arguments] : steps_) {
      step.execute(stream_, arguments);
    }
    stream_.wait();
  }

 private:
  memory make(const memory::desc& desc) { return memory(desc, engine_); }
  /// A copy of the values at `from`, which must have the layout `desc`.
  memory copied(const float* from, const memory::desc& desc) {
    const memory to = make(desc);
    std::copy_n(from, desc.get_size() / sizeof(float), static_cast<float*>(to.get_data_handle()));
    return to;
  }
  memory in_layout(const memory& from, const memory::desc& wanted) {
    if (from.get_desc() == wanted) {
      return from;
    }
    memory to = make(wanted);
    dnnl::reorder(from, to).execute(stream_, const_cast<memory&>(from), to);
    stream_.wait();
    return to;
  }

  void norm(const gated::Norm<float>& layer, const memory& from, const memory& to) {
    using Kind = dnnl::normalization_flags;
    const dnnl::layer_normalization_forward::desc desc(dnnl::prop_kind::forward_inference, from.get_desc(),
                                                       static_cast<float>(layer.eps), Kind::use_scale | Kind::use_shift);
    steps_.emplace_back(dnnl::layer_normalization_forward({desc, engine_}),
                        Arguments{{DNNL_ARG_SRC, from},
                                  {DNNL_ARG_DST, to},
                                  {DNNL_ARG_SCALE, copied(layer.weight.data(), floats({layer.weight.size()}, Tag::a))},
                                  {DNNL_ARG_SHIFT, copied(layer.bias.data(), floats({layer.bias.size()}, Tag::a))}});
  }

  /// `to` ← `from` Wᵀ + b, then the post-ops. The columns of `to` determine how many rows of W and elements of b are read.
  void linear(const memory& from, const float* w, const float* bias, const memory& to, const dnnl::post_ops& post) {
    const memory::dim in = from.get_desc().dims()[1], out = to.get_desc().dims()[1];
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(post);
    const memory biases = copied(bias, floats({1, out}, Tag::ab));
    const dnnl::matmul::desc desc(from.get_desc(), floats({in, out}, Tag::any), biases.get_desc(), to.get_desc());
    const dnnl::matmul::primitive_desc chosen(desc, attributes, engine_);
    const memory weights = in_layout(copied(w, floats({in, out}, Tag::ba)), chosen.weights_desc());
    steps_.emplace_back(
        dnnl::matmul(chosen),
        Arguments{{DNNL_ARG_SRC, from}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_BIAS, biases}, {DNNL_ARG_DST, to}});
  }

  /// y ← (W v + b) ⊙ u for each sequence.
  void mix(const gated::SpatialProjection<float>& layer, const memory& v, const memory& u, const memory& y) {
    const memory bias = copied(layer.bias.data(), floats({1, tokens_, 1}, Tag::abc));
    dnnl::post_ops gate;
    gate.append_binary(dnnl::algorithm::binary_add, bias.get_desc());
    gate.append_binary(dnnl::algorithm::binary_mul, u.get_desc());
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(gate);
    const dnnl::matmul::desc desc(floats({1, tokens_, tokens_}, Tag::any), v.get_desc(), y.get_desc());
    const dnnl::matmul::primitive_desc chosen(desc, attributes, engine_);
    const memory w = in_layout(copied(layer.weight.data(), floats({1, tokens_, tokens_}, Tag::abc)), chosen.src_desc());
    steps_.emplace_back(dnnl::matmul(chosen), Arguments{{DNNL_ARG_SRC, w},
                                                        {DNNL_ARG_WEIGHTS, v},
                                                        {DNNL_ARG_DST, y},
                                                        {DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, bias},
                                                        {DNNL_ARG_ATTR_MULTIPLE_POST_OP(1) | DNNL_ARG_SRC_1, u}});
  }

  memory::dim batch_, tokens_, channels_, half_;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  memory x_;
  std::vector<float> input_;
  std::vector<std::pair<primitive, Arguments>> steps_;
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    std::cerr << "usage: echo RUNS | OMP_NUM_THREADS=THREADS run_onednn WORK.safetensors THREADS\n";
    return 2;
  }
  try {
    const bench::WorkFile file(arguments[1]);
    gated::require<gated::ArgumentError>(file.config.at("kind") == "gmlp" && !file.config.at("causal").get<bool>(),
                                         "expected a gMLP trunk that is not causal, got kind ",
                                         file.config.at("kind").get<std::string>(), ". Choose a workload such as gmlp_s16_b1.");
    gated::Gmlp<float> model(file.gmlp());
    file.load(model, gated::lucidrains_trunk_names());
    Trunk trunk(model, file.sequences().count());
    file.read_input(trunk.input());
    trunk.run();
    const dnnl_version_t* const version = dnnl_version();
    const std::string name = gated::text("oneDNN ", version->major, ".", version->minor, ".", version->patch);
    bench::take_turns(
        {{"runtime", name}}, file.error_of(trunk.output()), [&] { trunk.run(); },
        [](const auto& turn) {
          turn();
          return nlohmann::json::object();
        });
  } catch (const std::exception& error) {
    std::cerr << "run_onednn: " << error.what() << '\n';
    return 1;
  }
}
