# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The helpers that a room's CMakeLists.txt is written with; README.md beside this file shows each in use.

# heddle_tablegen(TARGET TD OUTPUT GENERATOR...): one generated file. Repeated calls add to the same TARGET, which
# every library that includes the file names in its DEPENDS.
function(heddle_tablegen target td output)
  set(LLVM_TARGET_DEFINITIONS ${td})
  # mlir_tablegen takes include paths from the directory property only, which we don't set: hence the -I here.
  mlir_tablegen(${output} ${ARGN} -I${MLIR_INCLUDE_DIRS} -I${PROJECT_SOURCE_DIR})
  if(NOT TARGET ${target})
    add_custom_target(${target})
  endif()
  string(MAKE_C_IDENTIFIER ${target}-${output} step)
  add_custom_target(${step} DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/${output})
  add_dependencies(${target} ${step})
endfunction()

# heddle_add_dialect(NAME PREFIX KINDS kind... SOURCES... [LINK...] [DEPENDS...]): library heddle-dialects-NAME and its
# reference page, from one <PREFIX><Kind>.td a kind: Dialect, Enums, Attributes, Types, Interfaces, Ops.
function(heddle_add_dialect name prefix)
  cmake_parse_arguments(ARG "" "" "KINDS;SOURCES;LINK;DEPENDS" ${ARGN})
  set(flags_Dialect -gen-dialect -dialect=${name})
  set(flags_Enums -gen-enum)
  set(flags_Attributes -gen-attrdef -attrdefs-dialect=${name})
  set(flags_Types -gen-typedef -typedefs-dialect=${name})
  set(flags_Interfaces -gen-op-interface)
  set(flags_Ops -gen-op)
  foreach(kind IN LISTS ARG_KINDS)
    list(POP_FRONT flags_${kind} generator)
    set(file ${prefix}${kind})
    heddle_tablegen(heddle-dialects-${name}-inc ${file}.td ${file}.h.inc ${generator}-decls ${flags_${kind}})
    heddle_tablegen(heddle-dialects-${name}-inc ${file}.td ${file}.cpp.inc ${generator}-defs ${flags_${kind}})
  endforeach()
  heddle_add_compiler_library(heddle-dialects-${name} SOURCES ${ARG_SOURCES} LINK ${ARG_LINK}
    DEPENDS heddle-dialects-${name}-inc ${ARG_DEPENDS})
  heddle_add_doc(${name}-ops ${prefix}Ops.td -gen-dialect-doc -dialect=${name})
endfunction()

# Sets OUT to what add_library calls the kind.
function(heddle_library_kind out is_shared)
  if(is_shared)
    set(${out} SHARED PARENT_SCOPE)
  else()
    set(${out} STATIC PARENT_SCOPE)
  endif()
endfunction()

# heddle_add_compiler_library(NAME [SHARED] SOURCES... [LINK...] [DEPENDS...]): a static archive, linked into
# libheddle-compiler.so and heddle-opt; SHARED is for the driver, which makes the former. DEPENDS names the room's own
# tablegen targets; those of linked libraries come with them.
function(heddle_add_compiler_library name)
  cmake_parse_arguments(ARG "SHARED" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  heddle_library_kind(kind ${ARG_SHARED})
  add_library(${name} ${kind} ${ARG_SOURCES})
  # What archives define stays inside: nobody binds to the compiler's C++ symbols by accident.
  target_link_options(${name} PRIVATE -Wl,--exclude-libs,ALL)
  target_link_libraries(${name} PUBLIC heddle_compiler_flags ${ARG_LINK})
  target_precompile_headers(${name} REUSE_FROM heddle-pch)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# heddle_add_runtime_library(NAME [SHARED] SOURCES... [LINK...]): runtime code, without LLVM or exceptions.
function(heddle_add_runtime_library name)
  cmake_parse_arguments(ARG "SHARED" "" "SOURCES;LINK" ${ARGN})
  heddle_library_kind(kind ${ARG_SHARED})
  add_library(${name} ${kind} ${ARG_SOURCES})
  # Private: a compiler room that links the runtime keeps its own flags, which the precompiled header needs.
  target_link_libraries(${name} PRIVATE heddle_runtime_flags PUBLIC ${ARG_LINK})
endfunction()

# heddle_add_tool(NAME [COMPILER] [EXCEPTIONS] SOURCES... [LINK...]): a program in <build>/bin.
function(heddle_add_tool name)
  cmake_parse_arguments(ARG "COMPILER;EXCEPTIONS" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin
    HEDDLE_EXCEPTIONS ${ARG_EXCEPTIONS})
  heddle_set_kind(${name} ${ARG_COMPILER})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
endfunction()

# Gives a program the flags of the compiler or of the runtime.
function(heddle_set_kind name is_compiler)
  if(is_compiler)
    target_link_libraries(${name} PRIVATE heddle_compiler_flags)
    target_precompile_headers(${name} REUSE_FROM heddle-pch)
  else()
    target_link_libraries(${name} PRIVATE heddle_runtime_flags)
  endif()
endfunction()

# heddle_add_doc(PAGE TD GENERATOR...): a reference page <build>/docs/PAGE.md, made by the target heddle-docs.
function(heddle_add_doc page td)
  set(LLVM_TARGET_DEFINITIONS ${td})
  tablegen(MLIR ${page}.md ${ARGN} -I${MLIR_INCLUDE_DIRS} -I${PROJECT_SOURCE_DIR})
  set(output ${PROJECT_BINARY_DIR}/docs/${page}.md)
  add_custom_command(OUTPUT ${output} DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/${page}.md
    COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_CURRENT_BINARY_DIR}/${page}.md ${output})
  add_custom_target(heddle-docs-${page} ALL DEPENDS ${output})
  if(NOT TARGET heddle-docs)
    add_custom_target(heddle-docs)
  endif()
  add_dependencies(heddle-docs heddle-docs-${page})
endfunction()
