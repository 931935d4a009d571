#pragma once

#include <string>

namespace text {

/// Makes untrusted bytes safe to show on a terminal, one at a time.
///
/// UTF-8 passes unchanged, once a character is complete. Other bytes, and control characters other than newline and tab (they
/// could move the cursor or retitle the window), are escaped as \x1b.
class SafeText {
 public:
  /// The text to show after `byte`; empty within a character.
  std::string add(unsigned char byte);

  /// The escaped bytes of a character that is incomplete at the end.
  std::string finish();

 private:
  std::string pending_;      // the beginning of a character
  std::size_t missing_ = 0;  // bytes it still needs
};

}  // namespace text
