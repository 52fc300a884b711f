#include "lake/service/file_get.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lake/base/testing/test_folder.h"

namespace lake::service {
namespace {

namespace fs = std::filesystem;

class FileGetTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(Path("tmp"));
    stage_ = objects::OpenLocalStage(context_, {.root = Path("objects"),
                                                .stage_uri = "file:///lake/objects",
                                                .tenant = "default",
                                                .temp_dir = Path("tmp")})
                 .ValueOrDie();
    bytes_.resize(3'000'000);
    for (size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<char>(i * 7 + i / 251);
    Write("source", bytes_);
    location_ = stage_->UploadFile(context_, Path("source"), {}).ValueOrDie();
    fs::create_directories(Path("out"));
  }

  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }
  void Write(const std::string& name, const std::string& bytes) {
    std::ofstream(Path(name), std::ios::binary | std::ios::trunc) << bytes;
  }
  std::string Read(const std::string& name) const {
    std::ifstream file(Path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  Result<GetFileResult> Get(const std::string& output, std::optional<HalfOpenRange> range = {}) {
    GetFileOptions options;
    options.output = output;
    options.range = range;
    return GetFile(context_, stage_.get(), location_, options);
  }
  void FlipOneByte() {
    std::string name = fs::path(location_.uri).filename();
    std::string path = "objects/tenants/default/" + name;
    fs::permissions(Path(path), fs::perms::owner_all);
    std::string damaged = bytes_;
    damaged[2'999'999] ^= 1;
    Write(path, damaged);
  }
  size_t NumOutputs() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(Path("out")), fs::directory_iterator()));
  }

  Context context_;
  TestFolder folder_;
  std::string bytes_;
  std::shared_ptr<objects::Stage> stage_;
  objects::DataLocation location_;
};

TEST_F(FileGetTest, WholeFileAndRange) {
  EXPECT_EQ(Get(Path("out/whole")).ValueOrDie().bytes, bytes_.size());
  EXPECT_EQ(Read("out/whole"), bytes_);
  EXPECT_EQ(Get(Path("out/part"), HalfOpenRange{10, 1'500'000}).ValueOrDie().bytes, 1'499'990u);
  EXPECT_EQ(Read("out/part"), bytes_.substr(10, 1'499'990));
  EXPECT_EQ(NumOutputs(), 2u);
}

TEST_F(FileGetTest, AnOutputIsReplacedAsAWholeOrStays) {
  Write("out/file", "before");
  FlipOneByte();
  EXPECT_EQ(CodeOf(Get(Path("out/file")).status()), ErrorCode::kIntegrity);
  EXPECT_EQ(Read("out/file"), "before");
  EXPECT_EQ(NumOutputs(), 1u);
  EXPECT_TRUE(Get(Path("out/file"), HalfOpenRange{0, 5}).ok());
  EXPECT_EQ(Read("out/file"), bytes_.substr(0, 5));
}

TEST_F(FileGetTest, ALinkKeepsPointingToTheFile) {
  Write("out/real", "before");
  fs::create_symlink(Path("out/real"), Path("out/link"));
  EXPECT_TRUE(Get(Path("out/link"), HalfOpenRange{0, 5}).ok());
  EXPECT_TRUE(fs::is_symlink(Path("out/link")));
  EXPECT_EQ(Read("out/real"), bytes_.substr(0, 5));
}

TEST_F(FileGetTest, BadOutputsAreRefused) {
  EXPECT_EQ(CodeOf(Get(Path("out")).status()), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(Get(Path("out/x/")).status()), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(Get("").status()), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(Get(Path("missing/x")).status()), ErrorCode::kNotFound);
  EXPECT_EQ(NumOutputs(), 0u);
}

// A refused range touches no output.
TEST_F(FileGetTest, BadRangesAreRefused) {
  Write("out/file", "before");
  EXPECT_EQ(CodeOf(Get(Path("out/file"), HalfOpenRange{0, bytes_.size() + 1}).status()),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(Read("out/file"), "before");
}

TEST_F(FileGetTest, ADeviceOrFifoIsWrittenInPlace) {
  EXPECT_EQ(Get("/dev/null").ValueOrDie().bytes, bytes_.size());
  ASSERT_EQ(::mkfifo(Path("out/fifo").c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = Read("out/fifo"); });
  EXPECT_TRUE(Get(Path("out/fifo")).ok());
  reader.join();
  EXPECT_EQ(read, bytes_);
}

TEST_F(FileGetTest, AReaderThatGoesAwayIsNoError) {
  auto before = std::signal(SIGPIPE, SIG_IGN);
  ASSERT_EQ(::mkfifo(Path("out/fifo").c_str(), 0600), 0);
  std::thread reader([&] {
    int fd = ::open(Path("out/fifo").c_str(), O_RDONLY);
    char block[100];
    EXPECT_GT(::read(fd, block, sizeof(block)), 0);
    ::close(fd);
  });
  GetFileResult result = Get(Path("out/fifo")).ValueOrDie();
  reader.join();
  std::signal(SIGPIPE, before);
  EXPECT_TRUE(result.output_closed);
}

TEST(ParseRangeTest, HalfOpen) {
  HalfOpenRange range = ParseRange("10..20").ValueOrDie();
  EXPECT_EQ(range.start, 10u);
  EXPECT_EQ(range.end, 20u);
  EXPECT_EQ(ParseRange("0..18446744073709551615").ValueOrDie().end, UINT64_MAX);
  for (const char* bad : {"", "1", "1..", "..2", "2..1", "1..1", "a..b", "1...2", "-1..2", "1..2 ",
                          "0..18446744073709551616", "+1..2", "0x1..2"}) {
    EXPECT_EQ(CodeOf(ParseRange(bad).status()), ErrorCode::kInvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace lake::service
