// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors of the interpreter: elements as doubles and 64-bit integers, whatever their type.

#include <algorithm>
#include <cstring>

#include "tests/conformance/kernel_interpreter.h"

using namespace mlir;

namespace heddle::conformance {

host_tensor::host_tensor(Type type, std::vector<int64_t> dims) : type(type), dims(std::move(dims)) {
  bytes.resize(size() * element_bytes());
}

int64_t host_tensor::size() const {
  int64_t product = 1;
  for (int64_t dim : dims)
    product *= dim;
  return product;
}

size_t host_tensor::element_bytes() const { return std::max(1u, type.getIntOrFloatBitWidth() / 8); }

/// Whether |type| is f16 or bf16.
static bool is_half(Type type) { return isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 16; }

/// The bits of |value| rounded to nearest even.
static uint16_t to_half(float value, Type type) {
  llvm::APFloat result(value);
  bool is_inexact = false;
  result.convert(cast<FloatType>(type).getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &is_inexact);
  return static_cast<uint16_t>(result.bitcastToAPInt().getZExtValue());
}

double host_tensor::get_float(int64_t i) const {
  if (type.isF64()) {
    double value;
    std::memcpy(&value, &bytes[i * 8], 8);
    return value;
  }
  if (is_half(type)) {
    uint16_t bits;
    std::memcpy(&bits, &bytes[i * 2], 2);
    return llvm::APFloat(cast<FloatType>(type).getFloatSemantics(), llvm::APInt(16, bits)).convertToFloat();
  }
  float value;
  std::memcpy(&value, &bytes[i * 4], 4);
  return value;
}

void host_tensor::set_float(int64_t i, double value) {
  if (type.isF64()) {
    std::memcpy(&bytes[i * 8], &value, 8);
    return;
  }
  float narrow = static_cast<float>(value);
  if (is_half(type)) {
    uint16_t bits = to_half(narrow, type);
    std::memcpy(&bytes[i * 2], &bits, 2);
    return;
  }
  std::memcpy(&bytes[i * 4], &narrow, 4);
}

int64_t host_tensor::get_int(int64_t i) const {
  int64_t value = 0;
  std::memcpy(&value, &bytes[i * element_bytes()], element_bytes());
  if (type.isInteger(1))
    return value != 0;
  return llvm::SignExtend64(value, type.getIntOrFloatBitWidth());
}

void host_tensor::set_int(int64_t i, int64_t value) {
  std::memcpy(&bytes[i * element_bytes()], &value, element_bytes());
}

} // namespace heddle::conformance
