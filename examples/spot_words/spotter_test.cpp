#include "spotter.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "augment.hpp"
#include "tests/io/files.hpp"

namespace words {
namespace {

using gated::test::expect_error;
using gated::test::temporary;

/// The events of successive windows. `best` has an entry per window: k if class k scores 0.9, -k if it scores 0.5. Classes 0 to
/// 2 are words, 3 is unknown, and 4 is silence.
std::vector<Event> events_of(const std::vector<Index>& best) {
  std::vector<Event> events;
  const auto keep = [&](const Event& event) { events.push_back(event); };
  Decisions decisions(5, 0.6);
  for (std::size_t i = 0; i < best.size(); ++i) {
    std::vector<double> scores(5, 0.0);
    scores[static_cast<std::size_t>(std::abs(best[i]))] = best[i] < 0 ? 0.5 : 0.9;
    decisions.add(0.05 * static_cast<double>(i), scores, keep);
  }
  decisions.finish(keep);
  return events;
}

TEST(Decisions, ReportAWordOnce) {
  std::vector<Index> best(40, 4);
  std::fill_n(best.begin() + 10, 8, Index{1});
  const auto events = events_of(best);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].label, 1);
  EXPECT_NEAR(events[0].score, 0.9, 1e-9);
  EXPECT_NEAR(events[0].seconds, 0.05 * (15 - 1.5), 1e-9);
}

TEST(Decisions, DropShortWeakUnknownAndTooCloseWords) {
  const auto with = [](std::size_t first, std::size_t count, Index label) {
    std::vector<Index> best(40, 4);
    std::fill_n(best.begin() + static_cast<std::ptrdiff_t>(first), count, label);
    return best;
  };
  EXPECT_TRUE(events_of(with(10, 2, 1)).empty());
  EXPECT_TRUE(events_of(with(10, 20, -1)).empty());
  EXPECT_TRUE(events_of(with(10, 20, 3)).empty());
  EXPECT_EQ(events_of(with(36, 4, 2)).size(), 1U);  // the word lasts to the end
  auto best = with(10, 6, 1);
  std::fill_n(best.begin() + 16, 6, Index{2});
  EXPECT_EQ(events_of(best).size(), 1U);
}

TEST(Recordings, AreResampledAndTrimmed) {
  gated::Sound sound{gated::Matrix<float>::Zero(44100, 2), 44100};
  for (Index i = 11025; i < 22050; ++i) {
    sound.samples.row(i).setConstant(static_cast<float>(std::sin(0.2 * static_cast<double>(i))));
  }
  const auto both = resampled({sound, {sound.samples, 22050}});
  ASSERT_EQ(both[0].size(), 16000);
  ASSERT_EQ(both[1].size(), 32000);
  EXPECT_NEAR(static_cast<double>(trimmed(both[0]).size()), 4000, 320);
  EXPECT_NEAR(static_cast<double>(both[0].segment(4500, 3000).cwiseAbs().maxCoeff()), 1, 0.01);
  const auto alone = resampled({sound});
  EXPECT_LT((alone[0] - both[0]).cwiseAbs().maxCoeff(), 1e-6F);
}

TEST(Recordings, AreReadInPieces) {
  const auto path = temporary("long.wav");
  for (const Index from : {16000, 11025}) {
    gated::write_wav(path, {gated::Matrix<float>::Random(130 * from + 7, 2), from}, gated::WavFormat::float32);
    std::vector<float> pieces;
    for_each_piece(path, [&](std::span<const float> samples) { pieces.insert(pieces.end(), samples.begin(), samples.end()); });
    const Vector<float> whole = resampled({gated::read_wav(path)})[0];
    EXPECT_TRUE(std::equal(pieces.begin(), pieces.end(), whole.begin(), whole.end())) << from;
  }
}

TEST(Recordings, MayBeShortSilentOrClipped) {
  EXPECT_EQ(trimmed(Vector<float>::Zero(1)).size(), 1);
  EXPECT_EQ(trimmed(Vector<float>::Zero(0)).size(), 0);
  EXPECT_GT(trimmed(Vector<float>::Zero(2000)).size(), 0);
  EXPECT_EQ(trimmed(Vector<float>::Ones(2000)).size(), 1920);  // whole pieces
  const auto path = temporary("one.wav");
  gated::write_wav(path, {gated::Matrix<float>::Zero(1, 1), 8000});
  EXPECT_EQ(resampled({gated::read_wav(path)})[0].size(), 2);
}

TEST(Recordings, AreRefusedIfMissingOrInvalid) {
  const auto folder = temporary("words");
  std::filesystem::create_directories(folder / "yes");
  std::filesystem::create_directories(folder / "_noise_");
  EXPECT_EQ(words_in(folder), std::vector<std::string>{"yes"});
  expect_error<gated::FileError>([&] { read_recordings(folder, {"yes"}); }, {"has no WAV file in a subfolder called yes"});
  expect_error<gated::FileError>([&] { words_in(folder / "yes"); }, {"has no subfolder"});
  gated::test::write_text(folder / "yes" / "1.wav", "RIFF");
  expect_error<gated::FileError>([&] { read_recordings(folder, {"yes"}); }, {"1.wav", "not a WAV file"});
}

TEST(Examples, AreFiniteAndWithinTheRangeOfSamples) {
  Recordings all{{"a", unknown_label, silence_label}, {}, {}};
  for (const Index size : {1, 700, 9000, 16000, 30000}) {
    all.sounds.push_back(Vector<float>::Random(size));
    all.label_of.push_back(0);
  }
  all.sounds.push_back(Vector<float>::Zero(5000));
  all.label_of.push_back(all.unknown());
  Random random(1);
  std::vector<Index> counts(3, 0);
  for (std::size_t i = 0; i < 600; ++i) {
    const Example example = draw_example(all, i % 6, random);
    ASSERT_EQ(example.window.size(), window_samples);
    ASSERT_TRUE(example.window.allFinite());
    ASSERT_LE(example.window.cwiseAbs().maxCoeff(), 1.0F);
    ++counts[static_cast<std::size_t>(example.label)];
  }
  EXPECT_GT(counts[0], 300);
  EXPECT_GT(counts[1], 60);
  EXPECT_GT(counts[2], 20);
}

}  // namespace
}  // namespace words
