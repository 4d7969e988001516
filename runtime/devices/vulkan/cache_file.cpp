// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A header, the key, the content. A cache is input too: it lies in a folder of the user's, and its owner, length, key
// and checksum are looked at before a driver sees a byte, since drivers trust what they once wrote.

#include "runtime/devices/vulkan/cache_file.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <heddle/artifact_format.h>

namespace heddle::runtime::vulkan {

namespace {

constexpr char magic[8] = {'H', 'D', 'L', 'V', 'K', 'C', '\r', '\n'};
constexpr uint32_t layout_version = 1;
/// Files of one folder; a device and an artifact have one.
constexpr size_t most_files = 64;
constexpr char file_prefix[] = "pipelines-";
/// Of files while they are written, which takes no hour.
constexpr char new_prefix[] = ".new-";
constexpr time_t abandoned_seconds = 3600;

struct file_header {
  char magic[8];
  uint32_t version;
  uint32_t key_bytes;
  uint64_t content_bytes;
  uint64_t checksum; ///< XXH64 of key and content, the key's as seed
};
static_assert(sizeof(file_header) == 32, "no padding, which would be written unset");

/// By references, so that static analysis knows that nothing is null.
uint64_t checksum_of(const std::string &key, const std::vector<std::byte> &content) {
  const uint64_t seed = XXH64(&key[0], key.size(), layout_version);
  return content.empty() ? seed : XXH64(&content.front(), content.size(), seed);
}

/// Closes a file descriptor.
class descriptor {
public:
  explicit descriptor(int value) : value_(value) {}
  descriptor(const descriptor &) = delete;
  descriptor &operator=(const descriptor &) = delete;
  ~descriptor() {
    if (value_ >= 0)
      close(value_);
  }
  int get() const { return value_; }

private:
  int value_;
};

bool read_all(int file, void *to, size_t bytes) {
  auto *next = static_cast<char *>(to);
  while (bytes != 0) {
    const ssize_t done = read(file, next, bytes);
    if (done <= 0)
      return false;
    next += done;
    bytes -= static_cast<size_t>(done);
  }
  return true;
}

bool write_all(int file, const void *from, size_t bytes) {
  const auto *next = static_cast<const char *>(from);
  while (bytes != 0) {
    const ssize_t done = write(file, next, bytes);
    if (done <= 0)
      return false;
    next += done;
    bytes -= static_cast<size_t>(done);
  }
  return true;
}

/// Makes the folders above |path|, readable by nobody else.
void make_folders(const std::string &path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
    mkdir(path.substr(0, slash).c_str(), 0700); // there already, or the write will fail
}

/// Leaves room for the file |replacing|, which may be there, and removes what killed processes were writing.
void remove_oldest(const std::string &folder, const std::string &replacing) {
  const std::unique_ptr<DIR, int (*)(DIR *)> list(opendir(folder.c_str()), closedir);
  if (!list)
    return;
  std::vector<std::pair<time_t, std::string>> files;
  while (const dirent *file = readdir(list.get())) {
    const std::string path = folder + "/" + file->d_name;
    struct stat status;
    if (path == replacing || stat(path.c_str(), &status) != 0)
      continue;
    if (std::strncmp(file->d_name, file_prefix, sizeof(file_prefix) - 1) == 0)
      files.emplace_back(status.st_mtime, path);
    else if (std::strncmp(file->d_name, new_prefix, sizeof(new_prefix) - 1) == 0 &&
             status.st_mtime + abandoned_seconds < std::time(nullptr))
      unlink(path.c_str());
  }
  if (files.size() < most_files)
    return;
  std::sort(files.begin(), files.end());
  for (size_t i = 0; i + most_files <= files.size(); ++i)
    unlink(files[i].second.c_str());
}

} // namespace

std::string cache_key(const gpu &gpu, const artifact &loaded) {
  heddle_artifact_header_t header;
  std::memcpy(&header, loaded.source.data(), sizeof(header));
  const VkPhysicalDeviceProperties &has = gpu.properties;
  std::string key = format("layout %u heddle %s artifact %016llx uuid ", layout_version, heddle_version(),
                           static_cast<unsigned long long>(header.program_checksum));
  // Drivers differ in care with these: lavapipe's UUID says nothing, its version is the same at every width.
  for (uint8_t byte : has.pipelineCacheUUID)
    key += format("%02x", byte);
  for (const section_table &section : loaded.tables.sections)
    if (section.is_code)
      key += format(" code %016llx", static_cast<unsigned long long>(section.checksum));
  return key + format(" vendor %x device %x driver %x id %u subgroup %u features %x name '%s' '%s'", has.vendorID,
                      has.deviceID, has.driverVersion, gpu.driver_id, gpu.subgroup_size, gpu.features, has.deviceName,
                      gpu.driver.c_str());
}

uint64_t content_checksum(const std::vector<std::byte> &content) { return checksum_of("", content); }

std::string cache_path(const std::string &key) {
  const char *base = std::getenv("XDG_CACHE_HOME");
  const char *home = std::getenv("HOME");
  std::string folder;
  // Both have to be absolute: a relative one would put files wherever the process stands.
  if (base && *base == '/')
    folder = base;
  else if (home && *home == '/')
    folder = std::string(home) + "/.cache";
  else
    return "";
  return folder + "/heddle/vulkan/" + file_prefix +
         format("%016llx", static_cast<unsigned long long>(XXH64(&key[0], key.size(), 0)));
}

std::vector<std::byte> read_cache_file(const std::string &path, const std::string &key) {
  const descriptor file(path.empty() ? -1 : open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status;
  file_header header;
  if (file.get() < 0 || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
      !read_all(file.get(), &header, sizeof(header)))
    return {};
  const auto length = static_cast<uint64_t>(status.st_size);
  if (std::memcmp(header.magic, magic, sizeof(magic)) != 0 || header.version != layout_version ||
      length > most_cache_bytes || header.key_bytes != key.size() || header.content_bytes > length ||
      sizeof(header) + key.size() + header.content_bytes != length)
    return {};
  std::string found(header.key_bytes, '\0');
  std::vector<std::byte> content(header.content_bytes);
  if (!read_all(file.get(), &found[0], found.size()) || found != key ||
      !read_all(file.get(), content.data(), content.size()) || checksum_of(key, content) != header.checksum)
    return {};
  return content;
}

void write_cache_file(const std::string &path, const std::string &key, const std::vector<std::byte> &content) {
  file_header header = {
      {}, layout_version, static_cast<uint32_t>(key.size()), content.size(), checksum_of(key, content)};
  std::memcpy(header.magic, magic, sizeof(magic));
  if (path.empty() || sizeof(header) + key.size() + content.size() > most_cache_bytes)
    return;
  make_folders(path);
  static std::atomic<unsigned> count{0};
  const std::string folder = path.substr(0, path.rfind('/'));
  const std::string temporary = format("%s/%s%ld-%u", folder.c_str(), new_prefix, static_cast<long>(getpid()), count++);
  {
    const descriptor file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (file.get() < 0)
      return;
    if (!write_all(file.get(), &header, sizeof(header)) || !write_all(file.get(), key.data(), key.size()) ||
        !write_all(file.get(), content.data(), content.size())) {
      unlink(temporary.c_str());
      return;
    }
  }
  remove_oldest(folder, path);
  if (rename(temporary.c_str(), path.c_str()) != 0)
    unlink(temporary.c_str());
}

} // namespace heddle::runtime::vulkan
