#include "gated/core/run.hpp"

#include <gtest/gtest.h>

#include "tests/core/numbers.hpp"
#include "tests/core/toy_layers.hpp"

namespace gated::run_test {
namespace {

using test::Neighbours;
using test::Pair;
using test::random_matrix;
using test::same_bits;
using test::Times;
using test::Totals;
using test::Tower;
using Whole = Batch<double>;
using R = Rows<double>;
using M = Matrix<double>;

/// A run over some rows, in a frame of its own.
struct Running {
  M x;
  Workspace<double> workspace;
  Workspace<double>::Frame frame = workspace.frame();
  Whole run;
  R input = input_rows<double>(x);

  explicit Running(const Sequences& sequences = Sequences::single(5), Mask mask = {})
      : x(random_matrix<double>(sequences.total(), 3, 1)), run(workspace, sequences, mask) {}
};

TEST(Run, OfALayerIsItsBody) {
  Running r;
  const R y = r.run(Times(3, 3), r.input);
  EXPECT_TRUE(same_bits(r.run[y], M(r.x * 3)));
  EXPECT_EQ(r.run.count(y), 5);
  EXPECT_EQ(r.run.width(y), 3);
  const R columns = r.run.columns(y, 1, 2);
  EXPECT_EQ(&r.run[columns](0, 0), &r.run[y](0, 1)) << "in place";
  EXPECT_EQ(r.run.width(columns), 2);
}

TEST(Run, PassesOnOptions) {
  Running r;
  const Neighbours layer(3, 5);
  const M plain = r.run[r.run(layer, r.input)], added = r.run[r.run(layer, r.input, {.added = r.input})];
  EXPECT_TRUE(same_bits(added, M(plain + r.x)));
  EXPECT_TRUE((std::is_same_v<OptionsOf<Neighbours, Whole>, Neighbours::Options<Whole>>));
  EXPECT_TRUE((std::is_same_v<OptionsOf<const Times&, Whole>, NoOptions>));
}

/// A body whose result is its input.
struct Same {
  static constexpr const char* name = "Same";
  static constexpr auto fields() { return std::tuple{}; }
  template <class Run>
  auto apply(Run&, const RowsOf<Run>& x, const PlaceOf<Run>&) const {
    return x;
  }
};

TEST(Run, PutsAResultWhereItIsWantedWhateverTheBodyDoes) {
  Running r;
  M place = M::Zero(7, 9);
  auto block = place.block(1, 2, 5, 3);
  EXPECT_EQ(r.run(Times(3, 3), r.input, {}, block).data, &place(1, 2));
  EXPECT_TRUE(same_bits(block, M(r.x * 3)));
  EXPECT_EQ(r.run(Same(), r.input, {}, block).data, &place(1, 2));
  EXPECT_TRUE(same_bits(block, r.x));
  EXPECT_EQ(r.run(Same(), r.input).data, r.x.data()) << "and copies nothing where nobody asks";
  place.block(1, 2, 5, 3).setZero();
  EXPECT_TRUE(place.isZero(0)) << "something around the place was written";
}

TEST(Run, OverwritesItsOwnRowsAndNeverTheCallers) {
  Running r;
  EXPECT_FALSE(Whole::over(r.input));
  EXPECT_FALSE(Whole::over(r.input, 0, 2));
  const R own = r.run(Times(2, 3), r.input);
  EXPECT_EQ(Whole::over(own).data, own.data);
  EXPECT_EQ(Whole::over(own, 1, 2).data, own.data + 1);
  EXPECT_EQ(Whole::over(own, 1, 2).columns, 2);
  const M before = r.x;
  const R again = r.run(Pair(2, 3), own, {}, Whole::over(own)), other = r.run(Pair(2, 3), r.input);
  EXPECT_EQ(again.data, own.data);
  EXPECT_NE(other.data, r.x.data());
  EXPECT_TRUE(same_bits(r.x, before));
  EXPECT_FALSE(same_bits(r.run[again], r.run[other])) << "one is of 2 x";
}

TEST(Run, CopiesToAPlaceUnlessItIsThere) {
  Running r;
  M place(5, 3);
  const R copied = Whole::copy(r.input, R(place));
  EXPECT_TRUE(same_bits(place, r.x));
  EXPECT_TRUE(copied.scratch);
  EXPECT_EQ(Whole::copy(copied, R(place)).data, place.data());
  EXPECT_EQ(r.run.reserve(R(place), 5, 3).data, place.data());
  EXPECT_EQ(r.run.reserve({}, 4, 2).count, 4);
}

/// Works with 1000 numbers of scratch, and leaves some in its result.
struct Scratchy {
  static constexpr const char* name = "Scratchy";
  static constexpr auto fields() { return std::tuple{}; }
  template <class Run>
  auto apply(Run& run, const RowsOf<Run>& x, const PlaceOf<Run>& to) const {
    const auto scratch = run.make(run.count(x), 200);
    run[scratch].setConstant(7);
    const auto y = run.make(run.count(x), run.width(x), to);
    run[y] = run[x] + run[scratch].leftCols(run.width(x));
    return y;
  }
};

TEST(Run, GivesBackTheScratchOfALayerAndKeepsItsResult) {
  Workspace<double> workspace;
  const M x = random_matrix<double>(5, 3, 1);
  const auto bytes_of = [&](int layers) {
    {
      const auto frame = workspace.frame();
      Whole run(workspace, Sequences::single(5));
      const R first = run(Scratchy(), input_rows<double>(x));
      R y = first;
      for (int i = 1; i < layers; ++i) {
        y = run(Scratchy(), y, {}, i == 1 ? R() : y);
      }
      EXPECT_TRUE(same_bits(run[first], M(x.array() + 7)));
    }
    return workspace.bytes();
  };
  const std::size_t two = bytes_of(2);
  EXPECT_EQ(bytes_of(20), two);
}

/// What an observer of `run` sees, in order.
template <class F>
std::vector<std::pair<std::string, M>> shown(const F& run) {
  std::vector<std::pair<std::string, M>> seen;
  Workspace<double> workspace;
  workspace.observe([&](const std::string& path, ConstView<double> output) { seen.emplace_back(path, output); });
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

TEST(Run, ShowsEachLayerUnderThePathThatFieldsState) {
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

/// Runs a layer of a layer of it, which lies where that one begins.
struct Skipper {
  static constexpr const char* name = "Skipper";
  Pair pair{2, 3};
  static constexpr auto fields() { return std::tuple{field("pair", &Skipper::pair)}; }
  template <class Run>
  auto apply(Run& run, const RowsOf<Run>& x, const PlaceOf<Run>&) const {
    return run(pair.times, x);
  }
};

TEST(Run, ShowsALayerOfALayerUnderBothNames) {
  const Skipper layer;
  ASSERT_EQ(static_cast<const void*>(&layer.pair), &layer.pair.times) << "one address, two layers";
  EXPECT_EQ(paths([&](auto& workspace) {
              const M x = M::Ones(5, 3);
              Whole run(workspace, Sequences::single(5));
              run(layer, input_rows<double>(x));
            }),
            (Names{"pair.times", ""}));
}

TEST(Run, ShowsTheOutermostLayerUnderNoName) {
  EXPECT_EQ(paths([](auto& workspace) {
              const M x = M::Ones(5, 3);
              Whole run(workspace, Sequences::single(5));
              run(Times(2, 3), input_rows<double>(x));
            }),
            Names{""});
}

/// Runs layers that are no fields of it, some of them by a run of its own.
struct Borrower {
  static constexpr const char* name = "Borrower";
  const Pair* own = nullptr;
  std::vector<Borrower> parts;
  static constexpr auto fields() { return std::tuple{field("parts", &Borrower::parts)}; }
  template <class Run>
  RowsOf<Run> apply(Run& run, const RowsOf<Run>& x, const PlaceOf<Run>&) const {
    if (own == nullptr) {
      return run(parts[0], x);
    }
    auto other = run.with(Sequences::single(run.count(x)));
    return other(*own, x);
  }
};

TEST(Run, ShowsALayerThatIsNoFieldUnderItsName) {
  const Pair pair(2, 3);
  const Borrower layer{nullptr, {Borrower{&pair, {}}}};
  EXPECT_EQ(paths([&](auto& workspace) {
              const M x = M::Ones(5, 3);
              Whole run(workspace, Sequences::single(5));
              run(layer, input_rows<double>(x));
            }),
            (Names{"parts.0.Pair.times", "parts.0.Pair.totals", "parts.0.Pair", "parts.0", ""}));
}

/// A layer that shows what it does by itself, and how it shows parts.
struct Shower {
  static constexpr const char* name = "Shower";
  static constexpr bool shows_itself = true;
  static constexpr auto fields() { return std::tuple{}; }
  template <class Run>
  auto apply(Run& run, const RowsOf<Run>& x, const PlaceOf<Run>&) const {
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
  static constexpr auto fields() { return std::tuple{field("shower", &Showers::shower)}; }
  template <class Run>
  auto apply(Run& run, const RowsOf<Run>& x, const PlaceOf<Run>&) const {
    return run(shower, x);
  }
};

TEST(Run, ShowsPartsUnderNumbersAndLeavesTheRestToLayersThatShowThemselves) {
  const auto run_layer = [](const auto& layer) {
    return paths([&](auto& workspace) {
      const M x = M::Ones(5, 3);
      Whole run(workspace, Sequences::single(5));
      run(layer, input_rows<double>(x));
    });
  };
  EXPECT_EQ(run_layer(Showers()), (Names{"shower.weights.3", "shower.weights.0.1.2", "shower.4", "shower", ""}));
  EXPECT_EQ(run_layer(Shower()), (Names{"weights.3", "weights.0.1.2", "4", ""}));
}

TEST(Run, LeavesItToTheOpToShowALayerWithWhatIsFused) {
  const M x = M::Ones(5, 3);
  const auto run_with = [&](bool added) {
    return paths([&](auto& workspace) {
      Whole run(workspace, Sequences::single(5));
      run(Neighbours(3, 5), input_rows<double>(x), {.added = added ? input_rows<double>(x) : R()});
    });
  };
  EXPECT_EQ(run_with(false), Names{""});
  EXPECT_EQ(run_with(true), Names{});
}

TEST(Run, ForgetsThePathOfALayerThatThrew) {
  const M x = M::Ones(5, 3);
  EXPECT_EQ(paths([&](auto& workspace) {
              Whole run(workspace, Sequences::single(5));
              EXPECT_THROW(run(Pair(2, 4), input_rows<double>(x)), ShapeError);
              run(Times(2, 3), input_rows<double>(x));
            }),
            Names{""});
}

TEST(Batch, MayGoOnWithOtherSequencesOrAnotherMask) {
  const std::vector<std::uint8_t> mask{1, 0, 1, 1, 0}, other{0, 1, 1, 1, 1};
  Running r(Sequences::single(5), mask);
  EXPECT_EQ(r.run.with(Sequences::uniform(5, 1)).sequences().count(), 5);
  EXPECT_TRUE(r.run.with(Sequences::uniform(5, 1)).mask().empty()) << "it was for the other sequences";
  EXPECT_EQ(r.run.with(Mask(other)).mask().data(), other.data());
  EXPECT_EQ(r.run.with(Mask(other)).sequences().count(), 1);
  EXPECT_EQ(r.run.mask().data(), mask.data());
}

TEST(Batch, TakesSequencesInGroupsEachWithItsMask) {
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
