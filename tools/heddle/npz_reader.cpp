// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads zip archives as far as NumPy writes them (PKWARE's APPNOTE 4.3, sections 4.3.7, 4.3.12, 4.3.14 to 4.3.16 and
// 4.5.3): no encryption, no parts, no compression but deflate.

#include "tools/heddle/npy.h"
#include "tools/heddle/npz.h"
#include "tools/heddle/text.h"

#include <algorithm>
#include <zlib.h>

namespace heddle::cli {

static constexpr uint32_t localSignature = 0x04034b50, directorySignature = 0x02014b50, endSignature = 0x06054b50,
                          end64Signature = 0x06064b50, locator64Signature = 0x07064b50;
/// Fixed parts of the records with these signatures.
static constexpr size_t localSize = 30, directorySize = 46, endSize = 22, end64Size = 56, locator64Size = 20;

bool looksLikeZip(std::string_view bytes) { return startsWith(bytes, "PK\x03\x04") || startsWith(bytes, "PK\x05\x06"); }

NpzReader::NpzReader(std::string archive, std::string archiveName)
    : bytes(std::move(archive)), name(std::move(archiveName)) {
  readDirectory();
}

void NpzReader::failWith(const std::string &reason) const {
  fail(Exit::File, "H0523", "'" + name + "' is no readable .npz file: " + reason);
}

std::string_view NpzReader::range(uint64_t offset, uint64_t length) const {
  if (offset > bytes.size() || length > bytes.size() - offset)
    failWith("truncated or damaged: it refers to bytes past its end");
  return std::string_view(bytes).substr(offset, length);
}

uint64_t NpzReader::number(uint64_t offset, unsigned length) const {
  std::string_view field = range(offset, length);
  uint64_t value = 0;
  for (unsigned i = length; i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(field[i]);
  return value;
}

void NpzReader::readDirectory() {
  // The end record is found from the end: a comment of at most 64 KiB may follow it.
  if (bytes.size() < endSize)
    failWith(bytes.empty() ? "it is empty" : "it is too short");
  size_t end = bytes.size() - endSize;
  size_t lowest = end - std::min<size_t>(end, UINT16_MAX);
  while (number(end, 4) != endSignature || number(end + 20, 2) > bytes.size() - end - endSize) {
    if (end == lowest)
      failWith("truncated: it has no directory");
    --end;
  }
  uint64_t count = number(end + 10, 2);
  uint64_t offset = number(end + 16, 4);
  if (end >= locator64Size && number(end - locator64Size, 4) == locator64Signature) {
    uint64_t end64 = number(end - locator64Size + 8, 8);
    if (range(end64, end64Size).size() != end64Size || number(end64, 4) != end64Signature)
      failWith("its zip64 directory is damaged");
    count = number(end64 + 32, 8);
    offset = number(end64 + 48, 8);
  }
  for (uint64_t i = 0; i < count; ++i)
    members.push_back(readDirectoryEntry(offset));
}

NpzReader::Member NpzReader::readDirectoryEntry(size_t &offset) const {
  range(offset, directorySize);
  if (number(offset, 4) != directorySignature)
    failWith("its directory is damaged");
  if (number(offset + 8, 2) & 1)
    failWith("it is encrypted");
  size_t nameLength = number(offset + 28, 2), extraLength = number(offset + 30, 2);
  Member member;
  member.method = static_cast<uint32_t>(number(offset + 10, 2));
  member.checksum = static_cast<uint32_t>(number(offset + 16, 4));
  member.compressedSize = number(offset + 20, 4);
  member.size = number(offset + 24, 4);
  member.headerOffset = number(offset + 42, 4);
  member.key = range(offset + directorySize, nameLength);
  if (endsWith(member.key, ".npy"))
    member.key.resize(member.key.size() - 4);

  // Extra fields: the one with id 1 holds those values that were too large, in this order.
  size_t extra = offset + directorySize + nameLength, extraEnd = extra + extraLength;
  range(extra, extraLength);
  while (extraEnd - extra >= 4) {
    size_t id = number(extra, 2), length = number(extra + 2, 2);
    extra += 4;
    if (length > extraEnd - extra)
      failWith("its directory is damaged");
    size_t next = extra + length;
    for (uint64_t *value : {&member.size, &member.compressedSize, &member.headerOffset}) {
      if (id != 1 || *value != UINT32_MAX)
        continue;
      if (next - extra < 8)
        failWith("its zip64 directory is damaged");
      *value = number(extra, 8);
      extra += 8;
    }
    extra = next;
  }
  offset = extraEnd + number(offset + 32, 2);
  return member;
}

std::vector<std::string> NpzReader::keys() const {
  std::vector<std::string> names;
  for (const Member &member : members)
    names.push_back(member.key);
  return names;
}

bool NpzReader::has(std::string_view key) const {
  return std::any_of(members.begin(), members.end(), [&](const Member &member) { return member.key == key; });
}

TensorPtr NpzReader::read(std::string_view key) const {
  for (const Member &member : members)
    if (member.key == key)
      return readNpy(extract(member), name + ":" + member.key);
  fail(Exit::Usage, "H0326", "'" + name + "' holds no array '" + std::string(key) + "'", {},
       suggest(key, keys(), "arrays"));
}

/// Inflates a raw deflate stream to exactly |size| bytes; returns whether it was that. Memory grows with what has come
/// out: that an archive claims a size proves nothing.
static bool inflateExactly(std::string_view compressed, uint64_t size, std::string &out) {
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return false;
  struct Ending {
    z_stream &stream;
    ~Ending() { inflateEnd(&stream); }
  } ending{stream};
  // zlib counts in 32 bits, so both sides go in pieces.
  constexpr size_t piece = size_t(1) << 30, firstRoom = size_t(1) << 20;
  size_t taken = 0, made = 0;
  int result = Z_OK;
  while (result == Z_OK) {
    if (made == out.size())
      out.resize(std::min<uint64_t>(size, std::max(firstRoom, 2 * made)));
    size_t in = std::min(piece, compressed.size() - taken), room = std::min(piece, out.size() - made);
    stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(compressed.data() + taken));
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = reinterpret_cast<Bytef *>(out.data() + made);
    stream.avail_out = static_cast<uInt>(room);
    result = inflate(&stream, Z_NO_FLUSH);
    taken += in - stream.avail_in;
    made += room - stream.avail_out;
  }
  return result == Z_STREAM_END && made == size;
}

static uint32_t checksumOf(std::string_view data) {
  return static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef *>(data.data()), data.size()));
}

std::string NpzReader::extract(const Member &member) const {
  range(member.headerOffset, localSize);
  if (number(member.headerOffset, 4) != localSignature)
    failWith("member '" + member.key + "' is damaged");
  // The local header has a name and extra fields of its own; sizes come from the directory.
  uint64_t start =
      member.headerOffset + localSize + number(member.headerOffset + 26, 2) + number(member.headerOffset + 28, 2);
  std::string_view stored = range(start, member.compressedSize);
  std::string data;
  if (member.method == 0) {
    data = stored;
  } else if (member.method == 8) {
    // Deflate shrinks to 1/1032 at best: a larger size is damage.
    if (member.size / 1032 > stored.size())
      failWith("member '" + member.key + "' is damaged: its size is impossible");
    if (!inflateExactly(stored, member.size, data))
      failWith("member '" + member.key + "' is damaged: it doesn't inflate to its size");
  } else {
    failWith("member '" + member.key + "' is compressed with method " + std::to_string(member.method) +
             ", expects stored or deflate");
  }
  if (checksumOf(data) != member.checksum)
    failWith("member '" + member.key + "' is damaged: its checksum differs");
  return data;
}

} // namespace heddle::cli
