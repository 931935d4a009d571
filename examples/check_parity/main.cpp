// check_parity CASE.safetensors...: checks that gated computes the same results as the original code. See README.md.

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>

#include "compare.hpp"

namespace {

using parity::Status;

Status run(const char* path) {
  try {
    const parity::CaseFile file(path);
    const auto verdict = parity::check(file);
    if (verdict.status == Status::unsupported) {
      std::printf("%-50s %-16s %49s  unsupported: %s\n", file.name().c_str(), file.family().c_str(), "",
                  verdict.message.c_str());
    } else {
      char gradients[32] = "";
      if (verdict.gradient_error) {
        std::snprintf(gradients, sizeof gradients, "gradients %8.1e", *verdict.gradient_error);
      }
      std::string outcome = verdict.status == Status::ok ? "ok" : "FAIL";
      outcome += verdict.message.empty() ? "" : ": " + verdict.message;
      std::printf("%-50s %-16s f32 %8.1e   f64 %8.1e   %-18s  %s\n", file.name().c_str(), file.family().c_str(),
                  verdict.float_error, verdict.double_error, gradients, outcome.c_str());
    }
    return verdict.status;
  } catch (const std::exception& error) {
    const std::string name = std::filesystem::path(path).stem().string();
    std::printf("%-50s %-16s %49s  FAIL: %s\n", name.c_str(), "-", "", error.what());
    return Status::failed;
  }
}

}  // namespace

int main(int count, char** arguments) {
  const bool asks_help = count == 2 && std::string(arguments[1]) == "--help";
  if (count < 2 || asks_help) {
    std::FILE* const out = asks_help ? stdout : stderr;
    std::fprintf(out, "usage: check_parity CASE.safetensors...\n\nFamilies:\n");
    for (const auto& list : parity::all_families()) {
      for (const auto& family : list) {
        std::fprintf(out, "  %-16.*s %.*s\n", static_cast<int>(family.family.size()), family.family.data(),
                     static_cast<int>(family.class_name.size()), family.class_name.data());
      }
    }
    return asks_help ? 0 : 2;
  }
  int ok = 0;
  for (int i = 1; i < count; ++i) {
    ok += run(arguments[i]) == Status::ok ? 1 : 0;
  }
  std::printf("%d of %d cases ok\n", ok, count - 1);
  return ok == count - 1 ? 0 : 1;
}
