#pragma once

#include <deque>
#include <functional>
#include <span>
#include <string>

#include "gated/ops/softmax.hpp"
#include "model_file.hpp"

/// Spots words in a stream of sound.

namespace words {

/// A spotted word.
struct Event {
  double seconds;  ///< time of the middle of the word
  Index label;
  double score;  ///< the highest averaged score
};

/// Turns the scores of successive windows into events.
///
/// Scores are averaged over the last few windows. A word begins where its averaged score reaches the threshold. It ends where
/// its averaged score falls below the threshold or below another class's score. The event reports the word's highest score. An
/// event less than half a second after the previous one is dropped, because part of a word can sound like another word.
class Decisions {
 public:
  Decisions(Index classes, double threshold)
      : words_(classes - 2), threshold_(threshold), sum_(static_cast<std::size_t>(classes)) {}

  /// Adds the scores of the window centred at `seconds`. Calls `on_event` if a word has ended.
  void add(double seconds, std::span<const double> scores, const std::function<void(const Event&)>& on_event);
  /// Ends the current word, if any.
  void finish(const std::function<void(const Event&)>& on_event);

  /// The number of windows whose scores are averaged.
  static constexpr std::size_t averaged = 4;
  /// The minimum time between two events, in seconds.
  static constexpr double apart = 0.5;

 private:
  Index words_;
  double threshold_;
  std::vector<double> sum_;
  std::deque<std::vector<double>> recent_;
  Event word_{0, -1, 0};  // the current word; label -1: none
  double first_ = 0;      // when the current word began
  double last_ = -1e9;    // time of the last event
};

/// Slides a window of one second over sound, in steps of 50 ms.
class Spotter {
 public:
  using OnScores = std::function<void(double seconds, std::span<const double> scores)>;
  using OnEvent = std::function<void(const Event&)>;

  /// `keywords` must outlive the spotter. `on_scores` may be empty.
  Spotter(const Keywords& keywords, double threshold, OnScores on_scores, OnEvent on_event);

  /// Appends samples at 16 kHz.
  void add(std::span<const float> samples);
  /// Ends the sound: appends silence until the last sample is in the middle of the window.
  void finish();

  /// The number of samples from one window to the next.
  static constexpr Index step = rate / 20;

 private:
  void look();

  const Keywords& keywords_;
  Decisions decisions_;
  OnScores on_scores_;
  OnEvent on_event_;
  gated::Workspace<float> workspace_;
  Vector<float> window_ = Vector<float>::Zero(rate);  // the last second of sound
  Index missing_ = step;                              // samples until the next window
  Index seen_ = 0;                                    // windows
  Matrix<float> image_, logits_;
  std::vector<double> scores_;
};

}  // namespace words
