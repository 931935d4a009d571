// gated_inspect: shows what is in a safetensors file, who wrote it, and the C++ that opens it. See README.md.

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>

#include "common/run_main.hpp"
#include "configurations.hpp"
#include "gated/core/path_pattern.hpp"
#include "gated/io/known_models.hpp"
#include "gated/io/labels.hpp"
#include "gated/io/model_file.hpp"
#include "gated/train/training.hpp"
#include "options.hpp"

namespace {

using gated::Index, gated::SafetensorsFile;

/// Prints one line for all tensors that differ only in their block's number.
void print_tensors(const SafetensorsFile& file) {
  std::map<std::string, Index> counts;
  std::vector<std::string> order;
  Index numbers = 0;
  for (const auto& [name, tensor] : file.tensors()) {
    const std::string line = gated::text(gated::pattern_of(gated::printable(name)), " ", name_of(tensor.dtype), " ",
                                         gated::describe_shape(tensor.shape));
    if (++counts[line] == 1) {
      order.push_back(line);
    }
    numbers += static_cast<Index>(tensor.count());
  }
  std::printf("%s: %zu tensors, %td elements\n\n", file.name().c_str(), file.tensors().size(), numbers);
  for (const std::string& line : order) {
    std::printf("  %s%s\n", line.c_str(), counts[line] == 1 ? "" : gated::text("  (", counts[line], " times)").c_str());
  }
  std::puts("");
}

/// Prints a model's type, size and configuration.
template <class Model>
void print_model(const Model& model, const char* type) {
  std::printf("It is a %s of %td parameters, with the configuration\n\n  %s\n\n", type, gated::parameter_count(model),
              gated::to_json(model.config).c_str());
}

/// Placeholder for the model of any training file; its configuration is not read.
struct AnyModel {
  using Config = gated::TrainingProgress;
};

bool is_training(const std::string& architecture) { return architecture.starts_with("gated.Training<"); }

/// Prints the progress and the settings of a training run.
void print_training(const SafetensorsFile& file) {
  const auto written = file.metadata().find("config");
  auto json = nlohmann::json::parse(written == file.metadata().end() ? "" : written->second, nullptr, false);
  gated::require<gated::FileError>(json.is_object(), file.name(),
                                   ": expected the configuration of a training run in the metadata.");
  json.erase("model");
  const auto config = gated::from_json<gated::TrainingConfig<AnyModel>>(json.dump(), file.name() + ": configuration");
  config.check();
  const Index done = config.progress.steps;
  const bool ends = config.schedule.form != gated::ScheduleForm::constant;
  std::printf("It is a training run with %td%s steps done%s\n\n", done,
              ends ? gated::text(" of ", config.schedule.steps).c_str() : "",
              ends && done >= config.schedule.steps ? ". Call set_schedule() to train longer." : ".");
  std::printf("  AdamW          %s\n  schedule       %s\n", gated::to_json(config.optimizer).c_str(),
              gated::to_json(config.schedule).c_str());
  std::printf("  learning rate  %g at the next step\n",
              gated::learning_rate(config.schedule, config.optimizer.learning_rate, done));
  std::printf("  clip_norm %g, average_decay %g, micro_batches %td\n\n", config.clip_norm, config.average_decay,
              config.micro_batches);
}

/// If the metadata names a Model or a training run of one, opens the file, prints the C++ that opens it, and returns true.
template <class Model>
bool open_as(const SafetensorsFile& file, const char* type) {
  using Training = gated::Training<Model>;
  const std::string architecture = gated::architecture_of(file);
  if (architecture == Training::architecture) {
    print_model(gated::load_model<Training>(file).model, type);
    std::printf("This C++ resumes it:\n\n  #include <gated/io/model_file.hpp>\n  #include <gated/train.hpp>\n\n");
    std::printf("  auto training = gated::load_model<gated::Training<gated::%s<float>>>(\"%s\");\n", type, file.name().c_str());
    std::puts("  gated::save_model(training.result(), \"model.safetensors\");  // the model alone");
    return true;
  }
  if (!gated::is_architecture_of<Model>(architecture)) {
    return false;
  }
  print_model(gated::load_model<Model>(file), type);
  std::printf("This C++ opens it:\n\n  #include <gated/gated.hpp>\n  #include <gated/io/model_file.hpp>\n\n");
  std::printf("  const auto model = gated::load_model<gated::%s<float>>(\"%s\");\n", type, file.name().c_str());
  return true;
}

/// Opens the file as a Model with the configuration derived from its shapes, and prints the C++ that opens it.
template <class Model>
void open_by_shapes(const SafetensorsFile& file, const gated::Origin& origin, const typename Model::Config& config) {
  gated::NameMap names = gated::names_of(file, origin);
  std::string ignored;
  for (const auto& [name, tensor] : file.tensors()) {  // ignores tensors outside the model
    const std::string first = name.substr(0, name.find('.'));
    if (!name.starts_with(names.prefix) &&
        std::find(names.ignored.begin(), names.ignored.end(), first) == names.ignored.end()) {
      names.ignored.push_back(first);
      ignored += gated::text(ignored.empty() ? "" : ", ", "\"", gated::printable(first), "\"");
    }
  }
  Model model = [&] {
    const gated::ParameterBudget budget = gated::budget_of(file);  // refuses a configuration far larger than the file
    return Model(config);
  }();
  gated::load_parameters(model, file, names);
  print_model(model, origin.model);
  const std::string preset = gated::preset_of(file);
  std::printf(
      "%sThis C++ opens it:\n\n  #include <gated/gated.hpp>\n  #include <%s>\n"
      "  #include <gated/io/checkpoint.hpp>\n  #include <gated/io/config_json.hpp>\n\n",
      preset.empty() ? "" : ("The shapes are those of " + preset + ". ").c_str(), origin.header);
  std::printf("  const gated::SafetensorsFile file(\"%s\");\n", file.name().c_str());
  if (preset.empty()) {
    std::printf("  gated::%s<float> model(gated::from_json<gated::%s<float>::Config>(R\"(%s)\"));\n", origin.model,
                origin.model, gated::to_json(config).c_str());
  } else {
    std::printf("  gated::%s<float> model(gated::%s);\n", origin.model, preset.c_str());
  }
  std::printf("  gated::NameMap names = gated::%s;\n", gated::names_call(origin, gated::printable(names.prefix)).c_str());
  if (!names.prefix.empty()) {
    std::printf("  names.prefix = \"%s\";\n", gated::printable(names.prefix).c_str());
  }
  if (!ignored.empty()) {
    std::printf("  names.ignored.insert(names.ignored.end(), {%s});\n", ignored.c_str());
  }
  std::puts(
      "  gated::load_parameters(model, file, names);\n\n"
      "Options that leave no trace in a file (causal, an activation, a chunk's length) have the original's defaults here.");
}

/// Describes a file that gated did not write, or whose model type this program does not know.
void print_origin(const SafetensorsFile& file, const std::string& architecture) {
  const gated::Origin* const origin = is_training(architecture) ? nullptr : gated::origin_of(file);
  if (origin == nullptr && !architecture.empty()) {
    std::printf(
        "It holds a %s, which this program cannot open. load_model<Type>(\"%s\") opens it; Type is the type that you saved.\n",
        gated::printable(architecture).c_str(), file.name().c_str());
    return;
  }
  if (origin == nullptr) {
    std::puts("The names match no known origin. Write a NameMap for them: see gated/io/name_map.hpp.");
    return;
  }
  std::printf("The names are those of %s.\n\n", origin->writer);
  inspect::with_configuration(file, *origin, [&]<class Model>(const typename Model::Config& config, std::type_identity<Model>) {
    open_by_shapes<Model>(file, *origin, config);
  });
}

int run(const inspect::Options& options) {
  const SafetensorsFile file(options.file);
  print_tensors(file);
  if (const auto labels = gated::labels_of(file); !labels.empty()) {
    std::printf("It names %zu classes: %s, …\n\n", labels.size(), gated::printable(labels.front()).c_str());
  }
  for (const auto& [name, value] : file.metadata()) {
    if (name == "signature" || name == "signature_int8") {
      std::printf("Its %s is %s. Run gated_signature to check it.\n\n", name.c_str(), gated::printable(value).c_str());
    }
  }
  const std::string architecture = gated::architecture_of(file);
  if (is_training(architecture)) {
    print_training(file);
  }
  const bool opened = gated::any_known_model([&]<class Model>(const char* type) { return open_as<Model>(file, type); });
  if (!opened) {
    print_origin(file, architecture);
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  return examples::run_main(
      "gated_inspect", [&] { return inspect::parse_options(count, arguments); }, run);
}
