// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The error codes of the command itself, in the form of runtime/include/heddle/error_codes.h; a code belongs to one
// list only, and `heddle explain` knows all lists. Codes are stable.

#pragma once

/// X(code, summary, explanation).
#define HEDDLE_TOOL_ERROR_CODES(X)                                                                                     \
  X(H0130, "no such command", "The first argument of heddle is a command. `heddle --help` lists them.")                \
  X(H0131, "no such option",                                                                                           \
    "The command doesn't have this option. `heddle COMMAND --help` lists its options; they follow the command.")       \
  X(H0132, "option has a wrong value",                                                                                 \
    "The value of an option isn't of the form or in the range that it expects. Values come from the command line, "    \
    "from the environment (HEDDLE_THREADS is the twin of --threads) and from the file that --config names.")           \
  X(H0133, "option lacks its value", "The option expects a value: write it behind the option, after a blank or =.")    \
  X(H0134, "unexpected argument", "The command takes fewer arguments, or not these two together.")                     \
  X(H0135, "configuration file not understood",                                                                        \
    "A file for --config is TOML: `threads = 2` applies to every command that has the option, `[run]` starts the "     \
    "values for one command. `heddle COMMAND --dump-config` prints such a file.")                                      \
  X(H0136, "compiler not installed",                                                                                   \
    "Compiling and comparing with a model need libheddle-compiler.so, which comes with the full installation. It is "  \
    "looked for beside the executable, in ../lib from there, or where the environment variable "                       \
    "HEDDLE_COMPILER_LIBRARY says. Artifacts run without it.")                                                         \
  X(H0137, "no such error code", "Error codes have the form H0301, as messages show them in brackets.")                \
  X(H0138, "model given for an artifact",                                                                              \
    "Only heddle compile, verify and run take models; other commands take the artifact that heddle compile makes.")    \
  X(H0139, "argument missing", "The command can't work without this argument. Its usage is in the help line.")         \
  X(H0320, "missing input",                                                                                            \
    "A run needs a value for each of the model's inputs. Give it with --input, or have it generated with --shape.")    \
  X(H0321, "no such input", "The model has no input of that name. The help line lists its inputs with their shapes.")  \
  X(H0322, "input given twice", "Each input takes one value: one --input, or one array of an archive.")                \
  X(H0323, "value of an input not understood",                                                                         \
    "The forms are NAME=@file.npy, NAME=@file.npz:key, @file.npz for all inputs by their names, NAME=1,2,3, "          \
    "NAME=[[1,2],[3,4]], NAME=random, NAME=random:SEED, NAME=ones, NAME=zeros, and NAME=- for standard input. The "    \
    "name may be left out where there is one input.")                                                                  \
  X(H0324, "shape doesn't fit",                                                                                        \
    "A shape is written NAME=1x128. Fixed dimensions keep their size, and dimensions of one name are equal in all "    \
    "inputs. `heddle inspect` shows the inputs.")                                                                      \
  X(H0325, "literal not understood",                                                                                   \
    "A literal is a number, numbers with commas between them, or nested lists of equal length. Its elements have the " \
    "input's type: whole numbers in its range for integers, 0, 1, true or false for booleans.")                        \
  X(H0326, "no such array in the archive", "The .npz file holds no array of that name. The help line lists them.")     \
  X(H0327, "file can't hold the outputs", "Outputs go to a .npz file, or to a .npy file if there is only one output.") \
  X(H0520, "file can't be read", "The operating system refused to open or read the file. The message has its reason.") \
  X(H0521, "file can't be written",                                                                                    \
    "The operating system refused to create, write or rename the file, as in a full or missing folder. Files are "     \
    "written under a temporary name and renamed once they are whole, so an older file is still there.")                \
  X(H0522, "not a readable .npy file",                                                                                 \
    "The file isn't NumPy's format of version 1 to 3, or it is cut off. numpy.save writes it.")                        \
  X(H0523, "not a readable .npz file",                                                                                 \
    "The file isn't a zip archive as numpy.savez and numpy.savez_compressed write it, or it is damaged.")              \
  X(H0524, "element type not supported",                                                                               \
    "The array's elements are of a type that no tensor has, such as strings, complex numbers or records.")             \
  X(H0903, "bug in the heddle command",                                                                                \
    "Something happened that should be impossible. Please report it with the line that the message shows.")
