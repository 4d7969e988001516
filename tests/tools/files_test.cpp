// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// .npy and .npz files: every type and order, and damage of every kind, which must end in a message.

#include "tests/tools/expect_error.h"
#include "tools/heddle/files.h"
#include "tools/heddle/literal.h"
#include "tools/heddle/model_cache.h"
#include "tools/heddle/npy.h"
#include "tools/heddle/npz.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <pthread.h>
#include <random>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <zlib.h>

namespace heddle::cli {
namespace {

std::string littleEndian(uint64_t value, unsigned length) {
  std::string bytes;
  for (unsigned i = 0; i < length; ++i)
    bytes += static_cast<char>(value >> (8 * i) & 0xFF);
  return bytes;
}

/// A .npy file with the given dictionary and data.
std::string npyOf(const std::string &dictionary, const std::string &data, int version = 1) {
  std::string magic = "\x93NUMPY" + std::string(1, static_cast<char>(version)) + '\0';
  return magic + littleEndian(dictionary.size(), version == 1 ? 2 : 4) + dictionary + data;
}

std::string dictionaryOf(const std::string &type, const std::string &shape, const char *fortran = "False") {
  return "{'descr': '" + type + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n";
}

template <typename T> std::vector<T> valuesOf(const heddle_tensor_t *tensor) {
  const T *data = static_cast<const T *>(heddle_tensor_data(tensor));
  return {data, data + heddle_tensor_element_count(tensor)};
}

std::string bytesOf(const heddle_tensor_t *tensor) {
  return {static_cast<const char *>(heddle_tensor_data(tensor)), heddle_tensor_byte_length(tensor)};
}

/// A folder of its own for each test, gone afterwards.
class FilesTest : public testing::Test {
protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "heddle-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::string path(const char *name) const { return (folder / name).string(); }

  std::filesystem::path folder;
};

TEST(Npy, ReadsAllVersions) {
  for (int version : {1, 2, 3}) {
    TensorPtr tensor =
        readNpy(npyOf(dictionaryOf("<i8", "(2,)"), littleEndian(5, 8) + littleEndian(7, 8), version), "x");
    EXPECT_EQ(dimsOf(tensor.get()), (std::vector<int64_t>{2}));
    EXPECT_EQ(valuesOf<int64_t>(tensor.get()), (std::vector<int64_t>{5, 7}));
  }
}

TEST(Npy, SwapsBigEndian) {
  TensorPtr tensor = readNpy(npyOf(dictionaryOf(">i4", "(2,)"), std::string("\0\0\1\2\xff\xff\xff\xfe", 8)), "x");
  EXPECT_EQ(valuesOf<int32_t>(tensor.get()), (std::vector<int32_t>{258, -2}));
}

TEST(Npy, TransposesFortranOrder) {
  // Element (i, j, k) of a 2x3x2 array is 100 i + 10 j + k; the first index runs fastest in the file.
  std::string data;
  for (int k = 0; k < 2; ++k)
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 2; ++i)
        data += static_cast<char>(100 * i + 10 * j + k);
  TensorPtr tensor = readNpy(npyOf(dictionaryOf("|u1", "(2, 3, 2)", "True"), data), "x");
  EXPECT_EQ(valuesOf<uint8_t>(tensor.get()),
            (std::vector<uint8_t>{0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121}));
}

TEST(Npy, ReadsScalarsEmptyArraysAndBooleans) {
  EXPECT_EQ(dimsOf(readNpy(npyOf(dictionaryOf("<f4", "()"), "abcd"), "x").get()), (std::vector<int64_t>{}));
  EXPECT_EQ(dimsOf(readNpy(npyOf(dictionaryOf("<f4", "(0, 5)"), ""), "x").get()), (std::vector<int64_t>{0, 5}));
  TensorPtr booleans = readNpy(npyOf(dictionaryOf("|b1", "(3,)"), std::string("\0\1\2", 3)), "x");
  EXPECT_EQ(valuesOf<uint8_t>(booleans.get()), (std::vector<uint8_t>{0, 1, 1}));
}

TEST(Npy, WritesWhatItReads) {
  for (int type = HEDDLE_ELEMENT_F32; type <= HEDDLE_ELEMENT_BOOL; ++type) {
    for (std::vector<int64_t> dims : {std::vector<int64_t>{}, {3}, {2, 3}, {1, 0, 4}}) {
      TensorPtr tensor = createTensor(static_cast<heddle_element_type_t>(type), dims);
      char *data = static_cast<char *>(heddle_tensor_data(tensor.get()));
      for (size_t i = 0; i < heddle_tensor_byte_length(tensor.get()); ++i)
        data[i] = static_cast<char>(type == HEDDLE_ELEMENT_BOOL ? i % 2 : i);
      std::string header = npyHeader(tensor.get());
      EXPECT_EQ(header.size() % 64, 0u);
      TensorPtr again = readNpy(header + bytesOf(tensor.get()), "x");
      EXPECT_EQ(heddle_tensor_type(again.get()), type);
      EXPECT_EQ(dimsOf(again.get()), dims);
      EXPECT_EQ(bytesOf(again.get()), bytesOf(tensor.get()));
    }
  }
}

TEST(Npy, NamesWhatIsWrong) {
  struct {
    std::string bytes;
    const char *message;
  } cases[] = {
      {"", "it is empty"},
      {"hello, world", "it doesn't start with NumPy's magic bytes"},
      {npyOf("", "").substr(0, 7), "truncated: the header is cut off"},
      {npyOf(dictionaryOf("<f4", "(1,)"), "").substr(0, 40), "truncated: the header is cut off"},
      {npyOf(dictionaryOf("<f4", "(1,)"), "", 9), "format version 9, expects 1 to 3"},
      {npyOf(dictionaryOf("<f4", "(2, 3)"), std::string(20, 'x')), "truncated: 20 of 24 bytes of data"},
      {npyOf(dictionaryOf("<f4", "(4611686018427387904, 4)"), ""), "its shape overflows"},
      {npyOf(dictionaryOf("<f4", "(1,1,1,1,1,1,1,1,1)"), "abcd"), "more than 8 dimensions"},
      {npyOf(dictionaryOf("<f4", "(-1,)"), ""), "malformed shape"},
      {npyOf(dictionaryOf("<f4", "(1 2)"), ""), "malformed shape"},
      {npyOf(dictionaryOf("<f4", "(1,"), ""), "malformed shape"},
      {npyOf(dictionaryOf("<f4", "(1,)", "1"), ""), "malformed header"},
      {npyOf("{'descr': '<f4'}", ""), "lacks descr, fortran_order or shape"},
      {npyOf("{'descr': '<f4", ""), "malformed header"},
      {npyOf("{'colour': 1}", ""), "unknown key 'colour'"},
      {npyOf("{", ""), "malformed header"},
      {npyOf(dictionaryOf("<c8", "(1,)"), ""), "holds type 'c8', which no tensor has"},
      {npyOf(dictionaryOf("<U3", "(1,)"), ""), "holds type 'U3'"},
      {npyOf("{'descr': [('a', '<f4')], ", ""), "holds a record type"},
  };
  for (const auto &c : cases) {
    std::string error = errorOf([&] { readNpy(c.bytes, "file.npy"); });
    EXPECT_EQ(error.compare(0, 18, "exit 5: error[H052"), 0) << error;
    EXPECT_NE(error.find("'file.npy'"), std::string::npos) << error;
    EXPECT_NE(error.find(c.message), std::string::npos) << error;
  }
}

TEST(Npy, SurvivesAnyDamageToItsHeader) {
  const std::string good = npyOf(dictionaryOf("<f4", "(2, 3)"), std::string(24, 'x'));
  for (size_t i = 0; i < good.size() - 24; ++i) {
    for (int value = 0; value < 256; value += 5) {
      std::string bad = good;
      bad[i] = static_cast<char>(value);
      // Either it is still an array, or there is a message: nothing else leaves.
      errorOf([&] { readNpy(bad, "x"); });
    }
    EXPECT_NE(errorOf([&] { readNpy(good.substr(0, i), "x"); }), "") << "cut at " << i;
  }
}

std::string deflate(const std::string &data) {
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, data.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef *>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  ::deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// An archive of one deflated member, with zip64 fields as numpy.savez_compressed writes them if |zip64|.
std::string archiveOf(const std::string &name, const std::string &data, bool zip64, const std::string &comment = {}) {
  std::string packed = deflate(data);
  uint64_t checksum = crc32(0, reinterpret_cast<const Bytef *>(data.data()), static_cast<uInt>(data.size()));
  auto u16 = [](uint64_t value) { return littleEndian(value, 2); };
  auto u32 = [](uint64_t value) { return littleEndian(value, 4); };
  auto u64 = [](uint64_t value) { return littleEndian(value, 8); };
  std::string sizes = zip64 ? u32(UINT32_MAX) + u32(UINT32_MAX) : u32(packed.size()) + u32(data.size());
  std::string extra = zip64 ? u16(1) + u16(16) + u64(data.size()) + u64(packed.size()) : "";
  std::string common =
      u16(0) + u16(8) + u16(0) + u16(0x21) + u32(checksum) + sizes + u16(name.size()) + u16(extra.size());
  std::string local = u32(0x04034b50) + u16(45) + common + name + extra + packed;
  std::string directoryExtra =
      zip64 ? u16(99) + u16(2) + "ab" + u16(1) + u16(24) + u64(data.size()) + u64(packed.size()) + u64(0) : "";
  std::string directoryCommon = common.substr(0, common.size() - 2) + u16(directoryExtra.size());
  std::string directory = u32(0x02014b50) + u16(45) + u16(45) + directoryCommon + u16(0) + u16(0) + u16(0) + u32(0) +
                          u32(zip64 ? UINT32_MAX : 0) + name + directoryExtra;
  std::string end;
  if (zip64)
    end = u32(0x06064b50) + u64(44) + u16(45) + u16(45) + u32(0) + u32(0) + u64(1) + u64(1) + u64(directory.size()) +
          u64(local.size()) + u32(0x07064b50) + u32(0) + u64(local.size() + directory.size()) + u32(1);
  end += u32(0x06054b50) + u16(0) + u16(0) + u16(zip64 ? UINT16_MAX : 1) + u16(zip64 ? UINT16_MAX : 1) +
         u32(directory.size()) + u32(zip64 ? UINT32_MAX : local.size()) + u16(comment.size());
  return local + directory + end + comment;
}

const std::string array = npyOf(dictionaryOf("<i8", "(64,)"), std::string(512, '\3'));

TEST(Npz, ReadsDeflatedMembersWithAndWithoutZip64) {
  for (bool zip64 : {false, true}) {
    NpzReader reader(archiveOf("ids.npy", array, zip64, "a comment"), "x.npz");
    EXPECT_EQ(reader.keys(), (std::vector<std::string>{"ids"}));
    EXPECT_EQ(valuesOf<int64_t>(reader.read("ids").get()), std::vector<int64_t>(64, 0x0303030303030303));
  }
}

TEST(Npz, SurvivesAnyDamage) {
  for (bool zip64 : {false, true}) {
    const std::string good = archiveOf("ids.npy", array, zip64);
    auto readAll = [](const std::string &bytes) {
      NpzReader reader(bytes, "x.npz");
      for (const std::string &key : reader.keys())
        reader.read(key);
    };
    for (size_t i = 0; i < good.size(); ++i) {
      for (int value : {0, 1, 0x7F, 0x80, 0xFF}) {
        std::string bad = good;
        bad[i] = static_cast<char>(value);
        errorOf([&] { readAll(bad); });
      }
      EXPECT_NE(errorOf([&] { readAll(good.substr(0, i)); }), "") << "cut at " << i;
    }
  }
}

TEST(Npz, NoticesChangedData) {
  std::string archive = archiveOf("ids.npy", array, false);
  size_t checksum = archive.find("PK\x01\x02") + 16;
  archive[checksum] = static_cast<char>(archive[checksum] ^ 1);
  EXPECT_EQ(errorOf([&] { NpzReader(archive, "x.npz").read("ids"); }),
            "exit 5: error[H0523]: 'x.npz' is no readable .npz file: member 'ids' is damaged: its checksum differs\n");
}

TEST(Npz, ListsItsArraysForAnUnknownKey) {
  NpzReader reader(archiveOf("ids.npy", array, false), "x.npz");
  EXPECT_EQ(errorOf([&] { reader.read("mask"); }),
            "exit 2: error[H0326]: 'x.npz' holds no array 'mask'\n  help: arrays: ids\n");
}

TEST_F(FilesTest, NpzReadsWhatItWrites) {
  TensorPtr a = parseLiteral("[[1,2],[3,4]]", HEDDLE_ELEMENT_F32, 2), b = parseLiteral("true", HEDDLE_ELEMENT_BOOL, 0);
  writeNpz(path("out.npz"), {{"a/b", a.get()}, {"463", b.get()}});
  std::string bytes = readFile(path("out.npz"));
  NpzReader reader(bytes, "out.npz");
  EXPECT_EQ(reader.keys(), (std::vector<std::string>{"a/b", "463"}));
  EXPECT_EQ(valuesOf<float>(reader.read("a/b").get()), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(dimsOf(reader.read("463").get()), (std::vector<int64_t>{}));
  writeNpz(path("again.npz"), {{"a/b", a.get()}, {"463", b.get()}});
  EXPECT_EQ(readFile(path("again.npz")), bytes) << "the bytes depend on the arrays alone";
}

TEST_F(FilesTest, AnUnfinishedOutputLeavesTheOldFile) {
  {
    OutputFile file(path("out"));
    file.write("old");
    file.commit();
  }
  {
    OutputFile(path("out")).write("new");
  }
  EXPECT_EQ(readFile(path("out")), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1) << "no temporary file is left";
}

TEST_F(FilesTest, SaysWhyAFileCantBeReadOrWritten) {
  EXPECT_EQ(errorOf([&] { readFile(path("missing")); }),
            "exit 5: error[H0520]: cannot read '" + path("missing") + "': No such file or directory\n");
  EXPECT_EQ(errorOf([&] { readFile(folder.string()); }),
            "exit 5: error[H0520]: cannot read '" + folder.string() + "': Is a directory\n");
  EXPECT_EQ(errorOf([&] { OutputFile file(path("no/folder/out")); }),
            "exit 5: error[H0521]: cannot write '" + path("no/folder/out") +
                "': No such file or directory\n  help: the folder doesn't exist: create it first\n");
}

TEST_F(FilesTest, AFullDiskLeavesTheOldFile) {
  TensorPtr small = createTensor(HEDDLE_ELEMENT_F32, {1}), large = createTensor(HEDDLE_ELEMENT_F32, {100000});
  writeNpy(path("out.npy"), small.get());
  std::string before = readFile(path("out.npy"));
  // A limit on the size of files fails writes as a full disk does, but with another reason.
  rlimit old;
  getrlimit(RLIMIT_FSIZE, &old);
  rlimit limit = {4096, old.rlim_max};
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &limit);
  std::string error = errorOf([&] { writeNpy(path("out.npy"), large.get()); });
  setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_EQ(error, "exit 5: error[H0521]: cannot write '" + path("out.npy") +
                       "': File too large\n  help: nothing was written\n");
  EXPECT_EQ(readFile(path("out.npy")), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1) << "no temporary file is left";
}

TEST_F(FilesTest, AFolderWithoutPermissionLeavesTheOldFile) {
  {
    OutputFile file(path("out"));
    file.write("old");
    file.commit();
  }
  // Root may write anywhere, so the attempt is nobody's.
  const bool isRoot = geteuid() == 0;
  ASSERT_EQ(chmod(folder.c_str(), 0555), 0);
  if (isRoot) {
    ASSERT_EQ(seteuid(65534), 0);
  }
  std::string error = errorOf([&] { OutputFile file(path("out")); });
  if (isRoot) {
    ASSERT_EQ(seteuid(0), 0);
  }
  ASSERT_EQ(chmod(folder.c_str(), 0755), 0);
  EXPECT_EQ(error, "exit 5: error[H0521]: cannot write '" + path("out") +
                       "': Permission denied\n  help: nothing was written\n");
  EXPECT_EQ(readFile(path("out")), "old");
}

TEST_F(FilesTest, WhatIsNoFileIsNeverReplaced) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(errorOf([&] { OutputFile file(path("pipe")); }),
            "exit 5: error[H0521]: cannot write '" + path("pipe") +
                "': it is no regular file\n  help: nothing was written\n");
  EXPECT_TRUE(std::filesystem::is_fifo(path("pipe")));
  EXPECT_EQ(errorOf([&] { OutputFile file(folder.string()); }).find("exit 5: error[H0521]"), 0u);
}

TEST_F(FilesTest, APipeIsReadToItsEnd) {
  // In pieces, with signals in between: neither is the end.
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  struct sigaction action = {}, old;
  action.sa_handler = [](int) {};
  sigaction(SIGUSR1, &action, &old); // without SA_RESTART
  pthread_t reader = pthread_self();
  std::thread writer([&] {
    int descriptor = open(path("pipe").c_str(), O_WRONLY);
    for (int i = 0; i < 50; ++i) {
      ASSERT_EQ(write(descriptor, "0123456789", 10), 10);
      pthread_kill(reader, SIGUSR1);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    close(descriptor);
  });
  std::string bytes = readFile(path("pipe"));
  writer.join();
  sigaction(SIGUSR1, &old, nullptr);
  EXPECT_EQ(bytes.size(), 500u);
}

TEST(Npz, AClaimedSizeIsNotAllocated) {
  // A member of 1 MB that claims 1 GB, just what deflate could make of it at best.
  std::string data(size_t(1) << 20, '\0');
  std::mt19937 random(1);
  for (char &c : data)
    c = static_cast<char>(random());
  std::string archive = archiveOf("x.npy", data, false);
  const size_t size = archive.find("PK\x01\x02") + 24;
  archive.replace(size, 4, littleEndian(size_t(1) << 30, 4));
  rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  EXPECT_NE(errorOf([&] { NpzReader(archive, "x.npz").read("x"); }).find("it doesn't inflate to its size"),
            std::string::npos);
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 100 << 10) << "KiB";
}

TEST(ExternalFiles, AreFoundInTheModelsBytes) {
  // Two entries of field 13 of a TensorProto: location = "weights.bin", offset = "0".
  std::string entry = std::string("\x6a\x17\x0a\x08location\x12\x0bweights.bin", 25) + "\x6a\x0b\x0a\x06offset\x12\x01"
                                                                                       "0";
  EXPECT_EQ(externalFiles("abc" + entry + entry), (std::vector<std::string>{"weights.bin"}));
  EXPECT_EQ(externalFiles(std::string("\x0a\x08location\x12\x7f", 12)), (std::vector<std::string>{}));
  EXPECT_EQ(externalFiles(""), (std::vector<std::string>{}));
}

} // namespace
} // namespace heddle::cli
