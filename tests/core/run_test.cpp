#include "gated/core/run.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "gated/ops/reshape.hpp"
#include "tests/core/numbers.hpp"
#include "tests/core/toy_layers.hpp"

namespace gated::run_test {
namespace {

using test::message_of;
using test::Neighbours;
using test::Pair;
using test::random_matrix;
using test::same_bits;
using test::Times;
using test::Totals;
using test::Tower;
using Whole = Batch<double>;
using R = RunMatrix<double>;
using M = Matrix<double>;

/// A run, its input rows, and the frame that holds its memory.
struct Running {
  M x;
  Workspace<double> workspace;
  Workspace<double>::Frame frame = workspace.frame();
  Whole run;
  R input{input_view<double>(x)};

  explicit Running(const Sequences& sequences = Sequences::single(5), Mask mask = {})
      : x(random_matrix<double>(sequences.total(), 3, 1)), run(workspace, sequences, mask) {}
};

TEST(Run, RunsTheBodyOfALayer) {
  Running r;
  const R y = r.run(Times(3, 3), r.input);
  EXPECT_TRUE(same_bits(r.run[y], M(r.x * 3)));
  EXPECT_EQ(r.run.rows(y), 5);
  EXPECT_EQ(r.run.columns(y), 3);
  const R columns = r.run.columns(y, 1, 2);
  EXPECT_EQ(&r.run[columns](0, 0), &r.run[y](0, 1)) << "in place";
  EXPECT_EQ(r.run.columns(columns), 2);
}

TEST(Run, ForwardsExtraArguments) {
  Running r;
  const Neighbours layer(3, 5);
  const M plain = r.run[r.run(layer, r.input)];
  EXPECT_TRUE(same_bits(r.run[r.run(layer, r.input, r.input)], M(plain + r.x)));
  M y(5, 3);
  r.run.into(MatrixView<double>(y), layer, r.input, r.input);
  EXPECT_TRUE(same_bits(y, M(plain + r.x)));
}

/// y = epilogue(3 · x); counts the non-empty epilogues it receives.
struct Joining : Layer<Joining, double> {
  static constexpr const char* name = "Joining";
  Times times{3, 3};
  mutable int epilogues = 0;
  static constexpr auto fields() { return Fields(field("times", &Joining::times)); }
  Contract contract() const { return times.contract(); }
  template <class Run>
  MatrixOf<Run> apply(Run& run, MatrixOf<Run> x, Epilogue<Run> then) const {
    epilogues += then.is_plain() ? 0 : 1;
    return join(run, run(times, std::move(x)), std::move(then));
  }
};

TEST(Run, FusesAnEpilogueOrAppliesItToTheResult) {
  Running r;
  const Joining joining;
  const Vector<double> factors = test::random_vector<double>(3, 2);
  const M expected = (3 * r.x).cwiseMax(0) * factors.asDiagonal() + r.x;
  const auto joined = [&](const auto& layer) {
    return M(r.run[r.run(layer, r.input, {.activation = Activation::relu, .scale = factors.data(), .residual = r.input})]);
  };
  EXPECT_LE((joined(Times(3, 3)) - expected).cwiseAbs().maxCoeff(), 1e-14);
  EXPECT_TRUE(same_bits(joined(joining), joined(Times(3, 3))));
  EXPECT_EQ(joining.epilogues, 1);
  r.run(joining, r.input);
  EXPECT_EQ(joining.epilogues, 1);
}

/// A layer whose body returns its input.
struct Same {
  static constexpr const char* name = "Same";
  static constexpr auto fields() { return Fields(); }
  Contract contract() const { return {}; }
  auto apply(auto&, auto x) const { return x; }
};

TEST(Run, WritesTheResultIntoAnyDestination) {
  Running r;
  M place = M::Zero(7, 9);
  auto block = place.block(1, 2, 5, 3);
  r.run.into(MatrixView<double>(block), Times(3, 3), r.input);
  EXPECT_TRUE(same_bits(block, M(r.x * 3)));
  r.run.into(MatrixView<double>(block), Pair(3, 3), MatrixView<double>(block));
  EXPECT_FALSE(same_bits(block, M(r.x * 3))) << "in place";
  EXPECT_TRUE(same_bits(block, Pair(3, 3).forward(M(r.x * 3))));
  r.run.into(MatrixView<double>(block), Same(), r.input);
  EXPECT_TRUE(same_bits(block, r.x));
  EXPECT_EQ(r.run(Same(), r.input).data, r.x.data()) << "no copy without a destination";
  place.block(1, 2, 5, 3).setZero();
  EXPECT_TRUE(place.isZero(0)) << "elements outside the block changed";
}

TEST(Run, OverwritesInputsOnlyIfOwnedAndMoved) {
  Running r;
  const M before = r.x;
  R own = r.run(Times(2, 3), r.input);
  const double* const place = own.data;
  const R other = r.run(Pair(2, 3), own);
  EXPECT_NE(other.data, place);
  EXPECT_TRUE(same_bits(r.run[own], M(2 * before))) << "not moved";
  std::optional<R> second = own;
  EXPECT_NE(r.run(Pair(2, 3), std::move(*second)).data, place);
  EXPECT_TRUE(same_bits(r.run[own], M(2 * before))) << "still shared";
  second.reset();
  const R again = r.run(Pair(2, 3), std::move(own));
  EXPECT_EQ(again.data, place);
  EXPECT_FALSE(own) << "moved away";
  EXPECT_TRUE(same_bits(r.run[again], r.run[other]));
  EXPECT_NE(r.run(Pair(2, 3), std::move(r.input)).data, r.x.data());
  EXPECT_TRUE(same_bits(r.x, before)) << "belongs to the caller";
}

TEST(Run, CopiesOnlyUnownedMatrices) {
  Running r;
  R own = r.run.owned(r.input);
  EXPECT_NE(own.data, r.x.data());
  EXPECT_TRUE(same_bits(r.run[own], r.x));
  EXPECT_TRUE(own.is_owned());
  const double* const place = own.data;
  EXPECT_NE(r.run.owned(own).data, place);
  EXPECT_EQ(r.run.reuse(own).data, place);
  EXPECT_NE(r.run.reuse(r.input).data, r.x.data());
  EXPECT_EQ(r.run.owned(std::move(own)).data, place);
}

TEST(Run, ReusesTheMemoryOfAnOwnedEpilogueOperand) {
  Running r;
  const auto place_of = [&](const Epilogue<Whole>& epilogue) { return r.run.make(5, 3, epilogue).data; };
  for (R Epilogue<Whole>::*const member : {&Epilogue<Whole>::residual, &Epilogue<Whole>::gate, &Epilogue<Whole>::added}) {
    Epilogue<Whole> epilogue;
    epilogue.*member = r.input;
    EXPECT_NE(place_of(epilogue), r.x.data()) << "belongs to the caller";
    epilogue.*member = r.run.make(5, 3);
    const double* const own = (epilogue.*member).data;
    EXPECT_EQ(place_of(epilogue), own);
    const R other = epilogue.*member;
    EXPECT_NE(place_of(epilogue), own) << "still shared";
  }
  EXPECT_EQ(r.run.make(4, 2).rows(), 4);
  EXPECT_EQ(r.run.make(4, 2, {.residual = r.run.make(5, 3)}).columns(), 2) << "of a different shape";
}

/// Uses 1000 elements of scratch.
struct Scratchy {
  static constexpr const char* name = "Scratchy";
  static constexpr auto fields() { return Fields(); }
  Contract contract() const { return {}; }
  auto apply(auto& run, auto x) const {
    const auto scratch = run.make(run.rows(x), 200);
    run[scratch].setConstant(7);
    const auto y = run.make(run.rows(x), run.columns(x));
    run[y] = run[x] + run[scratch].leftCols(run.columns(x));
    return y;
  }
};

TEST(Run, ReleasesScratchAndKeepsTheResult) {
  Workspace<double> workspace;
  const M x = random_matrix<double>(5, 3, 1);
  const auto bytes_of = [&](int layers) {
    {
      const auto frame = workspace.frame();
      Whole run(workspace, Sequences::single(5));
      const R first = run(Scratchy(), input_view<double>(x));
      R y = first;
      for (int i = 1; i < layers; ++i) {
        y = run(Scratchy(), std::move(y));
      }
      EXPECT_TRUE(same_bits(run[first], M(x.array() + 7)));
      M expected = x;
      for (int i = 0; i < layers; ++i) {
        expected.array() += 7;
      }
      EXPECT_TRUE(same_bits(run[y], expected));
    }
    return workspace.bytes();
  };
  const std::size_t three = bytes_of(3);  // the third layer is the first to receive an owned matrix
  EXPECT_EQ(bytes_of(20), three);
}

TEST(Run, CountsPartsAsUsesOfTheWholeMatrix) {
  Running r;
  R both = r.run.make(5, 6);
  r.run[both].setConstant(1);
  const MatrixUse* const whole = both.use();
  auto [left, right] = r.run.split(std::move(both), Index{3}, Index{3});
  EXPECT_EQ(whole->count, 2);
  {
    const R changed = r.run(Scratchy(), std::move(right));  // releases its input and reuses the memory
    EXPECT_EQ(changed.data, left.data + 3);
    EXPECT_EQ(whole->count, 2);
  }
  EXPECT_EQ(whole->count, 1);
  left = R();
  EXPECT_EQ(whole->count, 0);
}

/// Returns two columns of its input, or of a new matrix if `of_own` is true.
struct Cutting {
  static constexpr const char* name = "Cutting";
  bool of_own = false;
  static constexpr auto fields() { return Fields(); }
  Contract contract() const { return {.in = 3, .out = 2}; }
  template <class Run>
  MatrixOf<Run> apply(Run& run, MatrixOf<Run> x) const {
    if (of_own) {
      x = run(Times(2, 3), x);
    }
    return run.columns(x, 1, 2);
  }
};

TEST(Run, ReturnsAPartWithoutACopyIfItOutlivesTheBody) {
  Running r;
  const R own = r.run(Times(2, 3), r.input);
  const R part = r.run(Cutting(), own);
  EXPECT_EQ(part.data, own.data + 1) << "no copy";
  EXPECT_EQ(r.run(Cutting(), r.input).data, r.x.data() + 1);
  const R made = r.run(Cutting{true}, r.input);
  r.run(Scratchy(), r.input);  // overwrites the scratch memory of Cutting's body
  EXPECT_TRUE(same_bits(r.run[part], M(2 * r.x.rightCols(2))));
  EXPECT_TRUE(same_bits(r.run[made], M(2 * r.x.rightCols(2))));
}

/// A layer that returns more columns than its contract promises.
struct Liar {
  static constexpr const char* name = "Liar";
  static constexpr auto fields() { return Fields(); }
  Contract contract() const { return {.in = 3, .out = 2}; }
  auto apply(auto&, auto x) const { return x; }
};

/// Returns a row whose stride equals its width; run.make() pads rows of this width to a larger stride.
struct Restrided : Layer<Restrided, double> {
  static constexpr Index width = 512;
  static constexpr const char* name = "Restrided";
  static constexpr auto fields() { return Fields(); }
  Contract contract() const { return {.in = width, .out = width}; }
  template <class Run>
  MatrixOf<Run> apply(Run& run, MatrixOf<Run> x) const {
    auto y = run.make(run.rows(x), width);
    run[y] = run[x];
    return reshape(run, reshape(run, std::move(y), width / 2), width);
  }
};

struct AroundRestrided : Layer<AroundRestrided, double> {
  static constexpr const char* name = "AroundRestrided";
  static constexpr auto fields() { return Fields(); }
  Contract contract() const { return Restrided().contract(); }
  template <class Run>
  MatrixOf<Run> apply(Run& run, MatrixOf<Run> x) const {
    const auto y = run(Restrided(), x), other = run.make(1, Restrided::width);
    run[other].setZero();
    return y;
  }
};

TEST(Run, KeepsOneRowResultsOfAnyStride) {
  ASSERT_NE(row_stride<double>(Restrided::width), Restrided::width);
  const M x = random_matrix<double>(1, Restrided::width, 1);
  Workspace<double> workspace;
  const auto frame = workspace.frame();
  Whole run(workspace, Sequences::single(1), {});
  const R y = run(AroundRestrided(), R(input_view<double>(x)));
  EXPECT_TRUE(same_bits(run[y], x));
}

TEST(Run, RefusesShapesOutsideTheContract) {
  Running r;
  EXPECT_EQ(
      message_of<ShapeError>([&] { r.run(Liar(), r.input); }),
      "Liar: its body returned 5 × 3, but its contract says 5 × 2. Correct `in`, `out`, `rows` or `of_rows` in contract().");
  EXPECT_EQ(message_of<ShapeError>([&] { r.run(Times(2, 4), r.input); }),
            "Times: x has 3 columns, expected in = 4 (a matrix is tokens × channels, one row per token).");
}

/// The paths and outputs that a hook sees during `run`, in order.
template <class F>
std::vector<std::pair<std::string, M>> shown(const F& run) {
  std::vector<std::pair<std::string, M>> seen;
  Workspace<double> workspace;
  workspace.set_hook([&](const std::string& path, ConstView<double> output) { seen.emplace_back(path, output); });
  const auto frame = workspace.frame();
  run(workspace);
  return seen;
}

template <class F>
std::vector<std::string> paths(const F& run) {
  std::vector<std::string> result;
  for (const auto& [path, output] : shown(run)) {
    result.push_back(path);
  }
  return result;
}

using Names = std::vector<std::string>;

TEST(Run, ShowsEachLayerUnderItsPath) {
  Tower tower(2, 3, 5);
  const auto x = random_matrix<double>(5, 3, 1);
  M y(5, 3);
  const auto forward = [&](auto& workspace) { tower.forward(x, Sequences::single(5), y, workspace); };
  EXPECT_EQ(paths(forward), (Names{"blocks.0.times", "blocks.0.totals", "blocks.0", "blocks.1.times", "blocks.1.totals",
                                   "blocks.1", "head", "inner.last", ""}));
  const auto seen = shown(forward);
  EXPECT_TRUE(same_bits(seen[0].second, M(2 * x)));
  EXPECT_TRUE(same_bits(seen.back().second, y));
  tower.head.reset();
  tower.blocks.pop_back();
  EXPECT_EQ(paths(forward), (Names{"blocks.0.times", "blocks.0.totals", "blocks.0", "inner.last", ""}));
}

/// Runs a grandchild layer that has the same address as its parent.
struct Skipper {
  static constexpr const char* name = "Skipper";
  Pair pair{2, 3};
  static constexpr auto fields() { return Fields(field("pair", &Skipper::pair)); }
  Contract contract() const { return pair.times.contract(); }
  auto apply(auto& run, auto x) const { return run(pair.times, std::move(x)); }
};

TEST(Run, ShowsAGrandchildUnderItsFullPath) {
  const Skipper layer;
  ASSERT_EQ(static_cast<const void*>(&layer.pair), &layer.pair.times) << "two layers at one address";
  EXPECT_EQ(paths([&](auto& workspace) {
              const M x = M::Ones(5, 3);
              Whole run(workspace, Sequences::single(5));
              run(layer, input_view<double>(x));
            }),
            (Names{"pair.times", ""}));
}

TEST(Run, ShowsTheOutermostLayerWithAnEmptyPath) {
  EXPECT_EQ(paths([](auto& workspace) {
              const M x = M::Ones(5, 3);
              Whole run(workspace, Sequences::single(5));
              run(Times(2, 3), input_view<double>(x));
            }),
            Names{""});
}

/// Runs a layer that fields() does not list, in a nested run with different sequences.
struct Borrower {
  static constexpr const char* name = "Borrower";
  const Pair* own = nullptr;
  std::vector<Borrower> parts;
  static constexpr auto fields() { return Fields(field("parts", &Borrower::parts)); }
  Contract contract() const { return {}; }
  template <class Run>
  MatrixOf<Run> apply(Run& run, MatrixOf<Run> x) const {
    if (own == nullptr) {
      return run(parts[0], x);
    }
    auto other = run.with(Sequences::single(run.rows(x)));
    return other(*own, x);
  }
};

TEST(Run, ShowsANonFieldLayerUnderItsName) {
  const Pair pair(2, 3);
  const Borrower layer{nullptr, {Borrower{&pair, {}}}};
  EXPECT_EQ(paths([&](auto& workspace) {
              const M x = M::Ones(5, 3);
              Whole run(workspace, Sequences::single(5));
              run(layer, input_view<double>(x));
            }),
            (Names{"parts.0.Pair.times", "parts.0.Pair.totals", "parts.0.Pair", "parts.0", ""}));
}

/// A layer whose body calls show() itself, for its output and for named and numbered parts.
struct Shower {
  static constexpr const char* name = "Shower";
  static constexpr auto fields() { return Fields(); }
  Contract contract() const { return {.shows_itself = true}; }
  auto apply(auto& run, auto x) const {
    run.show(x, "weights", 3);
    run.show(x, "weights", 0, 1, 2);
    run.show(x, nullptr, 4);
    run.show(x);
    return x;
  }
};
struct Showers {
  static constexpr const char* name = "Showers";
  Shower shower;
  static constexpr auto fields() { return Fields(field("shower", &Showers::shower)); }
  Contract contract() const { return {}; }
  auto apply(auto& run, auto x) const { return run(shower, std::move(x)); }
};

TEST(Run, LetsLayersShowNumberedParts) {
  const auto run_layer = [](const auto& layer) {
    return paths([&](auto& workspace) {
      const M x = M::Ones(5, 3);
      Whole run(workspace, Sequences::single(5));
      run(layer, input_view<double>(x));
    });
  };
  EXPECT_EQ(run_layer(Showers()), (Names{"shower.weights.3", "shower.weights.0.1.2", "shower.4", "shower", ""}));
  EXPECT_EQ(run_layer(Shower()), (Names{"weights.3", "weights.0.1.2", "4", ""}));
}

TEST(Run, ShowsResultsBeforeTheEpilogue) {
  const M x = random_matrix<double>(5, 3, 1), rest = random_matrix<double>(5, 3, 2);
  const auto expect = [&](const auto& layer, const Names& names) {
    M joined;
    const auto run_joined = [&](Workspace<double>& workspace) {
      Whole run(workspace, Sequences::single(5));
      joined =
          run[run(layer, input_view<double>(x), {.activation = Activation::gelu, .residual = R(input_view<double>(rest))})];
    };
    const auto seen = shown(run_joined);
    const M observed = joined;
    EXPECT_EQ(paths(run_joined), names);
    ASSERT_FALSE(seen.empty());
    Workspace<double> workspace;
    EXPECT_TRUE(same_bits(seen.back().second, layer.forward(x, workspace)));
    const auto frame = workspace.frame();
    run_joined(workspace);
    EXPECT_TRUE(same_bits(observed, joined));
  };
  expect(Neighbours(3, 5), {""});
  expect(Joining(), {"times", ""});
}

TEST(Run, RestoresThePathAfterAnException) {
  const M x = M::Ones(5, 3);
  Pair pair(2, 3);
  pair.totals.channels = 4;
  EXPECT_EQ(paths([&](auto& workspace) {
              Whole run(workspace, Sequences::single(5));
              EXPECT_THROW(run(pair, input_view<double>(x)), ShapeError);
              run(Times(2, 3), input_view<double>(x));
            }),
            (Names{"times", ""}));
}

TEST(Batch, SwitchesToOtherSequencesOrMasks) {
  const std::vector<std::uint8_t> mask{1, 0, 1, 1, 0}, other{0, 1, 1, 1, 1};
  Running r(Sequences::single(5), mask);
  EXPECT_EQ(r.run.with(Sequences::uniform(5, 1)).sequences().count(), 5);
  EXPECT_TRUE(r.run.with(Sequences::uniform(5, 1)).mask().empty()) << "a mask fits only its own sequences";
  EXPECT_EQ(r.run.with(Mask(other)).mask().data(), other.data());
  EXPECT_EQ(r.run.with(Mask(other)).sequences().count(), 1);
  EXPECT_EQ(r.run.mask().data(), mask.data());
}

TEST(Batch, RunsBlocksInPlaceOnlyOnOwnedInputs) {
  const std::vector<Index> lengths(100, 7);  // enough rows for several groups of sequences
  Running r(Sequences::of_lengths(lengths));
  const M before = r.x;
  const std::vector<Pair> blocks{Pair(2, 3), Pair(3, 3)};
  R own = r.run.owned(r.input);
  const double* const place = own.data;
  const R other = r.run.blocks(blocks, own), callers = r.run.blocks(blocks, std::move(r.input));
  EXPECT_TRUE(same_bits(r.run[own], before));
  EXPECT_TRUE(same_bits(r.x, before));
  const R again = r.run.blocks(blocks, std::move(own));
  EXPECT_EQ(again.data, place);
  EXPECT_TRUE(same_bits(r.run[again], r.run[other]));
  EXPECT_TRUE(same_bits(r.run[again], r.run[callers]));
  EXPECT_TRUE(same_bits(r.run[again], r.run[r.run(blocks[1], r.run(blocks[0], input_view<double>(before)))]));
  EXPECT_EQ(r.run.blocks(std::vector<Pair>(), again).data, place) << "no blocks, no change";
}

TEST(Batch, SplitsMasksAlongWithSequenceGroups) {
  std::vector<Index> lengths;
  for (Index i = 0; i < 60; ++i) {
    lengths.push_back(i * 37 % 100);
  }
  const Sequences sequences = Sequences::of_lengths(lengths);
  std::vector<std::uint8_t> mask;
  for (Index i = 0; i < sequences.total(); ++i) {
    mask.push_back(i % 3 != 1);
  }
  const Tower tower(3, 3, 100);
  const M x = random_matrix<double>(sequences.total(), 3, 1);
  for (const Mask& used : {Mask(), Mask(mask)}) {
    M whole(x.rows(), 3), alone(x.rows(), 3);
    for (const int threads : {1, 2}) {
      Workspace<double> workspace(Threads{threads});
      tower.forward(x, sequences, whole, workspace, used);
      for (Index b = 0; b < sequences.count(); ++b) {
        const Index offset = sequences.offset(b), length = sequences.length(b);
        tower.forward(x.middleRows(offset, length), Sequences::single(length), alone.middleRows(offset, length), workspace,
                      mask_part(used, offset, length));
      }
      EXPECT_TRUE(same_bits(whole, alone)) << threads << " threads, mask " << !used.empty();
    }
  }
}

}  // namespace
}  // namespace gated::run_test
