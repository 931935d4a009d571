#pragma once

#include <deque>
#include <functional>
#include <span>
#include <string>

#include "gated/ops/softmax.hpp"
#include "model_file.hpp"

/// Words in a stream of sound.

namespace words {

/// A spotted word.
struct Event {
  double seconds;  ///< the middle of the windows that have it
  Index label;
  double score;  ///< the highest, averaged over windows
};

/// The decisions from the scores of successive windows.
///
/// Scores are averaged over the last few windows. A word begins where its mean score reaches the threshold, and ends where it
/// is no longer the best or falls below; its event has the highest mean score between. Events of less than half a second after
/// another one are dropped: parts of a word may sound like another.
class Decisions {
 public:
  Decisions(Index classes, double threshold)
      : words_(classes - 2), threshold_(threshold), sum_(static_cast<std::size_t>(classes)) {}

  /// Takes the scores of the window in whose middle the time is `seconds`. Calls `on_event` for a word that has ended.
  void add(double seconds, std::span<const double> scores, const std::function<void(const Event&)>& on_event);
  /// Ends a word that lasts.
  void finish(const std::function<void(const Event&)>& on_event);

  /// The windows whose scores are averaged.
  static constexpr std::size_t averaged = 4;
  /// The shortest time from an event to the next, in seconds.
  static constexpr double apart = 0.5;

 private:
  Index words_;
  double threshold_;
  std::vector<double> sum_;
  std::deque<std::vector<double>> recent_;
  Event word_{0, -1, 0};  // that lasts, or label -1
  double first_ = 0;      // when it began
  double last_ = -1e9;    // of the last event
};

/// Slides a window of one second over sound, in steps of 50 ms.
class Spotter {
 public:
  using OnScores = std::function<void(double seconds, std::span<const double> scores)>;
  using OnEvent = std::function<void(const Event&)>;

  /// `keywords` must outlive the spotter. `on_scores` may be empty.
  Spotter(const Keywords& keywords, double threshold, OnScores on_scores, OnEvent on_event);

  /// Takes further samples at 16 kHz.
  void add(std::span<const float> samples);
  /// The sound has ended: takes silence until the last sample is in the middle of the window.
  void finish();

  /// The samples from one window to the next.
  static constexpr Index step = rate / 20;

 private:
  void look();

  const Keywords& keywords_;
  Decisions decisions_;
  OnScores on_scores_;
  OnEvent on_event_;
  gated::Workspace<float> workspace_;
  Vector<float> window_ = Vector<float>::Zero(rate);  // the last second
  Index missing_ = step;                              // samples until the next window
  Index seen_ = 0;                                    // windows
  Matrix<float> image_, logits_;
  std::vector<double> scores_;
};

}  // namespace words
