#pragma once

#include <algorithm>

#include "gated/core/workspace.hpp"
#include "gated/ops/kernel_calls.hpp"

/// @file
/// Loops over the rows (tokens) of a matrix.

namespace gated {

/// Rows per task of an element-wise loop.
inline constexpr Index rows_per_task = 32;

/// Calls `f(first, count)` for blocks of rows_per_task rows, in parallel if there are enough blocks.
template <class T, class F>
void for_each_block_of_rows(Index rows, const Workspace<T>& workspace, F&& f) {
  const Index tasks = (rows + rows_per_task - 1) / rows_per_task;
  parallel_for(tasks < 4 ? Threads{1} : workspace.threads(), tasks, [&](Index task, Index) {
    const Index first = task * rows_per_task;
    f(first, std::min(rows - first, rows_per_task));
  });
}

/// Calls `f(row)` for each row, in parallel like for_each_block_of_rows().
template <class T, class F>
void for_each_row(Index rows, const Workspace<T>& workspace, F&& f) {
  for_each_block_of_rows(rows, workspace, [&](Index first, Index count) {
    for (Index row = first; row < first + count; ++row) {
      f(row);
    }
  });
}

}  // namespace gated
