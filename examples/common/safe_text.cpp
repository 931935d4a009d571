#include "common/safe_text.hpp"

#include <utility>

namespace text {

namespace {

std::string escaped(unsigned char byte) {
  constexpr char digits[] = "0123456789abcdef";
  return {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
}

/// The number of bytes that follow `first` in a multi-byte character; 0 if `first` begins no such character.
std::size_t bytes_after(unsigned char first) {
  return first >= 0xC2 && first <= 0xDF ? 1 : (first & 0xF0) == 0xE0 ? 2 : first >= 0xF0 && first <= 0xF4 ? 3 : 0;
}

/// True if `byte` can follow the lead byte `first` in UTF-8 (Unicode, table 3-7), except in the control
/// characters U+0080 to U+009F.
bool may_follow(unsigned char first, unsigned char byte) {
  const unsigned char lowest = first == 0xE0 || first == 0xC2 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned char largest = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  return byte >= lowest && byte <= largest;
}

}  // namespace

std::string SafeText::add(unsigned char byte) {
  if (missing_ > 0) {
    const bool second = pending_.size() == 1;
    if (second ? may_follow(static_cast<unsigned char>(pending_[0]), byte) : (byte & 0xC0) == 0x80) {
      pending_ += static_cast<char>(byte);
      return --missing_ == 0 ? std::exchange(pending_, {}) : std::string();
    }
    const std::string incomplete = finish();
    return incomplete + add(byte);
  }
  missing_ = bytes_after(byte);
  if (missing_ > 0) {
    pending_ = static_cast<char>(byte);
    return {};
  }
  const bool shown = byte == '\n' || byte == '\t' || (byte >= 0x20 && byte < 0x7F);
  return shown ? std::string(1, static_cast<char>(byte)) : escaped(byte);
}

std::string SafeText::finish() {
  std::string out;
  for (const char byte : pending_) {
    out += escaped(static_cast<unsigned char>(byte));
  }
  pending_.clear();
  missing_ = 0;
  return out;
}

}  // namespace text
