// visualize_gates: draws the spatial weights of a gMLP, and measures how translation-invariant and local they are. See
// README.md.

#include <cstdio>

#include "common/filters.hpp"
#include "common/run_main.hpp"
#include "drawing.hpp"
#include "options.hpp"
#include "subject.hpp"

namespace {

using gated::Index, gated::Matrix;

void draw(const std::string& path, const std::string& title, const Matrix<float>& weights, const gates::Subject& subject,
          const std::vector<Index>& rows) {
  const gated::ImageSize grid = subject.is_text() ? gated::ImageSize{1, weights.rows()} : subject.grid;
  examples::Figure figure = !rows.empty()       ? gates::draw_rows(weights, grid, rows)
                            : subject.is_text() ? gates::draw_matrix(weights)
                                                : gates::draw_filters(weights, grid);
  figure.title = title;
  figure.full_colour = static_cast<double>(examples::full_colour(weights));
  figure.colour_title = "weight: red adds, blue subtracts";
  examples::write_svg(path, figure);
}

int run(const gates::Options& options) {
  const gates::Subject subject = gates::open_subject(options);
  const Index blocks = static_cast<Index>(subject.projections.size());
  gated::require<gated::ArgumentError>(options.block.value_or(0) < blocks, "--block ", options.block.value_or(0),
                                       ": there are ", blocks, " blocks, counted from 0.");
  std::printf("%s: %s\n\n", options.checkpoint.filename().string().c_str(), subject.description.c_str());

  const auto windows = subject.is_text() ? std::vector<Index>{5, 9, 17, 33, 65} : std::vector<Index>{3, 5, 9};
  const auto size_of = [&](Index window) {
    return subject.is_text() ? gated::text(window) : gated::text(window, " x ", window);
  };
  std::printf("%-6s Toeplitz error in windows of\n%-6s", "", "block");
  for (const Index window : windows) {
    std::printf("%7s", size_of(window).c_str());
  }
  std::printf("   energy in %-5s  mean |W|  bias               full colour  picture\n", size_of(3).c_str());

  for (Index block = options.block.value_or(0); block <= options.block.value_or(blocks - 1); ++block) {
    const auto& projection = subject.projections[static_cast<std::size_t>(block)];
    for (Index head = 0; head < projection.config.heads; ++head) {
      const std::string label = projection.config.heads > 1 ? gated::text(block, ".", head) : gated::text(block);
      const Matrix<float> weights = gated::patch_weight(projection, head, subject.grid);
      const auto bias = projection.bias.row(head);
      const std::string picture = gated::text(options.out, "_block", label, ".svg");
      std::printf("%-6s", label.c_str());
      for (const Index window : windows) {
        std::printf("%5.0f %%", 100 * gated::toeplitz_error<float>(weights, subject.grid, window));
      }
      std::printf("%16.0f %%    %.4f  %6.3f .. %-6.3f  +-%-9.3g  %s\n",
                  100 * gated::energy_share<float>(weights, subject.grid, 3), static_cast<double>(weights.cwiseAbs().mean()),
                  static_cast<double>(bias.minCoeff()), static_cast<double>(bias.maxCoeff()),
                  static_cast<double>(examples::full_colour(weights)), picture.c_str());
      draw(picture, gated::text(options.rows.empty() ? "W of block " : "Rows of W, block ", label), weights, subject,
           options.rows);
    }
    if (options.attention) {
      const Matrix<float>& map = subject.attention[static_cast<std::size_t>(block)];
      const std::string picture = gated::text(options.out, "_block", block, "_attention.svg");
      std::printf("%6s attention: the largest weight of a token is %.3f on average; %s\n", "",
                  static_cast<double>(map.rowwise().maxCoeff().mean()), picture.c_str());
      draw(picture, gated::text("Attention of block ", block), map, subject, options.rows);
    }
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  return examples::run_main(
      "visualize_gates", [&] { return gates::parse_options(count, arguments); }, run);
}
