#include "gated/io/safetensors.hpp"

#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/models.hpp"

// The input is a whole file. The target reads its header, each tensor as several types, and the model named in its metadata.

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gated;
  const auto bytes = std::as_bytes(std::span(data, size));
  fuzz::accepted([&] {
    const SafetensorsFile file = SafetensorsFile::parse(bytes, "input");
    std::size_t covered = 0;
    for (const auto& entry : file.tensors()) {
      const std::string& name = entry.first;
      const TensorEntry& tensor = entry.second;
      covered += tensor.bytes.size();
      const auto offset = static_cast<std::size_t>(tensor.bytes.data() - bytes.data());
      fuzz::promise(offset <= size && tensor.bytes.size() <= size - offset, "a tensor is inside its file");
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
