// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fork, a pair of sockets, texts behind their lengths.

#include "tools/heddle/child_process.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <exception>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace heddle::cli {

/// No child has more to say; a larger length is garbage.
static constexpr uint64_t kLongestText = uint64_t(1) << 30;

Channel::~Channel() { close(descriptor); }

bool Channel::send(std::string_view text, Message::Kind kind) const {
  const uint64_t length = text.size();
  std::string bytes(1, static_cast<char>(kind));
  bytes.append(reinterpret_cast<const char *>(&length), sizeof length).append(text);
  for (size_t done = 0; done < bytes.size();) {
    // Without the signal that would end a process whose other side is gone.
    const ssize_t count = ::send(descriptor, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (count < 0 && errno != EINTR)
      return false;
    done += count > 0 ? static_cast<size_t>(count) : 0;
  }
  return true;
}

Message Channel::receive(double seconds) const {
  char head[1 + sizeof(uint64_t)];
  if (Message::Kind kind = readBytes(head, sizeof head, seconds); kind != Message::Kind::Text)
    return {kind, {}};
  uint64_t length = 0;
  std::memcpy(&length, head + 1, sizeof length);
  if (length > kLongestText)
    return {Message::Kind::Closed, {}};
  std::string text(length, '\0');
  if (Message::Kind kind = readBytes(text.data(), length, seconds); kind != Message::Kind::Text)
    return {kind, {}};
  return {static_cast<Message::Kind>(head[0]), std::move(text)};
}

/// Text once all bytes are there.
Message::Kind Channel::readBytes(void *bytes, size_t count, double seconds) const {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + std::chrono::milliseconds(std::llround(seconds * 1e3));
  for (size_t done = 0; done < count;) {
    const int64_t left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left < 0)
      return Message::Kind::Late;
    pollfd waiting = {descriptor, POLLIN, 0};
    if (poll(&waiting, 1, static_cast<int>(std::min<int64_t>(left, 1000))) <= 0)
      continue;
    const ssize_t got = read(descriptor, static_cast<char *>(bytes) + done, count - done);
    if (got == 0 || (got < 0 && errno != EINTR))
      return Message::Kind::Closed;
    done += got > 0 ? static_cast<size_t>(got) : 0;
  }
  return Message::Kind::Text;
}

static void sendError(const Channel &channel, Exit exit, const std::string &text) {
  channel.send(static_cast<char>(exit) + text, Message::Kind::Error);
}

/// Runs in the child and never returns.
[[noreturn]] static void runBody(const std::function<void(const Channel &)> &body, int descriptor, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(0);
  std::signal(SIGINT, SIG_IGN);
  // A fault must end the child as one, so that the parent sees it.
  for (int signal : {SIGSEGV, SIGILL, SIGFPE, SIGABRT, SIGBUS})
    std::signal(signal, SIG_DFL);
  const Channel channel(descriptor);
  try {
    body(channel);
  } catch (const CommandError &error) {
    sendError(channel, error.exit, error.text);
  } catch (const std::exception &error) {
    sendError(channel, Exit::Bug, std::string("error[H0903]: internal error: ") + error.what() + "\n");
  }
  // Destructors of static objects are the parent's to run.
  _exit(0);
}

Child::Child(const std::function<void(const Channel &)> &body) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    fail(Exit::Device, "H0313", std::string("cannot start a process: ") + std::strerror(errno));
  const pid_t parent = getpid();
  process = fork();
  if (process == 0) {
    close(ends[0]);
    runBody(body, ends[1], parent);
  }
  close(ends[1]);
  channel.emplace(ends[0]);
  if (process < 0)
    fail(Exit::Device, "H0313", std::string("cannot start a process: ") + std::strerror(errno));
}

Child::~Child() {
  if (process > 0)
    kill(process, SIGKILL);
  reap();
}

std::optional<std::string> Child::receive(double seconds) {
  Message message = channel->receive(seconds);
  switch (message.kind) {
  case Message::Kind::Text:
    return std::move(message.text);
  case Message::Kind::Error:
    if (!message.text.empty())
      throw CommandError{static_cast<Exit>(message.text[0]), message.text.substr(1)};
    break;
  case Message::Kind::Late:
    kill(process, SIGKILL);
    reap();
    reason = "no answer within " + std::to_string(std::lround(seconds)) + " s";
    return std::nullopt;
  case Message::Kind::Closed:
    break;
  }
  reap(); // it closes its end only by ending
  return std::nullopt;
}

/// Waits until the child is gone, and keeps how it went.
void Child::reap() {
  int status = 0;
  while (process > 0 && waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  process = -1;
  if (WIFSIGNALED(status))
    reason = "killed by signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")";
  else
    reason = "ended with status " + std::to_string(WEXITSTATUS(status));
}

std::string runInChild(const std::function<std::string()> &work, const std::string &task) {
  Child child([&](const Channel &channel) { channel.send(work()); });
  if (std::optional<std::string> result = child.receive())
    return *result;
  fail(Exit::Bug, "H0903", "internal error: " + task + " ended its process: " + child.end());
}

} // namespace heddle::cli
