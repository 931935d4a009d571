#pragma once

#include <string>

namespace text {

/// Makes untrusted bytes safe to show on a terminal, byte by byte.
///
/// Complete UTF-8 characters pass unchanged. Other bytes, and control characters other than newline and tab (they could move
/// the cursor or retitle the window), are escaped: ESC becomes \x1b.
class SafeText {
 public:
  /// The text to show after `byte`; empty while a character is incomplete.
  std::string add(unsigned char byte);

  /// The escaped bytes of a character that is still incomplete at the end of the input.
  std::string finish();

 private:
  std::string pending_;      // the first bytes of an incomplete character
  std::size_t missing_ = 0;  // number of bytes that would complete it
};

}  // namespace text
