// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C API with C++17 handles: header-only, without exceptions, nothing added but ownership.
//
// A handle owns one reference and moves; a copy isn't made in silence. What can fail returns a heddle::result, which
// holds either the value or the heddle::status that says why there is none. Threads: as heddle.h says for each type.
//
//     auto program = heddle::program::load("model.heddle");
//     if (!program)
//       return report(program.error());

#ifndef HEDDLE_HEDDLE_HPP
#define HEDDLE_HEDDLE_HPP

#include <initializer_list>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <heddle/heddle.h>

namespace heddle {

/// The outcome of a call; owns the status object of a failure.
class status {
public:
  status() = default;
  explicit status(heddle_status_t handle) : handle_(handle) {}
  status(status &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  status &operator=(status &&other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~status() { heddle_status_release(handle_); }

  bool ok() const { return !handle_; }
  heddle_status_code_t code() const { return heddle_status_code(handle_); }
  std::string error_code() const { return heddle_status_error_code(handle_); }
  std::string message() const { return heddle_status_message(handle_); }
  std::string context() const { return heddle_status_context(handle_); }
  std::string help() const { return heddle_status_help(handle_); }

  /// The whole text as the command line prints it: "error[H0301]: ..." with its lines of context and help.
  std::string text() const {
    std::string text = "error[" + error_code() + "]: " + message();
    if (!context().empty())
      text += "\n  " + context();
    if (!help().empty())
      text += "\n  help: " + help();
    return text;
  }

private:
  heddle_status_t handle_ = nullptr;
};

/// A value, or the status of the call that should have made it. Reading the other one is undefined, as for an iterator
/// past the end.
template <typename T> class result {
public:
  result(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  result(status failure) : content_(std::in_place_index<1>, std::move(failure)) {}

  explicit operator bool() const { return content_.index() == 0; }
  T &operator*() { return *std::get_if<0>(&content_); }
  const T &operator*() const { return *std::get_if<0>(&content_); }
  T *operator->() { return std::get_if<0>(&content_); }
  const T *operator->() const { return std::get_if<0>(&content_); }
  const status &error() const { return *std::get_if<1>(&content_); }

private:
  std::variant<T, status> content_;
};

/// One owned reference to a C handle, given up through |Release|.
template <typename Handle, void (*Release)(Handle *)> class owner {
public:
  owner() = default;
  /// Takes over the caller's reference.
  explicit owner(Handle *handle) : handle_(handle) {}
  owner(owner &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  owner &operator=(owner &&other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~owner() { Release(handle_); }

  /// The C handle, still owned by this object; null after a move.
  Handle *get() const { return handle_; }
  /// Hands the reference to the caller.
  Handle *release() { return std::exchange(handle_, nullptr); }

private:
  Handle *handle_ = nullptr;
};

/// A tensor in host memory, or one of heddle/vulkan.h.
class tensor : public owner<heddle_tensor_t, heddle_tensor_release> {
public:
  using owner::owner;

  static result<tensor> create(heddle_element_type_t type, const std::vector<int64_t> &dims) {
    heddle_tensor_t *handle = nullptr;
    if (status failure{heddle_tensor_create(type, dims.size(), dims.data(), &handle)}; !failure.ok())
      return failure;
    return tensor(handle);
  }

  /// Refers to |data| without copying; it must outlive the tensor.
  static result<tensor> wrap(heddle_element_type_t type, const std::vector<int64_t> &dims, void *data,
                             size_t byte_length) {
    heddle_tensor_t *handle = nullptr;
    if (status failure{
            heddle_tensor_wrap(type, dims.size(), dims.data(), data, byte_length, nullptr, nullptr, &handle)};
        !failure.ok())
      return failure;
    return tensor(handle);
  }

  heddle_element_type_t type() const { return heddle_tensor_type(get()); }
  std::vector<int64_t> dims() const {
    const int64_t *dims = heddle_tensor_dims(get());
    return {dims, dims + heddle_tensor_rank(get())};
  }
  size_t element_count() const { return heddle_tensor_element_count(get()); }
  /// The elements as |T|, which the caller knows to fit type(); null if they lie in a VkBuffer.
  template <typename T> T *data() const { return static_cast<T *>(heddle_tensor_data(get())); }
};

/// Threads to share between programs.
class thread_pool : public owner<heddle_thread_pool_t, heddle_thread_pool_release> {
public:
  using owner::owner;

  static result<thread_pool> create(unsigned thread_count = 0) {
    heddle_thread_pool_t *handle = nullptr;
    if (status failure{heddle_thread_pool_create(thread_count, &handle)}; !failure.ok())
      return failure;
    return thread_pool(handle);
  }

  unsigned thread_count() const { return heddle_thread_pool_thread_count(get()); }
};

/// What this machine has to run programs on.
class device_list : public owner<heddle_device_list_t, heddle_device_list_release> {
public:
  using owner::owner;

  static result<device_list> create() {
    heddle_device_list_t *handle = nullptr;
    if (status failure{heddle_device_list_create(&handle)}; !failure.ok())
      return failure;
    return device_list(handle);
  }

  size_t size() const { return heddle_device_list_count(get()); }
  /// |index| must be below size().
  const heddle_device_info_t &operator[](size_t index) const { return *heddle_device_list_get(get(), index); }
};

/// A loaded artifact.
class program : public owner<heddle_program_t, heddle_program_release> {
public:
  using owner::owner;

  static result<program> load(const std::string &path, const heddle_program_options_t &options = {}) {
    heddle_program_t *handle = nullptr;
    if (status failure{heddle_program_load(path.c_str(), &options, &handle)}; !failure.ok())
      return failure;
    return program(handle);
  }

  /// Loads from memory that must outlive the program, aligned to 64 bytes.
  static result<program> load_memory(const void *data, size_t length, const heddle_program_options_t &options = {}) {
    heddle_program_t *handle = nullptr;
    if (status failure{heddle_program_load_memory(data, length, nullptr, nullptr, &options, &handle)}; !failure.ok())
      return failure;
    return program(handle);
  }

  const heddle_program_info_t &info() const { return *heddle_program_info(get()); }
  /// What stands for an input that is left out; null where it must be given.
  const heddle_tensor_t *default_input(size_t input, const char *entry = nullptr) const {
    return heddle_program_default_input(get(), entry, input);
  }
  /// A remark on how the device runs it; null behind the last.
  const char *note(size_t index) const { return heddle_program_note(get(), index); }
};

/// One concurrent user of a program.
class session : public owner<heddle_session_t, heddle_session_release> {
public:
  using owner::owner;

  static result<session> create(const program &program) {
    heddle_session_t *handle = nullptr;
    if (status failure{heddle_session_create(program.get(), &handle)}; !failure.ok())
      return failure;
    return session(handle);
  }

  /// Runs |entry| (null: the first) on |inputs|, null for those left to their defaults, and returns |output_count| new
  /// tensors.
  result<std::vector<tensor>> run(const char *entry, std::initializer_list<const tensor *> inputs,
                                  size_t output_count) const {
    std::vector<const heddle_tensor_t *> handles;
    for (const tensor *input : inputs)
      handles.push_back(input ? input->get() : nullptr);
    std::vector<heddle_tensor_t *> outputs(output_count);
    if (status failure{heddle_session_run(get(), entry, handles.data(), handles.size(), outputs.data(), output_count)};
        !failure.ok())
      return failure;
    std::vector<tensor> owned;
    for (heddle_tensor_t *output : outputs)
      owned.emplace_back(output);
    return owned;
  }

  /// Stops the run in progress; callable from any thread.
  void cancel() const { heddle_session_cancel(get()); }
};

} // namespace heddle

#endif // HEDDLE_HEDDLE_HPP
