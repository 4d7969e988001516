// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes artifacts for tests, as the compiler would: the FlatBuffer from its object API, with the kernels of kernels.c
// as code. Tests change |program| freely before or after building up, to get exactly the damage they want.

#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/core/memory_block.h"
#include "runtime/include/heddle/artifact_generated.h"

namespace heddle::test {

/// Bytes aligned as a mapped file.
struct artifact_bytes {
  runtime::memory_block block;
  size_t size = 0;

  std::byte *data() const { return block.data(); }
};

/// Builds one entry point; slots are made as they are asked for.
class entry_builder {
public:
  explicit entry_builder(fb::EntryT *entry) : entry_(entry) {}

  /// An input whose dimensions are names ("batch") or numbers ("384").
  fb::Binding input(const std::string &name, fb::ElementType type, const std::vector<std::string> &dims);
  fb::Binding output(const std::string &name, fb::ElementType type, const std::vector<std::string> &dims,
                     const std::vector<uint32_t> &slots);
  /// Arena memory of |bytes| (a slot) from step |first| to |last|.
  fb::Binding buffer(uint32_t bytes, uint32_t first, uint32_t last);

  uint32_t constant(int64_t value);
  uint32_t dim(const fb::Binding &input, uint32_t dim);
  uint32_t value(const fb::Binding &input, uint32_t element);
  uint32_t op(fb::ShapeOpcode opcode, uint32_t a, uint32_t b, uint32_t c = 0);
  uint32_t mul(uint32_t a, uint32_t b) { return op(fb::ShapeOpcode::mul, a, b); }
  void check(fb::CheckKind kind, uint32_t a, uint32_t b, const std::string &node, const std::string &message);

  /// What a dispatch has beyond kernel and operands; slots.
  struct dispatch_options {
    uint32_t grid = 0;
    uint32_t grain = 0;
    uint32_t scratch = 0;
    std::vector<uint32_t> result_dims;
    std::string node = "node";
    std::string path = {}; ///< of the node's modules; none at all if ""
  };
  /// One dispatch with one result, the last of |bindings|; with two error sites in |options|.node.
  void dispatch(uint32_t kernel, const std::vector<fb::Binding> &bindings, const std::vector<uint32_t> &sizes,
                const dispatch_options &options);
  void store_slots(const fb::Binding &target, fb::ElementType type, const std::vector<uint32_t> &slots);
  void copy(const fb::Binding &source, const fb::Binding &target, uint32_t bytes);

  fb::EntryT &table() { return *entry_; }

private:
  template <typename T> void step(T table);

  fb::EntryT *entry_;
};

/// Builds an artifact with one CPU target that every x86-64 CPU has; shaders come with add_shader_target().
class artifact_builder {
public:
  /// Starts with the code of kernels.c as section 0.
  artifact_builder();

  entry_builder add_entry(const std::string &name);
  /// A further target with the same code.
  void add_target(const std::string &name, const std::vector<std::string> &features);
  /// A further target, "vulkan", with a shader of one variant for each kernel of the program so far. The modules aren't
  /// SPIR-V: readers don't look into them.
  fb::TargetT &add_shader_target();
  /// A case for |kernel|'s shader in that target, whose operands have elements of 4 bytes.
  void add_self_test(uint32_t kernel);
  /// Index of the test kernel |symbol|; added at its first use.
  uint32_t kernel(const std::string &symbol, uint32_t binding_count, uint32_t size_count);
  /// A constant in a weights section of its own.
  fb::Binding constant(const std::vector<float> &values);
  /// Adds a section of |bytes| and returns its index.
  uint32_t add_section(fb::SectionKind kind, std::vector<uint8_t> bytes);

  /// Lays out and writes the file. A section's offset and length in |program| are filled in.
  artifact_bytes build();

  fb::ProgramT program;
  std::map<std::string, uint64_t> symbols; ///< addresses of kernels by their names
  std::vector<std::vector<uint8_t>> section_bytes;
};

/// Computes the checksum of the program again, after a test has changed its bytes.
void fix_program_checksum(const artifact_bytes &artifact);

/// y = (x + x) * factor, over x [batch, width]: two dispatches, a buffer between them.
artifact_builder scale_model(float factor = 0.5f);

/// A token embedding: ids [batch, seq] i64 and mask [batch, seq] i64 to rows of a table of |rows| x 4, whose element
/// (r, c) is 4 r + c. Lengths above 512 break a check.
artifact_builder embedding_model(uint32_t rows = 10);

/// Two candidates, c0 and c1, for y = a + b, which also take an i64 input m that they don't read. The case for times
/// has 1000 elements, the one with results 3, the first and the last of which are compared.
artifact_builder candidate_model();

} // namespace heddle::test
