#pragma once

#include <gtest/gtest.h>

#include "gated/ops/kernel_form.hpp"

namespace gated::test {

/// A fixture for tests that call use_kernels(): restores the kernel form after each test.
class RestoresKernels : public ::testing::Test {
 protected:
  ~RestoresKernels() override { use_kernels(before_); }

 private:
  KernelForm before_ = kernels();
};

}  // namespace gated::test
