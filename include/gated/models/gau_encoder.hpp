#pragma once

#include <vector>

#include "gated/layers/embedding.hpp"
#include "gated/layers/gated_attention_unit.hpp"
#include "gated/layers/language_model_head.hpp"
#include "gated/layers/sinusoid_position.hpp"

/// @file
/// Text encoders made of gated attention units: FLASH-Quad and GAU-α.

namespace gated {

/// The options of a GAU encoder.
struct GauEncoderConfig {
  Index vocabulary = 0;                        ///< V
  Index token_types = 0;                       ///< kinds of segments (BERT's token_type_ids); 0 for none
  PositionForm position = PositionForm::none;  ///< what is added to the embeddings
  Index max_length = 0;                        ///< rows of the position table, if it is one
  NormForm embedding_norm = NormForm::none;    ///< behind the sum of the embeddings
  double embedding_norm_eps = 1e-5;            ///< ε of that norm
  Index pad_token = -1;                        ///< the id that is masked where no mask is given; -1 for none
  Index depth = 1;                             ///< layers
  GatedAttentionUnitConfig layer{};            ///< the options of each
  bool with_head = false;                      ///< masked-language-model logits; without, the output is the hidden states
  LanguageModelHeadConfig head{};              ///< of the logits, if there are any

  template <class C = GauEncoderConfig>
  static constexpr auto fields() {
    return std::tuple{setting("vocabulary", &C::vocabulary),
                      setting("token_types", &C::token_types),
                      setting("position", &C::position),
                      setting("max_length", &C::max_length),
                      setting("embedding_norm", &C::embedding_norm),
                      setting("embedding_norm_eps", &C::embedding_norm_eps),
                      setting("pad_token", &C::pad_token),
                      setting("depth", &C::depth),
                      setting("layer", &C::layer),
                      setting("with_head", &C::with_head),
                      setting("head", &C::head)};
  }
};

/// Embeddings (words, segments, positions) → norm → GAU layers → hidden states, or logits through a masked-language-model head.
/// arXiv:2202.10447, as JunnYu's FLASH-Quad and GAU-α build it (io/junnyu.hpp opens their checkpoints).
///
///     GauEncoder<float> model({.vocabulary = 12000, .depth = 24, .layer = gau_presets::gau_alpha(768)}, random);
///     Matrix<float> hidden = model.forward(tokens, Sequences::of_lengths({12, 7}), workspace);
///
/// Shapes: tokens, and types where given, hold the ids of all sequences one after the other; without types all are 0. The
/// output is tokens × C, or tokens × V with head. Errors: ArgumentError for an unknown id, ShapeError for sizes and masks;
/// nothing is written then. Cost: see GatedAttentionUnit.
template <class T>
struct GauEncoder {
  using Scalar = T;
  using Config = GauEncoderConfig;
  static constexpr const char* architecture = "gated.GauEncoder";

  GauEncoderConfig config;
  Embedding<T> embedding;
  std::optional<Embedding<T>> type_embedding;
  SinusoidPosition<T> position;
  Norm<T> embedding_norm;
  std::vector<GatedAttentionUnit<T>> layers;
  std::optional<LanguageModelHead<T>> head;

  GauEncoder() = default;
  /// Projections of zero, for a checkpoint to be loaded into.
  explicit GauEncoder(const GauEncoderConfig& c)
      : config(c),
        embedding(c.vocabulary, c.layer.channels),
        position(c.position, c.layer.channels, c.max_length, T{1} / std::sqrt(static_cast<T>(c.layer.channels))),
        embedding_norm(c.embedding_norm, c.layer.channels, c.embedding_norm_eps) {
    require<ArgumentError>(c.depth >= 0 && c.token_types >= 0, "GauEncoder: depth = ", c.depth,
                           " and token_types = ", c.token_types, " must not be negative.");
    require<ArgumentError>(c.layer.out == 0 || c.layer.out == c.layer.channels, "GauEncoder: layer.out = ", c.layer.out,
                           ", expected channels = ", c.layer.channels, " so that layers can be stacked.");
    if (c.token_types > 0) {
      type_embedding.emplace(c.token_types, c.layer.channels);
    }
    layers.reserve(static_cast<std::size_t>(c.depth));
    for (Index i = 0; i < c.depth; ++i) {
      layers.emplace_back(c.layer);
    }
    if (c.with_head) {
      head.emplace(c.head, c.layer.channels, c.vocabulary);
    }
  }
  /// The starting values of a training.
  GauEncoder(const GauEncoderConfig& c, Random& random) : GauEncoder(c) { initialize(random); }

  static constexpr auto fields() {
    using M = GauEncoder;
    return std::tuple{field("embedding", &M::embedding), field("type_embedding", &M::type_embedding),
                      field("position", &M::position),   field("embedding_norm", &M::embedding_norm),
                      field("layers", &M::layers),       field("head", &M::head)};
  }

  /// The starting values of a training.
  void initialize(Random& random) {
    embedding.initialize(random);
    if (type_embedding) {
      type_embedding->initialize(random);
    }
    for (auto& layer : layers) {
      layer.initialize(random);
    }
    if (head) {
      head->initialize(random);
    }
  }

  /// Columns of the output.
  Index out() const { return head ? config.vocabulary : config.layer.channels; }

  /// The hidden states (or logits) of every token of all sequences at once.
  void forward(Tokens tokens, const Sequences& sequences, View<T> output, Workspace<T>& workspace, Mask mask = {},
               Tokens types = {}) const {
    const auto count = static_cast<Index>(tokens.size());
    check(tokens, sequences, types);
    expect_shape<T>("GauEncoder::forward", "output", output, count, out());

    const auto frame = workspace.frame();
    MatrixMap<T> x = workspace.matrix(count, config.layer.channels);
    embedding.forward(tokens, x, workspace.at("embedding"));
    for (Index i = 0; type_embedding && i < count; ++i) {
      x.row(i) += type_embedding->weight.row(type_of(types, i));
    }
    position.add_to(x, sequences);
    embedding_norm.forward(x, x, workspace.at("embedding_norm"));

    const Mask visible = mask_or_padding(mask, tokens, workspace);
    for (std::size_t i = 0; i < layers.size(); ++i) {
      layers[i].forward(x, sequences, x, workspace.at("layers", static_cast<Index>(i)), visible);
    }
    if (head) {
      head->forward(x, embedding.weight, output, workspace.at("head"));
    } else {
      output = x;
    }
    workspace.show(output);
  }

  /// The same, into a new matrix.
  Matrix<T> forward(Tokens tokens, const Sequences& sequences, Workspace<T>& workspace, Mask mask = {},
                    Tokens types = {}) const {
    Matrix<T> output(static_cast<Index>(tokens.size()), out());
    forward(tokens, sequences, output, workspace, mask, types);
    return output;
  }

  /// Raises ShapeError unless forward() takes these sizes, and ArgumentError for an unknown type.
  void check(Tokens tokens, const Sequences& sequences, Tokens types) const {
    constexpr const char* where = "GauEncoder::forward";
    sequences.expect_total(where, static_cast<Index>(tokens.size()));
    position.expect_length(where, sequences.longest());
    require<ShapeError>(types.empty() || (type_embedding && types.size() == tokens.size()), where, ": types has ", types.size(),
                        " ids, expected ", type_embedding ? tokens.size() : 0, ".");
    if (type_embedding) {
      type_embedding->expect_known(where, types);
    }
  }

  /// The type of token i.
  static Index type_of(Tokens types, Index i) { return types.empty() ? 0 : types[static_cast<std::size_t>(i)]; }

  /// `mask`, or where it is empty and padding is masked, the mask that takes padding away, in memory that `memory.take()`
  /// gives, such as a workspace's.
  template <class Memory>
  Mask mask_or_padding(Mask mask, Tokens tokens, Memory& memory) const {
    if (!mask.empty() || config.pad_token < 0 || std::find(tokens.begin(), tokens.end(), config.pad_token) == tokens.end()) {
      return mask;
    }
    const auto scalars = (tokens.size() + sizeof(T) - 1) / sizeof(T);
    auto* const bytes = reinterpret_cast<std::uint8_t*>(memory.take(static_cast<Index>(scalars)));
    std::transform(tokens.begin(), tokens.end(), bytes,
                   [&](Index id) { return static_cast<std::uint8_t>(id == config.pad_token ? 0 : 1); });
    return Mask(bytes, tokens.size());
  }
};

}  // namespace gated
