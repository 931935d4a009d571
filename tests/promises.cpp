#include "tests/promises.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <map>
#include <tuple>

#include "gated/ops/bf16_products.hpp"
#include "gated/ops/int8_products.hpp"
#include "tests/core/allocations.hpp"
#include "tests/ops/fourier_numbers.hpp"

namespace gated::test::detail {
namespace {

/// A layer whose stream state no other layer accepts.
template <class T>
struct Stranger : Layer<Stranger<T>> {
  static constexpr const char* name = "Stranger";
  static constexpr auto fields() { return Fields(); }
  Contract contract() const { return {.in = 1, .out = 1, .sees = Sees::past}; }
  template <class Run>
  MatrixOf<Run> apply(Run& run, MatrixOf<Run> x) const {
    if constexpr (Run::streams) {
      run.remember(1, 1);
    }
    return x;
  }
};

/// Where BesideItself finds x, and what adds x to layer(x).
enum class Beside { callers, scratch, epilogue };

/// x + layer(x), or layer(x) if the shapes differ. x is in the caller's memory, in scratch memory, or in the caller's memory
/// and the residual of the layer's epilogue.
template <class T>
struct BesideItself : Layer<BesideItself<T>> {
  static constexpr const char* name = "BesideItself";

  const Subject<T>* layer;
  Beside beside;

  BesideItself(const Subject<T>& layer_, Beside beside_) : layer(&layer_), beside(beside_) {}
  static constexpr auto fields() { return Fields(); }
  Contract contract() const { return layer->contract(); }

  template <class Run>
  MatrixOf<Run> apply(Run& run, MatrixOf<Run> x) const {
    const Contract contract = layer->contract();
    const bool fits = contract.rows == contract.of_rows && contract.output_columns(run.columns(x)) == run.columns(x);
    if (beside == Beside::scratch) {
      x = scale(run, x, number(T{1}));
    }
    if (fits && beside == Beside::epilogue) {
      return layer->call(run, x, {.residual = x});
    }
    const auto y = layer->call(run, x, {});
    return fits ? add(run, x, y) : y;
  }
};

/// The checks of expect_promises() for one scalar type.
template <class T>
class PromiseChecks {
 public:
  PromiseChecks(Subject<T>& subject, const Promises& promises) : subject_(subject), promises_(promises) {
    if (!subject.mixes) {  // then each token becomes its own sequence
      promises_.causal = true;
      Index total = 0;
      for (const Index length : promises.lengths) {
        total += length;
      }
      promises_.lengths.assign(static_cast<std::size_t>(total), 1);
    }
    batch_ = make_batch(promises_.lengths);
    longest_ = batch_.sequences.longest();
    x_ = numbers(longest_, subject_.in, 5);
  }

  void all() {
    const bool streams = promises_.causal && promises_.streams;
    promise("each sequence of a batch is bit-equal to the same sequence alone", &PromiseChecks::sequences_are_alone);
    promise("y may be x, and both may be blocks of larger matrices", &PromiseChecks::views_are_enough);
    promise("an empty batch has an empty result", &PromiseChecks::nothing_is_made_of_nothing);
    promise(
        "x + layer(x) has the same bits whether x is in the caller's memory, in scratch memory, or the residual of an epilogue",
        &PromiseChecks::inputs_stay);
    promise("any number of threads gives equal bits", &PromiseChecks::threads_change_nothing);
    promise("a NaN or an infinity reaches no other sequence and no earlier token", &PromiseChecks::bad_numbers_stay);
    promise("record() is bit-equal to forward()", &PromiseChecks::training_is_forward);
    promise("warm calls allocate nothing", &PromiseChecks::nothing_is_allocated);
    promise("a hook sees each layer once and changes nothing", &PromiseChecks::hooks_see_all);
    promise("a saved model is the same when loaded", &PromiseChecks::files_hold_all);
    promise("quantized weights are bit-equal to a float layer with the rounded values",
            &PromiseChecks::quantized_weights_are_rounded_ones);
    promise(
        "with int8 and with bf16 products, the promises about batches, threads, streams, record(), hooks and allocations hold",
        &PromiseChecks::engines_keep_promises);
    promise("mismatched shapes are refused and nothing is written", &PromiseChecks::shapes_are_refused);
    if (promises_.trains) {
      promise("gradients match central differences", &PromiseChecks::gradients_are_right);
    }
    if (subject_.masked) {
      promise("masked tokens reach no other tokens, and a mask of ones changes nothing", &PromiseChecks::masks_hide);
    }
    if (streams) {
      promise("streams of any step size are bit-equal to each other, and to forward() if they sum in its order",
              &PromiseChecks::streams_are_forward);
      promise("a copied state continues independently, and rewind() works or is refused", &PromiseChecks::states_are_values);
      promise("an invalid step is refused and changes nothing", &PromiseChecks::steps_are_refused);
      promise("a NaN or an infinity reaches no earlier token of a stream", &PromiseChecks::bad_numbers_stay_in_streams);
      promise("warm stream steps allocate nothing", &PromiseChecks::streams_allocate_nothing);
      promise("a hook sees each layer of a stream once and changes nothing", &PromiseChecks::hooks_see_streams);
    } else if (subject_.starts) {
      promise("a layer that cannot stream refuses to start", &PromiseChecks::start_is_refused);
    }
  }

 private:
  struct Input {
    Sequences sequences = Sequences::single(0);
    Matrix<T> x;
    std::vector<std::uint8_t> mask;  // hides about a quarter of the tokens, but never the first of a sequence
  };

  void promise(const char* text, void (PromiseChecks::*check)()) {
    SCOPED_TRACE(std::string("the promise that ") + text);
    try {
      (this->*check)();
    } catch (const std::exception& error) {
      ADD_FAILURE() << "It threw: " << error.what();
    }
  }

  static Matrix<T> numbers(Index rows, Index columns, std::uint64_t seed) { return random_matrix<T>(rows, columns, seed); }

  Input make_batch(const std::vector<Index>& lengths) const {
    Input batch{Sequences::of_lengths(lengths), {}, {}};
    batch.x = numbers(batch.sequences.total(), subject_.in, 1);
    Random random(2);
    batch.mask.resize(static_cast<std::size_t>(batch.sequences.total()));
    std::generate(batch.mask.begin(), batch.mask.end(), [&] { return random.uniform() < 0.75 ? 1 : 0; });
    for (Index b = 0; b < batch.sequences.count(); ++b) {
      if (batch.sequences.length(b) > 0) {
        batch.mask[static_cast<std::size_t>(batch.sequences.offset(b))] = 1;
      }
    }
    return batch;
  }

  /// The masks to test: an empty one and, if the layer takes masks, the batch's mask.
  std::vector<Mask> masks_of(const Input& batch) const {
    return subject_.masked ? std::vector<Mask>{Mask(), Mask(batch.mask)} : std::vector<Mask>{Mask()};
  }

  Matrix<T> forward(const Subject<T>& subject, const Matrix<T>& x, const Sequences& sequences, Mask mask = {},
                    Threads threads = {}) const {
    Matrix<T> y(subject.rows(x.rows()), subject.out);
    Workspace<T> workspace(threads);
    workspace.use(engine_);
    subject.forward(x, sequences, y, workspace, mask);
    return y;
  }
  Matrix<T> forward(const Matrix<T>& x, const Sequences& sequences, Mask mask = {}, Threads threads = {}) const {
    return forward(subject_, x, sequences, mask, threads);
  }

  static Matrix<T> untouched(Index rows, Index columns) { return Matrix<T>::Constant(rows, columns, T{77}); }
  static bool is_untouched(const Matrix<T>& x) { return (x.array() == T{77}).all(); }

  // --- Batches ---

  void sequences_are_alone() {
    for (const Mask mask : masks_of(batch_)) {
      const Matrix<T> together = forward(batch_.x, batch_.sequences, mask);
      for (Index b = 0; b < batch_.sequences.count(); ++b) {
        const Index offset = batch_.sequences.offset(b), length = batch_.sequences.length(b);
        const Matrix<T> alone =
            forward(batch_.x.middleRows(offset, length), Sequences::single(length), mask_part(mask, offset, length));
        ASSERT_TRUE(same_bits(alone, together.middleRows(subject_.rows(offset), subject_.rows(length))))
            << "sequence " << b << (mask.empty() ? "" : ", masked");
      }
    }
  }

  void views_are_enough() {
    const Matrix<T> y = forward(batch_.x, batch_.sequences);
    Workspace<T> workspace;
    Matrix<T> around_x = numbers(batch_.x.rows() + 2, batch_.x.cols() + 3, 3), around_y = untouched(y.rows() + 2, y.cols() + 3);
    View<T> x_part = around_x.block(1, 2, batch_.x.rows(), batch_.x.cols()), y_part = around_y.block(1, 2, y.rows(), y.cols());
    x_part = batch_.x;
    subject_.forward(x_part, batch_.sequences, y_part, workspace, {});
    EXPECT_TRUE(same_bits(y_part, y)) << "blocks of larger matrices";
    y_part.setConstant(T{77});
    EXPECT_TRUE(is_untouched(around_y)) << "the surroundings of the output were overwritten";
    if (y.rows() == batch_.x.rows() && y.cols() == batch_.x.cols()) {
      subject_.forward(x_part, batch_.sequences, x_part, workspace, {});
      EXPECT_TRUE(same_bits(x_part, y)) << "in place";
    }
  }

  void nothing_is_made_of_nothing() {
    const Matrix<T> x(0, subject_.in), y(0, subject_.out);
    for (const Sequences& sequences : {Sequences::of_lengths({}), Sequences::uniform(0, longest_)}) {
      EXPECT_TRUE(same_bits(forward(x, sequences), y));
      Tape<T> tape;
      subject_.begin(tape, nullptr);
      tape.backward(subject_.record(tape, tape.input(x), sequences, {}), y);
      EXPECT_TRUE(subject_.gradient().isZero(0));
    }
  }

  void inputs_stay() {
    const BesideItself<T> plain(subject_, Beside::callers);
    for (const Beside beside : {Beside::scratch, Beside::epilogue}) {
      SCOPED_TRACE(beside == Beside::scratch ? "x in scratch memory" : "x as the residual");
      const BesideItself<T> other(subject_, beside);
      for (const Mask mask : masks_of(batch_)) {
        Workspace<T> workspace;
        const Matrix<T> expected = plain.forward(batch_.x, batch_.sequences, workspace, mask);
        EXPECT_TRUE(same_bits(other.forward(batch_.x, batch_.sequences, workspace, mask), expected));
        Tape<T> tape;
        subject_.begin(tape, nullptr);
        const Variable y = record(tape, other, tape.input(batch_.x), batch_.sequences, mask);
        EXPECT_TRUE(same_bits(tape[y], expected)) << "recorded";
      }
      if (promises_.causal && promises_.streams) {
        EXPECT_TRUE(same_bits(streamed_by(other), streamed_by(plain))) << "streamed";
      }
    }
  }
  Matrix<T> streamed_by(const BesideItself<T>& layer) const {
    Matrix<T> y(longest_, subject_.out);
    Workspace<T> workspace;
    auto state = layer.start(longest_);
    for (Index t = 0; t < longest_; ++t) {
      layer.extend(x_.middleRows(t, 1), state, y.middleRows(t, 1), workspace);
    }
    return y;
  }

  void threads_change_nothing() {
#if defined(GATED_TEST_UNDER_VALGRIND)
    constexpr Index rows = 100;
#else
    constexpr Index rows = 1200;  // enough for several groups of sequences, and several tasks per loop
#endif
    std::vector<Index> lengths;
    for (Index total = 0; total < rows;) {
      for (const Index length : promises_.lengths) {
        lengths.push_back(length);
        total += length;
      }
    }
    const Input batch = make_batch(lengths);
    const Matrix<T> cotangent = numbers(subject_.rows(batch.x.rows()), subject_.out, 4);
    for (const Mask mask : masks_of(batch)) {
      const auto result = [&](int threads) {
        Tape<T> tape(Threads{threads}, {.attention_dropout = 0.1, .residual_dropout = 0.1});
        Random noise(6);
        subject_.begin(tape, &noise);
        const Variable x = tape.input(batch.x);
        tape.backward(subject_.record(tape, x, batch.sequences, mask), cotangent);
        return std::tuple{forward(batch.x, batch.sequences, mask, Threads{threads}), Matrix<T>(tape.gradient(x)),
                          subject_.gradient()};
      };
      const auto [y, dx, gradient] = result(1);
      for (const int threads : {2, 3}) {
        const auto [y2, dx2, gradient2] = result(threads);
        ASSERT_TRUE(same_bits(y2, y)) << threads << " threads: the output differs";
        ASSERT_TRUE(same_bits(dx2, dx)) << threads << " threads: the gradient of the input differs";
        ASSERT_TRUE(same_bits(gradient2, gradient)) << threads << " threads: the gradients of the parameters differ";
      }
    }
  }

  /// Tokens for spoiled(): both ends of a sequence, its middle, and both sides of the boundary between blocks of 128 rows.
  std::vector<Index> places() const {
    std::set<Index> tokens;
    for (const Index t : {Index{0}, Index{1}, longest_ / 2, Index{127}, Index{128}, longest_ - 1}) {
      tokens.insert(std::clamp<Index>(t, 0, std::max<Index>(longest_ - 1, 0)));
    }
    return {tokens.begin(), tokens.end()};
  }

  /// x with token t set to NaN and all later tokens to infinity if `nan_first`; otherwise the reverse.
  static Matrix<T> spoiled(Matrix<T> x, Index t, bool nan_first) {
    constexpr T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
    x.bottomRows(x.rows() - t).setConstant(nan_first ? infinity : nan);
    x.row(t).setConstant(nan_first ? nan : infinity);
    return x;
  }

  void bad_numbers_stay() {
    const Sequences& sequences = batch_.sequences;
    Index b = 0;
    while (sequences.length(b) < longest_) {
      ++b;
    }
    const Index offset = sequences.offset(b), after = offset + longest_;
    const Matrix<T> clean = forward(batch_.x, sequences);
    Tape<T> tape;
    for (const Index t : places()) {
      for (const bool nan_first : {false, true}) {
        Matrix<T> x = batch_.x;
        x.middleRows(offset, longest_) = spoiled(x.middleRows(offset, longest_), t, nan_first);
        const Index first = subject_.rows(offset + (promises_.causal ? t : 0)), last = subject_.rows(after);
        const auto expect_clean = [&](const Matrix<T>& y, const char* what) {
          ASSERT_TRUE(same_bits(y.topRows(first), clean.topRows(first))) << what << ", token " << t;
          ASSERT_TRUE(same_bits(y.bottomRows(y.rows() - last), clean.bottomRows(y.rows() - last)))
              << what << ", another sequence";
        };
        expect_clean(forward(x, sequences), "forward()");
        subject_.begin(tape, nullptr);
        const Variable input = tape.input(x);
        expect_clean(tape[subject_.record(tape, input, sequences, {})], "record()");
      }
    }
  }

  // --- Streams ---

  /// Streams x in steps of steps[0], steps[1], … rows. The last size repeats; the final step may be shorter.
  Matrix<T> streamed(const Matrix<T>& x, const std::vector<Index>& steps, State<T>& state, Threads threads = {}) const {
    Workspace<T> workspace(threads);
    workspace.use(engine_);
    Matrix<T> y(x.rows(), subject_.out);
    Index first = 0;
    for (std::size_t i = 0; first < x.rows(); ++i) {
      const Index rows = std::min(steps[std::min(i, steps.size() - 1)], x.rows() - first), before = state.position();
      subject_.extend(x.middleRows(first, rows), state, y.middleRows(first, rows), workspace);
      EXPECT_EQ(state.position(), before + rows);
      first += rows;
    }
    return y;
  }

  /// The output that every stream of x must have, bit for bit.
  Matrix<T> reference_of(const Matrix<T>& x) const {
    const Matrix<T> y = forward(x, Sequences::single(longest_));
    if (!promises_.streams_otherwise) {
      return y;
    }
    auto state = subject_.start(longest_);
    const Matrix<T> stepped = streamed(x, {1}, state);
    EXPECT_TRUE(near_largest<T>(stepped, y.template cast<long double>()));
    return stepped;
  }

  void streams_are_forward() {
    const Matrix<T> y = reference_of(x_);
    for (const std::vector<Index>& steps : {std::vector<Index>{1}, {3, 0, 1, 5}, {longest_}, {longest_ / 2, 1}}) {
      for (const int threads : {1, 2}) {
        auto state = subject_.start(longest_);
        const std::size_t bytes = state.bytes();
        ASSERT_TRUE(same_bits(streamed(x_, steps, state, Threads{threads}), y))
            << "steps of " << steps[0] << ", …; " << threads << " threads";
        ASSERT_EQ(state.bytes(), bytes) << "the state's size is fixed";
      }
    }
    if (subject_.in == subject_.out) {
      auto state = subject_.start(longest_);
      Workspace<T> workspace;
      workspace.use(engine_);
      Matrix<T> x = x_;
      subject_.extend(x, state, x, workspace);
      EXPECT_TRUE(same_bits(x, y)) << "in place";
    }
  }

  void states_are_values() {
    const Index half = longest_ / 2, rest = longest_ - half;
    const Matrix<T> y = reference_of(x_);
    Matrix<T> other = x_;
    other.bottomRows(rest) = numbers(rest, subject_.in, 8);
    const Matrix<T> other_y = reference_of(other);

    auto state = subject_.start(longest_);
    streamed(x_.topRows(half), {1}, state);
    auto branch = state;
    EXPECT_TRUE(same_bits(streamed(other.bottomRows(rest), {1}, branch), other_y.bottomRows(rest))) << "the copied state";
    EXPECT_TRUE(same_bits(streamed(x_.bottomRows(rest), {2}, state), y.bottomRows(rest))) << "the original state";

    EXPECT_THROW(state.rewind(-1), ArgumentError);
    EXPECT_THROW(state.rewind(longest_ + 1), ArgumentError);
    EXPECT_NO_THROW(state.rewind(longest_));
    if (promises_.rewinds) {
      state.rewind(half);
      EXPECT_TRUE(same_bits(streamed(other.bottomRows(rest), {3}, state), other_y.bottomRows(rest))) << "rewound to half";
      state.rewind(0);
      EXPECT_TRUE(same_bits(streamed(x_, {4}, state), y)) << "rewound to the start";
    } else if (half < longest_) {
      EXPECT_THROW(state.rewind(half), ArgumentError);
      EXPECT_EQ(state.position(), longest_);
    }
  }

  void steps_are_refused() {
    const Index half = longest_ / 2;
    const Matrix<T> y = reference_of(x_);
    auto state = subject_.start(longest_), stranger = Stranger<T>().start(longest_), none = State<T>();
    EXPECT_TRUE(same_bits(streamed(x_.topRows(half), {1}, state), y.topRows(half)));
    Workspace<T> workspace;
    const auto refused = [&]<class Error>(std::type_identity<Error>, State<T>& with, const Matrix<T>& x, Index rows,
                                          Index columns) {
      Matrix<T> out = untouched(rows, columns);
      const Index position = with.position();
      expect_refusal<Error>("extend", [&] { subject_.extend(x, with, out, workspace); });
      EXPECT_TRUE(is_untouched(out));
      EXPECT_EQ(with.position(), position);
    };
    constexpr std::type_identity<ShapeError> shape;
    constexpr std::type_identity<ArgumentError> argument;
    const auto ones = [](Index rows, Index columns) -> Matrix<T> { return Matrix<T>::Ones(rows, columns); };
    refused(shape, state, ones(longest_ - half + 1, subject_.in), longest_ - half + 1, subject_.out);
    refused(shape, state, ones(1, subject_.in + 1), 1, subject_.out);
    refused(shape, state, ones(1, subject_.in), 2, subject_.out);
    refused(shape, state, ones(1, subject_.in), 1, subject_.out + 1);
    refused(argument, stranger, ones(1, subject_.in), 1, subject_.out);
    if (state.bytes() > 0) {
      refused(argument, none, ones(1, subject_.in), 1, subject_.out);
    }
    EXPECT_TRUE(same_bits(streamed(x_.bottomRows(longest_ - half), {1}, state), y.bottomRows(longest_ - half)))
        << "after all refusals";
    expect_refusal<ArgumentError>("start", [&] { subject_.start(-1); });
  }

  void bad_numbers_stay_in_streams() {
    const Matrix<T> y = reference_of(x_);
    for (const Index t : places()) {
      for (const bool nan_first : {false, true}) {
        const Matrix<T> x = spoiled(x_, t, nan_first);
        for (const Index step : {longest_, Index{3}}) {
          auto state = subject_.start(longest_);
          ASSERT_TRUE(same_bits(streamed(x, {step}, state).topRows(t), y.topRows(t))) << "token " << t;
        }
      }
    }
  }

  void start_is_refused() {
    const std::string message = message_of<ArgumentError>([&] { subject_.start(longest_); });
    EXPECT_NE(message.find("::start: "), std::string::npos)
        << message;  // names this layer, or the layer inside it that cannot stream
  }

  // --- Training ---

  void training_is_forward() {
    for (const Mask mask : masks_of(batch_)) {
      Tape<T> tape;
      tape.workspace().use(engine_);
      subject_.begin(tape, nullptr);
      const Variable x = tape.input(batch_.x), y = subject_.record(tape, x, batch_.sequences, mask);
      EXPECT_TRUE(same_bits(Matrix<T>(tape[y]), forward(batch_.x, batch_.sequences, mask))) << (mask.empty() ? "" : "masked");
    }
  }

  void gradients_are_right() {
    for (const Mask mask : masks_of(batch_)) {
      subject_.expect_gradients(batch_.sequences, mask, promises_.tolerance);
    }
  }

  // --- Allocations ---

  void nothing_is_allocated() {
    const Matrix<T> cotangent = numbers(subject_.rows(batch_.x.rows()), subject_.out, 4);
    Matrix<T> y(cotangent.rows(), cotangent.cols());
    for (const int threads : {1, 2}) {
      for (const Mask mask : masks_of(batch_)) {
        Workspace<T> workspace(Threads{threads});
        workspace.use(engine_);
        const auto run = [&] { subject_.forward(batch_.x, batch_.sequences, y, workspace, mask); };
        run();
        EXPECT_EQ(allocations_during(run), 0) << "forward(), " << threads << " threads";

        Tape<T> tape(Threads{threads}, {.attention_dropout = 0.1, .residual_dropout = 0.1});
        tape.workspace().use(engine_);
        Random noise(6);
        const auto step = [&] {
          subject_.begin(tape, &noise);
          tape.backward(subject_.record(tape, tape.input(batch_.x), batch_.sequences, mask), cotangent);
        };
        step();
        step();  // begin() merges the tape's memory into one chunk
        EXPECT_EQ(allocations_during(step), 0) << "a training step, " << threads << " threads";
      }
    }
  }

  void streams_allocate_nothing() {
    Matrix<T> y(longest_, subject_.out);
    for (const int threads : {1, 2}) {
      for (const Index most : {1, 3, 16, 40}) {
        Workspace<T> workspace(Threads{threads});
        workspace.use(engine_);
        auto state = subject_.start(longest_);
        const auto extend = [&](Index t, Index rows) {
          subject_.extend(x_.middleRows(t, rows), state, y.middleRows(t, rows), workspace);
        };
        const Index first = std::min(most, longest_);
        extend(0, first);
        EXPECT_EQ(allocations_during([&] {
                    for (Index t = first, rows = 0; t < longest_; t += rows) {
                      rows = std::min(t % 7 == 0 ? 1 : most, longest_ - t);
                      extend(t, rows);
                    }
                  }),
                  0)
            << threads << " threads, up to " << most << " tokens per call";
      }
    }
  }

  // --- Masks ---

  void masks_hide() {
    const std::vector<std::uint8_t> ones(batch_.mask.size(), 1);
    const Matrix<T> unmasked = forward(batch_.x, batch_.sequences);
    EXPECT_TRUE(same_bits(forward(batch_.x, batch_.sequences, ones), unmasked)) << "a mask of ones";

    const Matrix<T> y = forward(batch_.x, batch_.sequences, batch_.mask);
    EXPECT_FALSE(same_bits(y, unmasked)) << "the mask of the test has no effect";
    for (const T factor : {T(-3), T(1e25)}) {
      Matrix<T> x = batch_.x;
      for (Index t = 0; t < x.rows(); ++t) {
        x.row(t) *= visible(t) || !promises_.mask_hides ? T{1} : factor;
      }
      const Matrix<T> got = forward(x, batch_.sequences, batch_.mask);
      for (Index t = 0; t < x.rows(); ++t) {
        ASSERT_TRUE(!visible(t) || same_bits(got.row(t), y.row(t))) << "token " << t << ", others times " << factor;
      }
    }
  }
  bool visible(Index t) const { return batch_.mask[static_cast<std::size_t>(t)] != 0; }

  // --- Hooks ---

  using Shown = std::map<std::string, Matrix<T>>;

  /// The outputs that a hook sees during `run(workspace)`, by path.
  Shown shown_by(const std::function<void(Workspace<T>&)>& run) const {
    Shown shown;
    Workspace<T> workspace;
    workspace.use(engine_);
    workspace.set_hook([&](const std::string& path, ConstView<T> output) {
      EXPECT_TRUE(shown.emplace(path, output).second) << "\"" << path << "\" is shown twice";
    });
    run(workspace);
    return shown;
  }

  void expect_all_shown(const Shown& shown, const Matrix<T>& y) {
    for (const std::string& layer : subject_.layers()) {
      const auto first = shown.lower_bound(layer);  // the path of the layer, or of one of its parts
      EXPECT_TRUE(first != shown.end() && (first->first == layer || first->first.starts_with(layer + ".")))
          << "\"" << layer << "\" is not shown";
    }
    if (const auto found = shown.find(""); found != shown.end()) {
      EXPECT_TRUE(same_bits(found->second, y)) << "the layer's own output";
    }
  }

  void hooks_see_all() {
    const Matrix<T> expected = forward(batch_.x, batch_.sequences);
    Matrix<T> y(expected.rows(), expected.cols());
    expect_all_shown(shown_by([&](auto& workspace) { subject_.forward(batch_.x, batch_.sequences, y, workspace, {}); }),
                     expected);
    EXPECT_TRUE(same_bits(y, expected));
  }

  void hooks_see_streams() {
    const Matrix<T> expected = reference_of(x_);
    auto state = subject_.start(longest_);
    Matrix<T> y(longest_, subject_.out);
    const Index half = longest_ / 2;
    for (const auto& [first, rows] : {std::pair<Index, Index>{0, half}, {half, longest_ - half}}) {
      if (rows > 0) {
        expect_all_shown(shown_by([&, from = first, count = rows](auto& workspace) {
                           subject_.extend(x_.middleRows(from, count), state, y.middleRows(from, count), workspace);
                         }),
                         expected.middleRows(first, rows));
      }
    }
    EXPECT_TRUE(same_bits(y, expected));
  }

  // --- Files ---

  void files_hold_all() {
    subject_.expect_saved([this](const Subject<T>& subject) { return forward(subject, batch_.x, batch_.sequences); });
  }

  void quantized_weights_are_rounded_ones() {
    subject_.expect_small([this](const Subject<T>& subject, Workspace<T>& workspace) {
      Matrix<T> y(subject.rows(batch_.x.rows()), subject.out);
      subject.forward(batch_.x, batch_.sequences, y, workspace, {});
      return y;
    });
  }

  /// Sets the pointer `place` to `engine` for the current scope.
  struct Using {
    Using(const ProductEngine<T>*& place, const ProductEngine<T>* engine) : place_(place) { place_ = engine; }
    ~Using() { place_ = nullptr; }
    Using(const Using&) = delete;
    Using& operator=(const Using&) = delete;
    const ProductEngine<T>*& place_;
  };

  void engines_keep_promises() {
    if constexpr (std::is_same_v<T, float>) {
      engine_keeps_promises(int8_products());
      if (bf16_products() != nullptr) {
        engine_keeps_promises(bf16_products());
      }
    }
  }
  void engine_keeps_promises(const ProductEngine<T>* products) {
    const Using engine(engine_, products);
    sequences_are_alone();
    const Matrix<T> y = forward(batch_.x, batch_.sequences);
    EXPECT_TRUE(same_bits(forward(batch_.x, batch_.sequences, {}, Threads{3}), y));
    training_is_forward();
    hooks_see_all();
    nothing_is_allocated();
    if (promises_.causal && promises_.streams) {
      streams_are_forward();
      hooks_see_streams();
      streams_allocate_nothing();
    }
  }

  // --- Refusals ---

  /// Expects that `f` throws an `Error` whose message starts with the layer's name.
  template <class Error>
  void expect_refusal(const char* call, const std::function<void()>& f) const {
    const std::string message = message_of<Error>(f);
    EXPECT_TRUE(message.starts_with(subject_.name + "::" + call) || message.starts_with(subject_.name + ": ")) << message;
  }

  void shapes_are_refused() {
    const Index total = batch_.x.rows(), rows = subject_.rows(total);
    Workspace<T> workspace;
    Tape<T> tape;
    const auto refused = [&](const Matrix<T>& x, const Sequences& sequences, Index y_rows, Index y_columns, Mask mask = {}) {
      Matrix<T> y = untouched(y_rows, y_columns);
      expect_refusal<ShapeError>("forward", [&] { subject_.forward(x, sequences, y, workspace, mask); });
      EXPECT_TRUE(is_untouched(y));
      if (y_rows == rows && y_columns == subject_.out) {  // record() takes no y
        subject_.begin(tape, nullptr);
        expect_refusal<ShapeError>("record", [&] { subject_.record(tape, tape.input(x), sequences, mask); });
      }
    };
    const Sequences& sequences = batch_.sequences;
    refused(numbers(total, subject_.in + 1, 1), sequences, rows, subject_.out);
    refused(batch_.x, sequences, rows + 1, subject_.out);
    refused(batch_.x, sequences, rows, subject_.out + 1);
    if (subject_.mixes) {
      refused(numbers(total + 1, subject_.in, 1), sequences, rows, subject_.out);
      refused(batch_.x, Sequences::single(total + 1), rows, subject_.out);
    }
    if (subject_.masked) {
      const std::vector<std::uint8_t> longer(static_cast<std::size_t>(total) + 1, 1);
      refused(batch_.x, sequences, rows, subject_.out, longer);
    } else if (subject_.mixes) {
      subject_.begin(tape, nullptr);
      const Variable x = tape.input(batch_.x);
      expect_refusal<ArgumentError>("record", [&] { subject_.record(tape, x, sequences, batch_.mask); });
    }
  }

  Subject<T>& subject_;
  Promises promises_;
  Input batch_;
  Index longest_ = 0;
  Matrix<T> x_;  // the input of a sequence of `longest_` tokens
  const ProductEngine<T>* engine_ = nullptr;
};

}  // namespace

void expect_promises_of(Subject<float>& subject, const Promises& promises) { PromiseChecks<float>(subject, promises).all(); }
void expect_promises_of(Subject<double>& subject, const Promises& promises) { PromiseChecks<double>(subject, promises).all(); }

}  // namespace gated::test::detail
