#include "lake/format/leaf_builder.h"

#include <string>

#include <arrow/array/data.h>
#include <arrow/memory_pool.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

namespace lake::format {
namespace {

TEST(LeafBuilderTest, StringsGiveBackWhatWasReservedForThem) {
  arrow::ProxyMemoryPool pool(arrow::default_memory_pool());
  const LeafType type = LeafType::From(arrow::utf8()).ValueOrDie();
  LeafBuilder builder = LeafBuilder::Make(type, Nesting(), 2, &pool).ValueOrDie();
  ASSERT_TRUE(builder.ReserveBytes(1 << 20).ok());
  ASSERT_TRUE(builder.AppendBytes("robot").ok());
  ASSERT_TRUE(builder.AppendBytes(std::string(95, 'x')).ok());
  const auto data = builder.Finish();
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ((*data)->buffers[2]->size(), 100);
  EXPECT_LT((*data)->buffers[2]->capacity(), 4096);
  EXPECT_LT(pool.bytes_allocated(), 4096);
  EXPECT_EQ(std::string_view(*(*data)->buffers[2]).substr(0, 6), "robotx");
}

}  // namespace
}  // namespace lake::format
