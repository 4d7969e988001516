// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options: where values come from, which source wins, what is said about wrong ones.

#include "tests/tools/expect_error.h"
#include "tools/heddle/command.h"
#include "tools/heddle/options.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace heddle::cli {
namespace {

/// A command with an option of each kind.
struct Sample {
  OptionSet options{"sample", "does something", "FILE [options]"};
  std::string file, output, mode;
  std::vector<std::string> inputs;
  unsigned threads = 0;
  double seconds = 1;
  bool json = false;

  Sample() {
    options.positional("FILE", file, "a file");
    options.text("-o,--output", output, "FILE", "where to");
    options.choice("--mode", mode, {"map", "copy"}, "how");
    options.list("--input", inputs, "NAME=VALUE", "what");
    options.count("--threads", threads, "N", "how many");
    options.number("--seconds", seconds, "T", "how long");
    options.flag("--json", json, "print JSON");
  }

  bool parse(const std::vector<std::string> &arguments) { return options.parse(arguments, {&options}); }
};

/// Sets a variable of the environment while it lives.
struct Environment {
  Environment(const char *name, const char *value) : name(name) { setenv(name, value, 1); }
  ~Environment() { unsetenv(name); }
  const char *name;
};

/// A configuration file that is gone afterwards.
struct ConfigFile {
  explicit ConfigFile(const std::string &text) {
    int descriptor = mkstemp(path.data());
    std::ofstream(path) << text;
    close(descriptor);
  }
  ~ConfigFile() { std::filesystem::remove(path); }
  std::string path = (std::filesystem::temp_directory_path() / "heddle-test-XXXXXX").string();
};

TEST(Options, ComeFromTheCommandLine) {
  Sample sample;
  ASSERT_TRUE(sample.parse({"a.heddle", "-o", "out", "--mode", "copy", "--input", "x=[[1,2]]", "--input=y=-1",
                            "--threads", "3", "--seconds=0.5", "--json"}));
  EXPECT_EQ(sample.file, "a.heddle");
  EXPECT_EQ(sample.output, "out");
  EXPECT_EQ(sample.mode, "copy");
  EXPECT_EQ(sample.inputs, (std::vector<std::string>{"x=[[1,2]]", "y=-1"}));
  EXPECT_EQ(sample.threads, 3u);
  EXPECT_EQ(sample.seconds, 0.5);
  EXPECT_TRUE(sample.json);
}

TEST(Options, AListTakesOneValueEachTime) {
  Sample sample;
  ASSERT_TRUE(sample.parse({"--input", "[1,2]", "a.heddle", "--input", "-", "--input", "-1,2"}));
  EXPECT_EQ(sample.file, "a.heddle");
  EXPECT_EQ(sample.inputs, (std::vector<std::string>{"[1,2]", "-", "-1,2"}));
}

TEST(Options, TheLastOfASingleOptionWins) {
  Sample sample;
  ASSERT_TRUE(sample.parse({"--threads", "1", "--threads", "2"}));
  EXPECT_EQ(sample.threads, 2u);
}

TEST(Options, HaveTwinsInTheEnvironment) {
  Environment threads("HEDDLE_THREADS", "5"), json("HEDDLE_JSON", "1"), input("HEDDLE_INPUT", "x=1,2");
  Sample sample;
  ASSERT_TRUE(sample.parse({}));
  EXPECT_EQ(sample.threads, 5u);
  EXPECT_TRUE(sample.json);
  EXPECT_EQ(sample.inputs, (std::vector<std::string>{"x=1,2"}));
}

TEST(Options, CommandLineBeatsEnvironmentBeatsConfiguration) {
  ConfigFile config(
      "threads = 1\nmode = \"copy\"\n[sample]\noutput = 'a b'\njson = true\ninput = [\"x=[1,2]\", \"y=2\"]\n");
  Environment threads("HEDDLE_THREADS", "2"), output("HEDDLE_OUTPUT", "env");
  Sample sample;
  ASSERT_TRUE(sample.parse({"--config", config.path, "--output", "line"}));
  EXPECT_EQ(sample.output, "line");
  EXPECT_EQ(sample.threads, 2u);
  EXPECT_EQ(sample.mode, "copy");
  EXPECT_EQ(sample.inputs, (std::vector<std::string>{"x=[1,2]", "y=2"}));
  EXPECT_TRUE(sample.json);
}

TEST(Options, ADumpedConfigurationGivesTheSameOptions) {
  Sample first;
  testing::internal::CaptureStdout();
  EXPECT_FALSE(first.parse({"--threads", "7", "--input", "x=[[1,2],[3,4]]", "--input", "y=a b", "--json", "--output",
                            "it's", "--dump-config"}));
  ConfigFile config(testing::internal::GetCapturedStdout());
  Sample second;
  ASSERT_TRUE(second.parse({"--config", config.path}));
  EXPECT_EQ(second.threads, 7u);
  EXPECT_EQ(second.inputs, first.inputs);
  EXPECT_EQ(second.output, "it's");
  EXPECT_TRUE(second.json);
  EXPECT_EQ(second.mode, "") << "what wasn't given isn't dumped";
}

TEST(Options, SayWhatIsWrong) {
  struct {
    std::vector<std::string> arguments;
    const char *error;
  } cases[] = {
      {{"--thread", "2"}, "error[H0131]: heddle sample has no option '--thread'\n  help: did you mean '--threads'?\n"},
      {{"--frobnicate=1"},
       "error[H0131]: heddle sample has no option '--frobnicate'\n  help: heddle sample --help lists the options\n"},
      {{"a", "b"}, "error[H0134]: unexpected argument 'b'\n  help: usage: heddle sample FILE [options]\n"},
      {{"--threads", "two"}, "error[H0132]: --threads expects a whole number from 1 to 65536, got 'two'\n"},
      {{"--threads", "0"}, "error[H0132]: --threads expects a whole number from 1 to 65536, got '0'\n"},
      {{"--seconds", "nan"}, "error[H0132]: --seconds expects a number above 0, got 'nan'\n"},
      {{"--mode", "cpoy"}, "error[H0132]: --mode expects map or copy, got 'cpoy'\n  help: did you mean 'copy'?\n"},
      {{"--threads"}, "error[H0133]: --threads expects a value\n  help: heddle sample --help shows its form\n"},
      {{"--config", "/nowhere"}, "error[H0520]: cannot read '/nowhere': No such file or directory\n"},
  };
  for (const auto &c : cases) {
    std::string error = errorOf([&] { Sample().parse(c.arguments); });
    EXPECT_NE(error.find(c.error), std::string::npos) << error;
  }
}

TEST(Options, SayThatAWrongValueIsTheEnvironments) {
  Environment threads("HEDDLE_THREADS", "many");
  EXPECT_EQ(errorOf([] { Sample().parse({}); }),
            "exit 2: error[H0132]: --threads expects a whole number from 1 to 65536, got 'many'\n  in the environment "
            "variable HEDDLE_THREADS\n");
}

TEST(Options, SayWhatIsWrongInAConfiguration) {
  auto errorIn = [](const std::string &text) {
    ConfigFile config(text);
    std::string error = errorOf([&] { Sample().parse({"--config", config.path}); });
    size_t at = error.find(config.path);
    return at == std::string::npos ? error : error.replace(at, config.path.size(), "FILE");
  };
  EXPECT_EQ(errorIn("thread = 2\n"),
            "exit 2: error[H0135]: there is no option 'thread'\n  in FILE\n  help: did you mean 'threads'?\n");
  EXPECT_EQ(errorIn("[sampel]\nthreads = 2\n"),
            "exit 2: error[H0135]: there is no command 'sampel'\n  in FILE\n  help: did you mean 'sample'?\n");
  EXPECT_EQ(errorIn("threads = []\n"),
            "exit 2: error[H0135]: wrong value for 'threads': expects one, got an empty list\n  in FILE\n");
  EXPECT_EQ(errorIn("input = []\n"), "");
  EXPECT_EQ(errorIn("threads = 0\n"),
            "exit 2: error[H0132]: --threads expects a whole number from 1 to 65536, got '0'\n");
}

TEST(Help, ShowsAtMostTwentyOptionsACommand) {
  for (const std::unique_ptr<Command> &command : makeCommands()) {
    std::string help = command->options.help(false);
    size_t shown = 0;
    for (const std::string &name : command->options.names())
      shown += help.find("--" + name + " ") != std::string::npos;
    EXPECT_LE(shown, 20u) << command->options.command();
    EXPECT_EQ(command->options.help(false).find("--config"), std::string::npos);
    EXPECT_NE(command->options.help(true).find("environment: HEDDLE_CONFIG"), std::string::npos);
  }
}

} // namespace
} // namespace heddle::cli
