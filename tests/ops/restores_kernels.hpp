#pragma once

#include <gtest/gtest.h>

#include "gated/ops/kernel_form.hpp"

namespace gated::test {

/// A fixture whose tests may call use_kernels(): the form is restored after each.
class RestoresKernels : public ::testing::Test {
 protected:
  ~RestoresKernels() override { use_kernels(before_); }

 private:
  KernelForm before_ = kernels();
};

}  // namespace gated::test
