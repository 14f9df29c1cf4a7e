// Opens a program: file and blob (in format/pte), kernels and limits, and
// whether its methods share state.

#include "runtime/program.h"

#include "format/pte/reserved_names.h"

static void run_in_order(void* context, void (*task)(void*, size_t),
                         void* argument, size_t count) {
  (void)context;
  for (size_t i = 0; i < count; ++i) task(argument, i);
}

const etx_parallel etx_parallel_none = {.parallel_for = run_in_order,
                                        .thread_count = 1};

// Bytes of arena 2 as a plan lists it; 0 if it lists none.
static uint64_t plan_state_bytes(const etx_pte_plan* plan) {
  if (etx_pte_buffer_size_count(plan) <= ETX_MEMORY_STATE) return 0;
  return (uint64_t)etx_pte_buffer_size_at(plan, ETX_MEMORY_STATE);
}

// Other exporters may use arena 2 for anything. If an input is in it, it is not
// state.
static bool has_input_in_state(const etx_pte_plan* plan) {
  for (size_t i = 0; i < etx_pte_input_count(plan); ++i) {
    const size_t value = (size_t)etx_pte_input_at(plan, i);
    if (etx_pte_value_arena(plan, value) == ETX_MEMORY_STATE) return true;
  }
  return false;
}

// Methods of a stock file share state if all that have an arena 2 give it the
// same size.
static void find_shared_state(etx_program* program) {
  program->shares_state = true;
  program->state_bytes = 0;
  for (size_t i = 0; i < etx_pte_plan_count(&program->pte); ++i) {
    etx_pte_plan plan;
    etx_pte_plan_read(&program->pte, i, &plan);
    const uint64_t bytes = plan_state_bytes(&plan);
    if (bytes == 0) continue;
    if (program->state_bytes == 0) program->state_bytes = bytes;
    if (program->state_bytes != bytes || has_input_in_state(&plan)) {
      program->shares_state = false;
    }
  }
  if (!program->shares_state) program->state_bytes = 0;
}

static etx_status open_file(etx_program* program, etx_bytes file,
                            const etx_kernel_table* kernels,
                            const etx_limits* limits, etx_diag* diag) {
  etx_program opened;
  memset(&opened, 0, sizeof opened);
  opened.kernels = kernels;
  if (limits != NULL) opened.limits = *limits;
  if (opened.limits.max_steps == 0) opened.limits.max_steps = ETX_MAX_STEPS;
  if (opened.limits.parallel == NULL) {
    opened.limits.parallel = &etx_parallel_none;
  }
  const size_t threads = opened.limits.parallel->thread_count;
  if (threads - 1 >= ETX_MAX_THREADS) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "limits.parallel has %u threads, expected 1 to %u",
                         (uint64_t)threads, (uint64_t)ETX_MAX_THREADS);
  }
  ETX_TRY(etx_pte_open(&opened.pte, file, &opened.limits.file, diag));
  const etx_status status = etx_blob_open(&opened.blob, &opened.pte, diag);
  opened.has_blob = status == ETX_OK;
  // A stock file has none.
  if (status != ETX_NOT_FOUND) ETX_TRY(status);
  if (opened.has_blob) {
    opened.shares_state = true;
    opened.state_bytes = etx_blob_state_bytes(&opened.blob);
  } else {
    find_shared_state(&opened);
  }
  if (opened.state_bytes > SIZE_MAX) {
    return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                         "state needs %u bytes, more than this machine has",
                         opened.state_bytes);
  }
  *program = opened;
  return ETX_OK;
}

etx_status etx_program_open(etx_program* program, etx_bytes file,
                            const etx_kernel_table* kernels,
                            const etx_limits* limits, etx_diag* diag) {
  return etx_diag_seal(diag, open_file(program, file, kernels, limits, diag));
}
