// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text of kernel.attention kernels, put together from what a test cares about.

#pragma once

#include <string>
#include <vector>

namespace heddle::conformance {

/// A tensor that the regions read.
struct attention_capture {
  std::string type;    // "tensor<?x?xi1>"
  std::string dims;    // size arguments of its dynamic dimensions: "0, 2"
  std::string map;     // results of its map over (b, g, r, m, n, d, e): "b, n"
  std::string element; // "i1"
};

/// Size arguments are s0 = batch, s1 = queries, s2 = keys; with |parts| also s3 = number of parts of 256 keys.
struct attention_text {
  int64_t key_heads = 2, group = 1, head_size = 32, value_size = 32;
  /// bsnd, bnsd, transposed (keys and values along the sequence) or fused (one tensor, as many keys as queries).
  std::string layout = "bsnd";
  std::vector<attention_capture> captures = {};
  /// Body of the score region on %s and %c0, %c1 ...; yields %score.
  std::string score = "";
  /// Body of the mask region on %c0 ... and the indices %b, %m, %n; yields %keep.
  std::string mask = "";
  /// Body of the probability region on %p, %c0 ... and the indices %b, %m, %n; yields %weight. None where empty.
  std::string probability = "";
  std::string fully_masked = "literal";
  bool kv_len = false, scale_input = false, lse = false, probabilities = false;
  /// Query and key multiply as codes of 8 bits.
  bool qk_int8 = false;
  /// Weights and values multiply as codes of 8 bits in blocks of 256 keys; the value's scales are the input behind the
  /// scale.
  bool pv_int8 = false;
  /// States of parts: none, gives (the only result) or takes (the input before the captures).
  enum class parts_use { none, gives, takes } parts = parts_use::none;

  std::string build() const;
  /// Number of the argument that holds the value's scales.
  unsigned value_scale_argument() const { return (layout == "fused" ? 1 : 3) + kv_len + scale_input; }
};

/// What exporters write for a 0/1 tensor of i64, capture 0: (1 - mask) * lowest is added, and hides a key.
inline constexpr char kPaddingScore[] = R"(%one = arith.constant 1.0 : f32
    %lowest = arith.constant 0xFF7FFFFF : f32
    %float = arith.sitofp %c0 : i64 to f32
    %hidden = arith.subf %one, %float : f32
    %fill = arith.mulf %hidden, %lowest : f32
    %score = arith.addf %s, %fill : f32)";
inline constexpr char kPaddingMask[] = R"(%zero = arith.constant 0 : i64
    %keep = arith.cmpi sgt, %c0, %zero : i64)";

/// Probability regions by name: integers of 8 bits, signed from -128 on and unsigned around 3, in steps as files have
/// them; a NaN becomes the zero point, which stands for 0.
inline constexpr char kSignedCodes[] = R"(%step = arith.constant 0.00392156886 : f32
    %zero = arith.constant -128.0 : f32
    %least = arith.constant -128.0 : f32
    %greatest = arith.constant 127.0 : f32
    %steps = arith.divf %p, %step : f32
    %whole = math.roundeven %steps : f32
    %sum = arith.addf %whole, %zero : f32
    %isnan = arith.cmpf uno, %sum, %sum : f32
    %number = arith.select %isnan, %zero, %sum : f32
    %low = arith.maximumf %number, %least : f32
    %most = arith.minimumf %low, %greatest : f32
    %code = arith.fptosi %most : f32 to i8
    %wide = arith.extsi %code : i8 to i32
    %origin = arith.constant -128 : i32
    %distance = arith.subi %wide, %origin : i32
    %float = arith.sitofp %distance : i32 to f32
    %weight = arith.mulf %float, %step : f32)";
inline constexpr char kUnsignedCodes[] = R"(%step = arith.constant 0.01 : f32
    %zero = arith.constant 3.0 : f32
    %greatest = arith.constant 63.0 : f32
    %steps = arith.divf %p, %step : f32
    %whole = math.roundeven %steps : f32
    %sum = arith.addf %whole, %zero : f32
    %isnan = arith.cmpf uno, %sum, %sum : f32
    %number = arith.select %isnan, %zero, %sum : f32
    %most = arith.minimumf %number, %greatest : f32
    %code = arith.fptoui %most : f32 to i8
    %wide = arith.extui %code : i8 to i32
    %origin = arith.constant 3 : i32
    %distance = arith.subi %wide, %origin : i32
    %float = arith.sitofp %distance : i32 to f32
    %weight = arith.mulf %float, %step : f32)";
/// Hidden keys weigh something.
inline constexpr char kShifted[] = R"(%half = arith.constant 0.5 : f32
    %offset = arith.constant 0.01 : f32
    %less = arith.mulf %p, %half : f32
    %weight = arith.addf %less, %offset : f32)";
/// NaN becomes a number, 0 stays.
inline constexpr char kRescued[] = R"(%two = arith.constant 2.0 : f32
    %isnan = arith.cmpf uno, %p, %p : f32
    %square = arith.mulf %p, %p : f32
    %weight = arith.select %isnan, %two, %square : f32)";
/// Only a square: hidden keys weigh 0 and a NaN stays one.
inline constexpr char kSquared[] = "%weight = arith.mulf %p, %p : f32";

/// Masks by name: causal, window (of 20 keys).
inline constexpr char kCausal[] = "%keep = arith.cmpi ule, %n, %m : index";
inline constexpr char kWindow[] = R"(%past = arith.cmpi ule, %n, %m : index
    %w = arith.constant 20 : index
    %end = arith.addi %n, %w : index
    %near = arith.cmpi ugt, %end, %m : index
    %keep = arith.andi %past, %near : i1)";

} // namespace heddle::conformance
