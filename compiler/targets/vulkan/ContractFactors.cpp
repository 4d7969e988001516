// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/targets/vulkan/ContractFactors.h"

using namespace mlir;

namespace heddle::vulkan {

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// Whether four neighbours along |loop| are one aligned vector wherever they start at a multiple of four.
static bool isVector(const ShaderPlan &plan, const Access &access, unsigned loop) {
  if (!plan.nest.bounds[loop].isMultipleOf(4) || access.isIrregularIn(loop) || access.strides[loop] != Polynomial(1) ||
      !access.offset.isMultipleOf(4))
    return false;
  for (unsigned other = 0; other < plan.nest.getNumLoops(); ++other)
    if (other != loop && !access.strides[other].isMultipleOf(4))
      return false;
  return llvm::all_of(access.irregular, [](const Access::Irregular &part) { return part.stride.isMultipleOf(4); });
}

ContractFactors::ContractFactors(ShaderEmitter &emitter, ArrayRef<std::string> loops, unsigned depth,
                                 unsigned itemDepth, StringRef sumType, StringRef readRowType, StringRef rowType,
                                 StringRef readItemType, StringRef itemType)
    : depth(depth), itemDepth(itemDepth), sumType(sumType), readRowType(readRowType), rowType(rowType),
      readItemType(readItemType), itemType(itemType), emitter(emitter), plan(emitter.plan),
      op(cast<kernel::ContractOp>(plan.root)), axes(plan), loops(loops),
      rowsAreVectors(depth == 4 && isVector(plan, plan.getInput(0), axes.k)),
      columnsAreVectors(isVector(plan, plan.getInput(1), axes.n)) {}

std::string ContractFactors::numSteps() {
  return emitter.evaluate(plan.toExpr(plan.nest.bounds[axes.k]).ceilDiv(depth), {});
}

std::string ContractFactors::numColumns4() {
  AffineExpr width = plan.toExpr(plan.nest.bounds[axes.n]);
  // Panels are whole.
  return emitter.evaluate(isPacked() ? width.ceilDiv(kPanelColumns) * (kPanelColumns / 4) : width.ceilDiv(4), {});
}

std::string ContractFactors::rowBase(const std::string &row) {
  loops[axes.m] = row;
  loops[axes.k].clear();
  std::string place = emitter.address(plan.getInput(0), loops);
  return rowsAreVectors ? "(" + place + " / 4)" : place;
}

std::string ContractFactors::columnBase(const std::string &column4) {
  if (isPacked()) {
    std::string items = std::to_string(plan.getOperandType(plan.bindings[1]).getDimSize(1) * (kPanelColumns / 4));
    return "((" + column4 + " >> 2) * " + items + " + (" + column4 + " & 3))";
  }
  loops[axes.n] = "(4 * " + column4 + ")";
  loops[axes.k].clear();
  std::string place = emitter.address(plan.getInput(1), loops);
  return columnsAreVectors ? "(" + place + " / 4)" : place;
}

std::string ContractFactors::packedItem(const std::string &base, const std::string &item) {
  return base + " + " + item + " * " + std::to_string(kPanelColumns / 4);
}

std::string ContractFactors::rowElement(const std::string &base, const std::string &row, const std::string &k) {
  const Access &lhs = plan.getInput(0);
  if (!lhs.isIrregularIn(axes.k))
    return emitter.load(plan.bindings[0], base + " + " + k + " * " + emitter.size(lhs.strides[axes.k]));
  loops[axes.m] = row;
  loops[axes.k] = k;
  return emitter.load(plan.bindings[0], emitter.address(lhs, loops));
}

std::string ContractFactors::existingK(const std::string &k) {
  if (plan.nest.bounds[axes.k].isMultipleOf(depth))
    return k;
  return emitter.let("int", "min(" + k + ", " + emitter.bound(axes.k) + " - 1)", "k");
}

std::optional<int64_t> ContractFactors::stepsPerBlock() {
  std::optional<uint64_t> size = op.getBlockSize();
  return size ? std::optional<int64_t>(*size / depth) : std::nullopt;
}

std::string ContractFactors::loadScales(const std::string &column4, const std::string &block) {
  unsigned operand = plan.bindings[*op.getScalesInput()];
  std::string blocks = std::to_string(plan.getOperandType(operand).getDimSize(1));
  return emitter.view(operand, "vec4",
                      "((" + column4 + " >> 2) * " + blocks + " + " + block + ") * 4 + (" + column4 + " & 3)");
}

namespace {

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

class FloatFactors : public ContractFactors {
public:
  FloatFactors(ShaderEmitter &emitter, ArrayRef<std::string> loops, unsigned depth, unsigned itemDepth = 1)
      : ContractFactors(emitter, loops, depth, itemDepth, "vec4", getRowType(depth), getRowType(depth),
                        getItemType(itemDepth), getItemType(itemDepth)) {}

  std::string readRow(const std::string &base, const std::string &row, const std::string &step) override {
    if (rowsAreVectors)
      return emitter.view(plan.bindings[0], "vec4", base + " + " + step);
    std::string text;
    for (unsigned i = 0; i < depth; ++i) {
      std::string k = depth == 1 ? step : "(" + step + " * " + std::to_string(depth) + " + " + std::to_string(i) + ")";
      std::string existing = existingK(k), value = rowElement(base, row, existing);
      // Weights are 0 there, but what is not a number stays so times 0.
      text += (i == 0 ? "" : ", ") + (existing == k ? value : existing + " == " + k + " ? " + value + " : 0.0");
    }
    return depth == 1 ? text : rowType.str() + "(" + text + ")";
  }

  std::string readItem(const std::string &base, const std::string &column4, const std::string &item) override {
    if (isPacked())
      return emitter.view(plan.bindings[1], "vec4", packedItem(base, item));
    if (itemDepth == 4)
      return readTransposed(column4, item);
    const Access &rhs = plan.getInput(1);
    if (columnsAreVectors && !rhs.isIrregularIn(axes.k))
      return emitter.view(plan.bindings[1], "vec4",
                          base + " + " + item + " * (" + emitter.size(rhs.strides[axes.k]) + " / 4)");
    std::string columns;
    for (unsigned i = 0; i < 4; ++i) {
      loops[axes.n] = existingColumn(column4, i);
      loops[axes.k] = item;
      columns += (i == 0 ? "" : ", ") + emitter.load(plan.bindings[1], emitter.address(rhs, loops));
    }
    return "vec4(" + columns + ")";
  }

  void multiply(const std::string &sum, const std::string &row, const std::string &item, unsigned number) override {
    for (unsigned i = 0; i < itemDepth; ++i) {
      std::string left = depth == 1 ? row : row + "." + "xyzw"[number * itemDepth + i];
      std::string right = itemDepth == 1 ? item : item + "[" + std::to_string(i) + "]";
      emitter.line(sum + " = fma(vec4(" + left + "), " + right + ", " + sum + ");");
    }
  }

protected:
  /// Column |i| of group |column4|; behind n the last one again.
  std::string existingColumn(const std::string &column4, unsigned i) {
    return "min(4 * " + column4 + " + " + std::to_string(i) + ", " + emitter.bound(axes.n) + " - 1)";
  }

  /// Four k of each column, which are a vector of it, as four columns of each k.
  std::string readTransposed(const std::string &column4, const std::string &item) {
    std::string columns;
    for (unsigned i = 0; i < 4; ++i) {
      loops[axes.n] = existingColumn(column4, i);
      loops[axes.k].clear();
      std::string place = emitter.address(plan.getInput(1), loops) + " / 4 + " + item;
      columns += (i == 0 ? "" : ", ") + emitter.view(plan.bindings[1], "vec4", place);
    }
    return "transpose(mat4(" + columns + "))";
  }

  static StringRef getRowType(unsigned depth) { return depth == 1 ? "float" : depth == 2 ? "vec2" : "vec4"; }
  static StringRef getItemType(unsigned itemDepth) {
    return itemDepth == 1 ? "vec4" : itemDepth == 2 ? "mat2x4" : "mat4";
  }

  /// The codes of item |item| of four columns, as they lie in memory.
  std::string loadCodes(StringRef type, const std::string &base, const std::string &item) {
    return emitter.let(type, emitter.view(plan.bindings[1], type, packedItem(base, item)), "codes");
  }
};

/// Pairs of bf16, the even k in the low half of a word. The left side is rounded to bf16 as well.
class PairFactors : public FloatFactors {
public:
  PairFactors(ShaderEmitter &emitter, ArrayRef<std::string> loops, unsigned depth)
      : FloatFactors(emitter, loops, depth, 2) {}

  std::string readRow(const std::string &base, const std::string &row, const std::string &step) override {
    std::string exact = FloatFactors::readRow(base, row, step);
    Type type = BFloat16Type::get(plan.func->getContext());
    std::string rounded = emitter.fromHalfBits(emitter.toHalfBits("value", type), type);
    emitter.declare("float round_factor(float value) { return " + rounded + "; }");
    emitter.declare("vec2 round_factor(vec2 row) { return vec2(round_factor(row.x), round_factor(row.y)); }");
    emitter.declare("vec4 round_factor(vec4 row) { return vec4(round_factor(row.xy), round_factor(row.zw)); }");
    return "round_factor(" + exact + ")";
  }

  std::string readItem(const std::string &base, const std::string &, const std::string &item) override {
    std::string codes = loadCodes("uvec4", base, item);
    return "mat2x4(uintBitsToFloat(" + codes + " << 16), uintBitsToFloat(" + codes + " & 0xffff0000u))";
  }
};

/// Signed bytes, a word holds those of four columns.
class ByteWeightFactors : public FloatFactors {
public:
  ByteWeightFactors(ShaderEmitter &emitter, ArrayRef<std::string> loops, unsigned depth)
      : FloatFactors(emitter, loops, depth) {}

  std::string readItem(const std::string &base, const std::string &, const std::string &item) override {
    return "vec4(ivec4(uvec4(" + loadCodes("uint", base, item) + ") << uvec4(24, 16, 8, 0)) >> 24)";
  }
};

/// Halves of bytes, the even k in the low one; a word holds those of four columns.
class HalfByteWeightFactors : public FloatFactors {
public:
  HalfByteWeightFactors(ShaderEmitter &emitter, ArrayRef<std::string> loops, unsigned depth)
      : FloatFactors(emitter, loops, depth, 2) {}

  std::string readItem(const std::string &base, const std::string &, const std::string &item) override {
    std::string codes = loadCodes("uint", base, item);
    auto half = [&](StringRef shifts) {
      return "vec4(ivec4((uvec4(" + codes + ") >> uvec4(" + shifts.str() + ")) & 15u) - 8)";
    };
    return "mat2x4(" + half("0, 8, 16, 24") + ", " + half("4, 12, 20, 28") + ")";
  }
};

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

/// Four neighbours of k are a word of a row and of a column.
class ByteFactors : public ContractFactors {
public:
  ByteFactors(ShaderEmitter &emitter, ArrayRef<std::string> loops, StringRef rowType, StringRef itemType)
      : ContractFactors(emitter, loops, /*depth=*/4, /*itemDepth=*/4, "ivec4", "uint", rowType, "uvec4", itemType) {}

  std::string readItem(const std::string &base, const std::string &, const std::string &item) override {
    return emitter.view(plan.bindings[1], "uvec4", packedItem(base, item));
  }

protected:
  /// A row's step as a word of four bytes.
  std::string readWord(const std::string &base, const std::string &row, const std::string &step) {
    std::string word;
    if (rowsAreVectors) {
      word = emitter.view(plan.bindings[0], "uint", base + " + " + step);
    } else {
      // Weights are 0 behind the end of k: the last byte again does.
      for (unsigned i = 0; i < 4; ++i) {
        std::string k = existingK("(4 * " + step + " + " + std::to_string(i) + ")");
        std::string byte = "((uint(" + rowElement(base, row, k) + ") & 255u)";
        word += (i == 0 ? "" : " | ") + byte + " << " + std::to_string(8 * i) + ")";
      }
      word = "(" + word + ")";
    }
    return word;
  }
};

/// By shifts and multiplications, which every device has.
class UnpackedByteFactors : public ByteFactors {
public:
  UnpackedByteFactors(ShaderEmitter &emitter, ArrayRef<std::string> loops)
      : ByteFactors(emitter, loops, "ivec4", "Codes") {
    emitter.declare("struct Codes { ivec4 k0, k1, k2, k3; };");
  }

  std::string readRow(const std::string &base, const std::string &row, const std::string &step) override {
    std::string word = readWord(base, row, step);
    return op.getSignedLhs() ? "(" + word + " ^ 0x80808080u)" : word;
  }

  std::string expandRow(const std::string &read) override {
    return "ivec4((uvec4(" + read + ") >> uvec4(0, 8, 16, 24)) & 255u)";
  }

  std::string expandItem(const std::string &read) override {
    auto code = [&](StringRef shift) { return "ivec4(" + read + shift.str() + ") >> 24"; };
    return "Codes(" + code(" << 24") + ", " + code(" << 16") + ", " + code(" << 8") + ", " + code("") + ")";
  }

  void multiply(const std::string &sum, const std::string &row, const std::string &item, unsigned) override {
    emitter.line(sum + " += " + row + ".x * " + item + ".k0 + " + row + ".y * " + item + ".k1 + " + row + ".z * " +
                 item + ".k2 + " + row + ".w * " + item + ".k3;");
  }
};

/// By one instruction, where devices say that it is fast. More of them say so of signed factors than of mixed ones:
/// unsigned bytes u multiply as u - 128, and 128 times the sum of a column's codes makes up for it, to the same
/// integers.
class DotByteFactors : public ByteFactors {
public:
  DotByteFactors(ShaderEmitter &emitter, ArrayRef<std::string> loops) : ByteFactors(emitter, loops, "uint", "uvec4") {
    emitter.require("GL_EXT_spirv_intrinsics");
    // DotProductKHR and DotProductInput4x8BitPackedKHR; OpSDotKHR; packing 0 is four bytes.
    emitter.declare("spirv_instruction(extensions = [\"SPV_KHR_integer_dot_product\"], capabilities = [6019, 6018], "
                    "id = 4450)\nint dot_bytes(uint codes, uint bytes, spirv_literal int packing);");
  }

  std::string readRow(const std::string &base, const std::string &row, const std::string &step) override {
    std::string word = readWord(base, row, step);
    return op.getSignedLhs() ? word : "(" + word + " ^ 0x80808080u)";
  }

  void multiply(const std::string &sum, const std::string &row, const std::string &item, unsigned) override {
    emitter.line(sum + " += " + dots(item, row) + ";");
  }

  std::string sumItem(const std::string &item) override { return dots(item, "0x01010101u"); }
  std::string correct(const std::string &columnSum) override { return "128 * " + columnSum; }

private:
  static std::string dots(const std::string &item, const std::string &word) {
    std::string products;
    for (char column : StringRef("xyzw"))
      products += (products.empty() ? "dot_bytes(" : ", dot_bytes(") + item + "." + column + ", " + word + ", 0)";
    return "ivec4(" + products + ")";
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

std::unique_ptr<ContractFactors> ContractFactors::create(ShaderEmitter &emitter, ArrayRef<std::string> loops,
                                                         bool usesDots) {
  using Form = kernel::ContractOp::Form;
  auto op = cast<kernel::ContractOp>(emitter.plan.root);
  ContractLoops axes(emitter.plan);
  // Four k at once where they are a vector of each row, and where blocks end with steps.
  bool isByFours = isVector(emitter.plan, emitter.plan.getInput(0), axes.k) && op.getBlockSize().value_or(4) % 4 == 0;
  switch (op.getForm()) {
  case Form::Plain: {
    bool isTransposed = !op.getPackedRhs() && isVector(emitter.plan, emitter.plan.getInput(1), axes.k);
    return std::make_unique<FloatFactors>(emitter, loops, isByFours || isTransposed ? 4 : 1, isTransposed ? 4 : 1);
  }
  case Form::PairsOfBf16:
    return std::make_unique<PairFactors>(emitter, loops, isByFours ? 4 : 2);
  case Form::BytesOfWeights:
    return std::make_unique<ByteWeightFactors>(emitter, loops, isByFours ? 4 : 1);
  case Form::HalfBytesOfWeights:
    return std::make_unique<HalfByteWeightFactors>(emitter, loops, isByFours ? 4 : 2);
  case Form::Integer:
    if (usesDots)
      return std::make_unique<DotByteFactors>(emitter, loops);
    return std::make_unique<UnpackedByteFactors>(emitter, loops);
  }
  llvm_unreachable("all forms are above");
}

} // namespace heddle::vulkan
