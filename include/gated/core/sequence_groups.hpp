#pragma once

#include <algorithm>
#include <type_traits>

#include "gated/core/function_ref.hpp"
#include "gated/core/sequences.hpp"
#include "gated/core/workspace.hpp"

/// @file
/// The order in which a model takes the sequences of a batch.

namespace gated {

/// Rows that go through all layers together, where sequences are short: enough for products to run at full speed, and few
/// enough for their activations to stay in cache on the way from layer to layer.
inline constexpr Index group_rows = 256;

/// Calls `f(first_row, group, scratch)` for groups of sequences that cover the batch: one sequence, or as many short ones as
/// group_rows hold.
///
/// `first_row` is where the group's rows begin, `scratch` the workspace to use. With several threads, groups are taken side by
/// side if that keeps all threads busy; otherwise the threads share the work of each group. A hooked batch is one group.
template <class T>
void for_each_group(const Sequences& sequences, Workspace<T>& workspace,
                    FunctionRef<void(Index first_row, const Sequences& group, std::type_identity_t<Workspace<T>>& scratch)> f) {
  const Index longest = std::max<Index>(sequences.longest(), 1), total = sequences.total();
  const Index step = std::max<Index>(group_rows / longest, 1) * longest;
  const Index groups = (total + step - 1) / step;
  if (workspace.hooked() || groups <= 1) {
    f(Index{0}, sequences, workspace);
    return;
  }
  const auto run = [&](Index group, Workspace<T>& scratch) {  // the sequences that begin in the group's rows
    const Index first = sequences.first_from(group * step), last = sequences.first_from((group + 1) * step);
    if (first < last) {
      f(sequences.offset(first), sequences.part(first, last - first), scratch);
    }
  };
  const Index threads = workspace.threads().count(), rounds = (groups + threads - 1) / threads;
  if (threads > 1 && 10 * groups >= 9 * rounds * threads) {  // idle for at most a tenth of the time
    workspace.side_by_side(groups, run);
    return;
  }
  for (Index group = 0; group < groups; ++group) {
    run(group, workspace);
  }
}

}  // namespace gated
