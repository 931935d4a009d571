#pragma once

#include <string>

namespace examples {

/// A progress line, rewritten in place on a terminal. In a file or a pipe, only the lines given to keep() appear.
class ProgressLine {
 public:
  /// Finds out whether stdout is a terminal.
  ProgressLine();

  bool on_terminal() const { return on_terminal_; }

  /// Replaces the line shown; on a terminal only.
  void show(const std::string& line);

  /// Replaces the line shown with `line`, which stays.
  void keep(const std::string& line);

 private:
  bool on_terminal_;
};

/// "[=====>    ]": a bar of `width` characters at `part`, from 0 to 1.
std::string progress_bar(double part, int width);

}  // namespace examples
