#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "gated/c/gated.h"
#include "gated/c/handle_table.hpp"
#include "gated/c/opened_model.hpp"
#include "gated/ops/arithmetic.hpp"
#include "gated/version.hpp"

/// @file
/// Defines the functions of gated/c/gated.h. Include it in exactly one unit of a program or shared library.

static_assert(GATED_HAS_EXCEPTIONS, "The C interface turns exceptions into error codes: compile it with exceptions.");

namespace gated::c_interface {

/// A model, and scratch memory for the threads that run it.
class ModelObject {
 public:
  ModelObject(std::unique_ptr<const OpenedModel> opened, const ProductEngine<float>* engine, int threads)
      : opened_(std::move(opened)), engine_(engine), threads_(threads == 1 ? Threads() : Threads(threads)) {
    for (const std::string& label : opened_->description().labels) {
      labels_.push_back(label.c_str());
    }
  }

  const OpenedModel& opened() const { return *opened_; }
  const char* const* labels() const { return labels_.empty() ? nullptr : labels_.data(); }

  std::unique_ptr<Workspace<float>> new_workspace() const {
    auto workspace = std::make_unique<Workspace<float>>(threads_);
    workspace->use(opened_->weights());
    workspace->use(engine_);
    return workspace;
  }

  /// Calls `run(workspace)` with scratch memory that no other thread uses.
  template <class F>
  void with_workspace(F&& run) const {
    std::unique_ptr<Workspace<float>> workspace = take();
    struct GiveBack {
      const ModelObject& model;
      std::unique_ptr<Workspace<float>>& workspace;
      ~GiveBack() { model.give_back(std::move(workspace)); }
    } const give_back{*this, workspace};
    run(*workspace);
  }

 private:
  std::unique_ptr<Workspace<float>> take() const {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) {
      idle_.reserve(made_ + 1);  // give_back() must not fail
      auto workspace = new_workspace();
      ++made_;
      return workspace;
    }
    auto workspace = std::move(idle_.back());
    idle_.pop_back();
    return workspace;
  }
  void give_back(std::unique_ptr<Workspace<float>> workspace) const noexcept {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(workspace));
  }

  const std::unique_ptr<const OpenedModel> opened_;
  const ProductEngine<float>* const engine_;
  const Threads threads_;
  std::vector<const char*> labels_;
  mutable std::mutex mutex_;  // of the members below
  mutable std::vector<std::unique_ptr<Workspace<float>>> idle_;
  mutable std::size_t made_ = 0;
};

/// A sequence and its scratch memory.
struct StateObject {
  std::shared_ptr<const ModelObject> model;
  State<float> state;
  std::unique_ptr<Workspace<float>> workspace;

  StateObject(std::shared_ptr<const ModelObject> of, State<float> from)
      : model(std::move(of)), state(std::move(from)), workspace(model->new_workspace()) {}
};

using Models = HandleTable<const ModelObject, 1>;
using States = HandleTable<StateObject, 2>;

/// The open models. Never destroyed: static destructors may still close a model.
inline Models& models() {
  static auto* const table = new Models;
  return *table;
}
/// The open states. Never destroyed either.
inline States& states() {
  static auto* const table = new States;
  return *table;
}

/// The message of this thread's last error. Not allocated: memory may be exhausted.
inline char (&last_error())[2048] {
  static thread_local char message[2048] = "";
  return message;
}

inline gated_status fail(gated_status status, std::string_view message) {
  auto& to = last_error();
  std::size_t length = std::min(message.size(), sizeof(to) - 1);
  while (length < message.size() && length > 0 && (static_cast<unsigned char>(message[length]) & 0xc0u) == 0x80u) {
    --length;  // whole characters of UTF-8
  }
  std::memcpy(to, message.data(), length);
  to[length] = '\0';
  return status;
}

/// Runs the body of a function of the interface, and turns its exception into a status and a message.
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
    return fail(GATED_OTHER_ERROR, "An exception of unknown type.");
  }
}

/// A copy of a caller's struct. Members that the caller's version lacks are zero.
/// Errors: ArgumentError for NULL, or a size that no version of the struct has.
template <class Struct>
Struct read(const char* where, const char* name, const Struct* from) {
  require<ArgumentError>(from != nullptr, where, ": ", name, " is NULL.");
  const bool ends_a_member = from->size >= sizeof(std::size_t) && from->size % alignof(Struct) == 0;
  require<ArgumentError>(ends_a_member && from->size <= sizeof(Struct), where, ": ", name, "->size = ", from->size,
                         ", expected sizeof = ", sizeof(Struct),
                         from->size > sizeof(Struct) ? ". The caller was compiled for a later version: see gated_version()."
                                                     : ". Set it before the call.");
  Struct result{};
  std::memcpy(static_cast<void*>(&result), from, from->size);
  return result;
}

/// Writes the members back that the caller's version has.
template <class Struct>
void write(const Struct& from, Struct* to) {
  std::memcpy(static_cast<void*>(to), &from, from.size);
}

/// The value of `E` named `word`; nullopt for NULL.
template <class E>
std::optional<E> named(const char* where, const char* what, const char* word) {
  if (word == nullptr) {
    return std::nullopt;
  }
  const auto value = value_named<E>(word);
  require<ArgumentError>(value.has_value(), where, ": ", what, " is \"", printable(word), "\", expected one of ",
                         list_of_names<E>(), ".");
  return value;
}

/// Number formats of products: gated_source::products.
enum class Products { float32, int8, bf16 };
constexpr auto names_of(Products) { return words_for<Products>("float32", "int8", "bf16"); }

inline const ProductEngine<float>* engine_of(Products products) {
  return products == Products::int8 ? int8_products() : products == Products::bf16 ? bf16_products() : nullptr;
}

inline SafetensorsFile file_of(const char* where, const gated_source& source) {
  require<ArgumentError>((source.path == nullptr) != (source.bytes == nullptr), where,
                         ": expected a path or bytes in the source, got ", source.path == nullptr ? "neither." : "both.");
  if (source.path == nullptr) {
    return SafetensorsFile::parse({static_cast<const std::byte*>(source.bytes), source.byte_count}, "bytes");
  }
  const auto* const utf8 = reinterpret_cast<const char8_t*>(source.path);
  return SafetensorsFile(std::filesystem::path(utf8, utf8 + std::strlen(source.path)));
}

/// A checked input, with those in its `other`.
class CheckedInput {
 public:
  CheckedInput(const char* where, const OpenedModel& model, const gated_input* input) {
    const gated_input first = add(where, model, input, model.description().reads_tokens, model.contract().in);
    const gated_input* other = first.other;
    for (std::size_t i = 1; other != nullptr; ++i) {
      require<ArgumentError>(i < inputs_.size(), where, ": more than ", inputs_.size() - 1, " inputs follow the first one.");
      other = add(where, model, other, false, Contract::any).other;
      inputs_[i - 1].other = &inputs_[i];
    }
  }

  CheckedInput(const CheckedInput&) = delete;
  CheckedInput& operator=(const CheckedInput&) = delete;

  const ModelInput& operator*() const { return inputs_.front(); }

 private:
  gated_input add(const char* where, const OpenedModel& model, const gated_input* from, bool reads_tokens, Index columns) {
    const gated_input input = read(where, "input", from);
    require<ArgumentError>(input.rows >= 0 && input.columns >= 0 && input.sequences >= 0, where, ": rows = ", input.rows,
                           ", columns = ", input.columns, " and sequences = ", input.sequences, " must not be negative.");
    require<ArgumentError>(input.output_rows >= GATED_ALL_ROWS && input.output_rows <= GATED_POOLED, where,
                           ": output_rows = ", input.output_rows, ", expected 0, 1 or 2.");
    const bool pools = input.output_rows == GATED_POOLED && model.description().pooled_outputs == 0;
    require<ArgumentError>(!pools, where, ": this model has no pooled output.");
    const auto present = [&](const auto* data, const char* name) {
      require<ArgumentError>(data != nullptr || input.rows == 0, where, ": input->", name, " is NULL, but there are ",
                             input.rows, " rows.");
    };
    ModelInput& to = inputs_[count_++];
    to = {.where = where, .rows = static_cast<OutputRows>(input.output_rows)};
    const auto rows = static_cast<std::size_t>(input.rows);
    if (reads_tokens) {
      present(input.tokens, "tokens");
      require<ArgumentError>(input.values == nullptr, where, ": this model reads tokens, but input->values is set.");
      to.tokens = {input.tokens, rows};
    } else {
      present(input.values, "values");
      const Index width = input.columns > 0 ? input.columns : std::max<Index>(columns, 0);
      require<ArgumentError>(width > 0 || rows == 0, where, ": set input->columns: this input may have any number.");
      require<ShapeError>((Count(input.rows) * width).value() < Count::most / Index{sizeof(float)}, where, ": ", input.rows,
                          " × ", width, " values are more than memory can hold.");
      to.values = {input.values, input.rows, width, width};
      to.tokens = {input.tokens, input.tokens == nullptr ? 0 : items_of(model, input)};
    }
    if (input.lengths != nullptr) {
      to.sequences = split(where, input);
    }
    to.mask = {input.mask, input.mask == nullptr ? 0 : rows};
    to.types = {input.token_types, input.token_types == nullptr ? 0 : rows};
    return input;
  }

  /// The number of frequency tokens of a TinyTimeMixer.
  static std::size_t items_of(const OpenedModel& model, const gated_input& input) {
    return static_cast<std::size_t>(input.lengths != nullptr ? input.sequences
                                                             : input.rows / std::max<Index>(1, model.contract().of_rows));
  }
  /// The caller's sequences; allocates nothing if they all have one length.
  static Sequences split(const char* where, const gated_input& input) {
    const std::span<const Index> lengths(input.lengths, static_cast<std::size_t>(input.sequences));
    for (const Index length : lengths) {
      require<ArgumentError>(length >= 0, where, ": a length is ", length, ", expected at least 0.");
    }
    if (!lengths.empty() && std::all_of(lengths.begin(), lengths.end(), [&](Index n) { return n == lengths.front(); })) {
      return Sequences::uniform(input.sequences, lengths.front());
    }
    return Sequences::of_lengths({lengths.begin(), lengths.end()});
  }

  std::array<ModelInput, 3> inputs_{};
  std::size_t count_ = 0;
};

/// Sets the shape of the caller's output and, if it has memory, fills it by `compute(y)`.
template <class F>
void fill(const char* where, gated_output* output, std::pair<Index, Index> shape, F&& compute) {
  gated_output to = read(where, "output", output);
  require<ArgumentError>(to.capacity >= 0, where, ": output->capacity = ", to.capacity, " must not be negative.");
  std::tie(to.rows, to.columns) = shape;
  write(to, output);
  if (to.values == nullptr) {
    return;
  }
  const Index wanted = (Count(shape.first) * shape.second).value();
  require<ShapeError>(to.capacity >= wanted, where, ": the output has room for ", to.capacity, " floats, expected ",
                      shape.first, " × ", shape.second, " = ", wanted, ".");
  compute(MatrixView<float>(to.values, shape.first, shape.second, shape.second));
}

}  // namespace gated::c_interface

extern "C" {

const char* gated_version(void) {
  static_assert(std::is_same_v<ptrdiff_t, gated::Index>, "Token ids and lengths are read in place.");
#define GATED_TEXT_OF(x) #x
#define GATED_VERSION_TEXT(a, b, c) GATED_TEXT_OF(a) "." GATED_TEXT_OF(b) "." GATED_TEXT_OF(c)
  return GATED_VERSION_TEXT(GATED_VERSION_MAJOR, GATED_VERSION_MINOR, GATED_VERSION_PATCH);
#undef GATED_VERSION_TEXT
#undef GATED_TEXT_OF
}

const char* gated_last_error(void) { return gated::c_interface::last_error(); }

gated_status gated_open(const gated_source* source, gated_model** model) {
  using namespace gated;
  using namespace gated::c_interface;
  constexpr const char* where = "gated_open";
  return guarded([&] {
    const gated_source from = read(where, "source", source);
    require<ArgumentError>(model != nullptr, where, ": model is NULL.");
    require<ArgumentError>(from.threads >= 0, where, ": threads = ", from.threads, " must not be negative.");
    const auto format = named<WeightFormat>(where, "weights", from.weights);
    const Products products = named<Products>(where, "products", from.products).value_or(Products::float32);
    auto object = std::make_shared<const ModelObject>(open_model(file_of(where, from), format), engine_of(products),
                                                      std::max(1, from.threads));
    *model = static_cast<gated_model*>(models().add(std::move(object)));
  });
}

gated_status gated_close(gated_model* model) {
  using namespace gated::c_interface;
  return guarded([&] {
    if (model != nullptr) {
      models().remove(model, "gated_close: the model");
    }
  });
}

gated_status gated_describe(const gated_model* model, gated_description* description) {
  using namespace gated;
  using namespace gated::c_interface;
  constexpr const char* where = "gated_describe";
  return guarded([&] {
    const Models::Use use(models(), model, "gated_describe: the model");
    const ModelDescription& d = use->opened().description();
    gated_description to = read(where, "description", description);
    const auto limit = [](Index value) { return value == Contract::unlimited ? Index{-1} : value; };
    to = {.size = to.size,
          .architecture = d.architecture.c_str(),
          .config = d.config.c_str(),
          .reads_tokens = d.reads_tokens,
          .vocabulary = d.vocabulary,
          .columns = d.contract.in,
          .outputs = d.outputs,
          .pooled_outputs = d.pooled_outputs,
          .shortest = d.contract.shortest,
          .longest = limit(d.contract.longest),
          .multiple = d.contract.multiple,
          .streams = use->opened().streams(),
          .takes_mask = d.contract.takes_mask,
          .parameters = d.parameters,
          .image_width = d.image.width,
          .image_height = d.image.height,
          .image_channels = d.image_channels,
          .labels = use->labels(),
          .label_count = static_cast<Index>(d.labels.size()),
          .signature = d.signature.empty() ? nullptr : d.signature.c_str()};
    write(to, description);
  });
}

gated_status gated_run(const gated_model* model, const gated_input* input, gated_output* output) {
  using namespace gated;
  using namespace gated::c_interface;
  constexpr const char* where = "gated_run";
  return guarded([&] {
    const Models::Use use(models(), model, "gated_run: the model");
    const OpenedModel& opened = use->opened();
    const CheckedInput checked(where, opened, input);
    require<ArgumentError>((*checked).rows != OutputRows::last, where,
                           ": GATED_LAST_ROW is for gated_extend(). A run computes all rows.");
    fill(where, output, opened.output_shape(*checked), [&](MatrixView<float> y) {
      use->with_workspace([&](Workspace<float>& workspace) { opened.forward(*checked, y, workspace); });
    });
  });
}

gated_status gated_start(const gated_model* model, ptrdiff_t capacity, gated_state** state) {
  using namespace gated;
  using namespace gated::c_interface;
  constexpr const char* where = "gated_start";
  return guarded([&] {
    const Models::Use use(models(), model, "gated_start: the model");
    require<ArgumentError>(state != nullptr, where, ": state is NULL.");
    auto object =
        std::make_shared<StateObject>(use.shared(), use->opened().start(capacity == 0 ? State<float>::unlimited : capacity));
    *state = static_cast<gated_state*>(states().add(std::move(object)));
  });
}

gated_status gated_extend(gated_state* state, const gated_input* input, gated_output* output) {
  using namespace gated;
  using namespace gated::c_interface;
  constexpr const char* where = "gated_extend";
  return guarded([&] {
    const States::Use use(states(), state, "gated_extend: the state", Access::exclusive);
    const OpenedModel& opened = use->model->opened();
    const CheckedInput checked(where, opened, input);
    const ModelInput& x = *checked;
    require<ArgumentError>(!x.sequences && x.mask.empty() && x.types.empty() && x.other == nullptr, where,
                           ": a stream is one sequence, without lengths, mask, token_types or other input.");
    require<ArgumentError>(x.rows == OutputRows::all || (x.rows == OutputRows::last && opened.description().reads_tokens),
                           where, ": output_rows = ", static_cast<int>(x.rows),
                           ", expected GATED_ALL_ROWS, or GATED_LAST_ROW for a text model.");
    fill(where, output, opened.output_shape(x), [&](MatrixView<float> y) { opened.extend(x, use->state, y, *use->workspace); });
  });
}

gated_status gated_copy(const gated_state* state, gated_state** copy) {
  using namespace gated;
  using namespace gated::c_interface;
  return guarded([&] {
    const States::Use use(states(), state, "gated_copy: the state", Access::exclusive);
    require<ArgumentError>(copy != nullptr, "gated_copy: copy is NULL.");
    *copy = static_cast<gated_state*>(states().add(std::make_shared<StateObject>(use->model, use->state)));
  });
}

gated_status gated_rewind(gated_state* state, ptrdiff_t position) {
  using namespace gated::c_interface;
  return guarded([&] {
    const States::Use use(states(), state, "gated_rewind: the state", Access::exclusive);
    use->state.rewind(position);
  });
}

gated_status gated_position(const gated_state* state, ptrdiff_t* position) {
  using namespace gated;
  using namespace gated::c_interface;
  return guarded([&] {
    const States::Use use(states(), state, "gated_position: the state", Access::exclusive);
    require<ArgumentError>(position != nullptr, "gated_position: position is NULL.");
    *position = use->state.position();
  });
}

gated_status gated_free(gated_state* state) {
  using namespace gated::c_interface;
  return guarded([&] {
    if (state != nullptr) {
      states().remove(state, "gated_free: the state");
    }
  });
}

gated_status gated_prepare_image(const gated_model* model, const gated_picture* picture, gated_output* row) {
  using namespace gated;
  using namespace gated::c_interface;
  constexpr const char* where = "gated_prepare_image";
  return guarded([&] {
    const Models::Use use(models(), model, "gated_prepare_image: the model");
    const OpenedModel& opened = use->opened();
    const gated_picture from = read(where, "picture", picture);
    const auto order = named<PixelOrder>(where, "order", from.order);
    require<ArgumentError>(order.has_value(), where, ": picture->order is NULL, expected one of ", list_of_names<PixelOrder>(),
                           ".");
    require<ArgumentError>(opened.description().image_channels > 0, where, ": this model reads no pictures.");
    const Index stride = from.stride != 0 ? from.stride : (Count(from.width) * bytes_of(*order)).value();
    fill(where, row, {1, opened.contract().in}, [&](MatrixView<float> y) {
      opened.prepare_image({from.pixels, from.width, from.height, stride, *order}, y);
    });
  });
}

gated_status gated_use(const char* kernels, const char* arithmetic) {
  using namespace gated;
  using namespace gated::c_interface;
  constexpr const char* where = "gated_use";
  return guarded([&] {
    const auto form = named<KernelForm>(where, "kernels", kernels);
    const auto chosen = named<Arithmetic>(where, "arithmetic", arithmetic);
    if (chosen == Arithmetic::portable) {
      detail::expect_portable_kernels(where);  // before anything changes
    }
    if (form) {
      use_kernels(*form);
    }
    if (chosen) {
      use_arithmetic(*chosen);
    }
  });
}

}  // extern "C"
