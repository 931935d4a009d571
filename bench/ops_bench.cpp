/// Matmuls in the models' shapes, and element-wise ops.

#include <array>

#include "counters.hpp"
#include "gated/ops/matmul.hpp"
#include "gated/ops/norm.hpp"
#include "gated/ops/softmax.hpp"

namespace bench {

namespace {

using gated::Activation;
using gated::Matrix;
using gated::Operand;
using gated::Workspace;

// --- Products ---

/// Which factors are transposed, as in BLAS: t for transposed, n for not.
enum class Form {
  nt,  ///< x Wᵀ: channel projections, scores
  nn,  ///< W v: spatial projections, attention's weighted values, the gradient of a projection's input
  tn   ///< xᵀ y: the gradient of a weight, the memory of linear attention
};

/// A product of an m × k and a k × n matrix: its factors and its result.
struct Product {
  Matrix<float> a, b, y;
  Form form;

  Product(const benchmark::State& state, Form f) : form(f) {
    const Index m = state.range(0), k = state.range(1), n = state.range(2);
    a = form == Form::tn ? Matrix<float>::Random(k, m) : Matrix<float>::Random(m, k);
    b = form == Form::nt ? Matrix<float>::Random(n, k) : Matrix<float>::Random(k, n);
    y = Matrix<float>::Zero(m, n);
  }
  Operand<float> left() const { return form == Form::tn ? gated::transposed(a) : Operand<float>(a); }
  Operand<float> right() const { return form == Form::nt ? gated::transposed(b) : Operand<float>(b); }
};

void count_product(benchmark::State& state, double time) {
  count_flops(state, time, 2.0 * static_cast<double>(state.range(0) * state.range(1) * state.range(2)), threads_of(state, 3));
}

void product(benchmark::State& state, Form form) {
  Product p(state, form);
  Workspace<float> workspace(threads_of(state, 3));
  count_product(state, run(state, [&] { gated::matmul(p.left(), p.right(), p.y, workspace); }));
}

/// A matmul with fused bias and activation, as in the models' projections.
void product_bias_gelu(benchmark::State& state) {
  Product p(state, Form::nt);
  Workspace<float> workspace(threads_of(state, 3));
  const gated::Vector<float> bias = gated::Vector<float>::Random(p.y.cols());
  count_product(state, run(state, [&] {
                  gated::matmul(p.left(), p.right(), p.y, workspace, {.bias = bias.data(), .activation = Activation::gelu});
                }));
}

void product_bias_gate(benchmark::State& state) {
  Product p(state, Form::nn);
  Workspace<float> workspace(threads_of(state, 3));
  const gated::Vector<float> bias = gated::Vector<float>::Random(p.y.rows());
  const Matrix<float> u = Matrix<float>::Random(p.y.rows(), p.y.cols());
  count_product(state, run(state, [&] {
                  gated::matmul(p.left(), p.right(), p.y, workspace, {.row_bias = bias.data(), .gate = u});
                }));
}

/// Eigen's own matmul, for comparison.
void eigen_product(benchmark::State& state) {
  Product p(state, Form::nt);
  Eigen::setNbThreads(threads_of(state, 3).count());
  count_product(state, run(state, [&] { p.y.noalias() = p.a * p.b.transpose(); }));
}

using Shapes = std::vector<std::array<std::int64_t, 3>>;

/// Runs each shape with each number of threads.
template <const Shapes& shapes>
void on(benchmark::internal::Benchmark* b) {
  b->ArgNames({"m", "k", "n", "threads"})->UseRealTime()->Unit(benchmark::kMicrosecond);
  for (const auto& [m, k, n] : shapes) {
    for (const auto threads : thread_counts()) {
      b->Args({m, k, n, threads});
    }
  }
}

const Shapes projections = {{196, 256, 1536},  {1568, 256, 1536}, {1568, 768, 256}, {512, 512, 3072},
                            {4096, 512, 2048}, {256, 128, 256},   {17, 256, 1024},  {1, 512, 2048}};
const Shapes fused_projections = {{196, 256, 1536}, {1568, 256, 1536}};
const Shapes mixings = {{196, 196, 768}, {512, 512, 1536}, {256, 256, 1024}, {1568, 1536, 256}};
const Shapes fused_mixings = {{196, 196, 768}, {512, 512, 1536}};
const Shapes gradients = {{1536, 1568, 256}, {256, 1568, 768}, {128, 256, 1024}};

BENCHMARK_CAPTURE(product, nt, Form::nt)->Name("ops/matmul_nt")->Apply(on<projections>);
BENCHMARK_CAPTURE(product, nn, Form::nn)->Name("ops/matmul_nn")->Apply(on<mixings>);
BENCHMARK_CAPTURE(product, tn, Form::tn)->Name("ops/matmul_tn")->Apply(on<gradients>);
BENCHMARK(product_bias_gelu)->Name("ops/matmul_nt_bias_gelu")->Apply(on<fused_projections>);
BENCHMARK(product_bias_gate)->Name("ops/matmul_nn_bias_gate")->Apply(on<fused_mixings>);
BENCHMARK(eigen_product)->Name("ops/eigen_nt")->Apply(on<projections>);

// --- Element-wise ops: GB/s count bytes read and bytes written ---

void activation(benchmark::State& state, Activation kind) {
  const Matrix<float> x = 4 * Matrix<float>::Random(1, state.range(0));
  Matrix<float> y = x;
  const double time = run(state, [&] {
    gated::with_activation(kind, [&](auto act) {
      gated::for_each_vector<float>(x.size(), [&](Index i, Index lanes) {
        act.value(gated::Simd<float>::load(x.data() + i, lanes)).store(y.data() + i, lanes);
      });
    });
  });
  count_bytes(state, time, 2.0 * static_cast<double>(y.size()) * sizeof(float));
}

void on_cache_and_memory(benchmark::internal::Benchmark* b) { b->ArgName("count")->Arg(1 << 12)->Arg(1 << 22); }

BENCHMARK_CAPTURE(activation, identity, Activation::identity)->Name("ops/copy")->Apply(on_cache_and_memory);
BENCHMARK_CAPTURE(activation, gelu, Activation::gelu)->Name("ops/gelu")->Apply(on_cache_and_memory);
BENCHMARK_CAPTURE(activation, gelu_tanh, Activation::gelu_tanh)->Name("ops/gelu_tanh")->Apply(on_cache_and_memory);
BENCHMARK_CAPTURE(activation, silu, Activation::silu)->Name("ops/silu")->Apply(on_cache_and_memory);
BENCHMARK_CAPTURE(activation, relu2, Activation::relu2)->Name("ops/relu2")->Apply(on_cache_and_memory);
BENCHMARK_CAPTURE(activation, laplace, Activation::laplace)->Name("ops/laplace")->Apply(on_cache_and_memory);

/// Times `f(x, y, workspace)`. The benchmark's first two arguments are the rows and columns of x and y.
template <class F>
void by_rows(benchmark::State& state, const F& f) {
  const Matrix<float> x = Matrix<float>::Random(state.range(0), state.range(1));
  Matrix<float> y = x;
  Workspace<float> workspace(threads_of(state, 2));
  const double time = run(state, [&] { f(x, y, workspace); });
  count_bytes(state, time, 2.0 * static_cast<double>(y.size()) * sizeof(float));
}

void layer_norm(benchmark::State& state) {
  const gated::Vector<float> scale = gated::Vector<float>::Random(state.range(1)), shift = scale;
  const gated::NormParameters<float> norm{gated::NormForm::layer_norm, 1e-5, scale.data(), shift.data()};
  by_rows(state, [&](const auto& x, auto& y, auto& workspace) { gated::normalize(x, norm, y, workspace); });
}

void scale_norm(benchmark::State& state) {
  const float gain = 1.5f;
  const gated::NormParameters<float> norm{.form = gated::NormForm::scale_norm, .eps = 1e-5, .gain = &gain};
  by_rows(state, [&](const auto& x, auto& y, auto& workspace) { gated::normalize(x, norm, y, workspace); });
}

/// Applies softmax in place, each time to its previous output. The values converge, but the time does not depend on them.
void softmax(benchmark::State& state, bool causal) {
  by_rows(state, [causal](const auto&, auto& y, auto& workspace) { gated::softmax<float>(y, workspace, {.causal = causal}); });
}

void on_token_matrices(benchmark::internal::Benchmark* b) {
  b->ArgNames({"rows", "columns", "threads"})->UseRealTime()->Unit(benchmark::kMicrosecond);
  b->ArgsProduct({{196, 4096}, {256, 768}, thread_counts()});
}

BENCHMARK(layer_norm)->Name("ops/layer_norm")->Apply(on_token_matrices);
BENCHMARK(scale_norm)->Name("ops/scale_norm")->Apply(on_token_matrices);
BENCHMARK_CAPTURE(softmax, all, false)->Name("ops/softmax")->Apply(on_token_matrices);
BENCHMARK_CAPTURE(softmax, causal, true)->Name("ops/softmax_causal")->Apply(on_token_matrices);

}  // namespace

}  // namespace bench
