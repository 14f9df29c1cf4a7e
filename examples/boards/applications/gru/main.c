// A GRU on a board: each frame is one call of `push`, and the hidden state
// stays in the session between calls. Weights are read from flash.

#include "board.h"
#include "etx.h"
#include "gru.h"
#include "frames.h"
#include "print_results.h"
#include "program_in_flash.h"

BOARD_STACK_HOLDS(GRU_STACK_BYTES);

enum { WIDTH = 24, RESULTS = 5, TIMED_STEPS = 100 };

BLOCK(session, GRU_SESSION_BYTES);
BLOCK(scratch, GRU_SCRATCH_BYTES);
BLOCK(temporary, GRU_TEMPORARY_BYTES);
BLOCK(push_structures, GRU_PUSH_STRUCTURE_BYTES);

static etx_program program;
static etx_shared_memory shared;
static etx_method push;
static etx_diag diag;

static etx_status set_up(void) {
  const etx_bytes file = {program_start, (size_t)(program_end - program_start)};
  const etx_bytes_mut state = {session, GRU_SESSION_BYTES};
  etx_planned_memory planned;
  ETX_TRY(etx_program_open(&program, file, &etx_selected_kernels, NULL, &diag));
  ETX_TRY(etx_shared_memory_init(&shared, &program, state, &diag));
  ETX_TRY(etx_shared_memory_allocator(&shared, etx_text_of("push"), &planned,
                                      &diag));
  const etx_method_memory memory = {{push_structures, GRU_PUSH_STRUCTURE_BYTES},
                                    {scratch, GRU_SCRATCH_BYTES},
                                    {temporary, GRU_TEMPORARY_BYTES},
                                    &planned};
  return etx_method_init(&push, &program, etx_text_of("push"), &memory, NULL,
                         &diag);
}

static etx_status step(const float* frame) {
  static const int32_t sizes[2] = {1, FRAME_SIZE};
  const etx_tensor input = {(void*)frame, sizes, NULL, 2, ETX_DTYPE_FLOAT32};
  ETX_TRY(etx_method_set_input(&push, 0, &input, &diag));
  return etx_method_run(&push, &diag);
}

static etx_status print_output(void) {
  const etx_value* value;
  ETX_TRY(etx_method_output(&push, 0, &value));
  print_bits("output", value->as.tensor.data, RESULTS);
  return ETX_OK;
}

static etx_status print_state(void) {
  etx_tensor state;
  etx_state_hold hold;
  ETX_TRY(
      etx_shared_memory_find(&shared, etx_text_of("h"), &state, &hold, &diag));
  print_bits("state", state.data, WIDTH);
  return ETX_OK;
}

static etx_status run(void) {
  ETX_TRY(set_up());
  for (int i = 0; i < FRAME_COUNT; ++i) {
    ETX_TRY(step(frames[i]));
    ETX_TRY(print_output());
    ETX_TRY(print_state());
  }
  const uint64_t start = board_instructions();
  for (int i = 0; i < TIMED_STEPS; ++i) {
    ETX_TRY(step(frames[i % FRAME_COUNT]));
  }
  print_number("instructions", (board_instructions() - start) / TIMED_STEPS);
  return print_state();
}

int main(void) {
  etx_diag_init(&diag);
  return print_end(run(), &diag);
}
