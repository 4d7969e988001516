// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every error code of the compiler, as one list of plain C: ErrorCode has a case for each, `heddle explain` shows the
// texts. The first digits say which exit code follows: H01 and H03 usage (2), H02 model not supported (3), H04 device
// (4), H05 file (5), H06 a bound that is missed (1), H09 a bug (70). Codes are stable: one that goes out of use is
// never given another meaning, and none may occur in runtime/include/heddle/error_codes.h as well.

#ifndef HEDDLE_COMPILER_SUPPORT_ERRORCODES_H
#define HEDDLE_COMPILER_SUPPORT_ERRORCODES_H

/// X(code, summary, explanation). The explanation ends with a paragraph that starts with "Example: ".
#define HEDDLE_COMPILER_ERROR_CODES(X)                                                                                 \
  X(H0111, "option doesn't fit the model",                                                                             \
    "An option of the command names an input, a dimension, a node, a phase, a precision or a scheme that isn't "       \
    "there, or gives a size that can't be one. The message has the nearest name or what is wrong with the size, "      \
    "the help line lists what is possible. Nothing was compiled.\n\n"                                                  \
    "Example: --shape input_ids=1x128 needs an input called input_ids with two dimensions.")                           \
  X(H0112, "target not known",                                                                                         \
    "`--target` takes names such as cpu (this machine), cpu:x86-64-v3 or cpu:znver4, separated by commas. The "        \
    "message has the nearest names. An artifact for several targets takes the best that a machine can run.\n\n"        \
    "Example: --target cpu:x86-64-v3,cpu:x86-64-v4.")                                                                  \
  X(H0113, "option doesn't fit the target",                                                                            \
    "An option of `heddle compile` needs an instruction that a target lacks; nothing slower takes its place in "       \
    "silence. The message names the target and the instruction. Leave the option out for it, or compile for targets "  \
    "that have the instruction.\n\n"                                                                                   \
    "Example: --precision bf16 needs avx512bf16, which cpu:znver4 and cpu:sapphirerapids have.")                       \
  X(H0201, "operators not supported",                                                                                  \
    "The model contains operators that Heddle doesn't know, or not in this version. The message lists all of them at " \
    "once, with their nodes and how many there are. Export the model with another opset or exporter, or replace "      \
    "these operators.\n\n"                                                                                             \
    "Example: NonZero, whose result has as many rows as there are non-zero values, can often be replaced by a mask.")  \
  X(H0202, "operator used in a form that is not supported",                                                            \
    "Heddle knows the operator, but not with this attribute, version or kind of input. The message says which form "   \
    "is expected. Often another exporter or opset writes the same thing in a form that is.\n\n"                        \
    "Example: an If whose condition isn't constant must give tensors of one shape from both branches.")                \
  X(H0203, "node doesn't follow its operator's definition",                                                            \
    "A required input or attribute is missing, or an attribute has the wrong type. The file contradicts ONNX's own "   \
    "definition of the operator. Check the model, and export it again.\n\n"                                            \
    "Example: python -c 'import onnx; onnx.checker.check_model(\"model.onnx\")'.")                                     \
  X(H0204, "inputs don't fit the operator",                                                                            \
    "Shapes or element types of a node's inputs contradict each other or the operator. The message shows them. "       \
    "Heddle infers shapes itself, so what the file says of inner tensors is not the cause.\n\n"                        \
    "Example: MatMul of f32[1,2,4] and f32[5,4] expects equal inner dimensions, got 4 and 5.")                         \
  X(H0205, "shape of unknown rank",                                                                                    \
    "Each input of a model needs a shape. A dimension may be symbolic, but the number of dimensions must be given. "   \
    "The exporter left it out, or the graph was cut out of a larger one.\n\n"                                          \
    "Example: onnx.helper.make_tensor_value_info(\"x\", onnx.TensorProto.FLOAT, [\"batch\", \"sequence\"]).")          \
  X(H0206, "element type not supported",                                                                               \
    "A tensor's elements are of a type that Heddle doesn't compute with, such as strings or complex numbers. The "     \
    "message names the tensor and its type. Do that part of the work outside of the model.\n\n"                        \
    "Example: a model that takes text has its tokenizer inside: export it without, and tokenize before the run.")      \
  X(H0207, "value is no tensor",                                                                                       \
    "Inputs and outputs of a model must be tensors, not sequences, maps or optionals. Such types come from exporters " \
    "of classical machine learning and of control flow. Export the model with tensors only.\n\n"                       \
    "Example: skl2onnx writes a ZipMap behind a classifier unless it is told options={\"zipmap\": False}.")            \
  X(H0208, "operator without a kernel",                                                                                \
    "Heddle reads the operator but can't compile it for this target, or not in this form or element type. The "        \
    "message lists all such nodes. Another target or element type may have it.\n\n"                                    \
    "Example: convert a model of f64 to f32 where the operator has a kernel for f32 only.")                            \
  X(H0209, "shape can't be known before the model runs",                                                               \
    "A tensor's shape depends on numbers that only a kernel computes. Memory is planned before a run, from the "       \
    "shapes of the inputs and from small integers in them. Export the model with fixed or symbolic dimensions "        \
    "instead.\n\n"                                                                                                     \
    "Example: a reshape to the largest value of a tensor can't be planned, a reshape to the length of an input can.")  \
  X(H0511, "model file can't be read",                                                                                 \
    "The operating system refused to open or map the file, or it is no regular file. The message has the reason. "     \
    "Relative paths start at the working directory.\n\n"                                                               \
    "Example: a pipe can't be compiled: write the model to a file first.")                                             \
  X(H0512, "not an ONNX model",                                                                                        \
    "The file is something else: the message says what it looks like. `heddle compile` takes .onnx files. The help "   \
    "line says how to get one from what you have.\n\n"                                                                 \
    "Example: a Git LFS pointer is a text of three lines that stands for the model: git lfs pull fetches the model "   \
    "itself.")                                                                                                         \
  X(H0513, "model file is truncated or damaged",                                                                       \
    "The bytes of the file don't form a model: it was cut short or changed. The message says how far it could be "     \
    "read. Copy or download it again.\n\n"                                                                             \
    "Example: compare the size or sha256sum of the file with what its source states.")                                 \
  X(H0514, "graph contradicts itself",                                                                                 \
    "The graph has a cycle, reads a tensor that nothing produces, or defines a name twice. The message names the "     \
    "node and the tensor. A tool that rewrote the graph may have left it so.\n\n"                                      \
    "Example: python -c 'import onnx; onnx.checker.check_model(\"model.onnx\")'.")                                     \
  X(H0515, "tensor's data doesn't fit its shape",                                                                      \
    "A constant of the model has too few or too many bytes or elements for its shape. The file is damaged, or was "    \
    "written by a faulty program. Nothing is padded or cut, since the values would be wrong.\n\n"                      \
    "Example: a float tensor of shape [2,3] has 24 bytes of raw data.")                                                \
  X(H0516, "external data refused",                                                                                    \
    "A constant refers to a file that is missing, too short, or not a plain file inside the model's folder. Absolute " \
    "paths, `..`, symbolic and hard links are never followed, so that a model can't make Heddle read other files. "    \
    "Keep the data file beside the model, under the name that the model has for it.\n\n"                               \
    "Example: model.onnx and model.onnx.data are copied together.")                                                    \
  X(H0517, "no usable opset import",                                                                                   \
    "A model must say which version of each operator domain it uses (opset_import). Without it nobody can tell what "  \
    "its operators mean. Domains that no node uses don't matter.\n\n"                                                  \
    "Example: onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid(\"\", 17)]).")                     \
  X(H0518, "model exceeds a limit",                                                                                    \
    "The file is nested more deeply or holds more of something than any real model does. It was refused before "       \
    "memory was spent on it. The message names the limit.\n\n"                                                         \
    "Example: a tensor has at most 8 dimensions, and a model at most 1000000 nodes once its functions are expanded.")  \
  X(H0519, "file can't be written",                                                                                    \
    "The operating system refused to create or fill the file: a folder is missing, isn't writable, or the disk is "    \
    "full. Nothing half-written stays behind. An older file of that name is still there.\n\n"                          \
    "Example: mkdir -p out && heddle compile model.onnx -o out/model.heddle.")                                         \
  X(H0525, "tuning file can't be used",                                                                                \
    "`--tuning` names a file that can't be read, or in which no line is an entry of a tuning file. Single lines that " \
    "are damaged are left out with a line on standard error, and the rest is used; files of the user's folder that "   \
    "can't be used are left out as well. Give the path of a file that `heddle tune` wrote, or --no-tuning.\n\n"        \
    "Example: heddle tune model.onnx -o host.tuning.jsonl && heddle compile model.onnx --tuning host.tuning.jsonl "    \
    "-o model.heddle.")                                                                                                \
  X(H0601, "bound on accuracy can't be kept",                                                                          \
    "`heddle compile --max-loss X` leaves float what costs too much accuracy, and found no choice that keeps within "  \
    "X with anything quantised. The message says what quantising everything costs. Nothing was compiled. Allow for "   \
    "more, give data that the model is used on with --calibrate, or compile without --quantize.\n\n"                   \
    "Example: a bound of 0.02 keeps each output within 2 % of the largest value of the float model's.")                \
  X(H0902, "bug in Heddle's compiler",                                                                                 \
    "Something happened that should be impossible. It isn't your fault, though another exporter or opset may avoid "   \
    "it. Please report it with the model and the command.\n\n"                                                         \
    "Example: heddle --version prints the versions that such a report needs.")

#endif // HEDDLE_COMPILER_SUPPORT_ERRORCODES_H
