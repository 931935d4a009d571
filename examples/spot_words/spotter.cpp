#include "spotter.hpp"

#include <algorithm>
#include <utility>

namespace words {

void Decisions::add(double seconds, std::span<const double> scores, const std::function<void(const Event&)>& on_event) {
  if (recent_.size() == averaged) {
    recent_.pop_front();
  }
  recent_.emplace_back(scores.begin(), scores.end());
  std::fill(sum_.begin(), sum_.end(), 0.0);
  for (const auto& one : recent_) {
    std::transform(one.begin(), one.end(), sum_.begin(), sum_.begin(), std::plus<>());
  }
  const Index best = std::max_element(sum_.begin(), sum_.end()) - sum_.begin();
  const double score = sum_[static_cast<std::size_t>(best)] / static_cast<double>(averaged);
  const bool is_word = best < words_ && score >= threshold_;
  if (word_.label >= 0 && !(is_word && best == word_.label)) {
    finish(on_event);
  }
  const double middle =
      seconds - static_cast<double>(recent_.size() - 1) * 0.5 * Spotter::step / rate;  // the mean time of the averaged windows
  if (is_word) {
    first_ = word_.label < 0 ? middle : first_;
    word_ = {std::max((first_ + middle) / 2, 0.0), best, std::max(word_.score, score)};
  }
}

void Decisions::finish(const std::function<void(const Event&)>& on_event) {
  if (word_.label >= 0 && word_.seconds - last_ >= apart) {
    last_ = word_.seconds;
    on_event(word_);
  }
  word_ = {0, -1, 0};
}

Spotter::Spotter(const Keywords& keywords, double threshold, OnScores on_scores, OnEvent on_event)
    : keywords_(keywords),
      decisions_(std::ssize(keywords.labels), threshold),
      on_scores_(std::move(on_scores)),
      on_event_(std::move(on_event)),
      image_(1, keywords.model.config.image.area()),
      logits_(1, std::ssize(keywords.labels)),
      scores_(keywords.labels.size()) {}

void Spotter::add(std::span<const float> samples) {
  while (!samples.empty()) {
    const Index count = std::min(missing_, std::ssize(samples));
    std::copy(window_.begin() + count, window_.end(), window_.begin());
    std::copy_n(samples.begin(), count, window_.end() - count);
    samples = samples.subspan(static_cast<std::size_t>(count));
    missing_ -= count;
    if (missing_ == 0) {
      missing_ = step;
      look();
    }
  }
}

void Spotter::finish() {
  add(std::vector<float>(static_cast<std::size_t>(rate / 2 + missing_)));
  decisions_.finish(on_event_);
}

void Spotter::look() {
  ++seen_;
  features_of(window_, keywords_.model.config, image_);
  keywords_.model.forward(image_, logits_, workspace_);
  gated::softmax<float>(logits_, workspace_);
  std::copy_n(logits_.data(), logits_.size(), scores_.begin());
  const double seconds = static_cast<double>(seen_ * step - rate / 2) / rate;
  if (on_scores_) {
    on_scores_(seconds, scores_);
  }
  decisions_.add(seconds, scores_, on_event_);
}

}  // namespace words
