// Two methods share one cache on a board: set_cache writes it, get_cache reads
// it (samples/stateful_model). Sizes of inputs vary from call to call.

#include "board.h"
#include "etx.h"
#include "print_results.h"
#include "program_in_flash.h"
#include "stateful.h"

BOARD_STACK_HOLDS(STATEFUL_STACK_BYTES);

enum { TIMED_STEPS = 100 };

BLOCK(session, STATEFUL_SESSION_BYTES);
BLOCK(scratch, STATEFUL_SCRATCH_BYTES);
BLOCK(temporary, STATEFUL_TEMPORARY_BYTES);
BLOCK(set_structures, STATEFUL_SET_CACHE_STRUCTURE_BYTES);
BLOCK(get_structures, STATEFUL_GET_CACHE_STRUCTURE_BYTES);

static etx_program program;
static etx_shared_memory shared;
static etx_method set_cache;
static etx_method get_cache;
static etx_diag diag;

static etx_status load(etx_method* method, const char* name,
                       etx_bytes_mut structures) {
  etx_planned_memory planned;
  ETX_TRY(
      etx_shared_memory_allocator(&shared, etx_text_of(name), &planned, &diag));
  const etx_method_memory memory = {structures,
                                    {scratch, STATEFUL_SCRATCH_BYTES},
                                    {temporary, STATEFUL_TEMPORARY_BYTES},
                                    &planned};
  return etx_method_init(method, &program, etx_text_of(name), &memory, NULL,
                         &diag);
}

static etx_status set_up(void) {
  const etx_bytes file = {program_start, (size_t)(program_end - program_start)};
  const etx_bytes_mut state = {session, STATEFUL_SESSION_BYTES};
  const etx_bytes_mut for_set = {set_structures,
                                 STATEFUL_SET_CACHE_STRUCTURE_BYTES};
  const etx_bytes_mut for_get = {get_structures,
                                 STATEFUL_GET_CACHE_STRUCTURE_BYTES};
  ETX_TRY(etx_program_open(&program, file, &etx_selected_kernels, NULL, &diag));
  ETX_TRY(etx_shared_memory_init(&shared, &program, state, &diag));
  ETX_TRY(load(&set_cache, "set_cache", for_set));
  return load(&get_cache, "get_cache", for_get);
}

// Calls a method with a tensor of two dimensions.
static etx_status call(etx_method* method, float* data, const int32_t* sizes) {
  const etx_tensor input = {data, sizes, NULL, 2, ETX_DTYPE_FLOAT32};
  ETX_TRY(etx_method_set_input(method, 0, &input, &diag));
  return etx_method_run(method, &diag);
}

static etx_status run(void) {
  float written[6] = {1, 2, 3, 4, 5, 6};
  float read[8] = {0};
  const int32_t written_sizes[2] = {2, 3};
  const int32_t read_sizes[2] = {2, 4};
  const int32_t fewer_sizes[2] = {1, 2};
  ETX_TRY(set_up());
  ETX_TRY(call(&set_cache, written, written_sizes));
  ETX_TRY(call(&get_cache, read, read_sizes));
  print_bits("cache", read, 8);
  ETX_TRY(call(&set_cache, written + 4, fewer_sizes));
  ETX_TRY(call(&get_cache, read, read_sizes));
  print_bits("cache", read, 8);

  const uint64_t start = board_instructions();
  for (int i = 0; i < TIMED_STEPS; ++i) {
    ETX_TRY(call(&set_cache, written, written_sizes));
    ETX_TRY(call(&get_cache, read, read_sizes));
  }
  print_number("instructions", (board_instructions() - start) / TIMED_STEPS);
  const etx_text all = {NULL, 0};
  ETX_TRY(etx_shared_memory_reset(&shared, all, &diag));
  ETX_TRY(call(&get_cache, read, read_sizes));
  print_bits("reset", read, 8);
  return ETX_OK;
}

int main(void) {
  etx_diag_init(&diag);
  return print_end(run(), &diag);
}
