#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "gated/models/speech_denoiser.hpp"

/// @file
/// Speech denoising of whole recordings and, with a fixed delay, of live sound. The results are bit-equal.

namespace gated {

/// Removes the noise from one channel of speech. The sound is processed as if silence preceded and followed it.
///
///     const auto model = load_model<SpeechDenoiser<float>>("denoise.safetensors");
///     Vector<float> clean = denoise<float>(model, noisy, workspace);   // at model.config.rate
///
/// Shapes: the result is as long as `samples`.
/// Errors: ShapeError for no samples.
/// Cost: that of the model, and two transforms per hop. Memory: 3 values per bin and frame.
template <class T>
Vector<T> denoise(const SpeechDenoiser<T>& model, const ConstSignal<T>& samples, Workspace<T>& workspace) {
  require<ShapeError>(samples.size() >= 1, "denoise: there are no samples.");
  const SpectrumOptions spectrum = model.config.spectrum();
  const Index before = spectrum.length - spectrum.hop;
  const Index last = (before + samples.size() - 1) / spectrum.hop;  // index of the last frame that covers a sample
  Vector<T> padded = Vector<T>::Zero(last * spectrum.hop + spectrum.length);
  padded.segment(before, samples.size()) = samples;
  const Matrix<T> masks = model.forward(speech_features<T>(padded, spectrum), workspace);
  return apply_mask<T>(padded, masks, spectrum).segment(before, samples.size());
}

/// Removes noise from live speech:
///
///     DenoiseStream<float> stream(model);       // allocates all that it needs
///     stream.process(block, block);             // any number of samples; the output lags by latency()
///
/// The output starts with latency() zeros; the rest is bit-equal to denoise() on the whole sound, however the sound is divided
/// into blocks. Pass latency() zeros at the end to get the last samples. The stream has a workspace of its own, without an
/// engine. The model must outlive the stream. NaN and infinite samples count as 0: a failing microphone must not silence the
/// stream for good.
/// Errors: ArgumentError if two threads use the stream at the same time.
/// Cost: one step of the model and two transforms per hop; a call that completes no frame only copies samples. With valid
/// arguments, no call allocates memory, takes a lock, makes a system call or throws.
template <class T>
class DenoiseStream {
 public:
  explicit DenoiseStream(const SpeechDenoiser<T>& model)
      : model_(model),
        spectrum_(model.config.spectrum()),
        fourier_(spectrum_.length),
        sum_(spectrum_, spectrum_.length),
        frame_(spectrum_.length),
        ready_(spectrum_.hop),
        feature_(1, spectrum_.bins()),
        state_(model.start()),
        empty_(state_) {
    reset();
    run_frame();  // allocates the memory that later frames reuse
    reset();
  }

  /// The delay of the output in samples: the frame length minus 1.
  Index latency() const { return spectrum_.length - 1; }

  /// Reads the next samples from `in` and writes the same number of output samples to `out`, which may be `in`.
  /// Errors: ShapeError unless `out` is as long as `in`; the stream is then unchanged.
  void process(std::span<const T> in, std::span<T> out) GATED_NONBLOCKING {
    const detail::SingleThreadUse::Hold hold(use_);
    require<ShapeError>(in.size() == out.size(), "DenoiseStream::process: out has ", out.size(), " samples, expected ",
                        in.size(), ", the length of in.");
    for (std::size_t i = 0; i < in.size(); ++i) {
      frame_[filled_++] = std::isfinite(in[i]) ? in[i] : T{0};
      if (filled_ == frame_.size()) {
        run_frame();
      }
      out[i] = ready_[filled_ - (frame_.size() - spectrum_.hop)];
    }
  }

  /// Resets the stream, to start a new recording.
  void reset() GATED_NONBLOCKING {
    const detail::SingleThreadUse::Hold hold(use_);
    frame_.setZero();
    ready_.setZero();
    sum_.clear();
    state_ = empty_;
    filled_ = unheard_ = frame_.size() - spectrum_.hop;
  }

 private:
  /// Processes a full frame and copies its first `hop` output samples to ready_: no later frame covers them.
  void run_frame() {
    const detail::KernelChoice kernels(fourier_.form());
    const Index hop = spectrum_.hop, length = spectrum_.length;
    fourier_.rows.row(0) = (frame_.template cast<double>().array() * sum_.weights().array()).matrix();
    fourier_.forward(1);
    for (Index k = 0; k < feature_.cols(); ++k) {
      feature_(0, k) = static_cast<T>(speech_feature(detail::power(fourier_, 0, k)));
    }
    model_.extend(feature_, state_, feature_, workspace_);
    for (Index k = 0; k < feature_.cols(); ++k) {
      fourier_.real(0, k) *= static_cast<double>(feature_(0, k));
      fourier_.imaginary(0, k) *= static_cast<double>(feature_(0, k));
    }
    fourier_.inverse(1);
    sum_.add(0, &fourier_.rows(0, 0));
    for (Index t = 0; t < hop; ++t) {
      ready_[t] = unheard_ > 0 ? T{0} : sum_.template sample<T>(t);
      unheard_ -= unheard_ > 0 ? 1 : 0;
    }
    sum_.shift();
    std::copy(frame_.data() + hop, frame_.data() + length, frame_.data());
    filled_ = length - hop;
  }

  const SpeechDenoiser<T>& model_;
  SpectrumOptions spectrum_;
  detail::RealFourier fourier_;
  detail::OverlapAdd sum_;  // overlap-add sums for the samples of frame_
  Vector<T> frame_;         // the current frame, of which filled_ samples have arrived
  Vector<T> ready_;         // output samples until the next frame is full
  Matrix<T> feature_;
  State<T> state_, empty_;
  Workspace<T> workspace_;
  detail::SingleThreadUse use_{
      "DenoiseStream: two threads use it at the same time. Give each thread its own stream; threads may share the model."};
  Index filled_ = 0, unheard_ = 0;  // unheard_: samples of the initial silence that are not output yet
};

}  // namespace gated
