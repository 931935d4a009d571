#include "gated/ops/mixed_chunk.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "gated/core/settings.hpp"
#include "tests/core/numbers.hpp"

namespace gated::mixed_chunk_test {
namespace {

using test::random_matrix;
using test::same_bits;

constexpr Index width = 4, value = 6;

/// The inputs of chunk mixing for one sequence.
template <class T>
struct Sequence {
  Matrix<T> local_q, local_k, global_q, global_k, values;
  std::vector<T> keys;

  explicit Sequence(Index length)
      : local_q(random_matrix<T>(length, width, 1)),
        local_k(random_matrix<T>(length, width, 2)),
        global_q(random_matrix<T>(length, width, 3)),
        global_k(random_matrix<T>(length, width, 4)),
        values(random_matrix<T>(length, value, 5)) {
    for (Index i = 0; i < length; ++i) {
      keys.push_back(i % 4 == 2 ? T{0} : T{1});
    }
  }

  Matrix<T> run(const ChunkMixing<T>& mixing, int threads = 1, const Epilogue<T>& epilogue = {}) {
    Matrix<T> y(values.rows(), value);
    Workspace<T> workspace(Threads{threads});
    mix_sequence<T>({local_q, local_k, global_q, global_k, values}, mixing, y, workspace, epilogue);
    return y;
  }

  /// The result by definition: relu² attention within each chunk, plus linear attention reduced by m.reduction.
  Matrix<double> literal(const ChunkMixing<T>& m) const {
    const Index n = values.rows(), c = m.chunk, chunks = (n + c - 1) / c;
    const auto dot = [](const auto& a, const auto& b) { return a.template cast<double>().dot(b.template cast<double>()); };
    Matrix<double> y = Matrix<double>::Zero(n, value);
    for (Index i = 0; i < n; ++i) {
      const Index h = i / c;
      for (Index j = 0; j < n; ++j) {
        const Index own = j / c;
        double weight = 0;
        const bool hidden = m.local.visible_keys != nullptr && keys[static_cast<std::size_t>(j)] == 0;
        if (own == h && !hidden && (!m.local.causal || j <= i)) {
          const double score = std::max(dot(local_q.row(i), local_k.row(j)) * static_cast<double>(m.local.scale), 0.0);
          weight += score * score;
        }
        double share = 0;
        if (m.local.causal) {
          share = own >= h ? 0 : 1 / static_cast<double>(m.reduction == LinearReduction::mean ? h * c : c);
        } else if (m.reduction == LinearReduction::own_chunk) {
          share = own == h ? 1 / static_cast<double>(n) : 0;
        } else {
          share = 1 / static_cast<double>(m.reduction == LinearReduction::mean ? chunks * c : n);
        }
        weight += share == 0 ? 0 : share * dot(global_q.row(i), global_k.row(j));
        y.row(i) += weight * values.row(j).template cast<double>();
      }
    }
    return y;
  }
};

template <class T>
class MixedChunkOf : public ::testing::Test {
 protected:
  static std::vector<ChunkMixing<T>> forms(Index chunk) {
    std::vector<ChunkMixing<T>> all;
    for (const auto& [reduction, name] : names_of(LinearReduction{})) {
      for (const bool causal : {false, true}) {
        if (!causal || reduction != LinearReduction::own_chunk) {
          all.push_back({.chunk = chunk, .reduction = reduction, .local = {.scale = T(0.5), .causal = causal}});
        }
      }
    }
    return all;
  }
};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(MixedChunkOf, Scalars, );

TYPED_TEST(MixedChunkOf, EqualsItsFormulaForAnyLengthAndChunk) {
  for (const Index length : {1, 2, 7, 12, 13}) {
    for (const Index chunk : {1, 3, 4, 12, 100}) {
      for (ChunkMixing<TypeParam> mixing : this->forms(chunk)) {
        Sequence<TypeParam> sequence(length);
        for (const bool masked : {false, true}) {
          mixing.local.visible_keys = masked ? sequence.keys.data() : nullptr;
          const Matrix<TypeParam> y = sequence.run(mixing);
          const double tolerance = sizeof(TypeParam) == 4 ? 2e-4 : 1e-12;
          ASSERT_LE((y.template cast<double>() - sequence.literal(mixing)).cwiseAbs().maxCoeff(), tolerance)
              << name_of(mixing.reduction) << ", causal " << mixing.local.causal << ", length " << length << ", chunk "
              << chunk;
          ASSERT_TRUE(same_bits(sequence.run(mixing, 3), y)) << "threads";
        }
      }
    }
  }
}

TYPED_TEST(MixedChunkOf, AppliesAnEpilogueAcrossChunks) {
  using T = TypeParam;
  for (const ChunkMixing<T>& mixing : this->forms(4)) {
    Sequence<T> sequence(14);
    const auto gate = random_matrix<T>(14, value, 6), residual = random_matrix<T>(14, value, 7);
    const Matrix<T> plain = sequence.run(mixing);
    EXPECT_TRUE(same_bits(sequence.run(mixing, 1, {.gate = gate}), Matrix<T>(plain.cwiseProduct(gate))));
    EXPECT_TRUE(same_bits(sequence.run(mixing, 2, {.residual = residual}), Matrix<T>(plain + residual)));
    Matrix<T> z(14, value);
    sequence.run(mixing, 1, {.activation = Activation::tanh, .saved = z});
    EXPECT_TRUE(same_bits(z, plain));
  }
}

TYPED_TEST(MixedChunkOf, NeverReadsLaterTokensIfCausal) {
  using T = TypeParam;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  for (const ChunkMixing<T>& mixing : this->forms(4)) {
    const Sequence<T> sequence(14);
    const Matrix<T> y = Sequence<T>(sequence).run(mixing);
    for (Index t = 0; mixing.local.causal && t < 14; ++t) {
      Sequence<T> spoilt = sequence;
      for (Matrix<T>* part : {&spoilt.local_q, &spoilt.local_k, &spoilt.global_q, &spoilt.global_k, &spoilt.values}) {
        part->row(t).setConstant(t % 2 == 0 ? infinity : infinity - infinity);
      }
      for (const int threads : {1, 2}) {
        const Matrix<T> got = spoilt.run(mixing, threads);
        ASSERT_TRUE(same_bits(got.topRows(t), y.topRows(t))) << name_of(mixing.reduction) << ", token " << t;
        ASSERT_FALSE(got.row(t).allFinite());
      }
    }
  }
}

TEST(Remember, InitializesOrUpdatesAMemory) {
  const auto k = random_matrix<double>(5, 3, 1), v = random_matrix<double>(5, 4, 2);
  Matrix<double> memory = Matrix<double>::Constant(3, 4, std::numeric_limits<double>::quiet_NaN());
  Workspace<double> workspace;
  remember<double>(k, v, 0.5, {}, memory, workspace);
  const Matrix<double> once = k.transpose() * v * 0.5;
  EXPECT_LE((memory - once).cwiseAbs().maxCoeff(), 1e-14);
  remember<double>(k, v, 0.5, memory, memory, workspace);
  EXPECT_LE((memory - 2 * once).cwiseAbs().maxCoeff(), 1e-14);
}

}  // namespace
}  // namespace gated::mixed_chunk_test
