#include "tables.hpp"

namespace bench {

void table_of_lengths(const TableOptions& options) {
  constexpr const char* table = "lengths";
  for (Index length = 32; length <= (options.quick ? 64 : 4096); length *= 2) {
    gated::GmlpConfig config = gated::gmlp_base().trunk;
    config.length = length;
    gated::Random random(1);
    const gated::Gmlp<float> model(config, random);
    const auto sequences = gated::Sequences::single(length);
    const gated::Matrix<float> x = gated::Matrix<float>::Random(length, config.channels);
    gated::Matrix<float> y = x;
    gated::Workspace<float> workspace(options.threads);
    const double whole = milliseconds(options, [&] { model.forward(x, sequences, y, workspace); });

    const auto& gate = model.blocks.front().gate;
    const gated::Matrix<float> z = gated::Matrix<float>::Random(length, config.hidden);
    gated::Matrix<float> out(length, gate.out());
    const double spatial =
        static_cast<double>(config.depth) * milliseconds(options, [&] { gate.forward(z, sequences, out, workspace); });

    const double flops = flops_of(config, 1, length);
    const double spatial_flops = static_cast<double>(config.depth * config.hidden) * pairs(static_cast<double>(length), false);
    print_row(table, "gMLP-base", length, "ms", whole);
    print_row(table, "gMLP-base", length, "of peak", flops / whole * 1e3 / peak(options.threads));
    print_row(table, "gMLP-base", length, "spatial share of time", spatial / whole);
    print_row(table, "gMLP-base", length, "spatial share of flops", spatial_flops / flops);
    print_row(table, "gMLP-base", length, "weights MB", megabytes(model));
    print_row(table, "gMLP-base", length, "scratch MB", megabytes(workspace.bytes()));
  }
}

}  // namespace bench
