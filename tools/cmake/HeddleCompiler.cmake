# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What the compiler rooms share: LLVM and MLIR, flags, and the precompiled header. This is the only file that names
# LLVM or glslang. Everything links the two shared libraries MLIR and LLVM: a static libMLIR* beside them would
# duplicate type ids.

find_package(MLIR 19.1 REQUIRED CONFIG)
find_package(LLD 19.1 REQUIRED CONFIG)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

add_library(heddle_mlir INTERFACE)
target_include_directories(heddle_mlir SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_link_libraries(heddle_mlir INTERFACE MLIR LLVM)
# The packaged libraries are built with NDEBUG, and classes of theirs have other members without it: a pass's
# statistics are tracked or not. Release has it anyway.
target_compile_definitions(heddle_mlir INTERFACE $<$<NOT:$<CONFIG:Release>>:NDEBUG>)

# The linker as a library, for the one room that links kernel images.
add_library(heddle_lld INTERFACE)
target_include_directories(heddle_lld SYSTEM INTERFACE ${LLD_INCLUDE_DIRS})
target_link_libraries(heddle_lld INTERFACE lldELF lldCommon)

# The shader compiler and the validator of what it makes, for the room that prints shaders. glslang's own CMake file
# names the three libraries of SPIRV-Tools without finding them.
find_package(SPIRV-Tools REQUIRED CONFIG)
find_package(SPIRV-Tools-opt REQUIRED CONFIG)
find_package(SPIRV-Tools-link REQUIRED CONFIG)
find_package(glslang 12 REQUIRED CONFIG)
add_library(heddle_glslang INTERFACE)
target_link_libraries(heddle_glslang INTERFACE
  glslang::glslang glslang::SPIRV glslang::glslang-default-resource-limits SPIRV-Tools-static)

# The definition of ONNX comes with the pinned wheel that tools/setup installs: Debian's is years older.
set(site_packages ${PROJECT_SOURCE_DIR}/build/python/lib/python3.11/site-packages)
find_file(HEDDLE_ONNX_PROTO onnx/onnx-ml.proto HINTS ${site_packages} NO_DEFAULT_PATH REQUIRED)

# As LLVM itself is built: no exceptions, RTTI on. What TableGen generates doesn't name its unused parameters away.
add_library(heddle_compiler_flags INTERFACE)
target_include_directories(heddle_compiler_flags INTERFACE ${PROJECT_SOURCE_DIR}/runtime/include)
target_compile_options(heddle_compiler_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions>
  -Wall -Wextra -Wno-unused-parameter)
target_link_libraries(heddle_compiler_flags INTERFACE heddle_common_flags heddle_mlir Threads::Threads)
target_compile_options(heddle_compiler_flags INTERFACE ${HEDDLE_PCH_FLAGS})

# One precompiled header for all compiler rooms (11 s of headers become 2 s a file). Its flags must equal theirs,
# so both link heddle_compiler_flags and nothing that adds flags.
add_library(heddle-pch OBJECT ${PROJECT_SOURCE_DIR}/tools/cmake/pch.cpp)
target_link_libraries(heddle-pch PRIVATE heddle_compiler_flags)
target_precompile_headers(heddle-pch PRIVATE ${PROJECT_SOURCE_DIR}/tools/cmake/pch.h)
