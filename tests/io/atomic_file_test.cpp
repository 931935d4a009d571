#include "gated/io/atomic_file.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "files.hpp"
#include "gated/core/error.hpp"
#include "gated/core/parallel.hpp"

#if defined(__unix__) || defined(__APPLE__)
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#endif

namespace gated::atomic_file_test {
namespace {

using test::expect_error;
using test::temporary;

auto bytes_of_text(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

TEST(AtomicFile, WritesAllPieces) {
  const auto path = temporary("file");
  AtomicFile file(path);
  file.write(bytes_of_text("one "));
  file.write({});
  file.write(bytes_of_text("two"));
  EXPECT_FALSE(std::filesystem::exists(path));
  file.commit();
  EXPECT_EQ(test::read_text(path), "one two");
  EXPECT_EQ(test::files_beside(path), 1u);
}

TEST(AtomicFile, RefusesAnEmptyPath) {
  expect_error<FileError>([] { AtomicFile file(""); }, {"AtomicFile: the path is empty. Name the file to write."});
}

#if defined(__unix__) || defined(__APPLE__)
/// Runs a child process that dies while it writes to `path`.
void kill_a_save(const std::filesystem::path& path) {
  const ::pid_t child = ::fork();
  if (child == 0) {
    AtomicFile file(path);
    file.write(bytes_of_text("half"));
    ::_exit(0);  // skips destructors, like a kill
  }
  ASSERT_GT(child, 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
}

TEST(AtomicFile, RemovesTemporaryFilesOfKilledSaves) {
  const auto path = temporary("file");
  for (const char* const kept : {"file.tmp", "file.12x.tmp", "file..tmp", "file.12.tmp2", "other.12.tmp", "xfile.12.tmp"}) {
    test::write_text(path.parent_path() / kept, "unrelated");
  }
  std::filesystem::create_directory(path.parent_path() / "file.7.tmp");
  kill_a_save(path);
  kill_a_save(path);
  EXPECT_EQ(test::files_beside(path), 8u) << "the second save removes the first save's temporary file";
  write_file_atomically(path, bytes_of_text("whole"));
  EXPECT_EQ(test::files_beside(path), 8u) << "the third save removes the second save's temporary file";
  EXPECT_EQ(test::read_text(path), "whole");
}

TEST(AtomicFile, RemovesTemporaryFilesInTheCurrentFolder) {
  const auto path = temporary("file"), before = std::filesystem::current_path();
  std::filesystem::current_path(path.parent_path());
  kill_a_save("file");
  write_file_atomically("file", bytes_of_text("whole"));
  std::filesystem::current_path(before);
  EXPECT_EQ(test::files_beside(path), 1u);
}

TEST(AtomicFile, KeepsTemporaryFilesOfConcurrentSaves) {
  const auto path = temporary("file");
  AtomicFile first(path), second(path);
  first.write(bytes_of_text("first"));
  second.write(bytes_of_text("second"));
  EXPECT_EQ(test::files_beside(path), 2u);
  second.commit();
  EXPECT_EQ(test::read_text(path), "second");
  first.commit();
  EXPECT_EQ(test::read_text(path), "first");
  EXPECT_EQ(test::files_beside(path), 1u);
}

TEST(AtomicFile, SavesOfManyThreadsAllSucceed) {
  const auto path = temporary("file");
  std::atomic<int> failures = 0;
  parallel_for(Threads(4), 400, [&](Index, Index) {
    try {
      write_file_atomically(path, bytes_of_text("whole"));
    } catch (const FileError&) {
      ++failures;
    }
  });
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(test::read_text(path), "whole");
  EXPECT_EQ(test::files_beside(path), 1u);
}
#endif

TEST(AtomicFile, KeepsTheOldFileUnlessCommitted) {
  const auto path = temporary("file");
  test::write_text(path, "old");
  {
    AtomicFile file(path);
    file.write(bytes_of_text("new"));
  }
  EXPECT_EQ(test::read_text(path), "old");
  EXPECT_EQ(test::files_beside(path), 1u);
}

TEST(AtomicFile, ReplacesAFileAndKeepsItsPermissions) {
  const auto path = temporary("file");
  test::write_text(path, "old");
  const auto secret = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
  std::filesystem::permissions(path, secret);
  write_file_atomically(path, bytes_of_text("new"));
  EXPECT_EQ(test::read_text(path), "new");
  EXPECT_EQ(std::filesystem::status(path).permissions(), secret);
}

TEST(AtomicFile, FollowsASymbolicLink) {
  const auto path = temporary("file"), link = temporary("link");
  test::write_text(path, "old");
  std::filesystem::create_symlink(path, link);
  write_file_atomically(link, bytes_of_text("new"));
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(test::read_text(path), "new");
}

TEST(AtomicFile, FollowsChainedLinksToAMissingFile) {
  const auto target = temporary("later"), link = temporary("link to later"), outer = temporary("link to the link");
  std::filesystem::create_symlink(target.filename(), link);  // relative to the link's folder
  std::filesystem::create_symlink(link, outer);
  write_file_atomically(outer, bytes_of_text("new"));
  EXPECT_TRUE(std::filesystem::is_symlink(outer));
  EXPECT_EQ(test::read_text(target), "new");
}

TEST(AtomicFile, RefusesCyclicLinks) {
  const auto a = temporary("a"), b = temporary("b");
  std::filesystem::create_symlink(a, b);
  std::filesystem::create_symlink(b, a);
  test::expect_error<FileError>([&] { write_file_atomically(a, bytes_of_text("new")); }, {"too many symbolic links"});
  EXPECT_TRUE(std::filesystem::is_symlink(a));
}

TEST(AtomicFile, RefusesAMissingFolder) {
  const auto path = temporary("nowhere") / "file";
  expect_error<FileError>([&] { write_file_atomically(path, bytes_of_text("x")); },
                          {path.string() + ": cannot create: No such file"});
}

TEST(AtomicFile, RefusesToReplaceAFolderOrAPipe) {
  const auto path = temporary("folder");
  std::filesystem::create_directories(path);
  expect_error<FileError>([&] { write_file_atomically(path, bytes_of_text("x")); }, {path.string() + ": is a directory"});
  EXPECT_EQ(test::files_beside(path), 1u);
#if defined(__unix__) || defined(__APPLE__)
  const auto pipe = temporary("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  expect_error<FileError>([&] { AtomicFile file(pipe); }, {pipe.string() + ": is not a regular file and is not replaced"});
#endif
}

#if defined(__unix__) || defined(__APPLE__)
TEST(AtomicFile, KeepsTheOldFileIfTheDiskIsFull) {
  const auto path = temporary("file");
  test::write_text(path, "old");
  struct ::rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  struct ::rlimit limit = before;
  limit.rlim_cur = 1000;  // writes beyond 1000 bytes fail, as on a full disk
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::string at_once, at_the_end;
  try {
    write_file_atomically(path, bytes_of_text(std::string(1 << 20, 'x')));
  } catch (const FileError& error) {
    at_once = error.what();
  }
  try {
    write_file_atomically(path, bytes_of_text(std::string(1001, 'x')));  // fits in the buffer; the final flush fails
  } catch (const FileError& error) {
    at_the_end = error.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_TRUE(at_once.starts_with(path.string() + ": cannot write: ")) << at_once;
  EXPECT_TRUE(at_the_end.starts_with(path.string() + ": cannot write: ")) << at_the_end;
  EXPECT_EQ(test::read_text(path), "old");
  EXPECT_EQ(test::files_beside(path), 1u);
}
#endif

}  // namespace
}  // namespace gated::atomic_file_test
