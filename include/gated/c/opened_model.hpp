#pragma once

#include <algorithm>
#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gated/io/image_input.hpp"
#include "gated/io/known_models.hpp"
#include "gated/io/labels.hpp"
#include "gated/io/prepared_model.hpp"

/// @file
/// Any known model (io/known_models.hpp), behind one virtual interface.

namespace gated::c_interface {

/// Which rows of the output a call computes: gated_rows in C.
enum class OutputRows { all, last, pooled };

/// The input of a call: gated_input in C, with its pointers checked.
struct ModelInput {
  const char* where = "";                   ///< the called function, for error messages
  MatrixView<const float> values = {};      ///< empty if the model reads tokens
  Tokens tokens = {};                       ///< token ids; for a TinyTimeMixer, frequency tokens, of which the first are read
  Tokens types = {};                        ///< segment ids
  std::optional<Sequences> sequences = {};  ///< the caller's split of the rows into sequences
  Mask mask = {};                           ///< hidden rows
  OutputRows rows = OutputRows::all;        ///< which rows to compute
  const ModelInput* other = nullptr;        ///< a second sequence: keys, values or known future covariates

  /// Raises ArgumentError if the input `member`, which the model does not use, is set.
  void expect_unset(bool is_set, const char* member) const {
    require<ArgumentError>(!is_set, where, ": input->", member, " is set, but this model does not use it. Leave it NULL.");
  }
  /// Raises ArgumentError if any member but `values` is set. `member` is this input's name in messages.
  void expect_only_values(const char* member) const {
    const bool has_more = !tokens.empty() || !types.empty() || sequences || !mask.empty() || other != nullptr;
    require<ArgumentError>(!has_more, where, ": ", member, " may only have values. Leave its other pointers NULL.");
  }
};

/// The architecture, inputs and outputs of a model: gated_description in C.
struct ModelDescription {
  std::string architecture = {}, config = {}, signature = {};
  Contract contract = {};
  bool reads_tokens = false;
  Index vocabulary = 0, outputs = 0, pooled_outputs = 0, parameters = 0, image_channels = 0;
  ImageSize image{0, 0};
  std::vector<std::string> labels = {};
};

/// A model whose type is known only at run time.
class OpenedModel {
 public:
  explicit OpenedModel(ModelDescription description) : description_(std::move(description)) {}
  virtual ~OpenedModel() = default;
  OpenedModel(const OpenedModel&) = delete;
  OpenedModel& operator=(const OpenedModel&) = delete;

  const ModelDescription& description() const { return description_; }
  const Contract& contract() const { return description_.contract; }

  /// True if start() succeeds for some capacity.
  virtual bool streams() const = 0;
  /// The packed weights. Pass them to Workspace::use() of each workspace for this model.
  virtual const PreparedWeights<float>& weights() const = 0;
  /// Rows and columns of the output of forward().
  virtual std::pair<Index, Index> output_shape(const ModelInput& input) const = 0;
  /// y = model(input).
  virtual void forward(const ModelInput& input, View<float> y, Workspace<float>& workspace) const = 0;
  /// The state before the first row.
  /// Errors: ArgumentError if the model does not stream.
  virtual State<float> start(Index capacity) const = 0;
  /// y = the outputs of the next rows.
  virtual void extend(const ModelInput& input, State<float>& state, View<float> y, Workspace<float>& workspace) const = 0;
  /// Converts `picture` to an input row of the model, and writes it to `row`.
  virtual void prepare_image(const PixelView& picture, View<float> row) const = 0;

 protected:
  /// The caller's split of `rows` rows into sequences. Without one, every `length` rows form a sequence; if `length` is 0 or
  /// does not divide `rows`, all rows form one.
  static Sequences sequences_of(const ModelInput& input, Index rows, Index length) {
    if (input.sequences) {
      return *input.sequences;
    }
    return length > 0 && rows % length == 0 ? Sequences::uniform(rows / length, length) : Sequences::single(rows);
  }
  /// sequences_of() with the model's sequence length, or with 0 if the model accepts several lengths.
  Sequences sequences_of(const ModelInput& input, Index rows) const {
    return sequences_of(input, rows, contract().longest == contract().shortest ? contract().longest : 0);
  }

 private:
  const ModelDescription description_;
};

template <class Model>
concept ReadsImages = requires(const Model& model) {
  ImageInput<float>(model.config);
};

/// OpenedModel for the type `Model`.
template <class Model>
class Opened final : public OpenedModel {
  static constexpr bool reads_tokens = requires(const Model& model) { model.config.vocabulary; };
  static constexpr bool forecasts = std::same_as<Model, TinyTimeMixer<float>>;
  static constexpr bool attends_to_others = std::same_as<Model, GatedCrossAttention<float>>;
  static constexpr bool separates = std::same_as<Model, SpeechSeparator<float>>;
  static constexpr bool can_start = !attends_to_others && !separates && requires(const Model& model) { model.start(Index{}); };

 public:
  Opened(PreparedModel<Model> opened, const SafetensorsFile& file)
      : OpenedModel(describe(opened.model, file)), opened_(std::move(opened)) {}

  const PreparedWeights<float>& weights() const override { return opened_.weights; }

  std::pair<Index, Index> output_shape(const ModelInput& input) const override {
    const Index rows = input.values.rows(), columns = input.values.columns();
    if constexpr (reads_tokens) {
      const auto tokens = static_cast<Index>(input.tokens.size());
      switch (input.rows) {
        case OutputRows::pooled:
          return {sequences_of(input, tokens).count(), description().pooled_outputs};
        case OutputRows::last:
          return {std::min<Index>(tokens, 1), model().out()};
        case OutputRows::all:
          return {tokens, model().out()};
      }
    }
    if constexpr (forecasts) {
      return {model().output_rows(rows), model().out()};
    } else if constexpr (separates) {
      return {rows, (Count(model().config.masks.speakers) * columns).value()};
    } else {
      return {contract().output_rows(rows), contract().output_columns(columns)};
    }
  }

  void forward(const ModelInput& input, View<float> y, Workspace<float>& workspace) const override {
    const MatrixView<const float> x = input.values;
    expect_used(input);
    if constexpr (reads_tokens) {
      const Sequences sequences = sequences_of(input, static_cast<Index>(input.tokens.size()));
      if (input.rows == OutputRows::pooled) {
        require<ArgumentError>(input.mask.empty(), input.where,
                               ": pooled outputs do not support a mask. Remove the hidden tokens from the input.");
        return model().pooled(input.tokens, sequences, y, workspace, input.types);
      }
      model().forward(input.tokens, sequences, y, workspace, input.mask, input.types);
    } else if constexpr (forecasts) {
      const Sequences sequences = sequences_of(input, x.rows(), model().config.series);
      typename Model::template Options<Batch<float>> options;
      if (!input.tokens.empty()) {
        options.resolution = {input.tokens.data(), static_cast<std::size_t>(sequences.count())};
      }
      if (input.other != nullptr) {
        input.other->expect_only_values("input->other");
        options.future = RunMatrix<float>(input_view<float>(input.other->values));
      }
      model().forward(x, sequences, y, workspace, options);
    } else if constexpr (attends_to_others) {
      require<ArgumentError>(input.other != nullptr, input.where,
                             ": a GatedCrossAttention attends to another sequence. Pass it in `other`.");
      const ModelInput& key = *input.other;
      key.expect_unset(!key.tokens.empty(), "other->tokens");
      key.expect_unset(!key.types.empty(), "other->token_types");
      if (key.other != nullptr) {
        key.other->expect_only_values("input->other->other");
      }
      const MatrixView<const float> value = key.other == nullptr ? key.values : key.other->values;
      model().forward(x, sequences_of(input, x.rows()), key.values, value, sequences_of(key, key.values.rows()), y, workspace,
                      key.mask);
    } else if constexpr (separates) {
      model().forward(x, y, workspace);
    } else {
      model().forward(x, sequences_of(input, x.rows()), y, workspace, input.mask);
    }
  }

  bool streams() const override { return can_start && contract().streams() && contract().in != Contract::any; }

  State<float> start(Index capacity) const override {
    if constexpr (can_start) {
      return model().start(capacity);
    } else {
      expect_streaming({Model::name, "start"}, contract());
      raise<ArgumentError>(Model::name, "::start: this model cannot be streamed.");
    }
  }

  void extend(const ModelInput& input, State<float>& state, View<float> y, Workspace<float>& workspace) const override {
    expect_used(input);
    if constexpr (reads_tokens) {
      model().extend(input.tokens, state, y, workspace);
    } else if constexpr (can_start) {
      model().extend(input.values, state, y, workspace);
    }
  }

  void prepare_image(const PixelView& picture, View<float> row) const override {
    if constexpr (ReadsImages<Model>) {
      ImageInput<float>(model().config)(picture, row);
    } else {
      raise<ArgumentError>(Model::name, ": this model reads no pictures.");
    }
  }

 private:
  const Model& model() const { return opened_.model; }

  static void expect_used(const ModelInput& input) {
    constexpr bool has_mask = !forecasts && !attends_to_others && !separates;  // cross-attention uses the mask of `other`
    input.expect_unset(!has_mask && !input.mask.empty(), "mask");
    input.expect_unset(!reads_tokens && !forecasts && !input.tokens.empty(), "tokens");
    input.expect_unset(!reads_tokens && !input.types.empty(), "token_types");
    input.expect_unset(!forecasts && !attends_to_others && input.other != nullptr, "other");
    input.expect_unset(separates && input.sequences.has_value(), "lengths");
  }

  static ModelDescription describe(const Model& model, const SafetensorsFile& file) {
    ModelDescription d{.architecture = Model::architecture, .config = to_json(model.config), .contract = model.contract()};
    if (const auto found = file.metadata().find("signature"); found != file.metadata().end()) {
      d.signature = found->second;
    }
    d.labels = labels_of(file);
    d.parameters = parameter_count(model);
    d.outputs = d.contract.output_columns(d.contract.in);
    if constexpr (reads_tokens) {
      d.reads_tokens = true;
      d.vocabulary = model.config.vocabulary;
      d.pooled_outputs = model.classifier ? model.classifier->out() : model.trunk.out();
    }
    if constexpr (ReadsImages<Model>) {
      d.image = model.config.image;
      d.image_channels = model.config.image_channels;
    }
    const auto labels = static_cast<Index>(d.labels.size());
    require<FileError>(labels == 0 || labels == d.outputs || labels == d.pooled_outputs, file.name(), ": ", labels,
                       " labels, but the model has ", std::max(d.outputs, d.pooled_outputs), " outputs.");
    return d;
  }

  const PreparedModel<Model> opened_;
};

/// Opens the model in `file`, whatever its architecture, with weights in `format` (by default, the file's).
/// Errors: those of load_prepared(); FileError for an architecture that any_known_model() does not list.
inline std::unique_ptr<const OpenedModel> open_model(const SafetensorsFile& file, std::optional<WeightFormat> format) {
  const std::string architecture = architecture_of(file);
  std::unique_ptr<const OpenedModel> opened;
  any_known_model([&]<class Model>(const char*) {
    if (is_architecture_of<Model>(architecture)) {
      opened = std::make_unique<Opened<Model>>(load_prepared<Model>(file, format), file);
    }
    return opened != nullptr;
  });
  require<FileError>(opened != nullptr, file.name(), ": ",
                     architecture.empty() ? "no architecture in the metadata. Write the file with save_model() or convert.py."
                                          : text("its architecture \"", printable(architecture),
                                                 "\" is unknown to this library. Training runs can be opened only in C++."));
  return opened;
}

}  // namespace gated::c_interface
