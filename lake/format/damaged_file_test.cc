// Damaged files: whatever happens to the bytes, reading them ends in an error or in a valid array,
// and never allocates more than the file can justify.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <random>
#include <span>
#include <string>
#include <string_view>

#include <arrow/record_batch.h>
#include <gtest/gtest.h>

#include "lake/format/container.h"
#include "lake/format/testing/decoder_inputs.h"
#include "lake/format/testing/fixture_check.h"
#include "lake/format/testing/fixtures.h"

namespace {

// The largest piece that operator new was asked for; every piece of this program passes here.
thread_local size_t largest_allocation = 0;

void* Allocate(size_t size) {
  if (size > largest_allocation) largest_allocation = size;
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void* AllocateOrNull(size_t size) noexcept {
  try {
    return Allocate(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace

// The thread sanitizer's runtime has these as well; the cap is held to by all other builds.
#ifndef LAKE_THREAD_SANITIZER
void* operator new(size_t size) { return Allocate(size); }
void* operator new[](size_t size) { return Allocate(size); }
void* operator new(size_t size, const std::nothrow_t&) noexcept { return AllocateOrNull(size); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return AllocateOrNull(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
#endif

namespace lake::format {
namespace {

// The full form makes 2,000 of each fixture; the suite of every day few, as it runs twice.
int NumMutations() {
  const char* const all = std::getenv("LAKE_TEST_LONG");
  return all != nullptr && std::string_view(all) == "1" ? 2000 : 60;
}

// No fixture decodes to more than 1 MB.
constexpr size_t kAllocationCap = 64 << 20;

class DamagedFileTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { largest_allocation = 0; }
  void TearDown() override { EXPECT_LT(largest_allocation, kAllocationCap); }
};

TEST_P(DamagedFileTest, Truncated) {
  const std::string& bytes = FindFixture(GetParam()).bytes;
  const size_t step = std::max<size_t>(64, bytes.size() / 64);
  for (size_t size = 0; size < bytes.size(); size += step) DecodeFileInput(bytes.substr(0, size));
}

// The end of the file stays, so that what lies in front of it is read at the wrong places.
TEST_P(DamagedFileTest, CutInTheMiddle) {
  const std::string& bytes = FindFixture(GetParam()).bytes;
  const size_t step = std::max<size_t>(256, bytes.size() / 64);
  for (size_t at = 0; at + 64 < bytes.size(); at += step) {
    std::string damaged = bytes;
    damaged.erase(at, 1 + at % 61);
    DecodeFileInput(damaged);
  }
}

TEST_P(DamagedFileTest, Mutated) {
  const std::string& bytes = FindFixture(GetParam()).bytes;
  std::mt19937_64 random(std::hash<std::string>()(GetParam()));
  const int mutations = NumMutations();
  RecordProperty("mutations", mutations);
  for (int i = 0; i < mutations; ++i) {
    std::string damaged = bytes;
    const int changes = 1 + static_cast<int>(random() % 3);
    for (int change = 0; change < changes; ++change) {
      // Half of the damage goes to the last part, where all the structure is.
      const size_t region =
          random() % 2 == 0 ? damaged.size() : std::min<size_t>(damaged.size(), 1200);
      const size_t at = damaged.size() - 1 - random() % region;
      switch (random() % 4) {
        case 0:
          damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
          break;
        case 1:
          damaged[at] = static_cast<char>(random());
          break;
        case 2:
          damaged[at] = random() % 2 == 0 ? '\0' : '\xFF';
          break;
        default: {
          const uint32_t number = static_cast<uint32_t>(random() >> random() % 64);
          const size_t size = std::min(sizeof(number), damaged.size() - at);
          std::memcpy(damaged.data() + at, &number, size);
        }
      }
    }
    DecodeFileInput(damaged);
  }
}

// Every byte of one column's metadata is gone: that column is an error, the others are read as
// before.
TEST_P(DamagedFileTest, ADamagedColumnDoesNotStopTheOthers) {
  const Fixture& fixture = FindFixture(GetParam());
  const auto intact = OpenBytes(fixture.bytes);
  if (!intact.ok()) return;  // FixtureTest knows which may.
  const auto columns = (*intact)->AllColumns();
  if (!columns.ok()) return;
  const RowSelection all(0, (*intact)->num_rows());
  const std::string_view bytes = fixture.bytes;
  const auto footer =
      FileFooter::DecodeFrom(bytes.substr(bytes.size() - kFooterSize), bytes.size(), "f")
          .ValueOrDie();
  const auto table =
      DecodeOffsetTable(bytes.substr(footer.column_table_start, footer.column_table().length),
                        bytes.size(), "t", "f")
          .ValueOrDie();
  for (size_t damaged = 0; damaged < columns->size(); damaged += 1 + columns->size() / 4) {
    std::string copy = fixture.bytes;
    for (const int column : (*columns)[damaged].columns) {
      std::fill_n(copy.begin() + static_cast<ptrdiff_t>(table[column].offset), table[column].length,
                  '\xFF');
    }
    const auto reader = OpenBytes(copy).ValueOrDie();
    for (size_t i = 0; i < columns->size(); ++i) {
      const auto expected = (*intact)->Read(Context(), std::span(&(*columns)[i], 1), all);
      const auto actual = reader->Read(Context(), std::span(&(*columns)[i], 1), all);
      if (i == damaged) {
        // A struct without fields has nothing in 2.0 that could be damaged.
        const Field& field = (*columns)[i].field;
        const bool has_values = field.logical_type != "struct" || !field.children.empty();
        EXPECT_TRUE(!actual.ok() || !has_values) << field.name;
        continue;
      }
      ASSERT_EQ(expected.ok(), actual.ok()) << actual.status();
      if (expected.ok()) ExpectSameValues((*expected)->column(0), (*actual)->column(0));
    }
  }
}

std::vector<std::string> FixtureNames() {
  std::vector<std::string> names;
  for (const Fixture& fixture : Fixtures()) names.push_back(fixture.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, DamagedFileTest, testing::ValuesIn(FixtureNames()),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name) {
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace lake::format
