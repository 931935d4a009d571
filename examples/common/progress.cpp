#include "common/progress.hpp"

#include <algorithm>
#include <cstdio>

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

#include "gated/core/error.hpp"

namespace examples {

ProgressLine::ProgressLine()
#if defined(__unix__) || defined(__APPLE__)
    : on_terminal_(isatty(STDOUT_FILENO) == 1)
#else
    : on_terminal_(false)
#endif
{
}

ProgressLine::~ProgressLine() {
  if (shown_) {
    std::printf("\n");
    std::fflush(stdout);
  }
}

void ProgressLine::show(const std::string& line) {
  if (on_terminal_) {
    shown_ = true;
    std::printf("\r%s\x1b[K", line.c_str());  // \x1b[K erases the rest of a longer line
    std::fflush(stdout);
  }
}

void ProgressLine::keep(const std::string& line) {
  show("");
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
  shown_ = false;
}

std::string progress_bar(double part, int width) {
  const auto room = static_cast<std::size_t>(width - 2);
  std::string bar(room, ' ');
  const auto done = std::min(static_cast<std::size_t>(std::max(part, 0.0) * static_cast<double>(room)), room);
  std::fill_n(bar.begin(), done, '=');
  if (done < room) {
    bar[done] = '>';
  }
  return gated::text("[", bar, "]");
}

}  // namespace examples
