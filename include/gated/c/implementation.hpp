#pragma once

#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>

#include "gated/c/arguments.hpp"
#include "gated/c/gated.h"
#include "gated/c/objects.hpp"
#include "gated/c/status.hpp"
#include "gated/ops/arithmetic.hpp"
#include "gated/version.hpp"

/// @file
/// Defines the functions of gated/c/gated.h. Include it in exactly one translation unit of a program or shared library.

extern "C" {

const char* gated_version(void) {
  static_assert(std::is_same_v<ptrdiff_t, gated::Index>, "Token ids and lengths are read in place: Index must be ptrdiff_t.");
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
    auto opened = open_model(file_of(where, from), format);
    require<ArgumentError>(products != Products::int8 || !opened->weights().stores(WeightFormat::bf16), where,
                           ": products is \"int8\", but the weights are in bf16, whose products stay in float. Set weights to "
                           "\"int8-rows\" or \"int8\".");
    auto object = std::make_shared<const ModelObject>(std::move(opened), engine_of(where, products), std::max(1, from.threads));
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
                           ": a stream is one sequence. Leave lengths, mask, token_types and other NULL.");
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
      detail::expect_portable_kernels(where);  // before use_kernels(), so that a failed call changes nothing
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
