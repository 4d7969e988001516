// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one source of heddle-pch: CMake attaches a precompiled header to a target that compiles something.
