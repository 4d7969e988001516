// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libFuzzer harness of the command line and of configuration files. The input's first byte picks the command; what
// follows are arguments, one a line, up to a line "###", and after it the configuration file. Nothing is run.

#include "tools/heddle/command.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

using namespace heddle::cli;

/// A file in memory that commands can open by name.
class MemoryFile {
public:
  explicit MemoryFile(std::string_view text) : descriptor(memfd_create("config", 0)) {
    if (descriptor < 0 || ::write(descriptor, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
      std::abort(); // the harness itself can't work
  }
  ~MemoryFile() { close(descriptor); }
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor); }

private:
  int descriptor;
};

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  std::string_view text(reinterpret_cast<const char *>(data) + 1, size - 1);
  // As from a shell, an argument holds no zero.
  if (text.find('\0') != std::string_view::npos)
    return 0;
  std::vector<std::string> arguments;
  std::string_view config;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line == "###") {
      config = text;
      break;
    }
    // What names a configuration file leads to ours, never to one of this machine.
    if (line.substr(0, 4) != "--co")
      arguments.emplace_back(line);
  }
  const MemoryFile file(config);
  if (!config.empty())
    arguments.insert(arguments.end(), {"--config", file.path()});
  std::vector<std::unique_ptr<Command>> commands = makeCommands();
  std::vector<OptionSet *> sets;
  for (const auto &command : commands)
    sets.push_back(&command->options);
  try {
    sets[data[0] % sets.size()]->parse(arguments, sets);
  } catch (const CommandError &) {
    // Refused in words, as it should be. Any other exception ends the harness: users would see "internal error".
  }
  return 0;
}
