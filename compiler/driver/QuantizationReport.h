// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The report's part on quantisation: what became of each place of weights, sizes, and what it costs in accuracy.

#ifndef HEDDLE_COMPILER_DRIVER_QUANTIZATIONREPORT_H
#define HEDDLE_COMPILER_DRIVER_QUANTIZATIONREPORT_H

#include "compiler/driver/Report.h"
#include "llvm/Support/JSON.h"

namespace heddle {

/// "yes: w8a8", or why the kernel of |nodes| isn't quantised.
std::string describeQuantized(llvm::ArrayRef<std::string> nodes, const QuantizationReport &quantization);

/// Lines of the summary; none without quantisation.
void summarizeQuantization(const CompileReport &report, llvm::raw_ostream &os);
void writeQuantization(llvm::json::OStream &json, const CompileReport &report);
void writeQuantizationHtml(llvm::raw_ostream &os, const CompileReport &report);

std::string escapeHtml(llvm::StringRef text);
/// "17.5 MB".
std::string formatMegabytes(uint64_t bytes);

} // namespace heddle

#endif // HEDDLE_COMPILER_DRIVER_QUANTIZATIONREPORT_H
