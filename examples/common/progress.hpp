#pragma once

#include <string>

namespace examples {

/// A progress line, rewritten in place on a terminal. In a file or a pipe, only the lines passed to keep() appear.
class ProgressLine {
 public:
  /// Checks whether stdout is a terminal.
  ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  /// Ends a line that is still shown, so that an error message gets a line of its own.
  ~ProgressLine();

  bool on_terminal() const { return on_terminal_; }

  /// On a terminal, replaces the current line; otherwise does nothing.
  void show(const std::string& line);

  /// Replaces the current line with `line`, which stays on the screen.
  void keep(const std::string& line);

 private:
  bool on_terminal_, shown_ = false;
};

/// "[=====>    ]": a bar of `width` characters, of which the fraction `part` (0 to 1) is filled.
std::string progress_bar(double part, int width);

}  // namespace examples
