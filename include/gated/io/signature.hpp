#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "gated/core/contract.hpp"
#include "gated/core/stream.hpp"
#include "gated/io/safetensors.hpp"
#include "gated/io/xxh64.hpp"
#include "gated/models/gmlp.hpp"
#include "gated/models/prepare.hpp"
#include "gated/ops/embedding.hpp"
#include "gated/ops/int8_products.hpp"

/// @file
/// Signatures: hashes of a model's outputs, to verify that it computes the same bits here as elsewhere.

namespace gated {

/// Options of a signature. Every signature covers forward() and, if the model streams, steps of one token.
struct SignatureOptions {
  /// Also covers forward() with int8_rows weights and int8_products(), which asks the system for permission to use AMX. For
  /// float models only.
  bool int8_products = false;
};

namespace detail {

/// A hash of matrix elements, row by row, or of token ids. All NaNs have the same hash.
class NumberHash {
 public:
  void add(const std::vector<Index>& ids) {
    add(Matrix<double>(Eigen::Map<const Vector<Index>>(ids.data(), static_cast<Index>(ids.size())).cast<double>()));
  }
  template <class T>
  void add(const Matrix<T>& x) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    for (Index i = 0; i < x.rows(); ++i) {
      for (Index j = 0; j < x.cols(); ++j) {
        auto bits = Eigen::numext::bit_cast<Bits>(std::isnan(x(i, j)) ? std::numeric_limits<T>::quiet_NaN() : x(i, j));
        std::array<std::byte, sizeof(T)> bytes;
        for (std::byte& byte : bytes) {
          byte = static_cast<std::byte>(bits & 255u);
          bits >>= 8;
        }
        hash_.add(bytes);
      }
    }
  }
  std::uint64_t value() const { return hash_.value(); }

 private:
  Xxh64 hash_;
};

/// Lengths of the input's two sequences: 128 tokens (2 rows if the model mixes no tokens), and half of that. The model's length
/// limits may change them or leave only one.
inline std::vector<Index> signature_lengths(const Contract& contract) {
  const auto fit = [&](Index length) {
    const Index multiple = contract.multiple;
    return std::max({(contract.shortest + multiple - 1) / multiple, std::min(length, contract.longest) / multiple, Index{1}}) *
           multiple;
  };
  const Index whole = fit(contract.mixes_tokens() ? 128 : 2), half = fit(whole / 2);
  return half < whole && contract.takes_length(half) ? std::vector{whole, half} : std::vector{whole};
}

template <class Model>
concept ReadsTokens = requires(const Model& model) {
  model.config.vocabulary;
};

/// Pseudo-random input: elements uniform in [-2, 2), or token ids for a language model.
template <class Model>
auto signature_input(const Model& model, Index rows, Random& random) {
  using T = typename Model::Scalar;
  if constexpr (ReadsTokens<Model>) {
    std::vector<Index> ids(static_cast<std::size_t>(rows));
    for (Index& id : ids) {
      id = static_cast<Index>(random.uniform() * static_cast<double>(model.config.vocabulary));
      id = id == model.config.pad_token ? (id + 1) % model.config.vocabulary : id;  // streams accept no padding
    }
    return ids;
  } else {
    Matrix<T> x(rows, model.in() == Contract::any ? 8 : model.in());
    fill_uniform(x, 2.0, random);
    return x;
  }
}

/// A model whose forward() takes options besides x and its sequences: a TinyTimeMixer.
template <class Model>
concept TakesOptions = requires {
  typename Model::template Options<Batch<typename Model::Scalar>>;
};

/// The outputs of forward(), with pseudo-random frequency tokens and known futures if the model takes them.
template <class Model, class Input, class T = typename Model::Scalar>
Matrix<T> signature_output(const Model& model, const Input& x, const Sequences& sequences, Workspace<T>& workspace) {
  if constexpr (TakesOptions<Model>) {
    Random random(2);
    std::vector<Index> resolution;
    Matrix<T> future;
    for (Index i = 0; model.config.resolutions > 0 && i < sequences.count(); ++i) {
      resolution.push_back(static_cast<Index>(random.uniform() * static_cast<double>(model.config.resolutions)));
    }
    typename Model::template Options<Batch<T>> options{.resolution = resolution};
    if (!model.config.known.empty()) {
      future.resize(sequences.total(), model.out());
      fill_uniform(future, 2.0, random);
      options.future = RunMatrix<T>(input_view<T>(future));
    }
    return model.forward(x, sequences, workspace, options);
  } else {
    return model.forward(x, sequences, workspace);
  }
}

inline Tokens rows_of_input(const std::vector<Index>& ids, Index first, Index count) {
  return Tokens(ids).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
}
template <class T>
ConstView<T> rows_of_input(const Matrix<T>& x, Index first, Index count) {
  return x.middleRows(first, count);
}

/// Adds the outputs of forward() and, if the model has a pooler or classes, of pooled().
template <class Model, class Input, class T = typename Model::Scalar>
void hash_outputs(NumberHash& hash, const Model& model, const Input& x, const Sequences& sequences, Workspace<T>& workspace) {
  hash.add(signature_output(model, x, sequences, workspace));
  if constexpr (requires { model.config.pooler; }) {
    if (model.config.pooler || model.config.classes > 0) {
      hash.add(Matrix<T>(model.pooled(x, sequences, workspace)));
    }
  }
}

/// Adds the outputs of a stream that reads the first `length` tokens of x one by one.
template <class Model, class Input, class T = typename Model::Scalar>
void hash_steps(NumberHash& hash, const Model& model, const Input& x, Index length, Workspace<T>& workspace) {
  State<T> state = model.start(length);
  const Contract contract = model.contract();
  Matrix<T> y(1, contract.output_columns(contract.in));
  for (Index t = 0; t < length; ++t) {
    model.extend(rows_of_input(x, t, 1), state, y, workspace);
    hash.add(y);
  }
}

}  // namespace detail

/// The signature of `model`: XXH64 of its outputs for a fixed pseudo-random input. The outputs are computed in portable
/// arithmetic (use_arithmetic()), whatever arithmetic the program uses otherwise. The signature is the same on every machine,
/// with every compiler and number of threads.
///
/// The input is two sequences of up to 128 and 64 tokens, or longer ones if the model requires them. If the model mixes no
/// tokens, the input is three rows. Frequency tokens and known futures of a TinyTimeMixer are pseudo-random too; of a model
/// with a pooler or classes, pooled() is hashed too. Weights of later positions and of token ids absent from the input do not
/// affect the signature. `model` must have one input and own its weights, unlike models opened by load_prepared() and
/// load_mapped().
///
/// Errors: ArgumentError in a program without portable arithmetic; those of forward().
/// Cost: a forward pass and, if the model streams, a step per token of the first sequence; the weights are not prepared.
template <class Model>
std::uint64_t signature(const Model& model, const SignatureOptions& options = {}) {
  using T = typename Model::Scalar;
  detail::expect_portable_kernels("signature");
  const detail::KernelChoice portable(static_cast<int>(kernels()) + detail::portable_bit);
  const Contract contract = model.contract();
  const Sequences sequences = Sequences::of_lengths(detail::signature_lengths(contract));
  Random random(1);
  const auto x = detail::signature_input(model, sequences.total(), random);
  detail::NumberHash hash;
  Workspace<T> workspace;
  detail::hash_outputs(hash, model, x, sequences, workspace);
  if constexpr (requires { model.start(Index{}); }) {
    if (contract.streams() && contract.in != Contract::any) {
      detail::hash_steps(hash, model, x, sequences.length(0), workspace);
    }
  }
  if constexpr (std::is_same_v<T, float>) {
    if (options.int8_products) {
      const auto prepared = prepare(model, WeightFormat::int8_rows);
      workspace.use(prepared);
      workspace.use(int8_products());
      detail::hash_outputs(hash, model, x, sequences, workspace);
    }
  }
  return hash.value();
}

namespace detail {

/// A hash of the input that signature() gives to `model`.
template <class Model>
std::uint64_t hash_of_signature_input(const Model& model) {
  Random random(1);
  NumberHash hash;
  hash.add(signature_input(model, Sequences::of_lengths(signature_lengths(model.contract())).total(), random));
  return hash.value();
}

/// The signature of a small model whose weights are computed here. It depends on nothing but the arithmetic.
inline std::uint64_t signature_of_arithmetic() {
  Random random(1);
  return signature(Gmlp<float>({.length = 16, .channels = 16, .hidden = 32, .depth = 1, .attention_width = 8}, random));
}

}  // namespace detail

/// `signature` in 16 hexadecimal digits, as in files and in the output of gated_inspect.
inline std::string signature_text(std::uint64_t signature) { return detail::hash_text(signature); }

/// The signatures of `model` as metadata for save_model(). expect_signature() checks them:
///
///     save_model(model, "model.safetensors", signatures(model));
///     save_model(model, "small.safetensors", signatures(model, WeightFormat::int8), WeightFormat::int8);
///
/// Cost: that of two signatures for a float model, otherwise of one; a copy of the model if `format` is not float32.
template <class Model>
std::map<std::string, std::string> signatures(const Model& model, WeightFormat format = WeightFormat::float32) {
  if (format != WeightFormat::float32) {
    Model rounded = model;
    round_weights(rounded, format);
    return signatures(rounded);
  }
  std::map<std::string, std::string> metadata{{"signature", signature_text(signature(model))},
                                              {"signature_input", signature_text(detail::hash_of_signature_input(model))},
                                              {"signature_arithmetic", signature_text(detail::signature_of_arithmetic())}};
  if constexpr (std::is_same_v<typename Model::Scalar, float>) {
    metadata["signature_int8"] = signature_text(signature(model, {.int8_products = true}));
  }
  return metadata;
}

/// Checks that `model`, loaded from `file`, has the signatures that the file records.
///
/// Errors: FileError if the file is damaged, has no signature, or has a different one. The error says what differs from the
/// program that wrote the file: the input, the arithmetic, or else the model.
/// Cost: that of signatures().
template <class Model>
void expect_signature(const Model& model, const SafetensorsFile& file) {
  file.verify();
  const auto& metadata = file.metadata();
  require<FileError>(metadata.contains("signature") || metadata.contains("signature_int8"), file.name(),
                     ": no signature in the metadata. Save the model with signatures(model) as metadata.");
  for (const auto& [name, expected] : metadata) {
    if (name == "signature" || name == "signature_int8") {
      const std::string got = signature_text(signature(model, {.int8_products = name == "signature_int8"}));
      if (got == expected) {
        continue;
      }
      const auto differs = [&metadata](const char* entry, std::uint64_t here) {
        const auto there = metadata.find(entry);
        return there != metadata.end() && there->second != signature_text(here);
      };
      raise<FileError>(file.name(), ": the model's ", name, " is ", got, ", the file says ", expected,
                       differs("signature_input", detail::hash_of_signature_input(model))
                           ? ". The input differs: another version of gated wrote the file, or the model has other sizes."
                       : differs("signature_arithmetic", detail::signature_of_arithmetic())
                           ? ". The arithmetic differs: another version of gated wrote the file, or a compiler breaks IEEE 754 "
                             "(-ffast-math)."
                           : ". The model differs: it has other weights, another weight format or another scalar type.");
    }
  }
}

}  // namespace gated
