// How often the steps of regions run, and in which region each is.

#include "format/shapes/op_shapes.h"
#include "runtime/regions.h"
#include "tests/support/assert_status.h"
#include "tests/support/loaded_method.h"
#include "tests/support/test_program.h"

enum { COUNT = 65536, BYTES = COUNT * 4 };

static etx_diag diag;
static float input[COUNT];

// A launcher that runs works when they are waited for, if it accepts them.
typedef struct step_launcher {
  size_t submitted, waited;
  bool accepts;
} step_launcher;

static bool submit_later(void* context, etx_work* work) {
  (void)work;
  step_launcher* const l = context;
  ++l->submitted;
  return l->accepts;
}

static void run_now(void* context, etx_work* work) {
  ++((step_launcher*)context)->waited;
  work->run(work);
}

enum { STEPS = 4, TEMPORARY_BYTES = 64 };

// my::count(self): counts its calls, and notes their temporary memory.
static size_t calls;
static const void* temporaries[STEPS];

static etx_status run_count(etx_call* call) {
  // All regions run on this thread.
  if (calls < STEPS) temporaries[calls] = call->temporary;
  ++calls;
  return ETX_OK;
}

static etx_status count_bytes(const etx_call* call, size_t* out_bytes) {
  (void)call;
  *out_bytes = TEMPORARY_BYTES;
  return ETX_OK;
}

static etx_status prepare_count(etx_call* call) {
  call->run = run_count;
  call->temporary_bytes = TEMPORARY_BYTES;
  return ETX_OK;
}

static const etx_op count_row = {
    .id = ETX_OP_COUNT,
    ETX_OP_NAME("my::count", "out"),
    .arguments = "Tensor self, *, Tensor(a!) out",
    .result = ETX_RESULT_OUT,
    .in_place = ETX_IN_PLACE_NEVER,
    .shape = etx_shape_same,
};
static const etx_kernel count_kernels[] = {
    {&count_row, prepare_count, count_bytes, NULL}};
static const etx_kernel_table count_table = {count_kernels, 1, NULL};

// Each step belongs to one region, whether the launcher takes it or not.
static void each_step_runs_once(void** state) {
  (void)state;
  for (int accepts = 0; accepts < 2; ++accepts) {
    etx_program program;
    test_loaded loaded;
    test_program* const p = test_program_new();
    test_method(p, "forward");
    test_arenas(p, STEPS * BYTES, 0);
    const int x =
        test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(COUNT)), "x");
    for (uint64_t i = 0; i < STEPS; ++i) {
      const int out =
          test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(COUNT), i * BYTES);
      test_call(p, "my::count", "out", ARGS(x, out, out));
      test_output(p, out, "");
    }
    step_launcher l = {0, 0, accepts != 0};
    const etx_launcher launcher = {submit_later, run_now, &l};
    const etx_tensor tensor = TEST_TENSOR(input, ETX_DTYPE_FLOAT32, COUNT);
    size_t bytes = 0;
    assert_ok(
        etx_program_open(&program, test_file(p), &count_table, NULL, &diag));
    assert_ok(test_load(&loaded, &program, "forward", NULL, &diag));
    assert_ok(etx_method_regions_needed(&loaded.method, STEPS, &bytes, &diag));
    test_block block = test_block_new(bytes, ETX_MEMORY_ALIGNMENT);
    assert_ok(etx_method_use_regions(&loaded.method, &launcher, STEPS,
                                     block.bytes, &diag));
    assert_int_equal(etx_method_region_steps(&loaded.method), STEPS);
    assert_ok(etx_method_set_input(&loaded.method, 0, &tensor, &diag));
    calls = 0;
    assert_ok(etx_method_run(&loaded.method, &diag));
    assert_int_equal(calls, STEPS);
    // Steps that may run at the same time have temporary memory of their own.
    for (size_t i = 0; i < STEPS; ++i) {
      assert_non_null(temporaries[i]);
      for (size_t k = 0; k < i; ++k) {
        assert_ptr_not_equal(temporaries[i], temporaries[k]);
      }
    }
    bool is_seen[STEPS] = {false};
    for (size_t i = 0; i < STEPS; ++i) {
      etx_region_step step;
      assert_true(etx_method_region_step_at(&loaded.method, i, &step));
      assert_int_equal(step.group_end, STEPS);
      assert_true(step.region < STEPS && !is_seen[step.region]);
      is_seen[step.region] = true;
    }
    assert_int_equal(l.submitted, STEPS - 1);
    assert_int_equal(l.waited, accepts ? STEPS - 1 : 0);
    assert_true(test_unload(&loaded));
    assert_true(test_block_end(&block));
    test_program_end(p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_step_runs_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
