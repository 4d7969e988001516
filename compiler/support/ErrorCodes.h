// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every error code of the compiler, as one list of plain C: ErrorCode has a case for each, `heddle explain` shows the
// texts. The first digits say which exit code follows: H01 and H03 usage (2), H02 model not supported (3), H04 device
// (4), H05 file (5), H09 a bug (70). Codes are stable: one that goes out of use is never given another meaning, and
// none may occur in runtime/include/heddle/error_codes.h as well.

#ifndef HEDDLE_COMPILER_SUPPORT_ERRORCODES_H
#define HEDDLE_COMPILER_SUPPORT_ERRORCODES_H

/// X(code, summary, explanation).
#define HEDDLE_COMPILER_ERROR_CODES(X)                                                                                 \
  X(H0111, "option doesn't fit the model",                                                                             \
    "An option of the command names an input, a dimension or a phase that isn't there. The message lists what is.")    \
  X(H0112, "target not known",                                                                                         \
    "`--target` takes names such as cpu (this machine), cpu:x86-64-v3 or cpu:znver4, separated by commas.")            \
  X(H0201, "operators not supported",                                                                                  \
    "The model contains operators that Heddle doesn't know. The message lists all of them with their nodes. Export "   \
    "the model with another opset or exporter, or replace these operators.")                                           \
  X(H0202, "operator used in a form that is not supported",                                                            \
    "Heddle knows the operator, but not with this attribute, version or kind of input. The message says which form "   \
    "is expected.")                                                                                                    \
  X(H0203, "node doesn't follow its operator's definition",                                                            \
    "A required input or attribute is missing, or an attribute has the wrong type. Check the model with "              \
    "onnx.checker.check_model.")                                                                                       \
  X(H0204, "inputs don't fit the operator",                                                                            \
    "Shapes or element types of a node's inputs contradict each other or the operator. The message shows them.")       \
  X(H0205, "shape of unknown rank",                                                                                    \
    "Each input of a model needs a shape; a dimension may be symbolic, but the number of dimensions must be given.")   \
  X(H0206, "element type not supported", "A tensor's elements are of a type that Heddle doesn't compute with.")        \
  X(H0207, "value is no tensor", "Inputs and outputs of a model must be tensors, not sequences, maps or optionals.")   \
  X(H0208, "operator without a kernel",                                                                                \
    "Heddle reads the operator but can't compile it for this target, or not in this form or element type. The "        \
    "message "                                                                                                         \
    "lists all such nodes.")                                                                                           \
  X(H0209, "shape can't be known before the model runs",                                                               \
    "A tensor's shape depends on numbers that only a kernel computes. Export the model with fixed or symbolic "        \
    "dimensions instead.")                                                                                             \
  X(H0511, "model file can't be read", "The operating system refused to open or map the file.")                        \
  X(H0512, "not an ONNX model",                                                                                        \
    "The file is something else: the message says what it looks like. `heddle compile` takes .onnx files.")            \
  X(H0513, "model file is truncated or damaged",                                                                       \
    "The bytes of the file don't form a model: it was cut short or changed. Copy or download it again.")               \
  X(H0514, "graph contradicts itself",                                                                                 \
    "The graph has a cycle, reads a tensor that nothing produces, or defines a name twice. Check the model with "      \
    "onnx.checker.check_model.")                                                                                       \
  X(H0515, "tensor's data doesn't fit its shape",                                                                      \
    "A constant of the model has too few or too many bytes or elements for its shape. The file is damaged, or was "    \
    "written by a faulty program.")                                                                                    \
  X(H0516, "external data refused",                                                                                    \
    "A constant refers to a file that is missing, too short, or not a plain file inside the model's folder. Absolute " \
    "paths, `..`, symbolic and hard links are never followed, so that a model can't make Heddle read other files.")    \
  X(H0517, "no usable opset import", "A model must say which version of each operator domain it uses (opset_import).") \
  X(H0518, "model exceeds a limit",                                                                                    \
    "The file is nested more deeply or holds more of something than any real model does; it was refused before "       \
    "memory was spent on it.")                                                                                         \
  X(H0519, "file can't be written",                                                                                    \
    "The operating system refused to create or fill the file: a folder is missing, isn't writable, or the disk is "    \
    "full. Nothing half-written stays behind.")                                                                        \
  X(H0902, "bug in Heddle's compiler",                                                                                 \
    "Something happened that should be impossible. Please report it with the "                                         \
    "model and the command.")

#endif // HEDDLE_COMPILER_SUPPORT_ERRORCODES_H
