#include "gated/core/aligned_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#ifdef __linux__
#include <unistd.h>
#endif

namespace gated::aligned_memory_test {
namespace {

std::uintptr_t address(const double* p) { return reinterpret_cast<std::uintptr_t>(p); }

TEST(AlignedMemory, AlignsToCacheLinesAndHugePages) {
  const AlignedMemory<double> small(3), large(std::size_t{1} << 20);
  EXPECT_EQ(address(small.data()) % 64, 0u);
  EXPECT_EQ(address(large.data()) % (std::uintptr_t{1} << 21), 0u);
  EXPECT_EQ(large.count(), std::size_t{1} << 20);
  large.data()[0] = large.data()[large.count() - 1] = 1;  // both ends are accessible
}

TEST(AlignedMemory, CanBeEmpty) { EXPECT_EQ(AlignedMemory<float>(0).count(), 0u); }

TEST(AlignedMemory, RefusesSizesThatCannotBeAllocated) {
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  constexpr std::size_t large = most / (sizeof(void*) < 8 ? 8 : 128);  // a 32-bit process can often allocate most / 16 bytes
  for (const std::size_t count : {large, most / 2, most}) {
    EXPECT_EQ(AlignedMemory<double>(count, std::nothrow).data(), nullptr) << count;
    EXPECT_THROW(AlignedMemory<double>{count}, MemoryError) << count;
  }
}

#ifdef MADV_HUGEPAGE
TEST(AlignedMemory, OneWriteToSmallPagesTakesOnePage) {
  constexpr std::size_t bytes = std::size_t{1} << 26, page = std::size_t{1} << 16;
  const auto memory = std::make_unique_for_overwrite<unsigned char[]>(bytes);
  ask_for_small_pages(memory.get(), bytes);
  memory[bytes / 2] = 1;

  unsigned char* const inside = memory.get() + (page - reinterpret_cast<std::uintptr_t>(memory.get()) % page);
  const auto system_page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> resident((bytes - page) / system_page);
  ASSERT_EQ(::mincore(inside, bytes - page, resident.data()), 0);
  EXPECT_EQ(std::count_if(resident.begin(), resident.end(), [](unsigned char state) { return (state & 1) != 0; }), 1);
}
#endif

TEST(AlignedMemory, MovesWithoutCopying) {
  AlignedMemory<double> first(1000), second(5);
  const double* const data = first.data();
  second = std::move(first);
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(second.count(), 1000u);
}

}  // namespace
}  // namespace gated::aligned_memory_test
