# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The lit suite: heddle-opt, heddle, FileCheck, not and split-file are on the PATH; %shared is the folder with model
# files that lies beside the repository.

import os

import lit.formats

config.name = "heddle"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.test_source_root = os.path.join(config.heddle_source_dir, "tests")
config.test_exec_root = os.path.join(config.heddle_build_dir, "tests")
config.excludes = ["inputs"]

path = [os.path.join(config.heddle_build_dir, "bin"), config.llvm_tools_dir, config.environment["PATH"]]
config.environment["PATH"] = os.pathsep.join(path)
for name in ("ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS", "HEDDLE_SHARED_DIR", "HEDDLE_SOURCE_DIR"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

shared = os.path.normpath(os.path.join(config.heddle_source_dir, "..", "shared"))
if os.path.isdir(shared):
    config.available_features.add("shared")
if config.heddle_sanitize:
    config.available_features.add("sanitizer")
config.substitutions.append(("%shared", shared))
config.substitutions.append(("%source", config.heddle_source_dir))
