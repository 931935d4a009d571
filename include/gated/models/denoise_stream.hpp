#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "gated/models/speech_denoiser.hpp"

/// @file
/// Speech without its noise: a whole recording at once, or sample by sample with a fixed delay. Both give the same bits.

namespace gated {

/// One channel of speech with its noise masked. The sound is processed as if silence came before and after it.
///
///     const auto model = load_model<SpeechDenoiser<float>>("denoise.safetensors");
///     Vector<float> clean = denoise<float>(model, noisy, workspace);   // at model.config.rate
///
/// Shapes: the result is as long as `samples`.
/// Errors: ShapeError for no samples.
/// Cost: the model's and two transforms per hop. Memory: 3 numbers per bin and frame.
template <class T>
Vector<T> denoise(const SpeechDenoiser<T>& model, const ConstSignal<T>& samples, Workspace<T>& workspace) {
  require<ShapeError>(samples.size() >= 1, "denoise: there are no samples.");
  const SpectrumOptions spectrum = model.config.spectrum();
  const Index before = spectrum.length - spectrum.hop;
  const Index last = (before + samples.size() - 1) / spectrum.hop;  // the last frame that covers a sample
  Vector<T> padded = Vector<T>::Zero(last * spectrum.hop + spectrum.length);
  padded.segment(before, samples.size()) = samples;
  const Matrix<T> masks = model.forward(speech_features<T>(padded, spectrum), workspace);
  return apply_mask<T>(padded, masks, spectrum).segment(before, samples.size());
}

/// Removes noise while sound comes in:
///
///     DenoiseStream<float> stream(model);       // allocates all that it needs
///     stream.process(block, block);             // any number of samples; as many come out, latency() samples later
///
/// The samples that come out, after the first latency() zeros, have the bits of denoise() on the whole sound, however it is
/// divided into blocks. The model must outlive the stream. A sample that is NaN or infinite counts as 0, as a microphone that
/// fails must not silence the stream for good.
/// Cost: one step of the model and two transforms per hop; a call that completes no frame copies its samples. After the first
/// frame no call allocates memory, takes a lock, makes a system call or throws.
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
    run_frame();  // takes the memory that later frames use
    reset();
  }

  /// Samples by which the output lags behind the input: a frame less one.
  Index latency() const { return spectrum_.length - 1; }

  /// Takes the next samples and returns as many. `out` may be `in`.
  /// Errors: ShapeError unless `out` is as long as `in`; nothing happens then.
  void process(std::span<const T> in, std::span<T> out) GATED_NONBLOCKING {
    require<ShapeError>(in.size() == out.size(), "DenoiseStream::process: out has ", out.size(), " samples, expected ",
                        in.size(), ", as many as come in.");
    for (std::size_t i = 0; i < in.size(); ++i) {
      frame_[filled_++] = std::isfinite(in[i]) ? in[i] : T{0};
      if (filled_ == frame_.size()) {
        run_frame();
      }
      out[i] = ready_[filled_ - (frame_.size() - spectrum_.hop)];
    }
  }

  /// Starts a new sound.
  void reset() GATED_NONBLOCKING {
    frame_.setZero();
    ready_.setZero();
    sum_.clear();
    state_ = empty_;
    filled_ = unheard_ = frame_.size() - spectrum_.hop;
  }

 private:
  /// Processes a full frame; the hop of samples that no later frame covers becomes ready.
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
  detail::OverlapAdd sum_;  // of the frames that cover frame_
  Vector<T> frame_;         // the last samples, of which filled_ are known
  Vector<T> ready_;         // the samples that come out until the next frame is full
  Matrix<T> feature_;
  State<T> state_, empty_;
  Workspace<T> workspace_;
  Index filled_ = 0, unheard_ = 0;  // unheard_ samples of the silence before the sound are still to come
};

}  // namespace gated
