// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A session: checks what a run is given, finds or makes its plan, and hands it to the device, which runs it at once or
// has it submitted and finished later. All vectors here keep their memory between runs, so that a repeated run
// allocates nothing.

#include <algorithm>
#include <atomic>

#include <heddle/vulkan.h>

#include "runtime/core/border.h"
#include "runtime/core/element_type.h"
#include "runtime/core/input_check.h"
#include "runtime/core/plan_cache.h"
#include "runtime/core/program.h"
#include "runtime/core/shape_program.h"
#include "runtime/core/tensor.h"

using namespace heddle::runtime;

struct heddle_session_t {
  heddle_session_t() = default;
  heddle_session_t(const heddle_session_t &) = delete;
  heddle_session_t &operator=(const heddle_session_t &) = delete;
  ~heddle_session_t() {
    device.reset(); // waits for a run that uses the tensors
    release_kept();
  }
  void release_kept() {
    for (heddle_tensor_t *tensor : kept)
      heddle_tensor_release(tensor);
    kept.clear();
  }

  heddle_program_t *program = nullptr; ///< retained
  std::unique_ptr<device_session> device;
  plan_cache plans;
  std::vector<int64_t> key;
  std::vector<const heddle_tensor_t *> inputs; ///< of the run in progress, defaults included
  std::vector<memory_block> widened;           ///< per input, where i32 was given for i64
  std::vector<const void *> input_data;        ///< what the device reads
  std::vector<heddle_tensor_t *> outputs;      ///< given or created
  std::vector<void *> output_data;
  std::vector<const heddle_vulkan_buffer_t *> input_buffers; ///< null for host memory, as the next
  std::vector<const heddle_vulkan_buffer_t *> output_buffers;
  std::vector<heddle_tensor_t *> kept; ///< retained: tensors of a submitted run
  heddle_observer_fn_t observer = nullptr;
  void *observer_user = nullptr;
  bool records_spans = false;
  std::vector<heddle_span_t> spans; ///< of the last run
  std::atomic<run_state> state{run_state::idle};
  std::atomic<bool> is_submitted{false}; ///< and not finished; state isn't idle then
};

namespace {

/// Finds the plan of |entry| for |inputs|, or makes it.
heddle_status_t plan_run(heddle_session_t *session, const entry_table &entry, const heddle_tensor_t *const *inputs,
                         const plan **out_plan) {
  const program_tables &tables = session->program->loaded.tables;
  // Entry points of one program may have inputs of equal shapes, so the entry is part of the key.
  session->key.clear();
  session->key.push_back(&entry - tables.entries.data());
  HEDDLE_RETURN_IF_ERROR(append_shape_key(entry, inputs, &session->key));
  *out_plan = session->plans.find(session->key);
  if (*out_plan)
    return nullptr;
  auto made = std::make_unique<plan>();
  HEDDLE_RETURN_IF_ERROR(make_plan(tables, entry, session->program->target, inputs, made.get()));
  *out_plan = session->plans.insert(session->key, std::move(made));
  return nullptr;
}

/// Asks the device about a tensor in a VkBuffer.
heddle_status_t check_buffer(const heddle_session_t &session, const heddle_tensor_t &tensor, buffer_access access,
                             const char *name) {
  const std::string problem = session.device->problem_of(*tensor.buffer, tensor.byte_length, access);
  if (problem.empty())
    return nullptr;
  return fail(error::H0315,
              format("%s '%s' %s", access == buffer_access::read ? "input" : "output", name, problem.c_str()));
}

/// Collects the inputs' data, widened where i32 was given for i64, or their places on the device.
heddle_status_t prepare_inputs(heddle_session_t *session, const entry_table &entry,
                               const heddle_tensor_t *const *inputs) {
  const size_t count = entry.inputs.size();
  session->input_data.resize(count);
  session->input_buffers.assign(count, nullptr);
  if (session->widened.size() < count)
    session->widened.resize(count);
  for (size_t i = 0; i < count; ++i) {
    session->input_data[i] = inputs[i]->data;
    if (inputs[i]->buffer) {
      session->input_buffers[i] = &*inputs[i]->buffer;
      HEDDLE_RETURN_IF_ERROR(check_buffer(*session, *inputs[i], buffer_access::read, entry.inputs[i].name));
    }
    if (inputs[i]->type == entry.inputs[i].type || inputs[i]->buffer)
      continue;
    memory_block &block = session->widened[i];
    if (!block.reserve(inputs[i]->element_count * sizeof(int64_t)))
      return fail(error::H0313, format("not enough memory to widen input '%s'", entry.inputs[i].name));
    const auto *narrow = static_cast<const int32_t *>(inputs[i]->data);
    auto *wide = reinterpret_cast<int64_t *>(block.data());
    for (size_t element = 0; element < inputs[i]->element_count; ++element)
      wide[element] = narrow[element];
    session->input_data[i] = wide;
  }
  return nullptr;
}

/// Collects the outputs: the given ones, and new ones where none was given.
heddle_status_t prepare_outputs(heddle_session_t *session, const entry_table &entry, const plan &plan,
                                heddle_tensor_t *const *given) {
  const size_t count = entry.outputs.size();
  session->outputs.assign(count, nullptr);
  session->output_data.resize(count);
  session->output_buffers.assign(count, nullptr);
  for (size_t i = 0; i < count; ++i) {
    heddle_tensor_t *tensor = given[i];
    if (tensor && tensor->buffer) {
      session->output_buffers[i] = &*tensor->buffer;
      HEDDLE_RETURN_IF_ERROR(check_buffer(*session, *tensor, buffer_access::write, entry.outputs[i].name));
    }
    if (!tensor) {
      int64_t dims[HEDDLE_MAX_RANK] = {};
      read_dims(plan, entry.outputs[i].slots, dims);
      HEDDLE_RETURN_IF_ERROR(create_unset_tensor(entry.outputs[i].type, entry.outputs[i].slots.size(), dims, &tensor));
    }
    session->outputs[i] = tensor;
    session->output_data[i] = tensor->data;
  }
  return nullptr;
}

/// The new outputs of a run: given up at its end, whichever way it ends, unless hand_out() came first.
class new_outputs {
public:
  new_outputs(heddle_session_t *session, heddle_tensor_t **out_outputs) : session_(session), out_(out_outputs) {}
  new_outputs(const new_outputs &) = delete;
  new_outputs &operator=(const new_outputs &) = delete;
  ~new_outputs() {
    for (size_t i = 0; i < session_->outputs.size(); ++i)
      if (!out_[i])
        heddle_tensor_release(session_->outputs[i]);
    session_->outputs.clear();
  }

  void hand_out() {
    std::copy(session_->outputs.begin(), session_->outputs.end(), out_);
    session_->outputs.clear();
  }

private:
  heddle_session_t *session_;
  heddle_tensor_t **out_;
};

/// Checks and plans a run, up to its outputs.
heddle_status_t prepare(heddle_session_t *session, const char *entry_name, const heddle_tensor_t *const *given_inputs,
                        size_t input_count, heddle_tensor_t *const *given_outputs, size_t output_count,
                        run_request *out_request) {
  session->spans.clear();
  const artifact &loaded = session->program->loaded;
  const entry_table *entry = nullptr;
  HEDDLE_RETURN_IF_ERROR(find_entry(loaded.tables, entry_name, &entry));
  HEDDLE_RETURN_IF_ERROR(
      complete_inputs(*entry, defaults_of(*session->program, *entry), given_inputs, input_count, &session->inputs));
  const heddle_tensor_t *const *inputs = session->inputs.data();
  if (output_count != entry->outputs.size() || (output_count != 0 && !given_outputs))
    return fail(error::H0302, format("expects room for %zu outputs, got %zu", entry->outputs.size(),
                                     given_outputs ? output_count : 0));
  entry = specialized_entry(loaded.tables, entry, inputs);
  // A system call of 0.2 us, against SIGBUS in the middle of a run.
  HEDDLE_RETURN_IF_ERROR(loaded.source.check_length());
  HEDDLE_RETURN_IF_ERROR(check_values_are_readable(*entry, inputs));
  // Outputs come after the plan, which alone knows their shapes.
  const plan *plan = nullptr;
  HEDDLE_RETURN_IF_ERROR(plan_run(session, *entry, inputs, &plan));
  HEDDLE_RETURN_IF_ERROR(check_outputs(*entry, *plan, inputs, given_outputs));
  HEDDLE_RETURN_IF_ERROR(prepare_inputs(session, *entry, inputs));
  HEDDLE_RETURN_IF_ERROR(prepare_outputs(session, *entry, *plan, given_outputs));
  *out_request = {entry,
                  plan,
                  session->input_data.data(),
                  session->output_data.data(),
                  session->input_buffers.data(),
                  session->output_buffers.data(),
                  &session->state,
                  session->observer,
                  session->observer_user,
                  nullptr};
  return nullptr;
}

heddle_status_t run(heddle_session_t *session, const char *entry, const heddle_tensor_t *const *inputs,
                    size_t input_count, heddle_tensor_t **out_outputs, size_t output_count) {
  new_outputs made(session, out_outputs);
  run_request request = {};
  HEDDLE_RETURN_IF_ERROR(prepare(session, entry, inputs, input_count, out_outputs, output_count, &request));
  if (session->records_spans)
    request.spans = &session->spans;
  if (heddle_status_t status = session->device->run(request)) {
    session->spans.clear(); // of a part of the run
    return status;
  }
  made.hand_out();
  return nullptr;
}

heddle_status_t submit(heddle_session_t *session, const char *entry, const heddle_tensor_t *const *inputs,
                       size_t input_count, heddle_tensor_t **out_outputs, size_t output_count,
                       const heddle_vulkan_sync_t &sync) {
  if (session->observer)
    return fail(error::H0104, "a session with an observer can't leave a run to the device",
                "use heddle_session_run, or take the observer away");
  new_outputs made(session, out_outputs);
  run_request request = {};
  HEDDLE_RETURN_IF_ERROR(prepare(session, entry, inputs, input_count, out_outputs, output_count, &request));
  // Room first: behind the submission nothing may fail.
  session->kept.reserve(session->inputs.size() + session->outputs.size());
  HEDDLE_RETURN_IF_ERROR(session->device->submit(request, sync));
  for (const heddle_tensor_t *input : session->inputs)
    session->kept.push_back(const_cast<heddle_tensor_t *>(input)); // its count is all that changes
  session->kept.insert(session->kept.end(), session->outputs.begin(), session->outputs.end());
  for (heddle_tensor_t *tensor : session->kept)
    heddle_tensor_retain(tensor);
  made.hand_out();
  return nullptr;
}

heddle_status_t create(heddle_program_t *program, heddle_session_t **out_session) {
  if (!program || !out_session)
    return fail(error::H0101, !program ? "program is null" : "out_session is null");
  if (!program->device)
    return fail(error::H0103, "the program was loaded for inspection only", "load it without inspect_only");
  auto session = std::make_unique<heddle_session_t>();
  session->device = program->device->create_session();
  heddle_program_retain(program);
  session->program = program;
  *out_session = session.release();
  return nullptr;
}

} // namespace

heddle_status_t heddle_session_create(heddle_program_t *program, heddle_session_t **out_session) {
  return at_border([&] { return create(program, out_session); });
}

void heddle_session_release(heddle_session_t *session) {
  if (!session)
    return;
  // The device's session refers to the program's code, so the program goes last.
  heddle_program_t *program = session->program;
  delete session;
  heddle_program_release(program);
}

/// Puts |session| into the middle of a run, in which it is until its state is idle again.
static heddle_status_t begin_run(heddle_session_t *session) {
  if (!session)
    return at_border([] { return fail(error::H0101, "session is null"); });
  // Two runs would write into one arena. Refusing costs an exchange; a lock would hide the caller's mistake.
  run_state expected = run_state::idle;
  if (!session->state.compare_exchange_strong(expected, run_state::running, std::memory_order_acquire))
    return at_border(
        [] { return fail(error::H0102, "the session is in the middle of another run", "use one session per thread"); });
  return nullptr;
}

static heddle_status_t end_run(heddle_session_t *session, heddle_status_t status) {
  session->state.store(run_state::idle, std::memory_order_release);
  return with_context(status, session->program->loaded.source.context());
}

heddle_status_t heddle_session_run(heddle_session_t *session, const char *entry, const heddle_tensor_t *const *inputs,
                                   size_t input_count, heddle_tensor_t **out_outputs, size_t output_count) {
  HEDDLE_RETURN_IF_ERROR(begin_run(session));
  return end_run(session,
                 at_border([&] { return run(session, entry, inputs, input_count, out_outputs, output_count); }));
}

heddle_status_t heddle_vulkan_session_submit(heddle_session_t *session, const char *entry,
                                             const heddle_tensor_t *const *inputs, size_t input_count,
                                             heddle_tensor_t **out_outputs, size_t output_count,
                                             const heddle_vulkan_sync_t *sync) {
  HEDDLE_RETURN_IF_ERROR(begin_run(session));
  const heddle_vulkan_sync_t nothing = {};
  heddle_status_t status = at_border(
      [&] { return submit(session, entry, inputs, input_count, out_outputs, output_count, sync ? *sync : nothing); });
  if (status)
    return end_run(session, status);
  session->is_submitted.store(true, std::memory_order_release);
  return nullptr;
}

heddle_status_t heddle_vulkan_session_finish(heddle_session_t *session) {
  if (!session)
    return at_border([] { return fail(error::H0101, "session is null"); });
  // An exchange, so that of two calls one gets the outcome and the other an error.
  if (!session->is_submitted.exchange(false, std::memory_order_acquire))
    return at_border([] { return fail(error::H0104, "no run was submitted to be finished"); });
  heddle_status_t status = at_border([&] { return session->device->finish(); });
  session->release_kept();
  return end_run(session, status);
}

void heddle_session_cancel(heddle_session_t *session) {
  // An exchange, so that a request which comes too late can't reach the next run.
  run_state expected = run_state::running;
  session->state.compare_exchange_strong(expected, run_state::cancelled, std::memory_order_relaxed);
}

void heddle_session_set_observer(heddle_session_t *session, heddle_observer_fn_t observer, void *user) {
  session->observer = observer;
  session->observer_user = user;
}

void heddle_session_record_spans(heddle_session_t *session, int is_on) { session->records_spans = is_on != 0; }

const heddle_span_t *heddle_session_spans(const heddle_session_t *session, size_t *out_count) {
  *out_count = session->spans.size();
  return session->spans.data();
}
