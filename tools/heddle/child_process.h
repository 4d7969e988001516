// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work in a process of its own: LLVM or a driver may end the process that they run in, or never come back. The parent
// must not have threads, since a child has only the thread that forked.

#pragma once

#include "tools/heddle/error.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace heddle::cli {

/// What came through a channel.
struct Message {
  enum class Kind : char { Text = 't', Error = 'e', Closed = 'c', Late = 'l' };

  Kind kind;
  std::string text; ///< of Text; of Error the exit code and the message
};

/// One end of a line between two processes: whole texts go in, and come out at the other end.
class Channel {
public:
  /// Takes over |descriptor|, a socket.
  explicit Channel(int descriptor) : descriptor(descriptor) {}
  ~Channel();
  Channel(const Channel &) = delete;
  Channel &operator=(const Channel &) = delete;

  /// False if the other side is gone.
  bool send(std::string_view text, Message::Kind kind = Message::Kind::Text) const;
  /// The next message; Closed if the other side is gone, Late if |seconds| pass before all of it is there.
  Message receive(double seconds = kForever) const;

  static constexpr double kForever = 1e9;

private:
  Message::Kind readBytes(void *bytes, size_t count, double seconds) const;

  int descriptor;
};

/// A child that runs |body| and ends when that returns, at the latest with this object or with the parent. Ctrl-C
/// doesn't reach it.
class Child {
public:
  explicit Child(const std::function<void(const Channel &)> &body);
  ~Child();
  Child(const Child &) = delete;
  Child &operator=(const Child &) = delete;

  bool send(std::string_view text) const { return channel->send(text); }
  /// The next text that |body| sends. Throws the CommandError that |body| threw. Nothing if the child ended without a
  /// further text, or hasn't sent one within |seconds|, when it is ended; then end() says how.
  std::optional<std::string> receive(double seconds = Channel::kForever);
  /// "killed by signal 11 (Segmentation fault)", "no answer within 60 s".
  const std::string &end() const { return reason; }

private:
  void reap();

  pid_t process = -1;
  std::optional<Channel> channel;
  std::string reason;
};

/// What |work| returns in a child. Throws the CommandError that it threw, or one that says that |task| ("compiling the
/// model") ended its process.
std::string runInChild(const std::function<std::string()> &work, const std::string &task);

} // namespace heddle::cli
