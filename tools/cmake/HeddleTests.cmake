# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Test helpers: a GoogleTest program is one ctest, the lit suite over tests/ is one more (tests/CMakeLists.txt).

find_package(GTest REQUIRED)
# The interpreter with the packages of tools/requirements.txt, else any: Python tests say which package they miss.
find_program(HEDDLE_PYTHON python3 HINTS ${PROJECT_SOURCE_DIR}/build/python/bin REQUIRED)

# heddle_add_test(NAME [COMPILER] SOURCES... [LINK...] [PRECOMPILE...]): a GoogleTest program <build>/tests/bin/NAME,
# run by ctest in the build root. HEDDLE_SOURCE_DIR and HEDDLE_SHARED_DIR in its environment lead to files it reads.
# PRECOMPILE names headers that most of its many sources include, as the compiler's have theirs already.
function(heddle_add_test name)
  cmake_parse_arguments(ARG "COMPILER" "" "SOURCES;LINK;PRECOMPILE" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/bin)
  heddle_set_kind(${name} ${ARG_COMPILER})
  if(ARG_PRECOMPILE)
    target_precompile_headers(${name} PRIVATE ${ARG_PRECOMPILE})
    target_compile_options(${name} PRIVATE ${HEDDLE_PCH_FLAGS})
  endif()
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${PROJECT_BINARY_DIR})
  set_tests_properties(${name} PROPERTIES TIMEOUT 900 ENVIRONMENT "${HEDDLE_TEST_ENVIRONMENT}")
endfunction()

set(HEDDLE_TEST_ENVIRONMENT
  HEDDLE_SOURCE_DIR=${PROJECT_SOURCE_DIR} HEDDLE_SHARED_DIR=${PROJECT_SOURCE_DIR}/../shared
  UBSAN_OPTIONS=print_stacktrace=1)

# Tests of the Vulkan device run on lavapipe, whatever GPU the machine has, and with Khronos' validation layer: what it
# finds fails the run. Both flags of VK_LAYER_ENABLES are needed, and joined by a colon.
file(GLOB HEDDLE_LAVAPIPE /usr/share/vulkan/icd.d/lvp_icd.*.json)
set(on_layers VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT)
string(APPEND on_layers :VALIDATION_CHECK_ENABLE_SYNCHRONIZATION_VALIDATION_QUEUE_SUBMIT)
# Whoever meets Vulkan keeps its drivers: see tests/pin_drivers.c.
set(HEDDLE_PINNED_DRIVERS "")
if(HEDDLE_SANITIZE)
  set(HEDDLE_PINNED_DRIVERS LD_PRELOAD=$<TARGET_FILE:heddle-tests-pin-drivers>)
endif()
set(HEDDLE_VULKAN_ENVIRONMENT ${HEDDLE_PINNED_DRIVERS}
  VK_ICD_FILENAMES=${HEDDLE_LAVAPIPE} HEDDLE_VULKAN_VALIDATE=1 HEDDLE_VULKAN_CACHE=0
  VK_LAYER_ENABLES=${on_layers})
