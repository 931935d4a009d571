#include <vector>

#include "gated/core/workspace.hpp"

// A shared library with a global workspace, which lives until the library is unloaded.

namespace {

gated::Workspace<float> workspace(gated::Threads{3});

}  // namespace

extern "C" int count_to(int n) {
  std::vector<int> ones(static_cast<std::size_t>(n));
  gated::parallel_for(workspace.threads(), n, [&](gated::Index i, gated::Index) { ones[static_cast<std::size_t>(i)] = 1; });
  int sum = 0;
  for (const int one : ones) {
    sum += one;
  }
  return sum;
}
