#pragma once

#include <algorithm>
#include <memory>
#include <new>
#include <span>

#include "gated/io/weight_in_file.hpp"
#include "gated/models/gmlp.hpp"
#include "gated/ops/matmul.hpp"
#include "gated/ops/norm.hpp"

/// @file
/// A KW-MLP that needs no heap: its weights stay in flash, and the caller provides the scratch memory.

namespace gated {

/// A KW-MLP (arXiv:2110.07749; kw_mlp() in models/presets.hpp) that reads its weights in place from the bytes of a file and
/// runs in the caller's memory. Neither its constructor nor forward() allocates, and forward() takes no lock and makes no
/// system call.
///
///     alignas(64) static std::byte memory[200'000];
///     const GmlpImageClassifierConfig config = …;                       // of the model in the file
///     InPlaceKwMlp model(file_in_flash, config, memory);                // needs required_bytes(config)
///     model.forward(coefficients, scores);                              // bit-equal to load_model(file).forward()
///
/// The file is written by save_model(), or by save_parameters() without a name map, as F32, BF16, or I8 with scales. Weights
/// are decoded a few rows at a time, so bf16 and int8 save flash without using more RAM. The scores are bit-equal to those of
/// a GmlpImageClassifier in the same arithmetic. With Arithmetic::portable, they are the same on every machine.
/// Shapes: `image` is tokens × patch width, prepared as for GmlpImageClassifier; `scores` is 1 × classes.
/// Errors: ArgumentError if the configuration is not a KW-MLP's. A KW-MLP's patches are rows of a one-channel image; it has
/// mean pooling, a head, NormPosition::res_post and split gates with one dense spatial weight, but no attention and no shift.
/// FileError if the file does not fit the configuration; its checksum is not verified. MemoryError if `memory` is too small.
/// ShapeError if `image` or `scores` has the wrong shape, or if `image` is part of a matrix with rows of a multiple of 1,024
/// values. One object serves one thread at a time.
/// Cost: that of GmlpImageClassifier, plus decoding each weight once per run.
class InPlaceKwMlp {
 public:
  /// The number of bytes of `memory` that the model needs.
  static std::size_t required_bytes(const GmlpImageClassifierConfig& config) {
    const Sizes sizes(config);
    return sizes.depth * sizeof(Block) + sizeof(float) * static_cast<std::size_t>(sizes.scratch()) + 2 * cache_line_bytes;
  }

  /// `file` and `memory` must outlive the model.
  InPlaceKwMlp(std::span<const std::byte> file, const GmlpImageClassifierConfig& config, std::span<std::byte> memory)
      : sizes_(config),
        activation_(config.trunk.activation),
        norm_eps_(config.trunk.norm_eps),
        gate_eps_(config.trunk.gate_norm_eps),
        workspace_(behind_blocks(memory)) {
    require<MemoryError>(memory.size() >= required_bytes(config), "InPlaceKwMlp: the memory has ", memory.size(),
                         " bytes, expected required_bytes() = ", required_bytes(config), ".");
    const SafetensorsView tensors(file);
    embedding_ = linear(tensors, "patch_embedding", sizes_.patch, sizes_.channels);
    for (std::size_t i = 0; i < sizes_.depth; ++i) {
      ::new (static_cast<void*>(blocks_ + i)) Block(block(tensors, static_cast<Index>(i)));
    }
    norm_ = norm(tensors, "norm", sizes_.channels, config.norm_eps);
    head_ = linear(tensors, "head", sizes_.channels, sizes_.classes);
  }

  /// Computes the class scores of one image.
  void forward(const ConstView<float>& image, View<float> scores) GATED_NONBLOCKING {
    require<ShapeError>(image.rows() == sizes_.tokens && image.cols() == sizes_.patch, "InPlaceKwMlp: the image is ",
                        image.rows(), " × ", image.cols(), ", expected ", sizes_.tokens, " tokens × ", sizes_.patch, ".");
    require<ShapeError>(!crowds<float>(image.outerStride()) || crowds<float>(sizes_.patch),
                        "InPlaceKwMlp: the image is part of a matrix with rows of ", image.outerStride(),
                        " values, a multiple of 1,024. Pass a copy: the product would make one.");
    expect_shape<float>("InPlaceKwMlp", "scores", scores, 1, sizes_.classes);
    const auto frame = workspace_.frame();
    const Index half = sizes_.hidden / 2;
    const MatrixView<float> x = workspace_.matrix(sizes_.tokens, sizes_.channels);
    const MatrixView<float> y = workspace_.matrix(sizes_.tokens, sizes_.channels);
    const MatrixView<float> z = workspace_.matrix(sizes_.tokens, sizes_.hidden);
    project(embedding_, MatrixView<const float>(image), x);
    for (std::size_t i = 0; i < sizes_.depth; ++i) {
      const Block& b = blocks_[i];
      project(b.in, x, z, activation_);               // N × F
      normalize(b.gate_norm, z.columns(half, half));  // N × F/2
      mix(b.spatial, z.columns(half, half), z.columns(0, half));
      project(b.out, z.columns(0, half), y);  // N × C
      normalize(b.norm, y);
      add(y, x);
    }
    normalize(norm_, x);
    float* const mean = workspace_.take(sizes_.channels);
    kernels<RowKernels<float>>().mean_of_rows(x.data, x.stride, x.rows(), x.columns(), mean);
    project(head_, MatrixView<const float>(mean, 1, sizes_.channels, sizes_.channels), scores);
  }

  /// Peak scratch memory of all runs so far, in bytes.
  std::size_t peak_bytes() const { return workspace_.peak_bytes(); }

 private:
  using Weight = detail::WeightInFile;
  using Name = detail::TensorName;

  /// A projection: y = x Wᵀ + b over the channels, or y = W x + b over the tokens.
  struct Affine {
    Weight weight, bias;
  };
  struct LayerNorm {
    Weight weight, bias;
    double eps = 0;
  };
  struct Block {
    Affine in, spatial, out;
    LayerNorm gate_norm, norm;
  };

  /// The number of weight rows decoded at a time.
  static constexpr Index rows_together = 16;

  /// The sizes of a KW-MLP.
  struct Sizes {
    Index tokens, patch, channels, hidden, classes;
    std::size_t depth;

    explicit Sizes(const GmlpImageClassifierConfig& c)
        : tokens(c.tokens()),
          patch(c.patch.width),
          channels(c.trunk.channels),
          hidden(c.trunk.hidden),
          classes(c.classes),
          depth(static_cast<std::size_t>(std::max<Index>(c.trunk.depth, 0))) {
      const auto& t = c.trunk;
      require<ArgumentError>(c.image_channels == 1 && c.patch.height == 1 && c.patch.width == c.image.width &&
                                 c.pooling == Pooling::mean && !c.stem_norm && !c.has_positions() && !c.pre_logits &&
                                 c.norm == NormForm::layer_norm && t.gate == GateForm::split &&
                                 t.spatial == SpatialForm::dense && !t.causal && t.heads == 1 && t.attention_width == 0 &&
                                 t.token_shift == 0 && t.norm_position == NormPosition::res_post &&
                                 t.gate_activation == Activation::identity,
                             "InPlaceKwMlp: the configuration is not a KW-MLP's. See kw_mlp().");
      require<ArgumentError>(tokens > 0 && channels > 0 && hidden > 0 && hidden % 2 == 0 && classes > 0 && patch > 0,
                             "InPlaceKwMlp: ", tokens, " tokens, ", channels, " channels, hidden = ", hidden, " and ", classes,
                             " classes, expected positive sizes and an even hidden size.");
    }

    /// The number of scratch floats that a run needs.
    Index scratch() const {
      const Index half = hidden / 2, depth_of_products = std::max({patch, channels, half, tokens});
      const Index matrices = tokens * (2 * row_stride<float>(channels) + row_stride<float>(hidden));
      const Index panel = kernels<ProductKernels<float>>().panel_columns, panels = (rows_together + panel - 1) / panel;
      const bool in_slabs = tokens >= detail::gemm::slab_rows(Threads{1});
      const Index product = rows_together * row_stride<float>(depth_of_products) + std::max({hidden, tokens, classes}) +
                            detail::gemm::thread_scratch<float>(depth_of_products) +
                            (in_slabs ? (panels - 1) * panel * depth_of_products : 0) +
                            (crowds<float>(patch) ? tokens * row_stride<float>(patch) : 0);  // see multiply()
      constexpr Index rounding = 16 * cache_line_bytes / Index{sizeof(float)};
      return matrices + std::max(product, 2 * std::max(channels, half)) + channels + rounding;
    }
  };

  static Affine linear(const SafetensorsView& file, Name name, Index in, Index out) {
    return {Weight(file, name + ".weight", out, in), Weight(file, name + ".bias", out, 1)};
  }
  static LayerNorm norm(const SafetensorsView& file, Name name, Index channels, double eps) {
    return {Weight(file, name + ".weight", channels, 1), Weight(file, name + ".bias", channels, 1), eps};
  }
  Block block(const SafetensorsView& file, Index i) const {
    const Name name = Name("trunk.blocks.").append(i);
    const Index half = sizes_.hidden / 2;
    return {linear(file, name + ".proj_in", sizes_.channels, sizes_.hidden),
            linear(file, name + ".gate.proj", sizes_.tokens, sizes_.tokens),
            linear(file, name + ".proj_out", half, sizes_.channels), norm(file, name + ".gate.norm", half, gate_eps_),
            norm(file, name + ".norm", sizes_.channels, norm_eps_)};
  }

  /// Places blocks_ at the start of `memory`, and returns the memory after it.
  std::span<std::byte> behind_blocks(std::span<std::byte> memory) {
    void* first = memory.data();
    std::size_t room = memory.size();
    const std::size_t bytes = sizes_.depth * sizeof(Block);
    if (std::align(alignof(Block), bytes, first, room) == nullptr) {
      return {};
    }
    blocks_ = static_cast<Block*>(first);
    return {static_cast<std::byte*>(first) + bytes, room - bytes};
  }

  /// Decodes a weight in groups of rows and calls `multiply(first, rows, bias)` for each group, which starts at row `first`.
  template <class F>
  void for_each_rows(const Affine& layer, const F& multiply) {
    const auto frame = workspace_.frame();
    const Index count = layer.weight.rows();
    float* const bias = workspace_.take(count);
    layer.bias.read(bias);
    const MatrixView<float> room = workspace_.matrix(std::min(rows_together, count), layer.weight.columns());
    for (Index first = 0; first < count; first += room.rows()) {
      const MatrixView<float> rows = room.rows(0, std::min(room.rows(), count - first));
      layer.weight.read(first, rows);
      multiply(first, rows, bias + first);
    }
  }

  /// y = activation(x Wᵀ + b).
  void project(const Affine& layer, const MatrixView<const float>& x, const MatrixView<float>& y,
               Activation activation = Activation::identity) {
    for_each_rows(layer, [&](Index first, const MatrixView<float>& rows, const float* bias) {
      matmul<float>(x, Operand<float>(rows).transposed(), y.columns(first, rows.rows()), workspace_,
                    {.bias = bias, .activation = activation});
    });
  }

  /// y = (W x + b) ⊙ y, over the tokens.
  void mix(const Affine& layer, const MatrixView<const float>& x, const MatrixView<float>& y) {
    for_each_rows(layer, [&](Index first, const MatrixView<float>& rows, const float* bias) {
      const MatrixView<float> to = y.rows(first, rows.rows());
      matmul<float>(rows, x, to, workspace_, {.row_bias = bias, .gate = to});
    });
  }

  void normalize(const LayerNorm& layer, const MatrixView<float>& x) {
    const auto frame = workspace_.frame();
    float* const weight = workspace_.take(x.columns());
    float* const bias = workspace_.take(x.columns());
    layer.weight.read(weight);
    layer.bias.read(bias);
    gated::normalize<float>(x, {NormForm::layer_norm, layer.eps, weight, bias}, x, workspace_);
  }

  /// y += x.
  static void add(const MatrixView<const float>& x, const MatrixView<float>& y) {
    for (Index i = 0; i < y.rows(); ++i) {
      for (Index j = 0; j < y.columns(); ++j) {
        y.data[i * y.stride + j] += x.data[i * x.stride + j];
      }
    }
  }

  Sizes sizes_;
  Activation activation_;
  double norm_eps_, gate_eps_;
  Block* blocks_ = nullptr;
  Workspace<float> workspace_;
  Affine embedding_, head_;
  LayerNorm norm_;
};

}  // namespace gated
