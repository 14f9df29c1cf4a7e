// Sessions: start them, find states in them, and reset states.

#include "shared_memory/shared_memory.h"

#include "format/base/checked_math.h"
#include "format/tensor/layout.h"
#include "shared_memory/session_header.h"
#include "shared_memory/shared_plan.h"

etx_status etx_shared_memory_needed(const etx_program* program,
                                    size_t* out_bytes) {
  size_t bytes = 0;
  // etx_program_open has refused more than a size_t holds.
  if (!etx_add_size(ETX_SHARED_MEMORY_HEADER, (size_t)program->state_bytes,
                    &bytes)) {
    return ETX_OUT_OF_RANGE;
  }
  *out_bytes = bytes;
  return ETX_OK;
}

static void write_initial(uint8_t* arena, const etx_shared_state* state) {
  uint8_t* out = arena + (size_t)state->row.offset;
  if (state->bytes == 0) return;
  if (state->initial.size == 0) {
    memset(out, 0, state->bytes);
  } else if (!state->row.is_uniform) {
    memcpy(out, state->initial.data, state->bytes);
  } else {
    etx_shared_repeat(out, state->bytes, state->initial);
  }
}

// True if the initial value is zero.
static bool is_zero(const etx_shared_state* state) {
  uint8_t all = 0;
  if (state->initial.size > 0 && !state->row.is_uniform) return false;
  for (size_t i = 0; i < state->initial.size; ++i) {
    all |= state->initial.data[i];
  }
  return all == 0;
}

// Writes initial values of states that match `prefix`: if `zeros`, of those
// whose initial value is zero, else of the others. True if there are any.
static bool write_matching(const etx_program* program, uint8_t* arena,
                           etx_text prefix, bool zeros) {
  bool has_any = false;
  etx_shared_state state;
  etx_shared_cursor cursor = {0, 0};
  while (etx_shared_plan_next(program, &cursor, &state)) {
    if (is_zero(&state) != zeros ||
        !etx_shared_name_matches(state.row.name, prefix))
      continue;
    has_any = true;
    write_initial(arena, &state);
  }
  return has_any;
}

// Writes the initial value of the whole arena. Zeros are written first, because
// a stock file may name a state in several methods and have its value in only
// one. Gaps between states are zeroed, too, so that equal states are equal
// bytes.
static void write_all(const etx_program* program, uint8_t* arena,
                      bool is_zeroed) {
  if (program->state_bytes == 0) return;
  if (!is_zeroed) memset(arena, 0, (size_t)program->state_bytes);
  write_matching(program, arena, (etx_text){NULL, 0}, false);
}

// Checks that all initial values can be read back. A value that cannot was
// overwritten by another method's different value.
static etx_status check_agreement(const etx_program* program,
                                  const uint8_t* arena, etx_diag* diag) {
  etx_shared_state state;
  etx_shared_cursor cursor = {0, 0};
  if (program->has_blob) return ETX_OK;
  while (etx_shared_plan_next(program, &cursor, &state)) {
    if (state.initial.size == 0) continue;
    if (memcmp(arena + state.row.offset, state.initial.data, state.bytes) ==
        0) {
      continue;
    }
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "methods give different initial data to the shared "
                         "bytes at offset %u ('%t')",
                         state.row.offset, state.row.name);
  }
  return ETX_OK;
}

etx_status etx_session_check_block(const etx_program* program,
                                   etx_bytes_mut block, etx_diag* diag) {
  size_t needed = 0;
  if (etx_shared_memory_needed(program, &needed) != ETX_OK) {
    return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                         "state needs more bytes than this machine can "
                         "address");
  }
  if (block.size < needed) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "a session needs %z bytes, %z were given", needed,
                         block.size);
  }
  if ((uintptr_t)block.data % ETX_SHARED_MEMORY_ALIGNMENT != 0) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "a session's block is not aligned to %z bytes",
                         (size_t)ETX_SHARED_MEMORY_ALIGNMENT);
  }
  return ETX_OK;
}

void etx_session_start(etx_shared_memory* shared, const etx_program* program,
                       etx_bytes_mut block) {
  etx_session_header* header = (etx_session_header*)(void*)block.data;
  memset(header, 0, sizeof *header);
  header->magic = ETX_SESSION_MAGIC;
  header->state_bytes = program->state_bytes;
  shared->program = program;
  shared->block = block.data;
  shared->block_size = ETX_SHARED_MEMORY_HEADER + (size_t)program->state_bytes;
  shared->planned.data = block.data + ETX_SHARED_MEMORY_HEADER;
  shared->planned.size = (size_t)program->state_bytes;
  shared->planned.torn = &header->torn;
}

static etx_status init(etx_shared_memory* shared, const etx_program* program,
                       etx_bytes_mut block, bool is_zeroed, etx_diag* diag) {
  ETX_TRY(etx_session_check_block(program, block, diag));
  uint8_t* arena = block.data + ETX_SHARED_MEMORY_HEADER;
  write_all(program, arena, is_zeroed);
  ETX_TRY(check_agreement(program, arena, diag));
  etx_session_start(shared, program, block);
  return ETX_OK;
}

etx_status etx_shared_memory_init(etx_shared_memory* shared,
                                  const etx_program* program,
                                  etx_bytes_mut block, etx_diag* diag) {
  return etx_diag_seal(diag, init(shared, program, block, false, diag));
}

etx_status etx_shared_memory_init_zeroed(etx_shared_memory* shared,
                                         const etx_program* program,
                                         etx_bytes_mut block, etx_diag* diag) {
  return etx_diag_seal(diag, init(shared, program, block, true, diag));
}

etx_status etx_shared_memory_allocator(etx_shared_memory* shared,
                                       etx_text method,
                                       etx_planned_memory* out_planned,
                                       etx_diag* diag) {
  etx_pte_plan plan;
  ETX_TRY(etx_program_find_plan(shared->program, method, &plan, diag));
  *out_planned = shared->planned;
  return ETX_OK;
}

static etx_status find(const etx_shared_memory* shared, etx_text name,
                       etx_tensor* out_state, etx_state_hold* hold,
                       etx_diag* diag) {
  etx_shared_state state;
  if (!etx_shared_plan_find(shared->program, name, &state)) {
    return etx_diag_fail(diag, ETX_NOT_FOUND, "the program has no state '%t'",
                         name);
  }
  for (size_t i = 0; i < state.row.rank; ++i) {
    hold->sizes[i] = state.row.sizes[i];
  }
  if (!etx_layout_strides(state.row.sizes, state.dim_order, state.row.rank,
                          hold->strides)) {
    return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                         "strides of state '%t' do not fit in 32 bits", name);
  }
  *out_state =
      (etx_tensor){shared->planned.data + state.row.offset, hold->sizes,
                   hold->strides, (uint8_t)state.row.rank, state.row.dtype};
  return ETX_OK;
}

etx_status etx_shared_memory_find(const etx_shared_memory* shared,
                                  etx_text name, etx_tensor* out_state,
                                  etx_state_hold* hold, etx_diag* diag) {
  return etx_diag_seal(diag, find(shared, name, out_state, hold, diag));
}

size_t etx_shared_memory_count(const etx_shared_memory* shared) {
  size_t count = 0;
  etx_shared_state state;
  etx_shared_cursor cursor = {0, 0};
  while (etx_shared_plan_next_name(shared->program, &cursor, &state)) ++count;
  return count;
}

etx_text etx_shared_memory_name_at(const etx_shared_memory* shared,
                                   size_t index) {
  etx_shared_state state;
  etx_shared_cursor cursor = {0, 0};
  while (etx_shared_plan_next_name(shared->program, &cursor, &state)) {
    if (index-- == 0) return state.row.name;
  }
  return etx_text_of("");
}

static etx_status reset(etx_shared_memory* shared, etx_text name_or_prefix,
                        etx_diag* diag) {
  if (name_or_prefix.size == 0) {
    write_all(shared->program, shared->planned.data, false);
    *shared->planned.torn = 0;
    return ETX_OK;
  }
  const etx_program* const program = shared->program;
  uint8_t* const arena = shared->planned.data;
  const bool has_zeros = write_matching(program, arena, name_or_prefix, true);
  const bool has_others = write_matching(program, arena, name_or_prefix, false);
  if (has_zeros || has_others) return ETX_OK;
  return etx_diag_fail(diag, ETX_NOT_FOUND,
                       "the program has no state '%t' and none below it",
                       name_or_prefix);
}

etx_status etx_shared_memory_reset(etx_shared_memory* shared,
                                   etx_text name_or_prefix, etx_diag* diag) {
  return etx_diag_seal(diag, reset(shared, name_or_prefix, diag));
}

bool etx_shared_memory_is_torn(const etx_shared_memory* shared) {
  return *shared->planned.torn != 0;
}
