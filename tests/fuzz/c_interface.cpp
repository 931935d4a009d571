#include "gated/c/gated.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "gated/models/gmlp.hpp"
#include "tests/fuzz/file_of.hpp"
#include "tests/fuzz/fuzz.hpp"

// The input encodes valid and invalid calls of the C interface. Each call succeeds, or sets an error message and changes
// nothing. A state's position follows from its successful calls. Outputs are finite, and no call writes past its output.

namespace gated::fuzz {
namespace {

/// Reads choices from the bytes of the input. Past the end of the input, every choice is 0.
class Choices {
 public:
  Choices(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}
  bool done() const { return at_ == end_; }
  unsigned below(unsigned n) { return (at_ == end_ ? 0U : *at_++) % n; }
  bool rarely() { return below(16) == 15; }
  template <class T>
  T one_of(const std::vector<T>& all) {
    return all[below(static_cast<unsigned>(all.size()))];
  }

 private:
  const std::uint8_t *at_, *end_;
};

template <class Model>
std::vector<std::byte> small_file(const typename Model::Config& config) {
  Random random(1);
  const Model model(config, random);
  return file_of(&model, to_json(config));
}

const std::vector<std::vector<std::byte>>& files() {
  static const std::vector all{
      small_file<GmlpLanguageModel<float>>(
          {.vocabulary = 7, .trunk = {.length = 8, .channels = 4, .hidden = 8, .depth = 1, .causal = true}}),
      small_file<GmlpImageClassifier<float>>(
          {.image = {4, 4}, .patch = {2, 2}, .image_channels = 1, .classes = 3, .trunk = {.channels = 4, .hidden = 8}}),
      std::vector<std::byte>(40)};
  return all;
}

/// Makes calls and keeps all returned handles, even freed ones.
class Calls {
 public:
  explicit Calls(Choices choices) : choices_(choices) {}
  ~Calls() {
    for (const auto& [state, position] : open_) {
      promise(gated_free(state) == GATED_OK, "an open state can be freed");
    }
    for (gated_model* const model : models_) {
      gated_close(model);
    }
  }

  void run() {
    using Call = void (Calls::*)();
    constexpr Call calls[] = {&Calls::open,   &Calls::close,  &Calls::describe, &Calls::compute, &Calls::start, &Calls::extend,
                              &Calls::branch, &Calls::rewind, &Calls::free,     &Calls::prepare, &Calls::use,   &Calls::extend};
    while (!choices_.done()) {
      (this->*calls[choices_.below(std::size(calls))])();
      for (const auto& [state, position] : open_) {
        ptrdiff_t now = -1;
        promise(gated_position(state, &now) == GATED_OK && now == position, "a state's position matches its calls");
      }
    }
  }

 private:
  static constexpr std::size_t room = 64;  // size of an output buffer, in floats

  bool succeeds(gated_status status) {
    promise(status == GATED_OK || *gated_last_error() != '\0', "a failed call sets an error message");
    return status == GATED_OK;
  }
  std::size_t size_of(std::size_t right) { return choices_.rarely() ? choices_.below(255) : right; }

  void open() {
    const auto& bytes = choices_.one_of(files());
    gated_source source{};
    source.size = size_of(sizeof(source));
    source.bytes = choices_.rarely() ? nullptr : bytes.data();
    source.byte_count = choices_.rarely() ? choices_.below(200) : bytes.size();
    source.weights = choices_.one_of<const char*>({nullptr, "int8", "bf16", "float32", "int8-rows", "no such format"});
    source.products = choices_.one_of<const char*>({nullptr, "int8", "bf16", "none"});
    source.threads = static_cast<int>(choices_.below(4)) - 1;
    if (models_.size() < 9) {
      gated_model* model = nullptr;
      if (succeeds(gated_open(&source, choices_.rarely() ? nullptr : &model))) {
        models_.push_back(model);
      }
    }
  }
  void close() { succeeds(gated_close(choices_.one_of(models_))); }

  void describe() {
    std::array<gated_description, 2> about{};  // no call may write to the second element
    about[0].size = size_of(sizeof(gated_description));
    if (succeeds(gated_describe(choices_.one_of(models_), &about[0])) && about[0].size == sizeof(gated_description)) {
      promise(std::strlen(about[0].architecture) > 0 && about[0].parameters > 0, "a model is described");
    }
    promise(about[1].size == 0 && about[1].signature == nullptr, "nothing is written past a description");
  }

  /// A valid or invalid input.
  gated_input input() {
    gated_input x{};
    x.size = size_of(sizeof(x));
    std::fill(tokens_.begin(), tokens_.end(), static_cast<ptrdiff_t>(choices_.below(8)));
    tokens_[choices_.below(10)] = static_cast<ptrdiff_t>(choices_.below(9)) - 1;
    std::fill(values_.begin(), values_.end(), static_cast<float>(choices_.below(5)));
    x.tokens = choices_.below(2) == 0 ? tokens_.data() : nullptr;
    x.values = choices_.below(2) == 0 ? values_.data() : nullptr;
    x.rows = static_cast<ptrdiff_t>(choices_.below(10)) - (choices_.rarely() ? 7 : 0);
    x.columns = choices_.rarely() ? static_cast<ptrdiff_t>(choices_.below(7)) - 1 : 0;
    lengths_ = {static_cast<ptrdiff_t>(choices_.below(5)), static_cast<ptrdiff_t>(choices_.below(5)) - 1};
    x.lengths = choices_.below(4) == 0 ? lengths_.data() : nullptr;
    x.sequences = static_cast<ptrdiff_t>(choices_.below(3));
    x.mask = choices_.rarely() ? mask_.data() : nullptr;
    x.token_types = choices_.rarely() ? tokens_.data() : nullptr;
    x.output_rows = static_cast<int>(choices_.rarely() ? choices_.below(4) : 0);
    x.other = choices_.rarely() ? &other_ : nullptr;
    return x;
  }
  gated_output output() {
    result_.fill(unwritten);
    gated_output y{};
    y.size = size_of(sizeof(y));
    y.values = choices_.rarely() ? nullptr : result_.data();
    y.capacity = choices_.rarely() ? static_cast<ptrdiff_t>(choices_.below(room)) : static_cast<ptrdiff_t>(room);
    return y;
  }
  /// Checks the output buffer after a call.
  void check(bool done, const gated_output& y) {
    const auto written = done && y.values != nullptr ? static_cast<std::size_t>(y.rows * y.columns) : 0;
    promise(std::all_of(result_.begin(), result_.begin() + static_cast<std::ptrdiff_t>(written),
                        [](float value) { return std::isfinite(value) && value != unwritten; }),
            "an output is finite");
    promise(std::all_of(result_.begin() + static_cast<std::ptrdiff_t>(written), result_.end(),
                        [](float value) { return value == unwritten; }),
            "nothing is written past an output, or by a failed call");
  }

  void compute() {
    const gated_input x = input();
    gated_output y = output();
    check(succeeds(gated_run(choices_.one_of(models_), &x, &y)), y);
  }
  void start() {
    gated_state* state = nullptr;
    const auto capacity = static_cast<ptrdiff_t>(choices_.below(12)) - 1;
    if (states_.size() < 33 && succeeds(gated_start(choices_.one_of(models_), capacity, &state))) {
      states_.push_back(state);
      open_[state] = 0;
    }
  }
  void extend() {
    const gated_input x = input();
    gated_output y = output();
    gated_state* const state = choices_.one_of(states_);
    const bool done = succeeds(gated_extend(state, &x, &y));
    check(done, y);
    if (done && y.values != nullptr) {
      open_.at(state) += x.rows;
    }
  }
  void branch() {
    gated_state* copy = nullptr;
    gated_state* const state = choices_.one_of(states_);
    if (states_.size() < 33 && succeeds(gated_copy(state, &copy))) {
      states_.push_back(copy);
      open_[copy] = open_.at(state);
    }
  }
  void rewind() {
    gated_state* const state = choices_.one_of(states_);
    const auto position = static_cast<ptrdiff_t>(choices_.below(9)) - 1;
    if (succeeds(gated_rewind(state, position))) {
      promise(position <= open_.at(state), "rewinding never moves a state forward");
      open_[state] = position;
    }
  }
  void free() {
    gated_state* const state = choices_.one_of(states_);
    const bool freed = succeeds(gated_free(state));
    promise(freed == (state == nullptr || open_.contains(state)), "a state can be freed exactly once");
    open_.erase(state);
  }
  void prepare() {
    gated_picture picture{};
    picture.size = size_of(sizeof(picture));
    picture.pixels = choices_.rarely() ? nullptr : pixels_.data();
    picture.width = static_cast<ptrdiff_t>(choices_.below(6));
    picture.height = static_cast<ptrdiff_t>(choices_.below(6));
    picture.stride = choices_.rarely() ? static_cast<ptrdiff_t>(choices_.below(20)) : 0;
    picture.order = choices_.one_of<const char*>({"grey", "rgb", "bgra", "cmyk", nullptr});
    gated_output y = output();
    check(succeeds(gated_prepare_image(choices_.one_of(models_), &picture, &y)), y);
  }
  void use() {
    succeeds(gated_use(choices_.one_of<const char*>({nullptr, "mmx"}),
                       choices_.one_of<const char*>({nullptr, "fastest", "portable", "exact"})));
  }

  static constexpr float unwritten = 12345;

  Choices choices_;
  std::vector<gated_model*> models_{nullptr};
  std::vector<gated_state*> states_{nullptr};
  std::map<gated_state*, ptrdiff_t> open_;  // each open state and its position
  std::array<ptrdiff_t, 10> tokens_{};
  std::array<float, 400> values_{};
  std::array<ptrdiff_t, 2> lengths_{};
  std::array<std::uint8_t, 10> mask_{1, 1, 0, 1, 1, 1, 1, 1, 1, 1};
  std::array<std::uint8_t, 400> pixels_{};
  std::array<float, room + 8> result_{};
  gated_input other_{};
};

}  // namespace
}  // namespace gated::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gated::fuzz::Calls(gated::fuzz::Choices(data, size)).run();
  return 0;
}
