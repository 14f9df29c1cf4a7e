// Programs give bit-equal results on one thread and on several: outputs,
// changed inputs and state of every method, in two runs.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench/synthetic_input.h"
#include "cli/run/run_session.h"
#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"

enum { PATH_BYTES = 256, RUNS = 2 };

static etx_diag diag;

// Parallel loops that kernels ran on the thread pool of a session.
static size_t job_count;
static void (*pool_run)(void*, void (*)(void*, size_t), void*, size_t);

static void count_and_run(void* context, void (*task)(void*, size_t),
                          void* argument, size_t count) {
  ++job_count;
  pool_run(context, task, argument, count);
}

static void require_ok(etx_status status) {
  if (status != ETX_OK) fail_msg("%s", diag.text);
}

static void open_session(etx_run_session* session, const char* path,
                         size_t threads) {
  const etx_run_session_options options = {.threads = threads};
  etx_diag_init(&diag);
  require_ok(etx_run_session_open(session, path, &options, &diag));
  pool_run = session->pool.parallel.parallel_for;
  session->pool.parallel.parallel_for = count_and_run;
}

static bool is_same_tensor(const etx_tensor* a, const etx_tensor* b) {
  return a->dtype == b->dtype && a->rank == b->rank &&
         memcmp(a->sizes, b->sizes, a->rank * sizeof *a->sizes) == 0 &&
         (etx_tensor_bytes(a) == 0 ||
          memcmp(a->data, b->data, etx_tensor_bytes(a)) == 0);
}

static void compare_outputs(const etx_method* a, const etx_method* b,
                            const char* what, size_t threads) {
  for (size_t i = 0; i < a->output_count; ++i) {
    const etx_value *x = NULL, *y = NULL;
    require_ok(etx_method_output(a, i, &x));
    require_ok(etx_method_output(b, i, &y));
    if (x->kind != ETX_VALUE_TENSOR) continue;
    if (is_same_tensor(&x->as.tensor, &y->as.tensor)) continue;
    fail_msg("%s: output %zu differs on %zu threads", what, i, threads);
  }
}

static void compare_inputs(const etx_synthetic_inputs* a,
                           const etx_synthetic_inputs* b, const char* what,
                           size_t threads) {
  for (size_t i = 0; i < a->count; ++i) {
    const etx_synthetic_input *x = &a->items[i], *y = &b->items[i];
    if (x->tensor.bytes == 0 ||
        memcmp(x->ordered.data, y->ordered.data, x->tensor.bytes) == 0) {
      continue;
    }
    fail_msg("%s: input %zu differs on %zu threads", what, i, threads);
  }
}

static void compare_state(const etx_run_session* a, const etx_run_session* b,
                          const char* what, size_t threads) {
  const etx_planned_memory* x = &a->shared.memory.planned;
  const etx_planned_memory* y = &b->shared.memory.planned;
  if (x->size == 0 || memcmp(x->data, y->data, x->size) == 0) return;
  fail_msg("%s: state differs on %zu threads", what, threads);
}

static void compare_method(etx_run_session* one, etx_run_session* several,
                           const char* name, size_t threads, etx_pool* pool) {
  static const etx_synthetic_input_options options = {NULL, NULL, NULL, 0};
  etx_run_session* const sessions[2] = {one, several};
  etx_method* methods[2];
  etx_synthetic_inputs inputs[2];
  for (size_t i = 0; i < 2; ++i) {
    require_ok(etx_run_session_method(sessions[i], name, &methods[i], &diag));
    require_ok(etx_synthetic_inputs_set(methods[i], &options, pool, &inputs[i],
                                        &diag));
  }
  for (size_t run = 0; run < RUNS; ++run) {
    etx_diag_init(&diag);
    const etx_status status = etx_method_run(methods[0], &diag);
    assert_int_equal(etx_method_run(methods[1], &diag), status);
    if (status != ETX_OK) return;  // some methods refuse generated inputs
    compare_outputs(methods[0], methods[1], name, threads);
    compare_inputs(&inputs[0], &inputs[1], name, threads);
    compare_state(one, several, name, threads);
  }
}

static void compare_program(const char* path, size_t threads) {
  etx_run_session one, several;
  etx_pool pool;
  etx_pool_init(&pool);
  open_session(&one, path, 1);
  open_session(&several, path, threads);
  const etx_program* program = &one.module.program;
  for (size_t i = 0; i < etx_program_method_count(program); ++i) {
    etx_method_info info;
    require_ok(etx_program_method_at(program, i, &info));
    if (info.is_constant) continue;
    const etx_text name = etx_pool_copy_text(&pool, info.name);
    compare_method(&one, &several, name.data, threads, &pool);
  }
  etx_run_session_close(&several);
  etx_run_session_close(&one);
  etx_pool_close(&pool);
}

// Plans for both targets, because they use different operators.
static void compare_methods(const char* methods, const char* name) {
  static const char* const targets[] = {"etx", "executorch"};
  static const size_t threads[] = {2, 3, 8};
  for (size_t i = 0; i < 2; ++i) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s-%s.pte", command_directory, name,
             targets[i]);
    command_expect(0, WORDS(ETX, "plan", methods, "-o", path, "--quiet",
                            "--target", targets[i]));
    for (size_t k = 0; k < 3; ++k) compare_program(path, threads[k]);
  }
}

static void small_models_are_bit_equal_on_several_threads(void** state) {
  static const char* const sets[] = {"cnn",   "gru", "llama",    "whisper",
                                     "mixed", "kv",  "recurrent"};
  (void)state;
  for (size_t i = 0; i < sizeof sets / sizeof *sets; ++i) {
    char from[PATH_BYTES];
    snprintf(from, sizeof from, "%s/pt2/%s", ETX_TEST_DATA, sets[i]);
    compare_methods(from, sets[i]);
  }
}

static void the_translator_is_bit_equal_on_several_threads(void** state) {
  (void)state;
  job_count = 0;
  compare_methods(ETX_SOURCE "/samples/translate/model/pt2", "translate");
  assert_true(job_count > 0);
}

// Elementwise operators and copies of half a million elements, in sizes that
// are not a multiple of a vector or of a slice.
static void large_tensors_are_bit_equal_on_several_threads(void** state) {
  static const char graph[] =
      "etx: 1\n"
      "method: large\n"
      "inputs:\n"
      "  - {name: x, type: 'float32[9, 31, 33, 61]'}\n"
      "  - {name: s, type: 'float32[]'}\n"
      "nodes:\n"
      "  - {out: a, op: aten.tanh.default, args: [x]}\n"
      "  - {out: b, op: aten.mul.Tensor, args: [x, s]}\n"
      "  - {out: c, op: aten.gt.Tensor, args: [a, x]}\n"
      "  - {out: d, op: aten.isnan.default, args: [x]}\n"
      "  - {out: e, op: aten.permute_copy.default, args: [x, [0, 2, 1, 3]]}\n"
      "  - {out: f, op: aten.permute_copy.default, args: [x, [0, 1, 3, 2]]}\n"
      "outputs: [a, b, c, d, e, f]\n";
  char path[PATH_BYTES];
  (void)state;
  snprintf(path, sizeof path, "%s/large.yaml", command_directory);
  command_write_file(path, graph);
  job_count = 0;
  compare_methods(path, "large");
  // Six operators, two targets, three numbers of threads, RUNS calls.
  assert_int_equal(job_count, 6 * 2 * 3 * RUNS);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(small_models_are_bit_equal_on_several_threads),
      cmocka_unit_test(the_translator_is_bit_equal_on_several_threads),
      cmocka_unit_test(large_tensors_are_bit_equal_on_several_threads),
  };
  return cmocka_run_group_tests_name("thread_results", tests, command_set_up,
                                     command_tear_down);
}
