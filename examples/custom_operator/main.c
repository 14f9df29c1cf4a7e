// Runs a program with the kernels of my_kernels.c in the same executable:
//
//   meter meter.pte      pushes four rows and prints what the operators made

#include <etx/etx.h>
#include <stdio.h>

#ifndef MY_SELECTED
extern const etx_kernel_table my_kernels;

// The table of this program: the kernels of etx, then its own.
static etx_kernel all[1024];

static etx_status make_table(etx_kernel_table* out) {
  const size_t own = my_kernels.count;
  const size_t count = etx_all_kernels.count;
  if (count + own > sizeof all / sizeof *all) return ETX_OUT_OF_MEMORY;
  memcpy(all, etx_all_kernels.kernels, count * sizeof *all);
  memcpy(all + count, my_kernels.kernels, own * sizeof *all);
  *out = (etx_kernel_table){.kernels = all, .count = count + own};
  return ETX_OK;
}
#else
// A build of `etx select` has a table of both.
static etx_status make_table(etx_kernel_table* out) {
  *out = *etx_default_kernels;
  return ETX_OK;
}
#endif

static etx_status push(etx_module* module, etx_module_shared* shared,
                       etx_diag* diag) {
  static float rows[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const int32_t sizes[2] = {4, 3};
  const etx_value input = etx_module_tensor(rows, ETX_DTYPE_FLOAT32, sizes, 2);
  etx_planned_memory allocator;
  ETX_TRY(etx_module_shared_allocator(shared, "push", &allocator, diag));
  ETX_TRY(etx_module_load_method(module, "push", &allocator, diag));
  ETX_TRY(etx_module_execute(module, "push", &input, 1, diag));

  etx_tensor total;
  etx_state_hold hold;
  ETX_TRY(etx_shared_memory_find(&shared->memory, etx_text_of("total"), &total,
                                 &hold, diag));
  const float* const sum = total.data;
  printf("total = [%g, %g, %g]\n", (double)sum[0], (double)sum[1],
         (double)sum[2]);
  return ETX_OK;
}

static etx_status run(const char* path, etx_diag* diag) {
  etx_kernel_table table;
  ETX_TRY(make_table(&table));
  const etx_module_options options = {.kernels = &table};
  etx_module module;
  etx_module_shared shared;
  ETX_TRY(etx_module_open(&module, path, &options, diag));
  etx_status status = etx_module_shared_open(&shared, &module, diag);
  if (status == ETX_OK) {
    status = push(&module, &shared, diag);
    etx_module_shared_close(&shared);
  }
  etx_module_close(&module);
  return status;
}

int main(int argc, char** argv) {
  etx_diag diag;
  etx_diag_init(&diag);
  if (argc == 2 && run(argv[1], &diag) == ETX_OK) return 0;
  fprintf(stderr, "%s\n", argc == 2 ? diag.text : "usage: meter FILE");
  return 1;
}
