// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every error code that the runtime can return, as one list: the runtime takes its identifiers from it, `heddle
// explain` its texts, and a test sees to it that no code is used twice. Codes are stable: one that goes out of use
// is never given another meaning.

#ifndef HEDDLE_ERROR_CODES_H
#define HEDDLE_ERROR_CODES_H

/// X(code, summary, explanation).
#define HEDDLE_RUNTIME_ERROR_CODES(X)                                                                                  \
  X(H0101, "argument missing or malformed",                                                                            \
    "A function of the C API got a null pointer or a value outside its range. The message names the argument.")        \
  X(H0102, "session is busy",                                                                                          \
    "A session serves one run at a time. Create one session for each thread that runs concurrently; they share the "   \
    "program and its weights.")                                                                                        \
  X(H0103, "program was loaded for inspection only",                                                                   \
    "A program that was loaded with inspect_only has no code in memory. Load it without that option to run it.")       \
  X(H0301, "unknown entry point", "The artifact has no entry point of that name. `heddle inspect` lists them.")        \
  X(H0302, "wrong number of inputs or outputs",                                                                        \
    "A run takes exactly the inputs and outputs that the entry point declares, in its order.")                         \
  X(H0303, "wrong element type",                                                                                       \
    "An input or a given output has another element type than the entry point declares. Only i32 given for i64 is "    \
    "converted, because nothing can be lost; every other conversion is the caller's decision.")                        \
  X(H0304, "wrong rank", "An input or a given output has another number of dimensions than the entry point declares.") \
  X(H0305, "wrong dimension", "A dimension that is fixed in the model has another size in the given tensor.")          \
  X(H0306, "inputs disagree on a shared dimension",                                                                    \
    "Two dimensions carry the same name in the model, so they must have the same size in one run.")                    \
  X(H0307, "shape outside what the model can do",                                                                      \
    "The shapes fit the declared inputs, but not what a node inside the model needs, such as a sequence longer than "  \
    "the position table. The message names the node, the value and the limit.")                                        \
  X(H0308, "shape arithmetic overflows",                                                                               \
    "A size computed from the input shapes doesn't fit 64 bits, is negative, or is divided by zero.")                  \
  X(H0309, "index outside its table",                                                                                  \
    "A value read from a tensor, such as a token id, lies outside the table that it indexes. Nothing outside the "     \
    "table was read. The message names the node, the index and the valid range.")                                      \
  X(H0310, "integer division by zero", "A kernel divided an integer by zero. The message names the node.")             \
  X(H0311, "tensors share memory",                                                                                     \
    "A tensor given for an output overlaps an input or another output. Kernels read inputs while they write outputs.") \
  X(H0312, "run was cancelled", "heddle_session_cancel was called while the run was in progress.")                     \
  X(H0313, "out of memory", "The system has not enough memory for this run or this file.")                             \
  X(H0401, "device not available",                                                                                     \
    "The named device isn't there, or this build has no support for it. Another device is never taken in silence.")    \
  X(H0402, "instruction set missing",                                                                                  \
    "Each target of the artifact needs an instruction set that this CPU lacks. Compile the model again for this "      \
    "machine; one artifact may hold several targets.")                                                                 \
  X(H0403, "unknown target", "The artifact holds no target of that name. `heddle inspect` lists them.")                \
  X(H0404, "executable memory refused",                                                                                \
    "The operating system refused to map the artifact's code as executable, neither from the file nor as a copy. "     \
    "A security policy may forbid it.")                                                                                \
  X(H0501, "file can't be read", "The operating system refused to open or map the file. The message has its reason.")  \
  X(H0502, "not an artifact",                                                                                          \
    "The file is something else: the message says what it looks like. `heddle compile` makes artifacts.")              \
  X(H0503, "file is truncated",                                                                                        \
    "The file is shorter than its header says, as after an interrupted copy or a full disk. Copy or compile it "       \
    "again.")                                                                                                          \
  X(H0504, "artifact of another version",                                                                              \
    "The artifact was written by another version of Heddle whose format differs. Compile the model again.")            \
  X(H0505, "artifact is damaged",                                                                                      \
    "A table or range of the artifact contradicts the rest of it. Copy or compile it again.")                          \
  X(H0506, "checksum differs", "The bytes of the artifact aren't those that were written. Copy or compile it again.")  \
  X(H0507, "file changed while it was in use",                                                                         \
    "The artifact became shorter after it was loaded. Replace files by renaming a new one over them, never by "        \
    "writing into them, or load with copied weights.")                                                                 \
  X(H0901, "bug in Heddle", "Something happened that should be impossible. Please report it with the artifact.")

#endif // HEDDLE_ERROR_CODES_H
