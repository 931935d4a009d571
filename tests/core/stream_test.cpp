#include "gated/core/stream.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "tests/core/numbers.hpp"
#include "tests/core/toy_layers.hpp"

namespace gated::stream_test {
namespace {

using test::message_of;
using test::Neighbours;
using test::Pair;
using test::random_matrix;
using test::same_bits;
using test::Times;
using test::Totals;
using test::Tower;
using M = Matrix<double>;

constexpr Index length = 12;

/// A layer, its input x of `length` tokens, and forward()'s output.
template <class L>
struct Streamed {
  L layer;
  M x = random_matrix<double>(length, 3, 2);
  Workspace<double> workspace;
  M whole = layer.forward(x, Sequences::single(length), workspace);

  explicit Streamed(const L& layer_) : layer(layer_) {}

  /// Streams the next `count` tokens of x and returns their outputs.
  M go_on(State<double>& state, Index count) {
    M y(count, 3);
    layer.extend(x.middleRows(state.position(), count), state, y, workspace);
    return y;
  }
};

/// Calls `f` with a layer whose state holds tokens, one whose state holds sums, and one whose state holds both.
template <class F>
void for_each_kind(const F& f) {
  f(Neighbours(3, length));
  f(Totals(3));
  f(Tower(2, 3, length));
}

TEST(Stream, EqualsTheBatchBitForBit) {
  for_each_kind([](const auto& layer) {
    Streamed s(layer);
    for (const Index step : {1, 2, 5, 12}) {
      State<double> state = layer.start(length);
      for (Index t = 0; t < length; t += step) {
        const Index count = std::min(step, length - t);
        EXPECT_EQ(state.position(), t);
        EXPECT_TRUE(same_bits(s.go_on(state, count), s.whole.middleRows(t, count))) << layer.name << ", token " << t;
      }
      EXPECT_EQ(state.position(), length);
    }
  });
}

TEST(Stream, WorksInPlace) {
  for_each_kind([](const auto& layer) {
    Streamed s(layer);
    State<double> state = layer.start(length);
    for (const Index t : {0, 6}) {
      M x = s.x.middleRows(t, 6);
      layer.extend(x, state, x, s.workspace);
      EXPECT_TRUE(same_bits(x, s.whole.middleRows(t, 6))) << layer.name;
    }
  });
}

TEST(Stream, LeavesTheStateUnchangedForZeroTokens) {
  for_each_kind([](const auto& layer) {
    Streamed s(layer);
    State<double> state = layer.start(length);
    s.go_on(state, 5);
    s.go_on(state, 0);
    EXPECT_EQ(state.position(), 5);
    EXPECT_TRUE(same_bits(s.go_on(state, 7), s.whole.bottomRows(7))) << layer.name;
  });
}

TEST(Stream, ShowsHooksTheSameLayersAsABatch) {
  for_each_kind([](const auto& layer) {
    std::vector<std::string> paths;
    Workspace<double> workspace;
    workspace.set_hook([&](const std::string& path, ConstView<double>) { paths.push_back(path); });
    const M x = random_matrix<double>(1, 3, 1);
    layer.forward(x, Sequences::single(1), workspace);
    const auto expected = std::exchange(paths, {});
    State<double> state = layer.start(length);
    M y(1, 3);
    layer.extend(x, state, y, workspace);
    EXPECT_EQ(paths, expected) << layer.name << ": start() and the checks of extend() must not call the hook";
  });
}

TEST(State, RefusesTwoThreadsAtTheSameTime) {
  Streamed s(Tower(2, 3, length));
  State<double> state = s.layer.start(length);
  State<double> other_state = state;
  int refusals = 0;
  s.workspace.set_hook([&](const std::string&, ConstView<double>) {
    std::thread([&] {
      Streamed other(Tower(2, 3, length));
      for (const auto& use : std::initializer_list<std::function<void()>>{
               [&] { other.go_on(state, 1); }, [&] { state.rewind(0); }, [&] { state.skip(1); },
               [&] { static_cast<void>(State<double>(state)); }, [&] { other_state = state; }, [&] { state = other_state; }}) {
        EXPECT_EQ(message_of<ArgumentError>(use),
                  "State: two threads use it at the same time. Give each thread its own state, such as a copy.");
        ++refusals;
      }
    }).join();
  });
  const M y = s.go_on(state, 2);
  s.workspace.set_hook(nullptr);
  EXPECT_GT(refusals, 0);
  EXPECT_TRUE(same_bits(y, s.whole.topRows(2))) << "the first thread is unaffected";
  std::thread([&] { EXPECT_TRUE(same_bits(s.go_on(state, 1), s.whole.middleRows(2, 1))); }).join();  // after the first thread
}

TEST(State, ReportsTheMemoryOfItsLayers) {
  EXPECT_EQ(Neighbours(3, length).start().bytes(), 12 * 3 * sizeof(double));
  EXPECT_EQ(Neighbours(3, length).start(5).bytes(), 5 * 3 * sizeof(double));
  EXPECT_EQ(Totals(3).start().bytes(), 3 * sizeof(double));
  Streamed s(Tower(2, 3, length));
  State<double> state = s.layer.start();
  EXPECT_EQ(state.bytes(), (2 + 12) * 3 * sizeof(double));
  s.go_on(state, length);
  EXPECT_EQ(state.bytes(), (2 + 12) * 3 * sizeof(double));
}

TEST(State, DefaultsToTheCapacityOfTheLayer) {
  EXPECT_EQ(Neighbours(3, length).start().capacity(), 12);
  EXPECT_EQ(Neighbours(3, length).start(5).capacity(), 5);
  EXPECT_EQ(Neighbours(3, length).start(0).capacity(), 0);
  EXPECT_EQ(Totals(3).start().capacity(), State<double>::unlimited);
  EXPECT_EQ(Totals(3).start(1000000).capacity(), 1000000);
  EXPECT_EQ(message_of<ShapeError>([] { Neighbours(3, length).start(13); }),
            "Neighbours::start: capacity = 13, but the model can serve 12 tokens at most. Cut it.");
  EXPECT_EQ(message_of<ArgumentError>([] { Totals(3).start(-1); }), "Totals::start: capacity = -1 must not be negative.");
}

/// A layer with the given contract.
struct Lookahead : Layer<Lookahead, double> {
  static constexpr const char* name = "Lookahead";

  Contract promised;

  explicit Lookahead(const Contract& promised_) : promised(promised_) {}
  static constexpr auto fields() { return Fields(); }
  Contract contract() const { return promised; }
  auto apply(auto&, auto x) const { return x; }
};

TEST(State, IsRefusedForLayersThatAreNotCausal) {
  EXPECT_EQ(
      message_of<ArgumentError>([] { Lookahead({.in = 3, .out = 3}).start(); }),
      "Lookahead::start: an output depends on later tokens, so the layer cannot be streamed. Build it with causal = true, "
      "or use forward() on whole sequences.");
  EXPECT_EQ(message_of<ArgumentError>([] { Lookahead({.sees = Sees::past, .unstreamable = "It forgets."}).start(); }),
            "Lookahead::start: It forgets.");
}

TEST(State, IsEmptyForTokenwiseLayers) {
  Streamed s(Times(2, 3));
  State<double> state = s.layer.start();
  EXPECT_EQ(state.bytes(), 0u);
  EXPECT_EQ(state.capacity(), State<double>::unlimited);
  EXPECT_TRUE(same_bits(s.go_on(state, 5), s.whole.topRows(5)));
  state.rewind(2);
  EXPECT_TRUE(same_bits(s.go_on(state, 10), s.whole.bottomRows(10)));
}

TEST(State, NeedsACapacityIfEveryTokenIsKept) {
  const Neighbours endless(3, State<double>::unlimited);
  EXPECT_EQ(
      message_of<ArgumentError>([&] { endless.start(); }),
      "Neighbours::start: the layer remembers every token. Pass the number of tokens to make room for: start(capacity), or "
      "the `tokens` of generate().");
  EXPECT_EQ(endless.start(7).capacity(), 7);
}

TEST(State, IsIndependentOfItsCopies) {
  for_each_kind([](const auto& layer) {
    Streamed s(layer);
    State<double> state = layer.start(length);
    s.go_on(state, 5);
    State<double> branch = state;
    const M other = random_matrix<double>(4, 3, 9);
    M y(4, 3), branched(9, 3);
    layer.extend(other, branch, y, s.workspace);
    EXPECT_EQ(branch.position(), 9);
    EXPECT_EQ(state.position(), 5);
    EXPECT_TRUE(same_bits(s.go_on(state, 7), s.whole.bottomRows(7))) << layer.name;
    branched << s.x.topRows(5), other;
    EXPECT_TRUE(same_bits(y, layer.forward(branched, Sequences::single(9), s.workspace).bottomRows(4))) << layer.name;
  });
}

TEST(State, ForgetsLaterTokensWhenRewound) {
  Streamed s(Neighbours(3, length));
  State<double> state = s.layer.start();
  s.go_on(state, 5);
  M astray = M::Constant(7, 3, std::numeric_limits<double>::quiet_NaN());
  s.layer.extend(astray, state, astray, s.workspace);
  state.rewind(5);
  EXPECT_TRUE(same_bits(s.go_on(state, 7), s.whole.bottomRows(7)));
  state.rewind(0);
  EXPECT_TRUE(same_bits(s.go_on(state, 12), s.whole));
}

TEST(State, RefusesToRewindBeyondItsPosition) {
  Streamed s(Neighbours(3, length));
  State<double> state = s.layer.start();
  s.go_on(state, 4);
  EXPECT_EQ(message_of<ArgumentError>([&] { state.rewind(5); }), "State::rewind: position = 5, expected 0 … 4.");
  EXPECT_THROW(state.rewind(-1), ArgumentError);
  EXPECT_EQ(state.position(), 4);
}

TEST(State, RefusesToRewindSums) {
  for (const bool both : {false, true}) {
    Streamed<Tower> tower(Tower(1, 3, length));
    Streamed<Totals> totals(Totals(3));
    State<double> state = both ? tower.layer.start() : totals.layer.start();
    both ? tower.go_on(state, 4) : totals.go_on(state, 4);
    EXPECT_EQ(message_of<ArgumentError>([&] { state.rewind(3); }),
              "State::rewind: this model keeps only the last tokens, or sums over tokens, so it cannot return to an earlier "
              "position. To "
              "return to a position later, copy the state at that position.");
    EXPECT_NO_THROW(state.rewind(4)) << "the current position";
    EXPECT_EQ(state.position(), 4);
  }
}

TEST(State, TreatsSkippedTokensAsZeros) {
  Streamed s(Neighbours(3, length));
  s.x.topRows(6).setZero();
  State<double> state = s.layer.start();
  state.skip(2);
  state.skip(4);
  EXPECT_EQ(state.position(), 6);
  EXPECT_TRUE(same_bits(s.go_on(state, 6), s.layer.forward(s.x, Sequences::single(length), s.workspace).bottomRows(6)));
  EXPECT_EQ(message_of<ShapeError>([&] { state.skip(1); }),
            "State::skip: 1 tokens from position 12 exceed the 12 tokens that the state has room for.");
  EXPECT_EQ(message_of<ArgumentError>([&] { state.skip(-1); }), "State::skip: tokens = -1 must not be negative.");
  EXPECT_EQ(state.position(), 12);
}

/// Expects that extend() with x and a `rows` × `columns` output throws an `E` and changes neither output nor position.
template <class E, class L>
void expect_refused(Streamed<L>& s, State<double>& state, const M& x, Index rows, Index columns) {
  const Index position = state.position();
  M y = M::Constant(rows, columns, -7);
  EXPECT_THROW(s.layer.extend(x, state, y, s.workspace), E) << s.layer.name;
  EXPECT_TRUE((y.array() == -7).all());
  EXPECT_EQ(state.position(), position);
}

TEST(Stream, RefusedStepsKeepTheState) {
  for_each_kind([](const auto& layer) {
    Streamed s(layer);
    State<double> state = layer.start(length);
    s.go_on(state, 10);
    expect_refused<ShapeError>(s, state, M::Zero(3, 3), 3, 3);  // past the capacity
    expect_refused<ShapeError>(s, state, M::Zero(1, 4), 1, 3);
    expect_refused<ShapeError>(s, state, M::Zero(1, 3), 2, 3);
    expect_refused<ShapeError>(s, state, M::Zero(1, 3), 1, 2);
    EXPECT_TRUE(same_bits(s.go_on(state, 2), s.whole.bottomRows(2))) << "unaffected by the refused calls";
  });
}

TEST(Stream, ExplainsWhatToDoPastTheCapacity) {
  Streamed s(Neighbours(3, length));
  State<double> state = s.layer.start(7);
  s.go_on(state, 6);
  M y(2, 3);
  EXPECT_EQ(message_of<ShapeError>([&] { s.layer.extend(s.x.topRows(2), state, y, s.workspace); }),
            "Neighbours::extend: 2 tokens from position 6 exceed the 7 tokens that the state has room for. Rewind it, or "
            "call start() with a larger capacity.");
  state = s.layer.start(length);
  s.go_on(state, length);
  EXPECT_EQ(message_of<ShapeError>([&] { s.layer.extend(s.x.topRows(2), state, y, s.workspace); }),
            text("Neighbours::extend: 2 tokens from position ", length, " exceed the ", length,
                 " tokens that the model can serve. Rewind the state, or change the model. Cut it."));
}

TEST(Stream, RefusesAStateOfAnotherConfiguration) {
  Streamed s(Tower(2, 3, length));
  const std::vector<Tower> others{Tower(1, 3, length), Tower(3, 3, length), Tower(2, 4, length), Tower(2, 3, 13)};
  for (std::size_t i = 0; i < others.size(); ++i) {
    const Tower& other = others[i];
    const Index channels = other.in();
    const M x = random_matrix<double>(11, channels, 4);
    State<double> state = other.start();
    M y(5, channels), rest(6, channels);
    other.extend(x.topRows(5), state, y, s.workspace);
    expect_refused<ArgumentError>(s, state, M::Zero(1, 3), 1, 3);
    expect_refused<ArgumentError>(s, state, M::Zero(0, 3), 0, 3);
    other.extend(x.bottomRows(6), state, rest, s.workspace);
    EXPECT_TRUE(same_bits(rest, other.forward(x, Sequences::single(11), s.workspace).bottomRows(6))) << i;
  }
  State<double> state = others[0].start();
  M y(1, 3);
  EXPECT_EQ(message_of<ArgumentError>([&] { s.layer.extend(s.x.topRows(1), state, y, s.workspace); }),
            "Tower::extend: the state was made for another configuration. Make one with this model's start().");
  State<double> empty;
  expect_refused<ArgumentError>(s, empty, M::Zero(1, 3), 1, 3);
  Streamed part(Pair(2, 3));  // its stream memory has the same shape as that of Tower's first block
  expect_refused<ArgumentError>(part, state, M::Zero(1, 3), 1, 3);
}

/// Consecutive Pairs, whose stream memories all have the same shape.
struct Row : Layer<Row, double> {
  static constexpr const char* name = "Row";

  std::vector<Pair> blocks;

  explicit Row(std::size_t depth) : blocks(depth, Pair(2, 3)) {}
  static constexpr auto fields() { return Fields(field("blocks", &Row::blocks)); }
  Contract contract() const { return blocks.front().contract(); }

  auto apply(auto& run, auto x) const { return run.blocks(blocks, std::move(x)); }
};

TEST(Stream, NoticesThatTheModelWasReplaced) {
  for (const std::size_t depth : {1u, 3u}) {
    Streamed s(Row(2));
    State<double> state = s.layer.start();
    s.go_on(state, 2);
    s.layer = Row(depth);
    M y(1, 3);
    EXPECT_EQ(message_of<ArgumentError>([&] { s.layer.extend(s.x.topRows(1), state, y, s.workspace); }),
              "Row::extend: the state was made for another configuration. Make one with this model's start().");
    EXPECT_EQ(state.position(), 2);
  }
}

TEST(Stream, AcceptsAStateOfAnEqualConfiguration) {
  Streamed s(Tower(2, 3, length));
  const Tower same(2, 3, length);
  State<double> state = same.start();
  for (Index t = 0; t < length; ++t) {
    M y(1, 3);
    (t % 2 == 0 ? s.layer : same).extend(s.x.row(t), state, y, s.workspace);
    EXPECT_TRUE(same_bits(y, s.whole.row(t)));
  }
}

}  // namespace
}  // namespace gated::stream_test
