#include "../front_ends.hpp"
#include "../inputs.hpp"

// The parameter-free parts of speech models: from sound to features, and from a mask of the spectrum to sound.

namespace parity {

namespace audio {

template <class T>
Result<T> result_of(const Matrix<T>& output) {
  Result<T> result;
  result.output = output;
  return result;
}

template <class T>
Result<T> run_features(const CaseFile& file) {
  return result_of<T>(gated::log_mel_features<T>(sound_of<T>(file), features_of(file)));
}

template <class T>
Result<T> run_mask(const CaseFile& file) {
  return result_of<T>(gated::apply_mask<T>(sound_of<T>(file), file.matrix<T>("mask"), spectrum_of(file)).transpose());
}

template <class T>
Result<T> run_mfcc(const CaseFile& file) {
  return result_of<T>(gated::mfcc<T>(sound_of<T>(file), mfcc_of(file)).transpose());  // the original has one column per frame
}

constexpr Family families[] = {{"mossformer2_frontend", "features", run_features<float>, run_features<double>},
                               {"mossformer2_frontend", "mask_to_audio", run_mask<float>, run_mask<double>},
                               {"kwmlp_frontend", "mfcc", run_mfcc<float>, run_mfcc<double>}};

}  // namespace audio

std::span<const Family> audio_families() { return audio::families; }

}  // namespace parity
