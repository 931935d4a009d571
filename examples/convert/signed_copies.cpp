// signed_copies MODEL RIGHT WRONG: for the test, writes two copies of a model of digits, with right and with wrong signatures.

#include "gated/gated.hpp"
#include "gated/io/model_file.hpp"
#include "gated/io/signature.hpp"

int main(int, char** files) {
  const auto model = gated::load_model<gated::GmlpImageClassifier<float>>(files[1]);
  auto signatures = gated::signatures(model);
  gated::save_model(model, files[2], signatures);
  signatures["signature"] = "0123456789abcdef";
  gated::save_model(model, files[3], signatures);
}
