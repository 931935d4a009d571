#pragma once

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>

#include "gated/c/gated.h"
#include "gated/c/handle_table.hpp"
#include "gated/core/error.hpp"
#include "gated/io/json.hpp"

/// @file
/// Turns exceptions into status codes and messages.

namespace gated::c_interface {

static_assert(GATED_HAS_EXCEPTIONS, "The C interface turns exceptions into error codes: compile it with exceptions.");

/// The message of this thread's last error. A fixed buffer, because memory may be exhausted.
inline char (&last_error())[2048] {
  static thread_local char message[2048] = "";
  return message;
}

inline gated_status fail(gated_status status, std::string_view message) {
  auto& to = last_error();
  std::size_t length = std::min(message.size(), sizeof(to) - 1);
  while (length < message.size() && length > 0 && (static_cast<unsigned char>(message[length]) & 0xc0u) == 0x80u) {
    --length;  // keeps UTF-8 characters whole
  }
  std::memcpy(to, message.data(), length);
  if (!detail::is_utf8({to, length})) {  // a path may have any bytes
    std::replace_if(
        to, to + length, [](char c) { return (static_cast<unsigned char>(c) & 0x80u) != 0; }, '?');
  }
  to[length] = '\0';
  return status;
}

/// Runs the body of an interface function. Turns an exception into a status and stores its message.
template <class F>
gated_status guarded(F&& body) noexcept {
  try {
    body();
    return GATED_OK;
  } catch (const HandleError& error) {
    return fail(GATED_HANDLE_ERROR, error.what());
  } catch (const ShapeError& error) {
    return fail(GATED_SHAPE_ERROR, error.what());
  } catch (const ArgumentError& error) {
    return fail(GATED_ARGUMENT_ERROR, error.what());
  } catch (const FileError& error) {
    return fail(GATED_FILE_ERROR, error.what());
  } catch (const MemoryError& error) {
    return fail(GATED_MEMORY_ERROR, error.what());
  } catch (const std::bad_alloc&) {
    return fail(GATED_MEMORY_ERROR, "Memory is exhausted.");
  } catch (const std::exception& error) {
    return fail(GATED_OTHER_ERROR, error.what());
  } catch (...) {
    return fail(GATED_OTHER_ERROR, "Unknown exception: its type is not derived from std::exception.");
  }
}

}  // namespace gated::c_interface
