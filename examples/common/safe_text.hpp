#pragma once

#include <string>

namespace text {

/// Makes bytes that anybody may have chosen safe for a terminal, one after the other.
///
/// UTF-8 comes out as it is, once a character is complete. Bytes that are none, and control characters other than newline and
/// tab (they could move the cursor or retitle the window), come out as \x1b.
class SafeText {
 public:
  /// What can be shown after `byte`.
  std::string add(unsigned char byte);

  /// What is left of an incomplete character at the end.
  std::string finish();

 private:
  std::string pending_;      // the beginning of a character
  std::size_t missing_ = 0;  // bytes until it is complete
};

}  // namespace text
