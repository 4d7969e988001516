// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nn's attributes: a constant's bytes in a file, and what a node was in the model file.

#ifndef HEDDLE_DIALECTS_NN_NNATTRIBUTES_TD
#define HEDDLE_DIALECTS_NN_NNATTRIBUTES_TD

include "mlir/IR/AttrTypeBase.td"
include "dialects/nn/NnEnums.td"

class Nn_Attr<string name, string attrMnemonic> : AttrDef<Nn_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Nn_ExternalAttr : Nn_Attr<"External", "external"> {
  let summary = "A range of bytes in a file, holding a tensor's elements";
  let description = [{
    The elements in row-major order, little-endian, as ONNX's `raw_data` has them: a bool is one byte, two 4-bit
    integers share a byte (the first in the low bits). The offset has no alignment. The file's path is absolute
    or relative to the working directory. Whoever creates the attribute has checked the path (no escapes, no
    links); the range is checked against the file's length whenever it is read (ConstantData.h).

        #nn.external<"weights.bin", 4097, 1536>
  }];
  let parameters = (ins
    StringRefParameter<"path of the file">:$file,
    "int64_t":$offset,
    "int64_t":$length
  );
  let assemblyFormat = "`<` $file `,` $offset `,` $length `>`";
  let genVerifyDecl = 1;
}

def Nn_OnnxOpAttr : Nn_Attr<"OnnxOp", "onnx_op"> {
  let summary = "The ONNX operator that an op was imported from";
  let description = [{
    Metadata of an imported op's location, so that an error much later still speaks the user's words.

        #nn.onnx_op<"MatMul", "", 17>
        #nn.onnx_op<"MatMul", "", 18, "encoder/layer.0/linear_3">

    The path says which of the exported program's modules the node comes from, where the file tells.
  }];
  let parameters = (ins
    StringRefParameter<"op type">:$type,
    StringRefParameter<"domain; empty for the default one">:$domain,
    "int64_t":$opset,
    StringRefParameter<"path of modules; empty if unknown", [{""}]>:$path
  );
  let assemblyFormat = "`<` $type `,` $domain `,` $opset (`,` $path^)? `>`";
}

#endif // HEDDLE_DIALECTS_NN_NNATTRIBUTES_TD
