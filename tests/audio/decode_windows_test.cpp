#include "gated/audio/decode_windows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/core/numbers.hpp"
#include "tests/io/files.hpp"

namespace gated::decode_windows_test {
namespace {

using test::expect_error;
using test::random_vector;

/// Replaces the network: the result shows where a segment was cut, and which zeros were appended.
Vector<double> mark(const ConstSignal<double>& segment) {
  Vector<double> y = 100 * segment;
  for (Index i = 0; i < y.size(); ++i) {
    y[i] += static_cast<double>(i);
  }
  return y;
}

/// A transcription of ClearerVoice-Studio's decode_one_audio_mossformer2_se_48k(), with `mark` in place of the network.
std::vector<double> upstream(std::vector<double> inputs, Index window, Index stride, bool online_decoding, bool pads) {
  const auto input_len = inputs.size();
  if (online_decoding || pads) {
    const auto t = static_cast<Index>(inputs.size());
    Index padding = 0;
    if (t < window) {
      padding = window - t;
    } else if (t < window + stride) {
      padding = window + stride - t;
    } else if ((t - window) % stride != 0) {
      padding = t - (t - window) / stride * stride;
    }
    inputs.resize(static_cast<std::size_t>(t + padding));
  }
  const auto run = [&](std::size_t from, std::size_t count) {
    return mark(Eigen::Map<const Vector<double>>(inputs.data() + from, static_cast<Index>(count)));
  };
  std::vector<double> outputs(inputs.size());
  if (online_decoding) {
    const Index give_up_length = (window - stride) / 2;
    for (Index current_idx = 0; current_idx + window <= static_cast<Index>(inputs.size()); current_idx += stride) {
      const auto segment = run(static_cast<std::size_t>(current_idx), static_cast<std::size_t>(window));
      for (Index i = current_idx == 0 ? 0 : give_up_length; i < window - give_up_length; ++i) {
        outputs[static_cast<std::size_t>(current_idx + i)] = segment[i];
      }
    }
  } else {
    const auto whole = run(0, inputs.size());
    outputs.assign(whole.begin(), whole.end());
  }
  outputs.resize(input_len);
  return outputs;
}

TEST(DecodeWindows, MatchUpstreamForEveryLength) {
  for (const bool pads : {false, true}) {
    for (const auto& [window, stride, most] : {std::array<Index, 3>{40, 30, 80}, {41, 30, 0}, {16, 16, 20}, {9, 2, 8}}) {
      const DecodeWindows plan{.window = window, .stride = stride, .one_pass_length = most, .pads_one_pass = pads};
      for (Index length = 1; length < 300; ++length) {
        const Vector<double> x = random_vector<double>(length, 1);
        const Matrix<double> y = enhance_in_windows<double>(x, plan, mark);
        const auto expected = upstream({x.begin(), x.end()}, window, stride, length > most, pads);
        ASSERT_EQ(y.rows(), length);
        ASSERT_EQ(y.cols(), 1);
        ASSERT_TRUE(test::same_bits(y.col(0), Eigen::Map<const Vector<double>>(expected.data(), length)))
            << window << ", " << stride << ", " << length << " samples";
      }
    }
  }
}

TEST(DecodeWindows, LeaveATailOfZerosIfNothingIsPadded) {
  const DecodeWindows plan{.window = 400, .stride = 300, .one_pass_length = 800};
  const Vector<float> x = Vector<float>::Ones(1000);  // 400 + 2 · 300
  const Matrix<float> y = enhance_in_windows<float>(x, plan, [](const auto& segment) { return Vector<float>(segment); });
  EXPECT_TRUE((y.topRows(950).array() == 1).all());
  EXPECT_TRUE((y.bottomRows(50).array() == 0).all());
}

TEST(DecodeWindows, StopAtTheEndOfTheSound) {
  const DecodeWindows plan = decode_windows(8000, 0.05, 0.1);
  EXPECT_EQ(plan.window, 400);
  EXPECT_EQ(plan.stride, 300);
  EXPECT_EQ(plan.one_pass_length, 800);
  EXPECT_EQ(plan.dropped(), 50);
  EXPECT_EQ(plan.padded_length(1250), 1900) << "650 zeros";
  int windows = 0;
  enhance_in_windows<float>(Vector<float>::Zero(1250), plan, [&](const ConstSignal<float>& segment) {
    ++windows;
    return Vector<float>(segment);
  });
  EXPECT_EQ(windows, 4) << "upstream runs 6 windows, but the last two produce only samples past the end";
}

TEST(DecodeWindows, TwoHoursNeedTheMemoryOfOneWindow) {
  const DecodeWindows plan = decode_windows(1000, 4, 20);
  const Index length = 2 * 3600 * 1000;
  Index most = 0, written = 0;
  const auto seen = [&most](Index rows) { most = std::max(most, rows); };
  enhance_in_windows<float>(
      length, plan,
      [&](Index, Index count) -> Matrix<float> {
        seen(count);
        return Matrix<float>::Zero(count, 1);
      },
      [&](const Matrix<float>& segment) {
        seen(segment.rows());
        return segment;
      },
      [&](const ConstView<float>& next) {
        seen(next.rows());
        written += next.rows();
      });
  EXPECT_EQ(written, length);
  EXPECT_EQ(most, plan.window);
}

TEST(DecodeWindows, PresetsMatchMossFormer2) {
  const DecodeWindows enhancement = mossformer2_enhancement_windows(), separation = mossformer2_separation_windows();
  EXPECT_EQ(enhancement.window, 4 * 48000);
  EXPECT_EQ(enhancement.stride, 3 * 48000);
  EXPECT_TRUE(enhancement.is_one_pass(20 * 48000));
  EXPECT_FALSE(enhancement.is_one_pass(20 * 48000 + 1));
  EXPECT_FALSE(enhancement.pads_one_pass);
  EXPECT_EQ(separation.window, 32000);
  EXPECT_EQ(separation.stride, 24000);
  EXPECT_TRUE(separation.is_one_pass(32000));
  EXPECT_TRUE(separation.pads_one_pass);
  EXPECT_EQ(separation.padded_length(20000), 32000);
  EXPECT_EQ(separation.padded_length(32000), 56000);
}

TEST(DecodeWindows, KeepAColumnPerSpeaker) {
  const DecodeWindows plan{.window = 40, .stride = 30, .one_pass_length = 50};
  for (const Index length : {50, 51, 200}) {
    const Vector<double> x = random_vector<double>(length, 2);
    const Matrix<double> y = enhance_in_windows<double>(x, plan, [](const ConstSignal<double>& segment) {
      Matrix<double> speakers(segment.size(), 2);
      speakers << mark(segment), -mark(segment);
      return speakers;
    });
    ASSERT_EQ(y.cols(), 2);
    EXPECT_EQ(y.col(0), enhance_in_windows<double>(x, plan, mark).col(0));
    EXPECT_EQ(y.col(1), -y.col(0));
  }
}

TEST(DecodeWindows, RefuseInvalidPlansAndResults) {
  const Vector<float> x = Vector<float>::Ones(100);
  const DecodeWindows plan{.window = 40, .stride = 30, .one_pass_length = 0};
  const auto copy = [](const ConstSignal<float>& segment) { return Vector<float>(segment); };
  expect_error<ShapeError>([&] { enhance_in_windows<float>(x.head(0), plan, copy); }, {"there are no samples"});
  expect_error<ArgumentError>([&] { enhance_in_windows<float>(x, {.window = 40, .stride = 41}, copy); },
                              {"window is 40 and stride is 41, expected 1 ≤ stride ≤ window"});
  expect_error<ArgumentError>([&] { enhance_in_windows<float>(x, {.window = 40, .stride = 0}, copy); }, {"stride is 0"});
  expect_error<ShapeError>(
      [&] { enhance_in_windows<float>(x, plan, [](const ConstSignal<float>& s) { return Vector<float>(s.head(3)); }); },
      {"the function returned 3 × 1 for a segment of 40 samples"});
  Index columns = 0;
  expect_error<ShapeError>(
      [&] {
        enhance_in_windows<float>(
            x, plan, [&](const ConstSignal<float>& s) { return Matrix<float>(Matrix<float>::Ones(s.size(), ++columns)); });
      },
      {"returned 40 × 2", "the same number of columns"});
  expect_error<ArgumentError>([] { decode_windows(8000, 0.0001, 1); }, {"has 0 samples"});
}

}  // namespace
}  // namespace gated::decode_windows_test
