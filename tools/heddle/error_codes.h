// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The error codes of the command itself, in the form of runtime/include/heddle/error_codes.h; a code belongs to one
// list only, and `heddle explain` knows all lists. Codes are stable.

#pragma once

/// X(code, summary, explanation). The explanation ends with a paragraph that starts with "Example: ".
#define HEDDLE_TOOL_ERROR_CODES(X)                                                                                     \
  X(H0130, "no such command",                                                                                          \
    "The first argument of heddle is a command. The help line has the nearest name, or all of them. Options follow "   \
    "the command.\n\n"                                                                                                 \
    "Example: heddle compile model.onnx -o model.heddle.")                                                             \
  X(H0131, "no such option",                                                                                           \
    "The command doesn't have this option. The help line has the nearest name. Options follow the command, and each "  \
    "command has its own.\n\n"                                                                                         \
    "Example: heddle run --help lists the options of run, heddle run --help-all the rare ones too.")                   \
  X(H0132, "option has a wrong value",                                                                                 \
    "The value of an option isn't of the form or in the range that it expects. Values come from the command line, "    \
    "from the environment (HEDDLE_THREADS is the twin of --threads) and from the file that --config names. The "       \
    "message says which of them it was.\n\n"                                                                           \
    "Example: --threads 2 is fine, --threads two is not.")                                                             \
  X(H0133, "option lacks its value",                                                                                   \
    "The option expects a value. Write it behind the option, after a blank or =. The help of the command shows its "   \
    "form.\n\n"                                                                                                        \
    "Example: heddle run model.heddle --output out.npz.")                                                              \
  X(H0134, "unexpected argument",                                                                                      \
    "The command takes fewer arguments, or not these two together. A name with blanks needs quotes. Values of "        \
    "options follow their option.\n\n"                                                                                 \
    "Example: heddle verify model.heddle takes either model.onnx or --expected outputs.npz.")                          \
  X(H0135, "configuration file not understood",                                                                        \
    "A file for --config is TOML: `threads = 2` applies to every command that has the option, `[run]` starts the "     \
    "values for one command. The names are those of the options without dashes. A misspelt name is an error, so that " \
    "no setting is lost in silence.\n\n"                                                                               \
    "Example: heddle run --threads 2 --dump-config prints such a file.")                                               \
  X(H0136, "compiler not installed",                                                                                   \
    "Compiling and comparing with a model need libheddle-compiler.so, which comes with the full installation. It is "  \
    "looked for beside the executable, in ../lib from there, or where the environment variable "                       \
    "HEDDLE_COMPILER_LIBRARY says. Artifacts run without it.\n\n"                                                      \
    "Example: compile where the full installation is, and copy model.heddle to the machine that runs it.")             \
  X(H0137, "no such error code",                                                                                       \
    "Error codes have the form H0301, as messages show them in brackets. No nearest code is offered, because codes "   \
    "that look alike mean different things. All codes can be listed.\n\n"                                              \
    "Example: heddle explain all lists every code with its summary.")                                                  \
  X(H0138, "model given for an artifact",                                                                              \
    "Only heddle compile, verify and run take models. Other commands take the artifact that heddle compile makes. A "  \
    "file is taken for a model by its name.\n\n"                                                                       \
    "Example: heddle compile model.onnx -o model.heddle, then heddle bench model.heddle.")                             \
  X(H0139, "argument missing",                                                                                         \
    "The command can't work without this argument. Its usage is in the help line. Words in capitals stand for a "      \
    "value of yours.\n\n"                                                                                              \
    "Example: heddle compile model.onnx lacks -o model.heddle.")                                                       \
  X(H0140, "calibration data not understood",                                                                          \
    "heddle compile --calibrate takes .npz files, each with the arrays of one run under the inputs' names, folders "   \
    "of them, and .jsonl files. Of these each line is a list of ids, a list of such lists of one length, or an "       \
    "object with a list for each input. The message names the file and the line.\n\n"                                  \
    "Example: a line [101, 2023, 102] is one sequence; masks and token types are made for it.")                        \
  X(H0141, "nothing to measure",                                                                                       \
    "heddle tune --measure takes an artifact with candidates: kernels of a model in several configurations each, "     \
    "which heddle tune --export-candidates makes. Artifacts of models have none. One that is damaged may have some "   \
    "that "                                                                                                            \
    "nobody can read.\n\n"                                                                                             \
    "Example: heddle tune model.onnx --export-candidates candidates.heddle --target cpu:x86-64-v3.")                   \
  X(H0320, "missing input",                                                                                            \
    "A run needs a value for each of the model's inputs but the optional ones. Give it with --input, or have it "      \
    "generated with --shape. The help line lists the inputs with their types and shapes.\n\n"                          \
    "Example: heddle run model.heddle --input input_ids=@ids.npy --input attention_mask=ones.")                        \
  X(H0321, "no such input",                                                                                            \
    "The model has no input of that name. The help line lists its inputs with their shapes. Names are the model's "    \
    "own, capitals included; an input whose default became a constant when the model was compiled is no input any "    \
    "more.\n\n"                                                                                                        \
    "Example: heddle inspect model.heddle shows inputs, outputs and defaults.")                                        \
  X(H0322, "input given twice",                                                                                        \
    "Each input takes one value. It comes from one --input, or from one array of an archive. The order of the "        \
    "options doesn't matter.\n\n"                                                                                      \
    "Example: --input @all.npz --input ids=1,2,3 names ids twice if all.npz holds ids.")                               \
  X(H0323, "value of an input not understood",                                                                         \
    "The forms are NAME=@file.npy, NAME=@file.npz:key, @file.npz for all inputs by their names, NAME=1,2,3, "          \
    "NAME=[[1,2],[3,4]], NAME=random, NAME=random:SEED, NAME=ones, NAME=zeros, and NAME=- for standard input. The "    \
    "name may be left out where there is one input. Quote brackets, which mean something to the shell.\n\n"            \
    "Example: --input 'ids=[[101,2023,102]]' --input mask=ones.")                                                      \
  X(H0324, "shape doesn't fit",                                                                                        \
    "A shape is written NAME=1x128. Fixed dimensions keep their size, and dimensions of one name are equal in all "    \
    "inputs. Shapes that follow from another input's needn't be given.\n\n"                                            \
    "Example: heddle bench model.heddle --shape input_ids=8x128 also sizes attention_mask.")                           \
  X(H0325, "literal not understood",                                                                                   \
    "A literal is a number, numbers with commas between them, or nested lists of equal length. Its elements have the " \
    "input's type: whole numbers in its range for integers, 0, 1, true or false for booleans. The message shows the "  \
    "place.\n\n"                                                                                                       \
    "Example: [[1,2],[3,4]] is fine, [[1,2],[3]] is not, and 1.5 is no i64.")                                          \
  X(H0326, "no such array in the archive",                                                                             \
    "The .npz file holds no array of that name. The help line lists those that it has, or the nearest. Arrays go by "  \
    "the names that numpy.savez got as keywords.\n\n"                                                                  \
    "Example: numpy.savez(\"inputs.npz\", input_ids=ids) makes the array input_ids.")                                  \
  X(H0327, "file can't hold the outputs",                                                                              \
    "Outputs go to a .npz file, or to a .npy file if there is only one output. The form is told by the name. Without " \
    "--output they are printed.\n\n"                                                                                   \
    "Example: heddle run model.heddle --input @inputs.npz --output out.npz.")                                          \
  X(H0420, "measuring process can't start",                                                                            \
    "heddle tune measures in a process of its own, so that a driver or a kernel that crashes takes nothing with it. "  \
    "That process ended before it could measure anything. The message says how.\n\n"                                   \
    "Example: heddle run with the same artifact and --device shows whether the device works.")                         \
  X(H0520, "file can't be read",                                                                                       \
    "The operating system refused to open or read the file. The message has its reason. Relative paths start at the "  \
    "working directory.\n\n"                                                                                           \
    "Example: --input ids=@data/ids.npy looks for data/ids.npy in the folder where heddle was started.")               \
  X(H0521, "file can't be written",                                                                                    \
    "The operating system refused to create, write or rename the file, as in a full or missing folder. Files are "     \
    "written under a temporary name and renamed once they are whole. So an older file is still there, and nothing "    \
    "half-written is.\n\n"                                                                                             \
    "Example: df -h . shows whether the disk is full, ls -ld FOLDER whether you may write there.")                     \
  X(H0522, "not a readable .npy file",                                                                                 \
    "The file isn't NumPy's format of version 1 to 3, or it is cut off. The message says which. Arrays of Python "     \
    "objects aren't readable either.\n\n"                                                                              \
    "Example: numpy.save(\"ids.npy\", ids) writes such a file.")                                                       \
  X(H0523, "not a readable .npz file",                                                                                 \
    "The file isn't a zip archive as numpy.savez and numpy.savez_compressed write it, or it is damaged. Encrypted "    \
    "archives and other methods of compression aren't read. The message says what was found.\n\n"                      \
    "Example: numpy.savez(\"inputs.npz\", ids=ids, mask=mask) writes such a file.")                                    \
  X(H0524, "element type not supported",                                                                               \
    "The array's elements are of a type that no tensor has, such as strings, complex numbers or records. Convert the " \
    "array before it is saved. Tensors hold f64, f32, f16, bf16, integers of 8 to 64 bits and booleans.\n\n"           \
    "Example: numpy.save(\"ids.npy\", array.astype(\"int64\")) converts it.")                                          \
  X(H0903, "bug in the heddle command",                                                                                \
    "Something happened that should be impossible. It isn't your fault, and no option of yours can mend it. Please "   \
    "report it with the line that the message shows.\n\n"                                                              \
    "Example: heddle --version prints the versions that such a report needs.")
