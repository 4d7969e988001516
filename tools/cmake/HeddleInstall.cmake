# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What a user gets: the command, the runtime's shared library and headers, and, as a component of its own because a
# device needs none, the compiler library: cmake --install BUILD [--component runtime].

include(GNUInstallDirs)
install(TARGETS heddle RUNTIME COMPONENT runtime)
install(TARGETS heddle-runtime-shared LIBRARY COMPONENT runtime)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime/include/heddle TYPE INCLUDE COMPONENT runtime
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
if(HEDDLE_BUILD_COMPILER)
  install(TARGETS heddle-compiler-driver LIBRARY COMPONENT compiler)
endif()
