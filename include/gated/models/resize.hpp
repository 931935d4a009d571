#pragma once

#include "gated/core/words.hpp"
#include "gated/layers/token_glu.hpp"
#include "gated/layers/token_mlp.hpp"
#include "gated/layers/token_projection.hpp"
#include "gated/models/image_classifier.hpp"
#include "gated/models/language_model.hpp"
#include "gated/models/resize_rules.hpp"

/// @file
/// Converts a model to another number of tokens.
///
/// A gMLP is built for one length, because its spatial weight is N × N. The token MLPs of mixers have a fixed length, too.
/// These functions return a new model for another length and leave the given one unchanged. They convert the token mixers and
/// copy all other parameters. They accept stacks of gMLP or mixer blocks, and models around such a stack.

namespace gated {

/// How the spatial weights of an image model are converted to another grid of patches.
enum class GridResize {
  by_offset,  ///< shifts filters without scaling them: for larger or smaller images of objects of the same size
  bilinear    ///< scales filters with the image: for the same images at another resolution
};

constexpr auto names_of(GridResize) { return words_for<GridResize>("by_offset", "bilinear"); }

/// How weights are converted to another length.
enum class LengthResize {
  exact,     ///< keeps the weights between tokens that both lengths have; ArgumentError if impossible
  by_offset  ///< exact if possible; otherwise moves or repeats filters: see the table at resize_length()
};

constexpr auto names_of(LengthResize) { return words_for<LengthResize>("exact", "by_offset"); }

namespace detail {

/// Raises the errors of resize_grid().
template <class T>
void expect_resizable(const SpatialProjection<T>& from, ImageSize old_grid, ImageSize new_grid, GridResize method) {
  require<ArgumentError>(old_grid.height > 0 && old_grid.width > 0 && new_grid.height > 0 && new_grid.width > 0,
                         "resize_grid: from ", old_grid.height, " × ", old_grid.width, " to ", new_grid.height, " × ",
                         new_grid.width, " patches: all must be positive.");
  require<ShapeError>(old_grid.area() <= from.config.length, "resize_grid: a grid of ", old_grid.height, " × ", old_grid.width,
                      " has ", old_grid.area(), " patches, expected at most ", from.config.length,
                      ", the length of the projection.");
  from.expect_square("resize_grid");
  require<ArgumentError>(from.config.form == SpatialForm::dense, "resize_grid: the spatial weights are ",
                         name_of(from.config.form),
                         ", expected dense: Toeplitz weights have no two-dimensional filters. Use resize_length().");
  require<ArgumentError>(method == GridResize::by_offset || !from.config.causal,
                         "resize_grid: bilinear filters cross the causal mask. Use by_offset.");
}

}  // namespace detail

/// Converts a spatial projection from the patches of `old_grid` to those of `new_grid`: see the overload for models below.
///
/// Other tokens, such as a class token, precede the patches.
/// Errors: ArgumentError for weights that are not dense, bilinear resizing of causal weights, and empty grids; ShapeError if
/// `old_grid` has more patches than the projection has tokens.
template <class T>
SpatialProjection<T> resize_grid(const SpatialProjection<T>& from, ImageSize old_grid, ImageSize new_grid, GridResize method) {
  if (from.weight.size() == 0) {  // GateForm::identity
    return from;
  }
  detail::expect_resizable(from, old_grid, new_grid, method);
  const Index old_patches = old_grid.area(), new_patches = new_grid.area(), others = from.config.length - old_patches;
  if (old_grid == new_grid) {
    return from;
  }
  const bool moving = method == GridResize::by_offset;
  const auto down = detail::same_place(old_grid.height, new_grid.height);
  const auto across = detail::same_place(old_grid.width, new_grid.width);
  const Matrix<T> positions =
      moving ? detail::on_grid(detail::selection<T>(down, old_grid.height), detail::selection<T>(across, old_grid.width))
             : detail::on_grid(detail::interpolation<T>(old_grid.height, new_grid.height),
                               detail::interpolation<T>(old_grid.width, new_grid.width));
  const Matrix<T> targets = detail::on_grid(detail::redistribution<T>(old_grid.height, new_grid.height),
                                            detail::redistribution<T>(old_grid.width, new_grid.width));
  auto config = from.config;
  config.length = others + new_patches;
  SpatialProjection<T> to(config);
  for (Index head = 0; head < config.heads; ++head) {
    const auto w = from.weight.middleRows(head * from.config.length, from.config.length);
    auto resized = to.weight.middleRows(head * config.length, config.length);
    const ConstView<T> filters = w.bottomRightCorner(old_patches, old_patches);
    resized.bottomRightCorner(new_patches, new_patches) =
        moving ? detail::move_filters<T>(filters, old_grid, new_grid, down, across)
               : detail::multiplied<T>(detail::multiplied<T>(positions, filters), transposed(targets));
    if (others > 0) {
      resized.topLeftCorner(others, others) = w.topLeftCorner(others, others);
      resized.topRightCorner(others, new_patches) =
          detail::multiplied<T>(ConstView<T>(w.topRightCorner(others, old_patches)), transposed(targets));
      resized.bottomLeftCorner(new_patches, others) =
          detail::multiplied<T>(positions, ConstView<T>(w.bottomLeftCorner(old_patches, others)));
    }
  }
  to.bias.leftCols(others) = from.bias.leftCols(others);
  to.bias.rightCols(new_patches) = detail::multiplied<T>(ConstView<T>(from.bias.rightCols(old_patches)), transposed(positions));
  return to;
}

/// Overload for the linear token mixer of a ResMLP, whose weight is a spatial weight.
template <class T>
TokenProjection<T> resize_grid(const TokenProjection<T>& from, ImageSize old_grid, ImageSize new_grid, GridResize method) {
  TokenProjection<T> to = from;
  to.proj = resize_grid(from.proj, old_grid, new_grid, method);
  to.config.length = to.proj.config.length;
  return to;
}

namespace detail {

/// Raises ArgumentError unless `method` is bilinear.
inline void expect_stretching(GridResize method) {
  require<ArgumentError>(method == GridResize::bilinear, "resize_grid: an MLP over tokens has no filters to move. Use ",
                         name_of(GridResize::bilinear), ".");
}

}  // namespace detail

/// Overload for the token MLP of an MLP-Mixer or a ViT-FF: W₁' = W₁ Bᵀ, W₂' = A W₂, b₂' = A b₂, with A and B as in the overload
/// for models below. A also interpolates the norm's parameters. Without a norm, the hidden activations of a single-colour
/// picture do not change.
/// Errors: ArgumentError for by_offset, for an empty grid, and if `old_grid` has more patches than the layer has tokens.
template <class T>
TokenMlp<T> resize_grid(const TokenMlp<T>& from, ImageSize old_grid, ImageSize new_grid, GridResize method) {
  detail::expect_stretching(method);
  const detail::GridRule<T> rule(from.config.length, old_grid, new_grid);
  if (old_grid == new_grid) {
    return from;
  }
  auto config = from.config;
  config.length = rule.reading.rows();
  TokenMlp<T> to(config);
  to.proj_in = rule.input(from.proj_in);
  to.proj_out = rule.output(from.proj_out);
  if (from.norm) {
    to.norm->weight = detail::multiplied<T>(rule.reading, ConstView<T>(from.norm->weight));
    to.norm->bias = detail::multiplied<T>(rule.reading, ConstView<T>(from.norm->bias));
  }
  return to;
}

/// Overload for the gated feed-forward over tokens of a gMixer.
template <class T>
TokenGlu<T> resize_grid(const TokenGlu<T>& from, ImageSize old_grid, ImageSize new_grid, GridResize method) {
  detail::expect_stretching(method);
  const detail::GridRule<T> rule(from.config.length, old_grid, new_grid);
  if (old_grid == new_grid) {
    return from;
  }
  auto config = from.config;
  config.length = rule.reading.rows();
  TokenGlu<T> to(config);
  to.gate = rule.input(from.gate);
  to.up = rule.input(from.up);
  to.proj_out = rule.output(from.proj_out);
  return to;
}

/// Converts `model` to another image size, with the same patch size. To go from 224 to 384 pixels, the gMLP paper "tiles" the
/// spatial kernels and fine-tunes, but it does not state the rule (arXiv:2105.08050 and its discussion on OpenReview).
///
/// W' and b' are the new weight and bias. In each dimension, the old grid has n patches and the new one n'.
/// * by_offset: W'[p', p' + Δ] = W[p, p + Δ], and 0 if p + Δ is outside the old grid; b'[p'] = b[p]. For the new patch p', the
///   old patch at the same place in the image is p = ⌊(p' + 1/2) n / n'⌋ in each dimension. Filters move as a whole: on a
///   larger grid, each row keeps its sum. A translation-invariant W stays translation-invariant, bit for bit, wherever p + Δ is
///   in the old grid. On a smaller grid, this holds everywhere.
/// * bilinear: W' = A W Bᵀ and b' = A b. A interpolates bilinearly between patch centres (align_corners = false), one dimension
///   after the other. B is A with each column scaled to sum to 1; on a coarser grid, the interpolation filter of B is wider by
///   the factor n / n'. Row sums are interpolated: W' 1 = A (W 1).
/// A class token c keeps W[c, c] and b[c]. W'[p', c] is W[p, c] for by_offset; bilinear interpolates W[·, c] with A. With both
/// methods, the class token's new weights on the patches are B times the old ones.
///
/// In mixer blocks only the token mixers change. A TokenProjection is resized like a spatial weight; TokenMlp and TokenGlu
/// support only `bilinear`.
/// The parameters of learned positions do not change; the forward pass interpolates them to the new grid.
///
/// Exact: resizing to the same grid keeps every bit. Accuracy: neither method replaces fine-tuning. For example, the model of
/// examples/classify_digits has an accuracy of 98.3 % at 8 × 8 patches of one pixel. Without fine-tuning, it reaches 96.9 %
/// with bilinear and 45.1 % with by_offset on digits scaled to 12 × 12. On digits padded to 9 × 9 by a black line below and on
/// the right, it reaches 70.5 % with bilinear and 81.9 % with by_offset.
/// Errors: ArgumentError for an image smaller than a patch, for spatial weights that are not dense,
/// and for bilinear resizing of causal weights.
/// Cost, with N tokens before and N' after: by_offset N'² copies per head and block, bilinear 2·N'·N·(N + N') flops.
template <class Block, class C>
ImageClassifier<Stack<Block, C>> resize_grid(const ImageClassifier<Stack<Block, C>>& model, ImageSize image,
                                             GridResize method) {
  const ImageSize patch = model.patch_embedding.patch;
  require<ArgumentError>(image.height >= patch.height && image.width >= patch.width, "resize_grid: the new image has ",
                         image.height, " × ", image.width, " pixels, expected at least those of a patch, ", patch.height, " × ",
                         patch.width, ".");
  auto config = model.config;
  config.image = image;
  config.trunk = config.sized_trunk();
  const ImageSize old_grid = model.patch_embedding.grid();
  const ImageSize new_grid{image.height / patch.height, image.width / patch.width};
  return detail::with_token_parts(model, config,
                                  [&](const auto& from) { return resize_grid(from, old_grid, new_grid, method); });
}

/// Converts a spatial projection to a sequence length of `length` tokens: see the overload for models below.
template <class T>
SpatialProjection<T> resize_length(const SpatialProjection<T>& from, Index length, LengthResize method = LengthResize::exact) {
  const Index old_length = from.config.length;
  const bool dense = from.config.form == SpatialForm::dense;
  require<ArgumentError>(length > 0, "resize_length: length = ", length, ", expected at least one token.");
  if (from.weight.size() == 0) {  // GateForm::identity
    return from;
  }
  from.expect_square("resize_length");
  require<ArgumentError>(
      !dense || method == LengthResize::by_offset || length == old_length || (from.config.causal && length < old_length),
      "resize_length: from ", old_length, " to ", length, " tokens: the spatial weights are dense",
      from.config.causal ? "" : " and not causal",
      ", so no exact weight of this length exists. Use LengthResize::by_offset and fine-tune",
      length < old_length ? ", or set length_policy = slice." : ".");
  if (length == old_length) {
    return from;
  }
  auto config = from.config;
  config.length = length;
  SpatialProjection<T> to(config);
  const auto positions =
      dense && !config.causal ? detail::same_place(old_length, length) : detail::same_start(old_length, length);
  if (dense) {
    for (Index head = 0; head < config.heads; ++head) {
      to.weight.middleRows(head * length, length) = detail::move_filters<T>(
          from.weight.middleRows(head * old_length, old_length), {1, old_length}, {1, length}, {0}, positions);
    }
  } else {  // Toeplitz: aligns the main diagonals, which are in column N - 1
    to.weight = detail::window(from.weight, old_length - length, to.weight.cols());
  }
  to.bias = detail::take_columns(from.bias, positions);
  to.position_x = detail::take_columns(from.position_x, positions);
  to.position_y = detail::take_columns(from.position_y, positions);
  return to;
}

/// Overload for the linear token mixer of a ResMLP.
template <class T>
TokenProjection<T> resize_length(const TokenProjection<T>& from, Index length, LengthResize method = LengthResize::exact) {
  TokenProjection<T> to = from;
  to.proj = resize_length(from.proj, length, method);
  to.config.length = length;
  return to;
}

/// Converts `model`, a stack of gMLP blocks or of mixer blocks with TokenProjection, to a sequence length of `length` tokens.
///
/// | spatial weight  | shorter                                  | longer                                                     |
/// |-----------------|------------------------------------------|------------------------------------------------------------|
/// | toeplitz        | the middle of w: W' = W[:n', :n']        | w with zeros on both sides: W'[:n, :n] = W                 |
/// | scaled_toeplitz | last n' values of w, first n' of x and y | w after leading zeros; x and y repeat their last values    |
/// | dense, causal   | the top-left corner: W' = W[:n', :n']    | by_offset only: W'[:n, :n] = W; the last filter repeats    |
/// | dense           | by_offset only: moved filters            | by_offset only: moved filters                              |
///
/// Here n and n' are the old and new lengths, w is the Toeplitz kernel, and x and y are its position scales. Exact, except for
/// non-causal dense weights: W' and W agree on all tokens that both lengths have. Biases are cut at the end or repeat their
/// last value. So a causal model keeps its output for the first min(n, n') tokens, also with by_offset. Non-causal dense
/// weights follow resize_grid() in one dimension: W'[i', i' + Δ] = W[i, i + Δ] with i = ⌊(i' + 1/2) n / n'⌋, and 0 if i + Δ
/// is outside the old length. This changes the output for every text. Accuracy: a shortened causal model computes the same as
/// before. A shortened model that is not causal sees truncated texts, unlike in training. A lengthened model looks no further
/// back than before and must be fine-tuned to use the new positions. The LengthPolicy is kept.
/// Errors: ArgumentError for length < 1, and for dense weights that need LengthResize::by_offset.
/// Cost: one copy of the parameters.
template <class Block, class C>
Stack<Block, C> resize_length(const Stack<Block, C>& model, Index length, LengthResize method = LengthResize::exact) {
  auto config = model.config;
  detail::for_each_length(config, [&](Index& own) { own = length; });
  return detail::with_token_parts(model, config, [&](const auto& from) { return resize_length(from, length, method); });
}

/// Overload for a language model.
template <class Block, class C>
LanguageModel<Stack<Block, C>> resize_length(const LanguageModel<Stack<Block, C>>& model, Index length,
                                             LengthResize method = LengthResize::exact) {
  auto config = model.config;
  detail::for_each_length(config.trunk, [&](Index& own) { own = length; });
  return detail::with_token_parts(model, config, [&](const auto& from) { return resize_length(from, length, method); });
}

}  // namespace gated
