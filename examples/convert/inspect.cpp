// gated_inspect: what is in a safetensors file, who wrote it, and the lines that open it. See README.md.

#include <cstdio>
#include <map>
#include <string>

#include "common/run_main.hpp"
#include "gated/gated.hpp"
#include "gated/io/labels.hpp"
#include "gated/io/model_file.hpp"
#include "options.hpp"

namespace {

using gated::Index, gated::SafetensorsFile;

/// One line for all tensors that differ in the number of their block only.
void print_tensors(const SafetensorsFile& file) {
  std::map<std::string, Index> counts;
  std::vector<std::string> order;
  Index numbers = 0;
  for (const auto& [name, tensor] : file.tensors()) {
    const std::string line = gated::text(gated::detail::folded(gated::printable(name)), " ", name_of(tensor.dtype), " ",
                                         gated::describe_shape(tensor.shape));
    if (++counts[line] == 1) {
      order.push_back(line);
    }
    numbers += static_cast<Index>(tensor.count());
  }
  std::printf("%s: %zu tensors, %td numbers\n\n", file.name().c_str(), file.tensors().size(), numbers);
  for (const std::string& line : order) {
    std::printf("  %s%s\n", line.c_str(), counts[line] == 1 ? "" : gated::text("  (", counts[line], " times)").c_str());
  }
  std::puts("");
}

/// Opens the file as a Model if that is what its metadata say, and shows how.
template <class Model>
bool open_as(const SafetensorsFile& file, const char* type) {
  const std::string architecture = gated::architecture_of(file);
  const bool is_timm = std::same_as<Model, gated::GmlpImageClassifier<float>> && architecture == "timm.gmlp";
  if (architecture != Model::architecture && !is_timm) {
    return false;
  }
  const Model model = gated::load_model<Model>(file);
  std::printf("It is a %s of %td parameters, with the configuration\n\n  %s\n\n", type, gated::parameter_count(model),
              gated::to_json(model.config).c_str());
  std::printf("These lines open it:\n\n  #include <gated/gated.hpp>\n  #include <gated/io/model_file.hpp>\n\n");
  std::printf("  const auto model = gated::load_model<gated::%s<float>>(\"%s\");\n", type, file.name().c_str());
  return true;
}

void print_origin(const SafetensorsFile& file) {
  const gated::Origin* const origin = gated::origin_of(file);
  if (origin == nullptr) {
    std::puts("The names are of no known origin. Write a NameMap for them: see gated/io/name_map.hpp.");
    return;
  }
  const std::string preset = gated::timm_preset_of(file);
  std::printf("The names are those of %s.%s\n\n", origin->writer,
              preset.empty() ? "" : (" The shapes are those of " + preset + ".").c_str());
  std::printf("These lines open it:\n\n  #include <gated/gated.hpp>\n  #include <%s>\n  #include <gated/io/checkpoint.hpp>\n\n",
              origin->header);
  std::printf("  const gated::SafetensorsFile file(\"%s\");\n  gated::%s<float> model(%s);\n", file.name().c_str(),
              origin->model, preset.empty() ? "config" : ("gated::" + preset).c_str());
  std::printf("  gated::load_parameters(model, file, gated::%s);\n", origin->names);
  if (preset.empty()) {
    std::puts(
        "\nexamples/convert/convert.py reads the configuration off the shapes, and writes a file that load_model() opens.");
  }
}

int run(const inspect::Options& options) {
  const SafetensorsFile file(options.file);
  print_tensors(file);
  if (const auto labels = gated::labels_of(file); !labels.empty()) {
    std::printf("It names %zu classes: %s, …\n\n", labels.size(), gated::printable(labels.front()).c_str());
  }
  const bool opened = open_as<gated::GmlpImageClassifier<float>>(file, "GmlpImageClassifier") ||
                      open_as<gated::GmlpLanguageModel<float>>(file, "GmlpLanguageModel") ||
                      open_as<gated::FlashLanguageModel<float>>(file, "FlashLanguageModel") ||
                      open_as<gated::GauEncoder<float>>(file, "GauEncoder") || open_as<gated::Gmlp<float>>(file, "Gmlp") ||
                      open_as<gated::Flash<float>>(file, "Flash") || open_as<gated::GmlpBlock<float>>(file, "GmlpBlock") ||
                      open_as<gated::GatedAttentionUnit<float>>(file, "GatedAttentionUnit") ||
                      open_as<gated::MixedChunkAttention<float>>(file, "MixedChunkAttention");
  if (!opened) {
    print_origin(file);
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  return examples::run_main(
      "gated_inspect", [&] { return inspect::parse_options(count, arguments); }, run);
}
