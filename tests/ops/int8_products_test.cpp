#include "gated/ops/int8_products.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "gated/models/gmlp.hpp"
#include "gated/models/prepare.hpp"
#include "tests/core/allocations.hpp"
#include "tests/core/numbers.hpp"
#include "tests/ops/plain_tiles.hpp"
#include "tests/ops/restores_kernels.hpp"

namespace gated::int8_products_test {
namespace {

using test::random_matrix;
using test::same_bits;

constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();

/// a · b, rounded before it is added: `volatile` prevents contraction into a fused multiply-add.
float times(float a, float b) {
  volatile float product = a * b;
  return product;
}

using Int8Product = test::RestoresKernels;

/// x · wᵀ by the formula that int8_products() documents, in 64-bit integers, for groups of `group` columns.
Matrix<float> stated(const Matrix<float>& x, const Matrix<float>& w, Index group) {
  Matrix<float> y(x.rows(), w.rows());
  const auto code = [](float number, float low, float high) {
    return std::llrint(std::clamp(std::nearbyint(number), low, high));
  };
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index j = 0; j < w.rows(); ++j) {
      volatile float sum = 0;
      for (Index first = 0; first < x.cols(); first += group) {
        const Index count = std::min(group, x.cols() - first);
        const auto row = x.row(i).segment(first, count), part = w.row(j).segment(first, count);
        const float low = std::min(0.0f, row.minCoeff()), range = std::max(0.0f, row.maxCoeff()) - low;
        const bool is_zero = range < 0x1p-100f;
        const float m = is_zero ? 0 : 255 / range, s = is_zero ? 0 : range / 255, t = part.cwiseAbs().maxCoeff() / 127;
        const auto zero = code(times(-low, m), 0, 255);
        long long integers = 0;
        for (Index k = 0; k < count; ++k) {
          const auto q = std::clamp<long long>(code(times(row(k), m), -255, 255) + zero, 0, 255);
          integers += (q - zero) * (t == 0 ? 0 : code(part(k) / t, -127, 127));
        }
        sum = sum + times(times(static_cast<float>(integers), t), s);
      }
      y(i, j) = sum;
    }
  }
  return y;
}

/// The kernels of one instruction set, and an engine that multiplies with them.
struct Form {
  const char* name;
  KernelForm kernels;
  const Int8Kernels* table;
  const ProductEngine<float>* engine;
};

template <const Int8Kernels& table>
Form form(const char* name, KernelForm kernels) {
  return {name, kernels, &table, &detail::gemm::int8_engine_of<table>};
}

/// The forms with AVX512-VNNI, if the machine has it.
void add_vnni_forms([[maybe_unused]] std::vector<Form>& all) {
#if GATED_HAS_AMX_KERNELS
  all.push_back(form<avx512_vnni::amx_kernels<test::PlainTiles>>("avx512_vnni, emulated AMX", KernelForm::avx512));
  if (detail::granted_amx().int8) {
    all.push_back(form<avx512_vnni::amx_kernels<avx512_vnni::TileRegisters>>("AMX", KernelForm::avx512));
  }
#endif
}

/// All int8 kernels that this machine can run, with and without dot-product instructions.
std::vector<Form> all_forms() {
#if GATED_CHOOSES_FORM
  std::vector<Form> all{form<sse2::int8::kernels>("sse2", KernelForm::sse2)};
  const KernelForm best = available_kernels().back();
  if (best >= KernelForm::avx2) {
    all.push_back(form<avx2::int8::kernels>("avx2", KernelForm::avx2));
    if (detail::machine_has_avx_vnni) {
      all.push_back(form<avx2_vnni::int8::kernels>("avx2_vnni", KernelForm::avx2));
    }
  }
  if (best >= KernelForm::avx512) {
    all.push_back(form<avx512::int8::kernels>("avx512", KernelForm::avx512));
    if (detail::machine_has_avx512_vnni) {
      all.push_back(form<avx512_vnni::int8::kernels>("avx512_vnni", KernelForm::avx512));
      add_vnni_forms(all);
    }
  }
#else
  std::vector<Form> all{form<GATED_INT8_BASELINE::int8::kernels>("baseline", kernels()),
                        form<GATED_BASELINE::int8::kernels>("without dot products", kernels())};
  add_vnni_forms(all);
#endif
  return all;
}

/// Calls `f` with each form, whose kernels are then in use.
template <class F>
void for_each_form(const F& f) {
  for (const Form& form : all_forms()) {
    SCOPED_TRACE(form.name);
    use_kernels(form.kernels);
    f(form);
  }
}

Matrix<float> product_in(Workspace<float>& workspace, const Operand<float>& a, const Operand<float>& b) {
  Matrix<float> y = Matrix<float>::Constant(a.rows, b.columns, 77);
  matmul(a, quantizable(b), y, workspace);
  return y;
}

Matrix<float> product(const Form& form, const Operand<float>& a, const Operand<float>& b, Threads threads = {}) {
  Workspace<float> workspace(std::move(threads));
  workspace.use(form.engine);
  return product_in(workspace, a, b);
}

Linear<float> layer_of(const Matrix<float>& weight) {
  Linear<float> layer(weight.cols(), weight.rows(), false);
  layer.weight = weight;
  return layer;
}

/// x · wᵀ with weights prepared in `format`.
Matrix<float> product(const Form& form, const Matrix<float>& x, const Linear<float>& layer, WeightFormat format,
                      Threads threads = {}) {
  const auto prepared = prepare(layer, format);
  Workspace<float> workspace(std::move(threads));
  workspace.use(form.engine);
  workspace.use(prepared);
  return product_in(workspace, x, transposed(layer.weight));
}

constexpr WeightFormat prepared_formats[] = {WeightFormat::int8, WeightFormat::int8_rows};

TEST_F(Int8Product, ChoosesTheBestKernelsOfTheForm) {
  static_cast<void>(int8_products());
  for (const KernelForm kernels : available_kernels()) {
    use_kernels(kernels);
    const Int8Kernels* best = nullptr;
    for (const Form& form : all_forms()) {
      const bool is_emulated = std::string(form.name).find("emulated") != std::string::npos;
      const bool lacks_dot_products = std::string(form.name) == "without dot products";
      best = form.kernels == kernels && !is_emulated && !lacks_dot_products ? form.table : best;
    }
    EXPECT_EQ(&int8_kernels<float>(), best);
  }
}

TEST_F(Int8Product, EqualsItsFormulaForEveryShapeAndTranspose) {
  for (const Index rows : {0, 1, 2, 5, 13, 14, 15, 31, 32, 33, 50}) {
    for (const Index columns : {0, 1, 15, 16, 33, 70}) {
      for (const Index depth : {1, 3, 4, 5, 31, 32, 65, 200}) {
        const Matrix<float> a = random_matrix<float>(rows, depth, 1), w = random_matrix<float>(columns, depth, 2);
        const Matrix<float> at = a.transpose(), b = w.transpose(), expected = stated(a, w, depth);
        SCOPED_TRACE(text(rows, " × ", depth, " · ", depth, " × ", columns));
        for_each_form([&](const Form& form) {
          ASSERT_TRUE(same_bits(product(form, a, transposed(w)), expected));
          ASSERT_TRUE(same_bits(product(form, a, b), expected)) << "b by rows";
          ASSERT_TRUE(same_bits(product(form, transposed(at), b), expected)) << "a transposed";
        });
      }
    }
  }
}

TEST_F(Int8Product, EqualsItsFormulaInGroups) {
  for (const Index in : {1, 31, 32, 33, 70, 128, 163}) {
    for (const Index rows : {1, 2, 17, 32, 33, 50}) {
      const Matrix<float> x = random_matrix<float>(rows, in, 4), w = random_matrix<float>(70, in, 3);
      const Linear<float> layer = layer_of(w);
      SCOPED_TRACE(text(rows, " × ", in));
      for (const WeightFormat format : prepared_formats) {
        const Matrix<float> expected = stated(x, w, group_size(format, in));
        for_each_form(
            [&](const Form& form) { ASSERT_TRUE(same_bits(product(form, x, layer, format), expected)) << name_of(format); });
      }
    }
  }
}

/// Among half a million values, some are so close to a tie that a fused multiply-add would round them the other way.
TEST_F(Int8Product, RoundsProductsBeforeAdding) {
  const Matrix<float> x = random_matrix<float>(1 << 14, 32, 1), w = Matrix<float>::Identity(32, 32) * 127;
  const Matrix<float> expected = stated(x, w, 32);
  for_each_form([&](const Form& form) { EXPECT_TRUE(same_bits(product(form, x, transposed(w)), expected)); });
}

/// Expects that each tile of each form multiplies rows of 255 and of -255 by `layer`, whose weights are all `value`, exactly.
void expect_exact_sums(const Linear<float>& layer, float value, const std::function<PreparedWeights<float>()>& prepared_by) {
  const Index depth = layer.weight.cols();
  for_each_form([&](const Form& form) {
    const auto prepared = prepared_by();
    Workspace<float> workspace;
    workspace.use(form.engine);
    workspace.use(prepared);
    for (const Int8Kernels::Tile& tile : form.table->tiles) {
      for (const float x : {255.0f, -255.0f}) {
        const Matrix<float> y =
            product_in(workspace, Matrix<float>(Matrix<float>::Constant(tile.rows, depth, x)), transposed(layer.weight));
        const double sum = static_cast<double>(x) * static_cast<double>(value) * static_cast<double>(depth);
        EXPECT_TRUE((y.array() == static_cast<float>(sum)).all()) << tile.rows << " rows of " << x << " give " << y(0, 0);
      }
    }
  });
}

/// The largest codes would saturate 16-bit sums of pairs: 2 · 255 · 127 > 32767.
TEST_F(Int8Product, AddsUpTheLargestCodesExactlyInEveryTile) {
  for (const float value : {127.0f, -127.0f}) {
    const Linear<float> layer = layer_of(Matrix<float>::Constant(2, detail::gemm::deepest_int8, value));
    expect_exact_sums(layer, value, [] { return PreparedWeights<float>(); });
    expect_exact_sums(layer, value, [&] { return prepare(layer, WeightFormat::int8_rows); });
  }
}

/// prepare() makes no code of -128, but a file may hold it.
TEST_F(Int8Product, AddsUpTheLowestCodeExactlyInEveryTile) {
  constexpr Index depth = detail::gemm::deepest_int8;
  const Linear<float> layer = layer_of(Matrix<float>::Constant(2, depth, -128));
  const std::vector<std::byte> codes(2 * depth, std::byte{0x80});
  for (const WeightFormat format : prepared_formats) {
    const std::vector<float> scales(static_cast<std::size_t>(2 * scales_per_row(format, depth)), 1.0f);
    expect_exact_sums(layer, -128, [&] {
      PreparedWeights<float> prepared;
      detail::pack_codes(prepared, layer.weight.data(),
                         {format, 2, depth, codes.data(), std::as_bytes(std::span(scales)).data()});
      return prepared;
    });
  }
}

TEST_F(Int8Product, EncodesPreparedAndPlainFloatWeights) {
  Linear<float> layer(40, 70, false);
  Random random(3);
  fill_normal(layer.weight, 1, random);
  const auto x = random_matrix<float>(17, 40, 4);
  const Matrix<float> expected = stated(x, layer.weight, 40);
  const auto prepared = prepare(layer);
  for_each_form([&](const Form& form) {  // the weights are packed for one form only
    Workspace<float> workspace;
    workspace.use(form.engine);
    workspace.use(prepared);
    EXPECT_TRUE(same_bits(product_in(workspace, x, transposed(layer.weight)), expected));
  });
}

TEST_F(Int8Product, UsesFloatProductsForBf16Weights) {
  Linear<float> layer(40, 70, false);
  Random random(3);
  fill_normal(layer.weight, 1, random);
  const auto x = random_matrix<float>(17, 40, 4);
  const auto prepared = prepare(layer, WeightFormat::bf16);
  Workspace<float> integers, floats;
  integers.use(int8_products());
  integers.use(prepared);
  floats.use(prepared);
  EXPECT_TRUE(same_bits(product_in(integers, x, transposed(layer.weight)), product_in(floats, x, transposed(layer.weight))));
}

TEST_F(Int8Product, UsesFloatForScoresAndTriangularOrDeepProducts) {
  const auto expect_float = [](const Operand<float>& a, const Operand<float>& b, Index wanted = -1) {
    Workspace<float> integers, floats;
    integers.use(int8_products());
    Matrix<float> y = Matrix<float>::Zero(a.rows, b.columns), exact = y;
    matmul(a, b, y, integers, {.wanted = wanted});
    matmul(a, b, exact, floats, {.wanted = wanted});
    EXPECT_TRUE(same_bits(y, exact));
  };
  const Matrix<float> a = random_matrix<float>(9, 9, 1), b = random_matrix<float>(9, 9, 2);
  expect_float(a, b);  // like scores: b is not marked as quantizable
  expect_float(lower<float>(a, 0), quantizable(Operand<float>(b)));
  expect_float(a, quantizable(Operand<float>(b)), 0);
  const Index depth = detail::gemm::deepest_int8 + 1;
  const Matrix<float> deep_a = random_matrix<float>(2, depth, 1), deep_b = random_matrix<float>(depth, 3, 2);
  expect_float(deep_a, quantizable(Operand<float>(deep_b)));
}

/// With prepared weights too, a product that is too deep has the bits of a product in float.
TEST_F(Int8Product, UsesFloatForDeepPreparedWeights) {
  const Index depth = detail::gemm::deepest_int8 + 1;
  const Linear<float> layer = layer_of(random_matrix<float>(3, depth, 2));
  const Matrix<float> x = random_matrix<float>(2, depth, 1);
  for (const WeightFormat format : prepared_formats) {
    for_each_form([&](Form form) {
      const Matrix<float> y = product(form, x, layer, format);
      form.engine = nullptr;
      EXPECT_TRUE(same_bits(y, product(form, x, layer, format))) << name_of(format);
    });
  }
}

TEST_F(Int8Product, TreatsRowsOfTinyValuesAsZeros) {
  const Matrix<float> w = random_matrix<float>(40, 33, 2), random = random_matrix<float>(50, 33, 1);
  Matrix<float> some_zero = w;
  some_zero.row(5).setZero();
  for_each_form([&](const Form& form) {
    for (const float tiny : {0.0f, 1e-45f, -1e-40f, 0x1p-101f}) {
      Matrix<float> x = random;
      x.row(1).setConstant(tiny);
      const Matrix<float> y = product(form, x, transposed(w));
      EXPECT_TRUE(y.row(1).isZero(0)) << tiny;
      EXPECT_TRUE(same_bits(y.row(0), stated(random.topRows(1), w, 33)));
    }
    EXPECT_TRUE(product(form, random, transposed(some_zero)).col(5).isZero(0));
  });
}

TEST_F(Int8Product, TreatsGroupsOfTinyValuesAsZeros) {
  Matrix<float> w = random_matrix<float>(40, 100, 2), x = random_matrix<float>(50, 100, 1);
  w.row(5).segment(32, 32).setZero();
  x.row(1).segment(64, 32).setZero();
  x.row(2).setZero();
  x.row(2).tail(4).setConstant(0x1p-101f);
  const Matrix<float> expected = stated(x, w, 32);
  EXPECT_TRUE(expected.row(2).isZero(0));
  const Linear<float> layer = layer_of(w);
  for_each_form([&](const Form& form) { EXPECT_TRUE(same_bits(product(form, x, layer, WeightFormat::int8), expected)); });
}

TEST_F(Int8Product, KeepsNaNAndInfinityInTheirRow) {
  const Matrix<float> x = random_matrix<float>(50, 100, 1), w = random_matrix<float>(40, 100, 2);
  const Linear<float> layer = layer_of(w);
  for_each_form([&](const Form& form) {
    for (const WeightFormat format : prepared_formats) {
      const Matrix<float> clean = product(form, x, layer, format);
      for (const float bad : {nan, -nan, infinity, -infinity, 3e38f}) {
        for (const Index k : {0, 17, 99}) {
          Matrix<float> bad_x = x;
          bad_x(7, k) = bad;
          if (bad == 3e38f) {
            bad_x(7, k == 0 ? 1 : k - 1) = -bad;  // in the same group, whose range overflows float
          }
          Matrix<float> y = product(form, bad_x, layer, format);
          EXPECT_TRUE(y.row(7).array().isNaN().all()) << bad << ", " << name_of(format);
          EXPECT_TRUE(format == WeightFormat::int8 || same_bits(y, product(form, bad_x, transposed(w)))) << "unprepared";
          y.row(7) = clean.row(7);
          EXPECT_TRUE(same_bits(y, clean)) << bad << ", " << name_of(format);
        }
      }
    }
  });
}

TEST_F(Int8Product, AllowsAnyFiniteRangeAcrossGroups) {
  Matrix<float> x = random_matrix<float>(50, 64, 1);
  const Matrix<float> w = random_matrix<float>(40, 64, 2, 0.01);
  x(7, 3) = 3e38f;
  x(7, 40) = -3e38f;
  const Matrix<float> expected = stated(x, w, 32);
  EXPECT_TRUE(expected.allFinite());
  for_each_form([&](const Form& form) {
    EXPECT_TRUE(same_bits(product(form, x, layer_of(w), WeightFormat::int8), expected));
    EXPECT_TRUE(product(form, x, layer_of(w), WeightFormat::int8_rows).row(7).array().isNaN().all());
  });
}

TEST_F(Int8Product, KeepsNaNAndInfinityInTheirColumn) {
  const Matrix<float> x = random_matrix<float>(50, 33, 1), w = random_matrix<float>(40, 33, 2);
  for_each_form([&](const Form& form) {
    const Matrix<float> clean = product(form, x, transposed(w));
    for (const float bad : {nan, -nan, infinity, -infinity}) {
      for (const Index k : {0, 17, 32}) {
        Matrix<float> bad_w = w;
        bad_w(9, k) = bad;
        const Matrix<float> bad_b = bad_w.transpose();
        for (const bool by_rows : {false, true}) {
          Matrix<float> y = by_rows ? product(form, x, bad_b) : product(form, x, transposed(bad_w));
          EXPECT_TRUE(y.col(9).array().isNaN().all()) << bad;
          y.col(9) = clean.col(9);
          EXPECT_TRUE(same_bits(y, clean)) << bad;
        }
      }
    }
  });
}

TEST_F(Int8Product, ComputesEachRowIndependently) {
  const Matrix<float> a = random_matrix<float>(50, 53, 12), w = random_matrix<float>(67, 53, 13);
  const Linear<float> layer = layer_of(w);
  for_each_form([&](const Form& form) {
    const Matrix<float> whole = product(form, a, transposed(w)), grouped = product(form, a, layer, WeightFormat::int8);
    for (Index count = 1; count <= a.rows(); ++count) {
      for (const Index i : {Index{0}, (a.rows() - count) / 2, a.rows() - count}) {
        const Matrix<float> part = a.middleRows(i, count);
        ASSERT_TRUE(same_bits(product(form, part, transposed(w)), whole.middleRows(i, count))) << count;
        ASSERT_TRUE(same_bits(product(form, part, layer, WeightFormat::int8), grouped.middleRows(i, count))) << count;
      }
    }
  });
}

TEST_F(Int8Product, IsBitEqualForAnyNumberOfThreads) {
  const Matrix<float> a = random_matrix<float>(530, 101, 10), w = random_matrix<float>(230, 101, 11);
  const Matrix<float> row = random_matrix<float>(1, 2000, 12), square = random_matrix<float>(2000, 700, 13);
  const Linear<float> layer = layer_of(w);
  for_each_form([&](const Form& form) {
    const Matrix<float> one = product(form, a, transposed(w)), grouped = product(form, a, layer, WeightFormat::int8);
    const Matrix<float> one_row = product(form, row, square);
    for (const int threads : {2, 3}) {
      EXPECT_TRUE(same_bits(product(form, a, transposed(w), Threads{threads}), one)) << threads;
      EXPECT_TRUE(same_bits(product(form, a, layer, WeightFormat::int8, Threads{threads}), grouped)) << threads;
      EXPECT_TRUE(same_bits(product(form, row, square, Threads{threads}), one_row)) << threads;
    }
  });
}

void expect_model_runs(const Gmlp<float>& model, const Form& form) {
  const auto x = random_matrix<float>(3 * 19, 48, 2);
  Workspace<float> in_float, workspace;
  workspace.use(form.engine);
  const auto sequences = Sequences::uniform(3, 19);
  const Matrix<float> exact = model.forward(x, sequences, in_float);
  const Matrix<float> unprepared = model.forward(x, sequences, workspace);
  const auto prepared = prepare(model, WeightFormat::int8_rows);
  workspace.use(prepared);
  const Matrix<float> y = model.forward(x, sequences, workspace);
  EXPECT_TRUE(same_bits(y, unprepared));
  const double error = static_cast<double>((y - exact).norm() / exact.norm());
  EXPECT_LE(error, 0.02);
  EXPECT_GE(error, 1e-4) << "computed in float";
  for (Index b = 0; b < 3; ++b) {
    const Matrix<float> alone = model.forward(ConstView<float>(x.middleRows(19 * b, 19)), Sequences::single(19), workspace);
    EXPECT_TRUE(same_bits(alone, y.middleRows(19 * b, 19)));
  }
  Matrix<float> again(y.rows(), y.cols());
  model.forward(x, sequences, again, workspace);
  EXPECT_EQ(test::allocations_during([&] { model.forward(x, sequences, again, workspace); }), 0);
  EXPECT_TRUE(same_bits(again, y));
}

TEST_F(Int8Product, RunsAWholeModel) {
  Random random(1);
  const Gmlp<float> model({.length = 19, .channels = 48, .hidden = 96, .depth = 3, .attention_width = 16}, random);
  for_each_form([&](const Form& form) { expect_model_runs(model, form); });
}

#if GATED_CHOOSES_FORM
/// The program that calls gated may have set the flags FTZ and DAZ.
TEST_F(Int8Product, HasTheSameBitsIfSubnormalsAreFlushed) {
  Matrix<float> x = random_matrix<float>(50, 40, 1), w = random_matrix<float>(33, 40, 2);
  x.row(1) *= 1e-30f;
  x.row(2).setConstant(1e-40f);
  x(3, 3) = 1e-42f;
  const Linear<float> layer = layer_of(w);
  for_each_form([&](const Form& form) {
    const Matrix<float> y = product(form, x, transposed(w)), grouped = product(form, x, layer, WeightFormat::int8);
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040);  // FTZ and DAZ
    const Matrix<float> flushed = product(form, x, transposed(w));
    const Matrix<float> flushed_groups = product(form, x, layer, WeightFormat::int8);
    _mm_setcsr(before);
    EXPECT_TRUE(same_bits(flushed, y));
    EXPECT_TRUE(same_bits(flushed_groups, grouped));
  });
}
#endif

}  // namespace
}  // namespace gated::int8_products_test
