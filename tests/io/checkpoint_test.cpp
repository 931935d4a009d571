#include "gated/io/checkpoint.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "files.hpp"
#include "gated/io/safetensors_writer.hpp"

namespace gated::checkpoint_test {
namespace {

using test::error_of;
using test::expect_error;
using test::temporary;

template <class T>
struct Layer {
  using Scalar = T;
  Matrix<T> weight;
  Vector<T> bias;
  static constexpr auto fields() {
    return Fields(field("weight", &Layer::weight, Role::weight), field("bias", &Layer::bias, Role::bias));
  }
};

/// A patch embedding (of shape [2, 1, 2, 2] in files), two blocks, and a head without a bias.
template <class T>
struct Model {
  using Scalar = T;
  Matrix<T> patches;
  std::vector<Layer<T>> blocks;
  std::optional<Layer<T>> head;

  explicit Model(T first = 0) : patches(2, 4), blocks(2), head(Layer<T>{}) {
    for (Layer<T>& block : blocks) {
      block.weight.resize(2, 3);
      block.bias.resize(2);
    }
    head->weight.resize(3, 2);
    for_each_parameter(
        [&](const ParameterInfo&, auto values) {
          std::iota(values.begin(), values.end(), first);
          first += T(values.size());
        },
        *this);
  }
  Shape patches_shape() const { return {2, 1, 2, 2}; }
  static constexpr auto fields() {
    return Fields(field("patches", &Model::patches, Role::weight, &Model::patches_shape), field("blocks", &Model::blocks),
                  field("head", &Model::head));
  }
};

template <class T>
std::vector<T> all_values(const Model<T>& model) {
  std::vector<T> all;
  for_each_parameter([&](const ParameterInfo&, auto values) { all.insert(all.end(), values.begin(), values.end()); }, model);
  return all;
}

template <class T>
TensorToWrite to_write(std::string name, const std::vector<T>& values, std::vector<Index> shape) {
  return {std::move(name), dtype_of<T>(), std::move(shape), std::as_bytes(std::span(values))};
}

template <class T, class U>
void expect_round_trip(std::optional<Dtype> dtype) {
  const auto path = temporary("model.safetensors");
  save_parameters(Model<T>(1), path, {}, {}, dtype);
  const SafetensorsFile file(path);
  EXPECT_EQ(file.tensor("head.weight").dtype, dtype.value_or(dtype_of<T>()));
  Model<U> loaded(-1000);
  load_parameters(loaded, file);
  EXPECT_EQ(all_values(loaded), all_values(Model<U>(1)));
}

TEST(Checkpoint, RoundTripsInEveryDtypeAndScalar) {
  for (const std::optional<Dtype> dtype : {std::optional<Dtype>(), std::optional(Dtype::F64), std::optional(Dtype::F32),
                                           std::optional(Dtype::F16), std::optional(Dtype::BF16)}) {
    expect_round_trip<float, float>(dtype);
    expect_round_trip<float, double>(dtype);
    expect_round_trip<double, float>(dtype);
    expect_round_trip<double, double>(dtype);
  }
}

TEST(Checkpoint, StoresPathsShapesAndMetadata) {
  const auto path = temporary("model.safetensors");
  save_parameters(Model<float>(1), path, {{"config", "{}"}});
  const SafetensorsFile file(path);
  ASSERT_EQ(file.tensors().size(), 6u);
  EXPECT_EQ(file.tensor("patches").shape, (std::vector<Index>{2, 1, 2, 2}));
  EXPECT_EQ(file.tensor("blocks.1.weight").shape, (std::vector<Index>{2, 3}));
  EXPECT_EQ(file.tensor("blocks.0.bias").shape, (std::vector<Index>{2}));
  EXPECT_FALSE(file.contains("head.bias"));
  EXPECT_EQ(file.metadata().at("config"), "{}");
  EXPECT_EQ(file.read<float>("blocks.0.weight"), (std::vector<float>{9, 10, 11, 12, 13, 14}));
}

const NameMap foreign{.origin = "another library",
                      .prefix = "model.",
                      .rules = {{"patches", "stem.proj", ShapeForm::flatten_tail},
                                {"blocks.*.weight", "layers.*.fc.weight", ShapeForm::append_one},
                                {"blocks", "layers"}},
                      .ignored = {"layers.*.position_ids"}};

TEST(Checkpoint, RoundTripsThroughAnyNameMap) {
  const auto path = temporary("model.safetensors");
  save_parameters(Model<double>(1), path, {}, foreign);
  const SafetensorsFile file(path);
  EXPECT_EQ(file.tensor("model.stem.proj").shape, (std::vector<Index>{2, 4}));
  EXPECT_EQ(file.tensor("model.layers.1.fc.weight").shape, (std::vector<Index>{2, 3, 1}));
  EXPECT_TRUE(file.contains("model.layers.1.bias"));
  Model<double> loaded(-1000);
  load_parameters(loaded, file, foreign);
  EXPECT_EQ(all_values(loaded), all_values(Model<double>(1)));
}

// With a head, the names of the body's tensors contain `bert.` in the file; without a head, they do not. The same map
// loads both files.
TEST(Checkpoint, SavesTheBodyPrefixOnlyWithAHead) {
  const NameMap names{.prefix = "model.", .body = "bert.", .heads = {"cls."}, .rules = {{"head", "cls.head"}}};
  const auto path = temporary("model.safetensors");
  const auto expect_back = [&](const Model<float>& model, const char* patches) {
    save_parameters(model, path, {}, names);
    const SafetensorsFile file(path);
    EXPECT_TRUE(file.contains(patches)) << patches;
    EXPECT_EQ(file.contains("model.cls.head.weight"), model.head.has_value());
    Model<float> loaded = model;
    set_zero(loaded);
    load_parameters(loaded, file, names);
    EXPECT_EQ(all_values(loaded), all_values(model));
  };
  Model<float> model(1);
  expect_back(model, "model.bert.patches");
  model.head.reset();
  expect_back(model, "model.patches");
}

TEST(Checkpoint, ListsAllMismatchesAndChangesNothing) {
  const std::vector<float> four(4), six(6), eight(8);
  const std::vector<double> huge{0, 0, 0, 0, 1e300, 0};
  const std::vector<std::int64_t> whole(2);
  const auto path = temporary("wrong.safetensors");
  write_safetensors(path, {to_write("model.stem.proj", eight, {2, 4}), to_write("model.layers.0.fc.weight", six, {3, 2, 1}),
                           to_write("model.layers.0.bias", whole, {2}), to_write("model.layers.1.fc.weight", huge, {2, 3, 1}),
                           to_write("model.layers.0.position_ids", whole, {2}), to_write("model.layers.1.baits", four, {4}),
                           to_write("head.weight", four, {2, 2})});
  Model<float> model(7);
  const auto before = all_values(model);
  const std::string what = error_of<FileError>([&] { load_parameters(model, SafetensorsFile(path), foreign); });
  EXPECT_EQ(
      what,
      path.string() +
          ": the file does not fit the model (names of another library), and nothing was loaded: 2 missing, "
          "2 unexpected, 1 mis-shaped, 2 unconvertible."
          "\n  blocks.0.weight (in the file: model.layers.0.fc.weight): expected [2, 3, 1], got [3, 2, 1]"
          "\n  blocks.0.bias (in the file: model.layers.0.bias): expected [2], got I64, which is not a floating type"
          "\n  blocks.1.weight (in the file: model.layers.1.fc.weight): expected [2, 3, 1], got F64 whose value at index 4 "
          "does not fit F32"
          "\n  blocks.1.bias (in the file: model.layers.1.bias): expected [2], missing; nearest in the file: "
          "model.layers.1.baits [4]"
          "\n  head.weight (in the file: model.head.weight): expected [3, 2], missing; nearest in the file: head.weight [2, 2]"
          "\n  head.weight [2, 2]: unexpected, no parameter has this name"
          "\n  model.layers.1.baits [4]: unexpected, no parameter has this name");
  EXPECT_EQ(all_values(model), before);
}

TEST(Checkpoint, SummarisesAnyNumberOfMismatchesInTwelveLines) {
  struct Part {
    Vector<float> first = Vector<float>::Ones(1), second = Vector<float>::Ones(2);
    static constexpr auto fields() {
      return Fields(field("first", &Part::first, Role::bias), field("second", &Part::second, Role::bias));
    }
  };
  struct Many {
    std::vector<Part> parts = std::vector<Part>(250);
    static constexpr auto fields() { return Fields(field("parts", &Many::parts)); }
  } many;
  const auto path = temporary("many.safetensors");
  const std::vector<float> one(1), two(2);
  const auto report = [&](const std::vector<TensorToWrite>& tensors) {
    write_safetensors(path, tensors);
    const std::string what = error_of<FileError>([&] { load_parameters(many, SafetensorsFile(path)); });
    EXPECT_LE(std::count(what.begin(), what.end(), '\n'), 11) << what;
    return what.substr(what.find('\n'));
  };
  std::vector<TensorToWrite> blocks, different;
  for (int i = 0; i < 300; ++i) {
    blocks.push_back(to_write(text("parts.", i, ".first"), two, {2}));
    blocks.push_back(to_write(text("parts.", i, ".third"), one, {1}));
    different.push_back(to_write(text("tensor", i), one, {1}));
  }
  EXPECT_EQ(report(blocks),
            "\n  parts.*.first: expected [1], got [2] (250 times)"
            "\n  parts.*.second: expected [2], missing; nearest in the file: parts.*.third [1] (250 times)"
            "\n  parts.*.third [1]: unexpected, no parameter has this name (300 times)"
            "\n  parts.*.first [2]: unexpected, no parameter has this name (50 times)");
  EXPECT_EQ(report(different),
            "\n  parts.*.first: expected [1], missing (250 times)"
            "\n  parts.*.second: expected [2], missing (250 times)"
            "\n  tensor0 [1]: unexpected, no parameter has this name"
            "\n  tensor1 [1]: unexpected, no parameter has this name"
            "\n  tensor10 [1]: unexpected, no parameter has this name"
            "\n  tensor100 [1]: unexpected, no parameter has this name"
            "\n  … and 296 more unexpected");
}

TEST(Checkpoint, RefusesOneExtraTensor) {
  const auto path = temporary("model.safetensors");
  struct Larger {
    Model<float> inner{1};
    Vector<float> extra = Vector<float>::Ones(3);
    static constexpr auto fields() {
      return Fields(field("inner", &Larger::inner), field("extra", &Larger::extra, Role::bias));
    }
  };
  save_parameters(Larger{}, path);
  Model<float> model(7);
  const NameMap inner{.rules = {{"", "inner"}}};
  expect_error<FileError>([&] { load_parameters(model, SafetensorsFile(path), inner); },
                          {"0 missing, 1 unexpected, 0 mis-shaped", "extra [3]: unexpected"});
  EXPECT_EQ(all_values(model), all_values(Model<float>(7)));
  NameMap tolerant = inner;
  tolerant.ignored = {"extra"};
  load_parameters(model, SafetensorsFile(path), tolerant);
  EXPECT_EQ(all_values(model), all_values(Model<float>(1)));
}

TEST(Checkpoint, LoadsSharedTensorsButRefusesToSaveThem) {
  const std::vector<float> six{1, 2, 3, 4, 5, 6}, two{7, 8}, eight(8);
  const auto path = temporary("model.safetensors");
  const NameMap tied{.rules = {{"blocks.*", "shared"}}};
  write_safetensors(path, {to_write("patches", eight, {2, 1, 2, 2}), to_write("shared.weight", six, {2, 3}),
                           to_write("shared.bias", two, {2}), to_write("head.weight", six, {3, 2})});
  Model<float> model(0);
  load_parameters(model, SafetensorsFile(path), tied);
  EXPECT_EQ(model.blocks[0].weight, model.blocks[1].weight);
  EXPECT_EQ(model.blocks[1].bias[1], 8);
  const std::string before = test::read_text(path);
  expect_error<ArgumentError>([&] { save_parameters(model, path, {}, tied); }, {"two tensors are called \"shared."});
  EXPECT_EQ(test::read_text(path), before);
}

TEST(Checkpoint, RefusesToSaveValuesTooLargeForTheirType) {
  const auto path = temporary("model.safetensors");
  Model<float> model(1);
  model.blocks[1].bias[0] = 70000;
  expect_error<ArgumentError>([&] { save_parameters(model, path, {}, {}, Dtype::F16); },
                              {"blocks.1.bias holds values too large for F16"});
  expect_error<ArgumentError>([&] { save_parameters(model, path, {}, {}, Dtype::I32); }, {"dtype is I32, expected F64"});
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Checkpoint, AFailedSaveNamesThePath) {
  const auto path = temporary("nowhere") / "model.safetensors";
  expect_error<FileError>([&] { save_parameters(Model<float>(1), path); }, {path.string() + ": cannot create"});
}

}  // namespace
}  // namespace gated::checkpoint_test
