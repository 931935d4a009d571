// An all-zero output proves nothing; check() warns about it.

#include <gtest/gtest.h>

#include <algorithm>

#include "compare.hpp"
#include "gated/io/safetensors_writer.hpp"
#include "tests/io/files.hpp"

namespace parity {
namespace {

/// A copy of a timm case whose tensors under `prefixes` are zero.
CaseFile with_zeros(const std::vector<std::string>& prefixes) {
  const gated::SafetensorsFile original(GATED_REFERENCE_DIR "/timm_gmlp_small.safetensors");
  std::size_t largest = 0;
  for (const auto& [name, entry] : original.tensors()) {
    largest = std::max(largest, entry.bytes.size());
  }
  const std::vector<std::byte> zeros(largest);
  std::vector<gated::TensorToWrite> tensors;
  for (const auto& [name, entry] : original.tensors()) {
    const bool zero = std::any_of(prefixes.begin(), prefixes.end(), [&n = name](const auto& p) { return n.starts_with(p); });
    tensors.push_back(
        {name, entry.dtype, entry.shape, zero ? std::span(zeros).first(entry.bytes.size()) : std::span(entry.bytes)});
  }
  const auto path = gated::test::temporary("case.safetensors");
  gated::write_safetensors(path, tensors, {original.metadata().begin(), original.metadata().end()});
  return CaseFile(path.string());
}

TEST(CheckParity, AcceptsTheUnchangedCase) {
  const auto verdict = check(with_zeros({}));
  EXPECT_EQ(verdict.status, Status::ok);
  EXPECT_EQ(verdict.message, "");
}

// An untrained model from timm.create_model() has a head of zeros, so the logits match whatever the blocks compute.
TEST(CheckParity, WarnsAboutAllZeroOutputs) {
  const auto verdict = check(with_zeros({"model.head.", "output"}));
  EXPECT_EQ(verdict.message, "output is zero everywhere, which proves nothing");
}

}  // namespace
}  // namespace parity
