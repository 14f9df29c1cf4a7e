#include "tests/runtime/run/regions_fixture.h"

#include "tests/support/assert_status.h"

static etx_diag diag;

bool regions_count_work(void* context, etx_work* work) {
  ++*(size_t*)context;
  work->run(work);
  return true;
}

void regions_start(regions_fixture* f, test_program* p) {
  size_t bytes = 0;
  memset(f->state, 0, sizeof f->state);
  f->p = p;
  f->torn = 0;
  f->submitted = 0;
  f->launcher =
      (etx_launcher){.submit = regions_count_work, .context = &f->submitted};
  const etx_planned_memory session = {f->state, sizeof f->state, &f->torn};
  assert_ok(etx_program_open(&f->program, test_file(p), &etx_all_kernels, NULL,
                             &diag));
  assert_ok(test_load(&f->loaded, &f->program, "forward", &session, &diag));
  assert_ok(etx_method_regions_needed(&f->loaded.method, 4, &bytes, &diag));
  f->block = test_block_new(bytes, ETX_MEMORY_ALIGNMENT);
}

etx_status regions_use(regions_fixture* f, etx_diag* message) {
  return etx_method_use_regions(&f->loaded.method, &f->launcher, 4,
                                f->block.bytes, message);
}

void regions_end(regions_fixture* f) {
  assert_true(test_unload(&f->loaded));
  assert_true(test_block_end(&f->block));
  test_program_end(f->p);
}

void regions_add_dynamic(test_program* p, const char* name, bool has_blob) {
  test_method(p, name);
  test_arenas(p, 8 * BYTES, 0);
  const test_sizes sizes = SIZES(COUNT);
  const int x = test_input(
      p, test_dynamic(p, test_borrowed(p, ETX_DTYPE_FLOAT32, sizes)), "x");
  int values[3];
  for (int i = 0; i < 3; ++i) {
    values[i] = test_dynamic(
        p, test_scratch(p, ETX_DTYPE_FLOAT32, sizes, (uint64_t)i * BYTES));
  }
  const int alpha = test_int(p, 2), zero = test_int(p, 0);
  const int parts = test_tensors(p, ARGS(x));
  test_call(p, "aten::cat", "out", ARGS(parts, zero, values[0], values[0]));
  test_call(p, "aten::neg", "out", ARGS(x, values[1], values[1]));
  test_call(p, "aten::add", "out",
            ARGS(values[0], values[1], alpha, values[2], values[2]));
  test_output(p, values[2], "y");
  if (has_blob) test_dim(p, 0, 0, test_symbol(p, "n", 0, COUNT), 1, 0);
}
