#include "gated/io/labml.hpp"

#include <gtest/gtest.h>

#include <map>

namespace gated::labml_test {
namespace {

TEST(Labml, NamesCoverEveryParameterOfABlock) {
  const GmlpBlock<float> block(labml_block_config(6, 8, 5));
  std::map<std::string, std::vector<Index>> names;
  for_each_parameter(
      [&](const ParameterInfo& info, auto) {
        const FileTensor tensor = labml_block_names().in_file(info.path(), info.shape);
        EXPECT_TRUE(names.emplace(tensor.name, tensor.shape).second) << tensor.name << " occurs twice";
      },
      block);
  EXPECT_EQ(names, (std::map<std::string, std::vector<Index>>{{"norm.weight", {6}},
                                                              {"norm.bias", {6}},
                                                              {"proj1.weight", {8, 6}},
                                                              {"proj1.bias", {8}},
                                                              {"sgu.norm.weight", {4}},
                                                              {"sgu.norm.bias", {4}},
                                                              {"sgu.weight", {5, 5}},
                                                              {"sgu.bias", {5}},
                                                              {"proj2.weight", {6, 4}},
                                                              {"proj2.bias", {6}}}));
}

TEST(Labml, BlocksAcceptShorterSequences) {
  GmlpBlock<float> block(labml_block_config(6, 8, 5));
  block.proj_in.weight.setZero();
  block.gate.proj.weight.setZero();
  block.proj_out.weight.setZero();
  Matrix<float> y(3, 6);
  Workspace<float> workspace;
  EXPECT_NO_THROW(block.forward(Matrix<float>::Ones(3, 6), Sequences::single(3), y, workspace));
  EXPECT_EQ(y, (Matrix<float>::Ones(3, 6)));
}

}  // namespace
}  // namespace gated::labml_test
