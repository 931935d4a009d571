#pragma once

#include <string>

namespace examples {

/// Where a long job is, on the screen: a line that is written over again and again. Where the output goes to a file or a pipe,
/// nothing is written over, and only the lines that are to stay are written.
class ProgressLine {
 public:
  /// Whether the output is a terminal.
  ProgressLine();

  bool on_terminal() const { return on_terminal_; }

  /// Shows `line`, on a terminal only, in place of the one before.
  void show(const std::string& line);

  /// Writes `line`, also in place of the one that is shown, so that it stays.
  void keep(const std::string& line);

 private:
  bool on_terminal_;
};

/// "[=====>    ]": `part` of the way, in `width` characters.
std::string progress_bar(double part, int width);

}  // namespace examples
