#include "gated/io/safetensors.hpp"

#include "gated/io/safetensors_view.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/models.hpp"

// The input is a whole file. The target reads its header, each tensor as several types, and the model named in its metadata. It
// also finds each tensor with a SafetensorsView, which reads only a part of the header.

namespace {

using gated::SafetensorsView, gated::TensorView;

/// Finds a tensor with a SafetensorsView, if the view accepts the header up to that tensor.
TensorView find(std::span<const std::byte> file, std::string_view name) {
  TensorView found;
  gated::fuzz::accepted([&] { found = SafetensorsView(file).find(name); });
  if (found) {
    const auto size = static_cast<std::size_t>(found.rows * found.columns) * gated::size_of(found.dtype);
    gated::fuzz::promise(found.bytes.size() == size, "a tensor found by name has the size of its shape");
    gated::fuzz::promise(
        found.bytes.data() >= file.data() && size <= file.size() && found.bytes.data() <= file.data() + (file.size() - size),
        "a tensor found by name lies inside its file");
  }
  return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gated;
  const auto bytes = std::as_bytes(std::span(data, size));
  for (const char* const name : {"", "weight", "trunk.blocks.0.gate.proj.weight"}) {
    find(bytes, name);
  }
  fuzz::accepted([&] {
    const SafetensorsFile file = SafetensorsFile::parse(bytes, "input");
    std::size_t covered = 0;
    for (const auto& entry : file.tensors()) {
      const std::string& name = entry.first;
      const TensorEntry& tensor = entry.second;
      covered += tensor.bytes.size();
      const auto offset = static_cast<std::size_t>(tensor.bytes.data() - bytes.data());
      fuzz::promise(offset <= size && tensor.bytes.size() <= size - offset, "every tensor lies inside its file");
      const TensorView found = find(bytes, name);
      fuzz::promise(!found || name.find('\\') != std::string::npos ||
                        (found.dtype == tensor.dtype && found.bytes.data() == tensor.bytes.data()),
                    "both readers find the same tensor");
      fuzz::accepted([&] { file.read<float>(name); });
      fuzz::accepted([&] { file.read<double>(name); });
      fuzz::accepted([&] { file.read<std::int64_t>(name); });
      fuzz::accepted([&] { file.read<std::uint8_t>(name); });
      fuzz::accepted([&] { file.tensor(name + "?"); });
    }
    fuzz::promise(covered <= size, "tensors do not overlap");
    const auto architecture = file.metadata().find("architecture");
    const bool says = architecture != file.metadata().end();
    const std::string_view named = says ? architecture->second : std::string_view(GmlpImageClassifier<float>::architecture);
    fuzz::with_model(named, fuzz::EveryModel{}, [&]<class Model>() { load_model<Model>(file); });
  });
  return 0;
}
