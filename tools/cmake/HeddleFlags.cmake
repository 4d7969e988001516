# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The flags of every target, as two INTERFACE libraries: heddle_runtime_flags and heddle_compiler_flags. A target
# links exactly one of them; nothing is set per directory, so a room's flags can be read off its link line.

set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# As installed: the command in bin/ finds the compiler library in lib/, and libraries find LLVM where they linked it.
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_INSTALL_RPATH $ORIGIN/../lib)
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
# Users get -O2 without debug information: -O3 buys nothing here, the hot code is what the compiler emits.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")
# Sanitizer reports need line numbers, not types: line tables are a fifth of the size.
set(CMAKE_CXX_FLAGS_SANITIZE "-O1 -gline-tables-only -fno-omit-frame-pointer")
set(CMAKE_C_FLAGS_SANITIZE "-O1 -gline-tables-only -fno-omit-frame-pointer")

find_package(Threads REQUIRED)

# ccache sees a clang precompiled header as changed at each build unless time stamps are left out of both keys.
find_program(HEDDLE_CCACHE ccache)
if(HEDDLE_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros ${HEDDLE_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_C_COMPILER_LAUNCHER})
endif()

add_library(heddle_common_flags INTERFACE)
# The repository root is the only include root; the build root beside it holds generated headers at the same paths.
target_include_directories(heddle_common_flags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
# -fPIC for programs as well: libraries and programs share one precompiled header, which records the setting.
target_compile_options(heddle_common_flags INTERFACE -fPIC)
if(HEDDLE_SANITIZE)
  target_compile_options(heddle_common_flags INTERFACE -fsanitize=${HEDDLE_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(heddle_common_flags INTERFACE -fsanitize=${HEDDLE_SANITIZE})
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  find_program(HEDDLE_LLD NAMES ld.lld-19 ld.lld)
  if(HEDDLE_LLD)
    target_link_options(heddle_common_flags INTERFACE -fuse-ld=${HEDDLE_LLD})
  endif()
endif()

# Of targets with a precompiled header: without it ccache misses whenever that is rebuilt, even to the same bytes.
set(HEDDLE_PCH_FLAGS "")
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(HEDDLE_PCH_FLAGS "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
endif()

add_library(heddle_runtime_flags INTERFACE)
target_include_directories(heddle_runtime_flags INTERFACE ${PROJECT_SOURCE_DIR}/runtime/include)
# A library we use may need exceptions inside one program (CLI11 in tools/heddle): that target says EXCEPTIONS.
set(with_exceptions $<BOOL:$<TARGET_PROPERTY:HEDDLE_EXCEPTIONS>>)
target_compile_options(heddle_runtime_flags INTERFACE -Wall -Wextra -fvisibility=hidden
  $<$<COMPILE_LANGUAGE:CXX>:-f$<$<NOT:${with_exceptions}>:no->exceptions -fvisibility-inlines-hidden>)
target_link_libraries(heddle_runtime_flags INTERFACE heddle_common_flags Threads::Threads)
