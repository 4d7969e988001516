// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every error code that the runtime can return, as one list: the runtime takes its identifiers from it, `heddle
// explain` its texts, and a test sees to it that no code is used twice. Codes are stable: one that goes out of use
// is never given another meaning.

#ifndef HEDDLE_ERROR_CODES_H
#define HEDDLE_ERROR_CODES_H

/// X(code, summary, explanation). The explanation ends with a paragraph that starts with "Example: ".
#define HEDDLE_RUNTIME_ERROR_CODES(X)                                                                                  \
  X(H0101, "argument missing or malformed",                                                                            \
    "A function of the C API got a null pointer or a value outside its range. The message names the argument. "        \
    "Nothing was changed, so the call can be repeated with a right value.\n\n"                                         \
    "Example: heddle_tensor_create(HEDDLE_ELEMENT_F32, 9, dims, &tensor) fails, because a tensor has at most 8 "       \
    "dimensions.")                                                                                                     \
  X(H0102, "session is busy",                                                                                          \
    "A session serves one run at a time, because it owns the memory of that run. A second call meanwhile is refused "  \
    "rather than made to wait. Create one session for each thread that runs concurrently; they share the program and " \
    "its weights.\n\n"                                                                                                 \
    "Example: four worker threads load the program once and call heddle_session_create four times.")                   \
  X(H0103, "program was loaded for inspection only",                                                                   \
    "A program that was loaded with inspect_only has no code in memory. It can be described and planned, not run. "    \
    "Load it without that option to run it.\n\n"                                                                       \
    "Example: heddle_program_load(\"model.heddle\", NULL, &program) gives a program that runs.")                       \
  X(H0104, "run can't be submitted",                                                                                   \
    "heddle_vulkan_session_submit leaves a run to a Vulkan device and returns. A CPU has nobody to leave it to, and "  \
    "an "                                                                                                              \
    "observer, which looks at each dispatch, can't be left alone: heddle_session_run does both. "                      \
    "heddle_vulkan_session_finish takes a run that was submitted and not finished yet.\n\n"                            \
    "Example: load the program with device \"vulkan\", then submit, and finish exactly once.")                         \
  X(H0301, "unknown entry point",                                                                                      \
    "The artifact has no entry point of that name. The help line lists those that it has. A null name takes the "      \
    "first, which is the only one of most artifacts.\n\n"                                                              \
    "Example: heddle_session_run(session, NULL, ...) runs the first entry point, usually called main.")                \
  X(H0302, "wrong number of inputs or outputs",                                                                        \
    "A run takes exactly the inputs and outputs that the entry point declares, in its order. An optional input keeps " \
    "its place: pass null for it. The help line lists the inputs with their types and shapes.\n\n"                     \
    "Example: a model of input_ids and attention_mask is run with an array of two tensors, even if every mask is 1.")  \
  X(H0303, "wrong element type",                                                                                       \
    "An input or a given output has another element type than the entry point declares. Only i32 given for i64 is "    \
    "converted, because nothing can be lost. Every other conversion is the caller's decision.\n\n"                     \
    "Example: for input_ids of i64, write ids.astype(numpy.int64) before numpy.save.")                                 \
  X(H0304, "wrong rank",                                                                                               \
    "An input or a given output has another number of dimensions than the entry point declares. The message shows "    \
    "both shapes. Batches of one keep their first dimension.\n\n"                                                      \
    "Example: one sentence of 8 ids for [batch,sequence] has shape [1,8]: --input 'ids=[[5,6,7,8,9,10,11,12]]'.")      \
  X(H0305, "wrong dimension",                                                                                          \
    "A dimension that is fixed in the model has another size in the given tensor. The message shows both shapes; "     \
    "numbers are fixed, names may have any size. If the model was compiled with --shape, compile it without to leave " \
    "its dimensions open.\n\n"                                                                                         \
    "Example: a hidden size of 384 can't be given 768 numbers a row.")                                                 \
  X(H0306, "inputs disagree on a shared dimension",                                                                    \
    "Two dimensions carry the same name in the model, so they must have the same size in one run. The message names "  \
    "both inputs and both sizes. A name that means different things in one file is a fault of its exporter.\n\n"       \
    "Example: input_ids [1,12] and attention_mask [1,11] disagree on sequence: pad the mask.")                         \
  X(H0307, "shape outside what the model can do",                                                                      \
    "The shapes fit the declared inputs, but not what a node inside the model needs. The message names the node, the " \
    "value and the limit. Most often a sequence is longer than the model's table of positions.\n\n"                    \
    "Example: a BERT of 512 positions takes at most 512 tokens: cut the text or split it.")                            \
  X(H0308, "shape arithmetic overflows",                                                                               \
    "A size computed from the input shapes doesn't fit 64 bits, is negative, or is divided by zero. The message "      \
    "shows the shapes that led there. Sizes of 0 are fine as inputs, but some models divide by them.\n\n"              \
    "Example: a model that splits the sequence into as many parts as there are images fails for no images.")           \
  X(H0309, "index outside its table",                                                                                  \
    "A value read from a tensor, such as a token id, lies outside the table that it indexes. Nothing outside the "     \
    "table was read. The message names the node, the index and the valid range.\n\n"                                   \
    "Example: id 30522 for a vocabulary of 30522 entries is one too large, often because the tokenizer belongs to "    \
    "another model.")                                                                                                  \
  X(H0310, "integer division by zero",                                                                                 \
    "A kernel divided an integer by zero, or took the remainder of such a division. ONNX leaves the result open, so "  \
    "the run ends with an error. The message names the node.\n\n"                                                      \
    "Example: a model that divides by the sum of an integer mask fails for a mask of zeros.")                          \
  X(H0311, "tensors share memory",                                                                                     \
    "A tensor given for an output overlaps an input or another output. Kernels read inputs while they write outputs, " \
    "so the results would be wrong. Give each output memory of its own, or null to have it allocated.\n\n"             \
    "Example: to feed present_key back as past_key, swap two tensors between runs.")                                   \
  X(H0312, "run was cancelled",                                                                                        \
    "heddle_session_cancel was called while the run was in progress. The outputs are unspecified. The session is "     \
    "ready for another run.\n\n"                                                                                       \
    "Example: a server calls heddle_session_cancel from another thread when its client goes away.")                    \
  X(H0313, "out of memory",                                                                                            \
    "The system has not enough memory for this run or this file. Intermediate results grow with the batch and the "    \
    "sequence length. Nothing is left behind by the failed call.\n\n"                                                  \
    "Example: heddle inspect model.heddle --memory --shape input_ids=8x512 shows what a run takes.")                   \
  X(H0314, "integer outside 32 bits",                                                                                  \
    "Vulkan devices compute integers in 32 bits. An input, a constant or a size of the model holds a value that "      \
    "doesn't fit, and nothing is cut off in silence. The message names the tensor and the value.\n\n"                  \
    "Example: heddle run model.heddle --device cpu computes with all 64 bits.")                                        \
  X(H0315, "memory on the device can't be used",                                                                       \
    "A tensor in a VkBuffer was given to a run that can't read or write it there: the program runs on another "        \
    "device, "                                                                                                         \
    "the buffer's usage lacks the copy, the range ends behind the buffer, or the model needs the values on the host. " \
    "The message names the input or output. Nothing was submitted.\n\n"                                                \
    "Example: a buffer for an input is made with VK_BUFFER_USAGE_TRANSFER_SRC_BIT, one for an output with "            \
    "VK_BUFFER_USAGE_TRANSFER_DST_BIT.")                                                                               \
  X(H0401, "device not available",                                                                                     \
    "The named device isn't there, or this build has no support for it. The help line lists those that are. Another "  \
    "device is never taken in silence.\n\n"                                                                            \
    "Example: heddle run model.heddle --device cpu runs on the CPU; heddle devices shows what this machine has.")      \
  X(H0402, "no code that the device can run",                                                                          \
    "The artifact holds code for other devices only, or each of its targets needs instructions that this CPU "         \
    "lacks. The message names what is missing, and nothing was executed. Compile the model again for this machine; "   \
    "one artifact may hold several targets.\n\n"                                                                       \
    "Example: heddle compile model.onnx --target cpu:x86-64-v3,vulkan -o model.heddle runs on most CPUs and GPUs.")    \
  X(H0403, "unknown target",                                                                                           \
    "The artifact holds no target of that name. Targets are what it was compiled for, such as cpu:x86-64-v3. Without " \
    "a name the best one that the device can run is taken.\n\n"                                                        \
    "Example: heddle inspect model.heddle lists the targets of an artifact.")                                          \
  X(H0404, "executable memory refused",                                                                                \
    "The operating system refused to map the artifact's code as executable, neither from the file nor as a copy. A "   \
    "security policy such as SELinux's execmem may forbid it. The file itself is fine.\n\n"                            \
    "Example: the flags of a hardened container have to allow anonymous executable mappings.")                         \
  X(H0405, "device lost",                                                                                              \
    "The driver has given up the device: a kernel ran longer than the system allows, or the driver crashed. "          \
    "Sessions on that device can't go on. A program that is loaded again gets a fresh device.\n\n"                     \
    "Example: HEDDLE_VULKAN_LIMITS=submit=10000 heddle run model.heddle --device vulkan hands over work in parts of "  \
    "10 ms, for a system that is less patient than most.")                                                             \
  X(H0406, "beyond the device's limits",                                                                               \
    "The work can't be split into parts that the device takes. A tensor that a kernel needs whole is larger than "     \
    "one binding or one allocation may be. The message names the kernel and the bytes.\n\n"                            \
    "Example: heddle devices shows the limits of each device; shorter sequences or smaller batches need less.")        \
  X(H0407, "out of device memory",                                                                                     \
    "The device has not enough memory left for the weights or the intermediate results. Work isn't moved to the "      \
    "system's memory in silence, because it would run many times slower. The message says how many bytes were "        \
    "needed.\n\n"                                                                                                      \
    "Example: close what else uses the GPU, or run a smaller batch.")                                                  \
  X(H0408, "device driver failed",                                                                                     \
    "The Vulkan driver refused something that it has to be able to do. The message has the driver's own error. An "    \
    "update of the driver often helps; HEDDLE_VULKAN_DISABLE leaves out features that a driver gets "                  \
    "wrong.\n\n"                                                                                                       \
    "Example: HEDDLE_VULKAN_DISABLE=subgroup,dot heddle run model.heddle --device vulkan does without both.")          \
  X(H0409, "shader computes wrong results",                                                                            \
    "Artifacts carry a small case for each of their shaders, which a device runs when it first uses the shader. "      \
    "Here no variant of the named kernel gave the right result: the driver compiles it wrongly. Another device is "    \
    "never taken in silence. What was found is kept in the cache folder and asked again after an update of the "       \
    "driver.\n\n"                                                                                                      \
    "Example: HEDDLE_VULKAN_DISABLE=subgroup heddle run model.heddle --device vulkan avoids what a driver gets "       \
    "wrong; "                                                                                                          \
    "HEDDLE_VULKAN_SELF_TEST=again repeats the tests.")                                                                \
  X(H0501, "file can't be read",                                                                                       \
    "The operating system refused to open or map the file. The message has its reason. Relative paths start at the "   \
    "working directory.\n\n"                                                                                           \
    "Example: after 'No such file or directory', ls -l model.heddle shows whether the file is where you think.")       \
  X(H0502, "not an artifact",                                                                                          \
    "The file is something else: the message says what it looks like. Artifacts are made by heddle compile and start " \
    "with the letters HEDDLE. A model is not one.\n\n"                                                                 \
    "Example: heddle compile model.onnx -o model.heddle makes an artifact of a model.")                                \
  X(H0503, "file is truncated",                                                                                        \
    "The file is shorter than its header says. So it looks after an interrupted copy or a full disk. Copy or compile " \
    "it again.\n\n"                                                                                                    \
    "Example: compare ls -l model.heddle on both machines before you copy it again.")                                  \
  X(H0504, "artifact of another version",                                                                              \
    "The artifact was written by another version of Heddle whose format differs. An artifact holds native code and "   \
    "tables that belong together, so nothing is converted. Compile the model again with the version that runs it.\n\n" \
    "Example: heddle --version prints the version of the command and of the compiler.")                                \
  X(H0505, "artifact is damaged",                                                                                      \
    "A table or range of the artifact contradicts the rest of it. The message names the part. Copy the file again or " \
    "compile the model again.\n\n"                                                                                     \
    "Example: two programs that write into one artifact at the same time leave such a file.")                          \
  X(H0506, "checksum differs",                                                                                         \
    "The bytes of the artifact aren't those that were written. A disk, a transfer or an editor has changed them. "     \
    "Copy the file again or compile the model again.\n\n"                                                              \
    "Example: files sent as text by FTP or mail arrive with other line ends, and so with another checksum.")           \
  X(H0507, "file changed while it was in use",                                                                         \
    "The artifact became shorter after it was loaded. Its weights are mapped from the file, so they are gone. "        \
    "Replace files by renaming a new one over them, never by writing into them, or load with copied weights.\n\n"      \
    "Example: cp new.heddle model.tmp && mv model.tmp model.heddle replaces an artifact that others run.")             \
  X(H0901, "bug in Heddle",                                                                                            \
    "Something happened that should be impossible. It isn't your fault, and no input of yours can mend it. Please "    \
    "report it with the artifact and the line that the message shows.\n\n"                                             \
    "Example: heddle inspect model.heddle prints the versions that such a report needs.")

#endif // HEDDLE_ERROR_CODES_H
