#pragma once

#include <cstddef>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gated/io/checkpoint.hpp"
#include "gated/io/config_json.hpp"

/// @file
/// The interface of a WebAssembly module to worker.js. Each module's main source file includes this header.

/// Begins the definition of a function that JavaScript calls as `name`.
#define PAGE_EXPORT(type, name) __attribute__((export_name(#name))) type page_##name

namespace page {

/// The answer to the last call.
struct Answer {
  std::vector<float> numbers = {};
  std::string text = {};  ///< the error's message if the call failed
};
inline Answer answer;
inline std::vector<std::byte> input;  ///< the bytes that JavaScript passes to the next call

inline std::string_view input_text() { return {reinterpret_cast<const char*>(input.data()), input.size()}; }
inline std::span<const float> input_numbers() {
  return {reinterpret_cast<const float*>(input.data()), input.size() / sizeof(float)};
}

/// Runs `body` and returns 0, or 1 if it fails. No exception reaches JavaScript.
template <class Body>
int respond(const Body& body) {
  answer = {};
  try {
    body();
    return 0;
  } catch (const std::bad_alloc&) {
    answer.text = "There is not enough memory for this. Close other tabs, or use a smaller file.";
  } catch (const std::exception& error) {
    answer.text = error.what();
  }
  return 1;
}

/// Raises ArgumentError if `opened` is empty.
template <class Opened>
Opened& expect_open(std::optional<Opened>& opened) {
  gated::require<gated::ArgumentError>(opened.has_value(), "the model is not loaded yet.");
  return *opened;
}

/// Loads the model from its file's bytes in page::input. The file is trusted, because save_model() wrote it. load_model() would
/// also explain what is wrong with other files, but it adds 100 KB of code.
template <class Model>
Model load(const char* name) {
  const auto file = gated::SafetensorsFile::parse(input, name);
  const auto config = file.metadata().find("config");
  gated::require<gated::FileError>(config != file.metadata().end(), name, ": no configuration. Run build.sh again.");
  Model model(gated::from_json<typename Model::Config>(config->second, name));
  gated::for_each_parameter([&](const gated::ParameterInfo& info,
                                auto values) { gated::detail::read_parameter<float>(file, gated::NameMap(), info, values); },
                            model);
  input = {};
  return model;
}

}  // namespace page

/// Makes room for `size` bytes of input and returns their address.
PAGE_EXPORT(inline std::byte*, input_room)(std::size_t size) {
  page::input.resize(size);
  return page::input.data();
}
PAGE_EXPORT(inline const float*, numbers)() { return page::answer.numbers.data(); }
PAGE_EXPORT(inline std::size_t, number_count)() { return page::answer.numbers.size(); }
PAGE_EXPORT(inline const char*, text)() { return page::answer.text.data(); }
PAGE_EXPORT(inline std::size_t, text_size)() { return page::answer.text.size(); }
