// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes zip archives of stored members. Members start with their checksum, so it is computed first; sizes and offsets
// go to zip64 fields only where 32 bits are too few, because some readers know no zip64.

#include "tools/heddle/files.h"
#include "tools/heddle/npy.h"
#include "tools/heddle/npz.h"

#include <algorithm>
#include <zlib.h>

namespace heddle::cli {

namespace {

struct WrittenMember {
  std::string name;
  uint32_t checksum;
  uint64_t size, offset;
};

/// Appends little-endian numbers.
class Record {
public:
  Record &u16(uint64_t value) { return append(value, 2); }
  Record &u32(uint64_t value) { return append(value, 4); }
  Record &u64(uint64_t value) { return append(value, 8); }
  Record &text(const std::string &value) {
    bytes += value;
    return *this;
  }
  std::string bytes;

private:
  Record &append(uint64_t value, unsigned length) {
    for (unsigned i = 0; i < length; ++i)
      bytes += static_cast<char>(value >> (8 * i) & 0xFF);
    return *this;
  }
};

} // namespace

static uint64_t clamp32(uint64_t value) { return std::min<uint64_t>(value, UINT32_MAX); }

/// Fields that the local header and the directory entry share: flags (names are UTF-8), method stored, 1980-01-01.
static void appendCommon(Record &record, const WrittenMember &member, size_t extraLength) {
  record.u16(0x0800).u16(0).u16(0).u16(0x21).u32(member.checksum).u32(clamp32(member.size)).u32(clamp32(member.size));
  record.u16(member.name.size()).u16(extraLength);
}

static std::string localHeader(const WrittenMember &member) {
  Record extra;
  if (member.size >= UINT32_MAX)
    extra.u16(1).u16(16).u64(member.size).u64(member.size);
  Record record;
  record.u32(0x04034b50).u16(extra.bytes.empty() ? 20 : 45);
  appendCommon(record, member, extra.bytes.size());
  return record.text(member.name).text(extra.bytes).bytes;
}

static std::string directoryEntry(const WrittenMember &member) {
  Record values;
  if (member.size >= UINT32_MAX)
    values.u64(member.size).u64(member.size);
  if (member.offset >= UINT32_MAX)
    values.u64(member.offset);
  Record extra;
  if (!values.bytes.empty())
    extra.u16(1).u16(values.bytes.size()).text(values.bytes);
  unsigned version = extra.bytes.empty() ? 20 : 45;
  Record record;
  record.u32(0x02014b50).u16(version).u16(version);
  appendCommon(record, member, extra.bytes.size());
  record.u16(0).u16(0).u16(0).u32(0).u32(clamp32(member.offset));
  return record.text(member.name).text(extra.bytes).bytes;
}

static std::string endRecords(uint64_t count, uint64_t offset, uint64_t size) {
  Record record;
  if (count >= UINT16_MAX || offset >= UINT32_MAX || size >= UINT32_MAX) {
    record.u32(0x06064b50).u64(44).u16(45).u16(45).u32(0).u32(0).u64(count).u64(count).u64(size).u64(offset);
    record.u32(0x07064b50).u32(0).u64(offset + size).u32(1);
  }
  uint64_t count16 = std::min<uint64_t>(count, UINT16_MAX);
  record.u32(0x06054b50).u16(0).u16(0).u16(count16).u16(count16).u32(clamp32(size)).u32(clamp32(offset)).u16(0);
  return record.bytes;
}

void writeNpz(const std::string &path, const std::vector<std::pair<std::string, const heddle_tensor_t *>> &arrays) {
  OutputFile file(path);
  std::vector<WrittenMember> members;
  uint64_t offset = 0;
  for (const auto &[name, tensor] : arrays) {
    std::string header = npyHeader(tensor);
    std::string_view data(static_cast<const char *>(heddle_tensor_data(tensor)), heddle_tensor_byte_length(tensor));
    uLong checksum = crc32_z(0, reinterpret_cast<const Bytef *>(header.data()), header.size());
    checksum = crc32_z(checksum, reinterpret_cast<const Bytef *>(data.data()), data.size());
    members.push_back({name + ".npy", static_cast<uint32_t>(checksum), header.size() + data.size(), offset});
    std::string local = localHeader(members.back());
    file.write(local);
    file.write(header);
    file.write(data);
    offset += local.size() + members.back().size;
  }
  uint64_t directory = offset;
  for (const WrittenMember &member : members) {
    std::string entry = directoryEntry(member);
    file.write(entry);
    offset += entry.size();
  }
  file.write(endRecords(members.size(), directory, offset - directory));
  file.commit();
}

} // namespace heddle::cli
