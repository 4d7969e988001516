// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to the room: one function an op, grouped by family into Evaluate<Family>.cpp. Each gets the op for its
// attributes and, by the adaptor, its operands by name (null where an optional one is absent). An error says what is
// wrong; the evaluator adds at which node.

#ifndef HEDDLE_COMPILER_REFERENCE_EVALUATION_H
#define HEDDLE_COMPILER_REFERENCE_EVALUATION_H

#include "compiler/reference/HostTensor.h"
#include "dialects/attn/AttnOps.h"
#include "dialects/nn/NnOps.h"

namespace heddle::reference {

using Operands = llvm::ArrayRef<const HostTensor *>;
using Results = llvm::SmallVector<HostTensor, 2>;
template <typename OpTy> using In = typename OpTy::template GenericAdaptor<Operands>;

// Constants (EvaluateConstant.cpp).
llvm::Expected<HostTensor> evaluateConstant(nn::ConstantOp op);
llvm::Expected<HostTensor> evaluate(nn::ConstantOfShapeOp op, In<nn::ConstantOfShapeOp> in);
llvm::Expected<HostTensor> evaluate(nn::RangeOp op, In<nn::RangeOp> in);
llvm::Expected<HostTensor> evaluate(nn::ShapeOp op, In<nn::ShapeOp> in);
llvm::Expected<HostTensor> evaluate(nn::SizeOp op, In<nn::SizeOp> in);

// Maps (EvaluateElementwise.cpp).
llvm::Expected<HostTensor> evaluate(nn::UnaryOp op, In<nn::UnaryOp> in);
llvm::Expected<HostTensor> evaluate(nn::BinaryOp op, In<nn::BinaryOp> in);
llvm::Expected<HostTensor> evaluate(nn::CompareOp op, In<nn::CompareOp> in);
llvm::Expected<HostTensor> evaluate(nn::WhereOp op, In<nn::WhereOp> in);
llvm::Expected<HostTensor> evaluate(nn::CastOp op, In<nn::CastOp> in);
llvm::Expected<HostTensor> evaluate(nn::ClipOp op, In<nn::ClipOp> in);

// Reductions and row-wise ops (EvaluateReduction.cpp).
llvm::Expected<HostTensor> evaluate(nn::ReduceOp op, In<nn::ReduceOp> in);
llvm::Expected<HostTensor> evaluate(nn::ArgReduceOp op, In<nn::ArgReduceOp> in);
llvm::Expected<HostTensor> evaluate(nn::CumSumOp op, In<nn::CumSumOp> in);
llvm::Expected<HostTensor> evaluate(nn::SoftmaxOp op, In<nn::SoftmaxOp> in);
llvm::Expected<HostTensor> evaluate(nn::LogSoftmaxOp op, In<nn::LogSoftmaxOp> in);
llvm::Expected<HostTensor> evaluate(nn::LayerNormOp op, In<nn::LayerNormOp> in);
llvm::Expected<HostTensor> evaluate(nn::RmsNormOp op, In<nn::RmsNormOp> in);

// Products (EvaluateContraction.cpp).
llvm::Expected<HostTensor> evaluate(nn::MatMulOp op, In<nn::MatMulOp> in);
llvm::Expected<HostTensor> evaluate(nn::GemmOp op, In<nn::GemmOp> in);
llvm::Expected<HostTensor> evaluate(nn::EinsumOp op, In<nn::EinsumOp> in);
llvm::Expected<HostTensor> evaluate(nn::ConvOp op, In<nn::ConvOp> in);

// Grids (EvaluateResampling.cpp).
llvm::Expected<HostTensor> evaluate(nn::ConvTransposeOp op, In<nn::ConvTransposeOp> in);
llvm::Expected<HostTensor> evaluate(nn::PoolOp op, In<nn::PoolOp> in);
llvm::Expected<HostTensor> evaluate(nn::ResizeOp op, In<nn::ResizeOp> in);

// Shapes (EvaluateShape.cpp).
llvm::Expected<HostTensor> evaluate(nn::ReshapeOp op, In<nn::ReshapeOp> in);
llvm::Expected<HostTensor> evaluate(nn::TransposeOp op, In<nn::TransposeOp> in);
llvm::Expected<HostTensor> evaluate(nn::SqueezeOp op, In<nn::SqueezeOp> in);
llvm::Expected<HostTensor> evaluate(nn::UnsqueezeOp op, In<nn::UnsqueezeOp> in);
llvm::Expected<HostTensor> evaluate(nn::FlattenOp op, In<nn::FlattenOp> in);
llvm::Expected<HostTensor> evaluate(nn::ExpandOp op, In<nn::ExpandOp> in);
llvm::Expected<HostTensor> evaluate(nn::TileOp op, In<nn::TileOp> in);
llvm::Expected<HostTensor> evaluate(nn::ConcatOp op, In<nn::ConcatOp> in);
llvm::Expected<Results> evaluate(nn::SplitOp op, In<nn::SplitOp> in);
llvm::Expected<HostTensor> evaluate(nn::SliceOp op, In<nn::SliceOp> in);
llvm::Expected<HostTensor> evaluate(nn::PadOp op, In<nn::PadOp> in);
llvm::Expected<HostTensor> evaluate(nn::TriluOp op, In<nn::TriluOp> in);

// Indices in tensors (EvaluateIndexing.cpp).
llvm::Expected<HostTensor> evaluate(nn::GatherOp op, In<nn::GatherOp> in);
llvm::Expected<HostTensor> evaluate(nn::GatherElementsOp op, In<nn::GatherElementsOp> in);
llvm::Expected<HostTensor> evaluate(nn::GatherNdOp op, In<nn::GatherNdOp> in);
llvm::Expected<HostTensor> evaluate(nn::ScatterElementsOp op, In<nn::ScatterElementsOp> in);
llvm::Expected<HostTensor> evaluate(nn::ScatterNdOp op, In<nn::ScatterNdOp> in);
llvm::Expected<HostTensor> evaluate(nn::OneHotOp op, In<nn::OneHotOp> in);
llvm::Expected<Results> evaluate(nn::TopKOp op, In<nn::TopKOp> in);

// Quantisation, in f32 (EvaluateQuantization.cpp).
llvm::Expected<HostTensor> evaluate(nn::QuantizeLinearOp op, In<nn::QuantizeLinearOp> in);
llvm::Expected<HostTensor> evaluate(nn::DequantizeLinearOp op, In<nn::DequantizeLinearOp> in);
llvm::Expected<Results> evaluate(nn::DynamicQuantizeLinearOp op, In<nn::DynamicQuantizeLinearOp> in);
llvm::Expected<Results> evaluate(nn::QuantizeRowsOp op, In<nn::QuantizeRowsOp> in);
llvm::Expected<Results> evaluate(nn::QuantizeWeightOp op, In<nn::QuantizeWeightOp> in);
llvm::Expected<HostTensor> evaluate(nn::MatMulIntegerOp op, In<nn::MatMulIntegerOp> in);

// Attention (EvaluateAttention.cpp) and what surrounds it (EvaluateAttentionParts.cpp).
llvm::Expected<Results> evaluate(attn::SdpaOp op, In<attn::SdpaOp> in);
llvm::Expected<Results> evaluate(attn::OnlineSdpaOp op, In<attn::OnlineSdpaOp> in);
llvm::Expected<Results> evaluate(attn::MergePartialsOp op, In<attn::MergePartialsOp> in);
llvm::Expected<Results> evaluate(attn::FinalizePartialsOp op, In<attn::FinalizePartialsOp> in);
llvm::Expected<Results> evaluate(attn::QkvProjectionOp op, In<attn::QkvProjectionOp> in);
llvm::Expected<HostTensor> evaluate(attn::RopeOp op, In<attn::RopeOp> in);
llvm::Expected<HostTensor> evaluate(attn::KvCacheUpdateOp op, In<attn::KvCacheUpdateOp> in);

} // namespace heddle::reference

#endif // HEDDLE_COMPILER_REFERENCE_EVALUATION_H
