#include "tables.hpp"

namespace bench {

namespace {

/// The seconds that all gates of `model` take if run in place, as in a forward pass. All gates use the same `z`, which is
/// in cache after the first gate if it fits. For 2,048 tokens or more, runs every fourth gate and multiplies the time by four.
double seconds_in_gates(const gated::Gmlp<float>& model, const gated::Sequences& sequences, const gated::MatrixView<float>& z,
                        gated::Workspace<float>& workspace) {
  gated::Batch<float> run(workspace, sequences);
  const std::size_t step = sequences.total() >= 2048 ? 4 : 1;
  const double start = seconds();
  for (std::size_t i = 0; i < model.blocks.size(); i += step) {
    const auto& gate = model.blocks[i].gate;
    run.into(z.columns(0, gate.out()), gate, z);
  }
  return static_cast<double>(step) * (seconds() - start);
}

/// Prints the rows of a length. `figures`: the seconds of forward passes with matmul, the seconds in gates, peaks, and the
/// seconds of forward passes with the FFT, as by_turns() returns them. `scratch`: the workspace in bytes.
void print_rows(const gated::Gmlp<float>& model, Index length, const std::vector<std::vector<double>>& figures,
                std::size_t scratch) {
  std::vector<double> shares;
  for (std::size_t turn = 0; turn < figures[0].size(); ++turn) {
    shares.push_back(figures[1][turn] / figures[0][turn]);
  }
  const double time = median(figures[0]), share = median(shares), peak = best(figures[2]);
  const double flops = flops_of(model, 1, length);
  const double spatial = static_cast<double>(model.config.depth) * spatial_flops(model.config.hidden / 2, length, false);
  const double rest_of_peak = (flops - spatial) / (time * (1 - share)) / peak;
  const auto print = [length](std::string_view quantity, double value) {
    print_row("lengths", "gMLP-base", length, quantity, value);
  };
  print("ms", 1e3 * time);
  print("transformed ms", 1e3 * median(figures[3]));
  print("of peak", flops / time / peak);
  print("spatial share of time", share);
  print("spatial share of flops", spatial / flops);
  print("rest of peak", rest_of_peak);
  print("weights MB", megabytes(model));
  print("scratch MB", megabytes(scratch));
  if (!(rest_of_peak <= 1)) {
    std::cerr << "lengths: with " << length << " tokens, the measured spatial share implies that the work outside "
              << "the gates runs at " << rest_of_peak
              << " times the peak, so the share is wrong. Measure again on an idle machine.\n";
  }
}

void measure(const TableOptions& options, Index length) {
  gated::GmlpConfig config = gated::gmlp_base().trunk;
  config.length = length;
  if (options.quick) {
    config.depth = 4;
  }
  gated::Random random(1);
  gated::Gmlp<float> model(config, random);
  // Sets the sequence length from which W is applied by FFT; `never` forces matmul. The printed flops and shares are those of
  // matmul.
  const auto multiply_from = [&model](Index fourier_from) {
    for (auto& block : model.blocks) {
      block.gate.proj.config.fourier_from = fourier_from;
    }
  };
  const Index never = length + 1;
  const auto sequences = gated::Sequences::single(length);
  const gated::Matrix<float> x = gated::Matrix<float>::Random(length, config.channels);
  gated::Matrix<float> y = x;
  gated::Workspace<float> workspace(options.threads), gate_workspace(options.threads);
  const auto frame = gate_workspace.frame();
  gated::MatrixMap<float> memory = gate_workspace.matrix(length, config.hidden);  // the layout of a block's hidden activations
  memory.setRandom();
  const gated::MatrixView<float> z = memory;

  const auto forward = [&](Index fourier_from) {
    return [&, fourier_from, time = time_of(options, [&] { model.forward(x, sequences, y, workspace); })] {
      multiply_from(fourier_from);
      return time();
    };
  };
  const auto gates = [&] {
    multiply_from(never);
    return seconds_in_gates(model, sequences, z, gate_workspace);
  };
  const auto figures =
      by_turns(options.turns(), {forward(never), gates, peak_of(options.threads), forward(gated::fourier_crossover)});
  print_rows(model, length, figures, workspace.bytes());
}

}  // namespace

void table_of_lengths(const TableOptions& options) {
  for (Index length = 32; length <= (options.quick ? 64 : 8192); length *= 2) {
    measure(options, length);
  }
}

}  // namespace bench
