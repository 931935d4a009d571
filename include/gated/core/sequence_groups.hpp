#pragma once

#include <algorithm>

#include "gated/core/sequences.hpp"
#include "gated/core/workspace.hpp"

/// @file
/// Splits a batch into groups whose activations fit the cache.

namespace gated {

/// Number of rows per group of short sequences: enough for matmul to run at full speed, few enough for activations to stay in
/// cache from layer to layer.
inline constexpr Index group_rows = 256;

/// Calls `f(Index first_row, const Sequences& group, Workspace<T>& scratch)` for groups of whole sequences that cover the
/// batch. A group has about max(group_rows, length of the longest sequence) rows.
///
/// `first_row` is the group's first row, `scratch` the workspace to use. Each group runs on one thread if that keeps all
/// threads busy; otherwise the threads share the work of each group. If a hook is set, the whole batch is one group.
template <class T, class F>
void for_each_group(const Sequences& sequences, Workspace<T>& workspace, const F& f) {
  const Index longest = std::max<Index>(sequences.longest(), 1), total = sequences.total();
  const Index step = std::max<Index>(group_rows / longest, 1) * longest;
  const Index groups = (total + step - 1) / step;
  if (workspace.hooked() || groups <= 1) {
    f(Index{0}, sequences, workspace);
    return;
  }
  const auto run = [&](Index group, Workspace<T>& scratch) {  // a group: the sequences that begin in `step` consecutive rows
    const Index first = sequences.first_from(group * step), last = sequences.first_from((group + 1) * step);
    if (first < last) {
      f(sequences.offset(first), sequences.part(first, last - first), scratch);
    }
  };
  if (keeps_busy(workspace.threads(), groups)) {
    workspace.side_by_side(groups, run);
    return;
  }
  for (Index group = 0; group < groups; ++group) {
    run(group, workspace);
  }
}

}  // namespace gated
