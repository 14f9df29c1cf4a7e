// Two methods share one cache: set_cache writes it, get_cache reads it.
//
//   stateful_model [stateful_model.pte]
//
// The program file is made from the two YAML graphs beside this file:
//
//   etx plan samples/stateful_model -o stateful_model.pte

#include <inttypes.h>
#include <stdio.h>

#include "runtime/module/module.h"

// A constant method is read without running or loading anything.
static etx_status print_limits(const etx_module* module, etx_diag* diag) {
  etx_value batch;
  etx_value length;
  etx_constant_hold hold;
  ETX_TRY(etx_program_constant(&module->program, etx_text_of("max_batch"),
                               &batch, &hold, diag));
  ETX_TRY(etx_program_constant(&module->program, etx_text_of("max_length"),
                               &length, &hold, diag));
  printf("the cache holds %" PRId64 " rows of %" PRId64 "\n", batch.as.integer,
         length.as.integer);
  return ETX_OK;
}

static etx_status load(etx_module* module, etx_module_shared* shared,
                       const char* method, etx_diag* diag) {
  etx_planned_memory allocator;
  ETX_TRY(etx_module_shared_allocator(shared, method, &allocator, diag));
  return etx_module_load_method(module, method, &allocator, diag);
}

static etx_status set_and_get(etx_module* module, etx_module_shared* shared,
                              etx_diag* diag) {
  float written[6] = {1, 2, 3, 4, 5, 6};
  float read[8] = {0};
  const int32_t written_sizes[2] = {2, 3};
  const int32_t read_sizes[2] = {2, 4};
  const etx_value data =
      etx_module_tensor(written, ETX_DTYPE_FLOAT32, written_sizes, 2);
  const etx_value room =
      etx_module_tensor(read, ETX_DTYPE_FLOAT32, read_sizes, 2);

  ETX_TRY(load(module, shared, "set_cache", diag));
  ETX_TRY(etx_module_execute(module, "set_cache", &data, 1, diag));

  // Loading a second method does not change what the first one left behind.
  ETX_TRY(load(module, shared, "get_cache", diag));
  ETX_TRY(etx_module_execute(module, "get_cache", &room, 1, diag));

  // get_cache writes into its input. The last column was never set.
  for (int row = 0; row < 2; ++row) {
    for (int column = 0; column < 4; ++column) {
      printf("%g%c", (double)read[4 * row + column], column == 3 ? '\n' : ' ');
    }
  }
  return ETX_OK;
}

// An application can also find a state by its name, to read, save or reset it.
static etx_status reset(etx_module_shared* shared, etx_diag* diag) {
  etx_tensor cache;
  etx_state_hold hold;
  const etx_text all = {NULL, 0};
  ETX_TRY(etx_shared_memory_reset(&shared->memory, all, diag));
  ETX_TRY(etx_shared_memory_find(&shared->memory, etx_text_of("cache"), &cache,
                                 &hold, diag));
  printf("after the reset the first number is %g\n",
         (double)((const float*)cache.data)[0]);
  return ETX_OK;
}

static etx_status run(etx_module* module, etx_diag* diag) {
  etx_module_shared shared;
  ETX_TRY(print_limits(module, diag));
  ETX_TRY(etx_module_shared_open(&shared, module, diag));
  etx_status status = set_and_get(module, &shared, diag);
  if (status == ETX_OK) status = reset(&shared, diag);
  etx_module_shared_close(&shared);
  return status;
}

int main(int argc, char** argv) {
  const char* const path = argc > 1 ? argv[1] : ETX_STATEFUL_MODEL;
  etx_diag diag;
  etx_module module;
  etx_diag_init(&diag);
  etx_status status = etx_module_open(&module, path, NULL, &diag);
  if (status == ETX_OK) {
    status = run(&module, &diag);
    etx_module_close(&module);
  }
  if (status == ETX_OK) return 0;
  fprintf(stderr, "stateful_model: %s: %s\n", path,
          diag.text_size != 0 ? diag.text : etx_status_text(status));
  return 1;
}
