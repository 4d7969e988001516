// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds one kernel.func piece by piece: regions first, which ask for operands and sizes as they meet them, then the
// root around them. Equal kernels become one function.

#ifndef HEDDLE_COMPILER_TRANSFORMS_OUTLINING_KERNELBUILDER_H
#define HEDDLE_COMPILER_TRANSFORMS_OUTLINING_KERNELBUILDER_H

#include "compiler/transforms/outlining/TensorView.h"
#include "dialects/kernel/KernelOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace heddle {

/// The kernels of a module by their canonical text, so that equal ones of different layers are generated once.
class KernelLibrary {
public:
  explicit KernelLibrary(mlir::ModuleOp module) : module(module) {}

  /// Names |func| after its root and its text's hash and adds it to the module, unless an equal kernel is there
  /// already: then |func| is erased. Returns the one that stays.
  kernel::FuncOp intern(kernel::FuncOp func);

private:
  mlir::ModuleOp module;
  llvm::StringMap<kernel::FuncOp> byText;
};

/// The element type that kernels compute on for a tensor of element type |type|: integers lose their sign, which ops
/// know.
mlir::Type kernelElementType(mlir::Type type);

/// One result of a kernel: its extents in memory order and where element (loops) goes.
struct KernelResult {
  mlir::Type elementType;
  ShapeDims dims;
  AffineIndex index;
};

class KernelBuilder {
public:
  KernelBuilder(mlir::MLIRContext *context, ShapeSymbols &symbols, ShapeContext &shapes);
  ~KernelBuilder();

  /// Adds a region whose first arguments are |leading|, followed by one argument per root input from |firstInput| on
  /// (present and later ones), followed by |trailing|. Returns its number; regions become the root's in this order.
  unsigned addRegion(llvm::ArrayRef<mlir::Type> leading, unsigned firstInput, llvm::ArrayRef<mlir::Type> trailing);
  mlir::Region &getRegion(unsigned number) { return *regions[number].region; }
  mlir::Value getLeading(unsigned region, unsigned i);
  mlir::Value getTrailing(unsigned region, unsigned i);
  /// A builder at the end of region |number|.
  mlir::OpBuilder at(unsigned number);
  void yield(unsigned number, mlir::ValueRange values);

  /// Root input |view| read at |loops| (one expression per dimension of the view's tensor, over the root's loops).
  /// Returns its number; equal requests share one. The access must be one that strides can walk.
  unsigned addInput(const TensorView &view, llvm::ArrayRef<mlir::AffineExpr> loops);
  /// The same as an input that no later request shares: an operand that the root itself reads.
  unsigned addOwnInput(const TensorView &view, llvm::ArrayRef<mlir::AffineExpr> loops);
  /// An own input whose tensor keeps all of |view|'s base dimensions, indexed by |index|.
  unsigned addWholeInput(const TensorView &view, llvm::ArrayRef<mlir::AffineExpr> index);
  /// Region |region| gets no arguments for inputs added from now on.
  void closeInputs(unsigned region) { regions[region].endInput = inputs.size(); }
  /// Inputs from now on are shared among each other only: captures of a region that the earlier ones don't reach.
  void startCaptures() { numOwnInputs = inputs.size(); }
  unsigned getNumInputs() const { return inputs.size(); }
  /// The element of input |input| in region |region|.
  mlir::Value getElement(unsigned region, unsigned input);

  /// Root input of a constant packed for the contraction, all of it at once: its map is zeros.
  unsigned addPacked(const TensorView &panels);

  /// A whole tensor for kernel.gather, which reads |reads| elements of it; its value inside regions.
  mlir::Value addTable(mlir::Value buffer, llvm::ArrayRef<ShapeExpr> dims, mlir::Type elementType, ShapeExpr reads);
  /// |expr| as an index value inside regions.
  mlir::Value getSize(mlir::OpBuilder &builder, ShapeExpr expr);
  /// Counts a checked read of the kernel; |site| is [node, op, what].
  int64_t addErrorSite(mlir::ArrayAttr site);

  /// Notes an access that strides can't walk; the caller may then prefer other loops.
  void markUnstrided() { strided = false; }
  bool isStridedOnly() const { return strided; }

  using RootFactory = llvm::function_ref<mlir::Operation *(mlir::OpBuilder &, mlir::Location, mlir::TypeRange results,
                                                           mlir::ValueRange inputs, mlir::ValueRange sizes,
                                                           mlir::AffineMap bounds, mlir::ArrayAttr maps)>;
  /// Makes the function with the root that |makeRoot| creates (without regions: they are moved in) and interns it.
  kernel::FuncOp finish(KernelLibrary &library, llvm::ArrayRef<ShapeExpr> bounds, llvm::ArrayRef<KernelResult> results,
                        RootFactory makeRoot);

  /// What the dispatch binds, in the kernel's order. Valid after finish().
  llvm::SmallVector<mlir::Value> getBindings() const;
  llvm::ArrayRef<ShapeExpr> getSizes() const { return sizes; }
  llvm::ArrayRef<mlir::Attribute> getErrorSites() const { return errorSites; }
  /// Bytes of all operands, each once, as an expression; of a table no more than is read.
  ShapeExpr getInputBytes() const;

private:
  struct RegionState {
    std::unique_ptr<mlir::Region> region;
    unsigned numLeading;
    unsigned firstInput;
    unsigned endInput;
    unsigned numTrailing;
  };
  /// One binding: a buffer seen with these dimensions.
  struct Tensor {
    mlir::Value buffer;
    ShapeDims dims;
    mlir::RankedTensorType type;
    mlir::Operation *placeholder = nullptr; ///< in regions, of a table
    ShapeExpr reads = {};                   ///< elements that gathers read
    bool isWalked = false;                  ///< read along loops too, where every element may be
  };
  struct Input {
    unsigned tensor;
    AffineIndex index;
    bool operator==(const Input &other) const { return tensor == other.tensor && index == other.index; }
  };

  unsigned addTensor(mlir::Value buffer, llvm::ArrayRef<ShapeExpr> dims, mlir::Type elementType);
  Input resolve(const TensorView &view, llvm::ArrayRef<mlir::AffineExpr> loops);
  unsigned appendInput(Input input);
  unsigned sizeNumber(ShapeExpr expr);
  mlir::RankedTensorType tensorType(llvm::ArrayRef<ShapeExpr> dims, mlir::Type elementType);
  /// Numbers of the sizes that hold the dynamic dimensions.
  mlir::DenseI64ArrayAttr dimsAttr(llvm::ArrayRef<ShapeExpr> dims);
  /// |index| over loops and the function's symbols as a map whose symbols are this kernel's sizes.
  mlir::AffineMap toMap(llvm::ArrayRef<mlir::AffineExpr> index, unsigned numLoops);
  mlir::Operation *makePlaceholder(mlir::Type type);
  kernel::FuncOp createFunction(llvm::ArrayRef<KernelResult> results);

  mlir::MLIRContext *context;
  ShapeSymbols &symbols;
  ShapeContext &shapes;
  std::vector<RegionState> regions;
  llvm::SmallVector<Tensor> tensors;
  llvm::SmallVector<Input> inputs;
  unsigned numOwnInputs = 0;
  llvm::SmallVector<ShapeExpr> sizes;
  llvm::DenseMap<ShapeExpr, unsigned> sizeNumbers;
  /// Stand-ins for the size arguments that regions use.
  llvm::MapVector<unsigned, mlir::Operation *> sizePlaceholders;
  llvm::SmallVector<mlir::Attribute> errorSites;
  bool strided = true;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TRANSFORMS_OUTLINING_KERNELBUILDER_H
