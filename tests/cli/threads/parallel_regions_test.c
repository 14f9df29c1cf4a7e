// Regions of a planned method give the bits and the failures of a run without
// them, with any number of threads. The reference is a plan without regions on
// one thread. It is also run under the thread sanitizer.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/run/run_session.h"
#include "runtime/future.h"
#include "runtime/regions.h"
#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"

enum {
  ROWS = 64,
  COLUMNS = 128,
  WIDE = 512,  // columns between the two products of a layer
  LAYERS = 3,
  WEIGHTS = 4 * LAYERS,
  PATH_BYTES = 256,
  RUNS = 20
};

static etx_diag diag;
static char plain_path[PATH_BYTES], regions_path[PATH_BYTES];
static float rows[ROWS * COLUMNS];
static float weights[WEIGHTS][COLUMNS * WIDE];
static int64_t indices[2][ROWS];

static void require_ok(etx_status status) {
  if (status != ETX_OK) fail_msg("%s", diag.text);
}

// Two branches that begin with rows selected from x and end in a product.
static void write_branch(FILE* file, const char* b) {
  fprintf(file,
          "  - {out: h%s0, op: aten.index_select.default, "
          "args: [x, 0, i%s]}\n",
          b, b);
  for (int l = 0; l < LAYERS; ++l) {
    fprintf(file, "  - {out: m%s%d, op: aten.mm.default, ", b, l);
    fprintf(file, "args: [h%s%d, w%s%d]}\n", b, l, b, 2 * l);
    fprintf(file, "  - {out: t%s%d, op: aten.tanh.default, ", b, l);
    fprintf(file, "args: [m%s%d]}\n", b, l);
    fprintf(file, "  - {out: n%s%d, op: aten.mm.default, ", b, l);
    fprintf(file, "args: [t%s%d, w%s%d]}\n", b, l, b, 2 * l + 1);
    fprintf(file, "  - {out: h%s%d, op: aten.add.Tensor, ", b, l + 1);
    fprintf(file, "args: [h%s%d, n%s%d]}\n", b, l, b, l);
  }
}

static void write_model(const char* path) {
  FILE* const file = fopen(path, "w");
  assert_non_null(file);
  fprintf(file, "etx: 1\nmethod: encode\ninputs:\n");
  fprintf(file, "  - {name: x, type: 'float32[%d, %d]'}\n", ROWS, COLUMNS);
  for (int b = 0; b < 2; ++b) {
    fprintf(file, "  - {name: i%c, type: 'int64[%d]'}\n", "ab"[b], ROWS);
  }
  for (int b = 0; b < 2; ++b) {
    for (int w = 0; w < 2 * LAYERS; ++w) {
      fprintf(file, "  - {name: w%c%d, type: 'float32[%d, %d]'}\n", "ab"[b], w,
              w % 2 == 0 ? COLUMNS : WIDE, w % 2 == 0 ? WIDE : COLUMNS);
    }
  }
  fprintf(file, "nodes:\n");
  write_branch(file, "a");
  write_branch(file, "b");
  fprintf(file, "  - {out: y, op: aten.mul.Tensor, args: [ha%d, hb%d]}\n",
          LAYERS, LAYERS);
  fprintf(file, "outputs: [y]\n");
  fclose(file);
}

static int set_up(void** state) {
  char model[PATH_BYTES];
  if (command_set_up(state) != 0) return 1;
  snprintf(model, sizeof model, "%s/encode.yaml", command_directory);
  snprintf(plain_path, sizeof plain_path, "%s/plain.pte", command_directory);
  snprintf(regions_path, sizeof regions_path, "%s/regions.pte",
           command_directory);
  write_model(model);
  command_expect(0, WORDS(ETX, "plan", model, "-o", plain_path, "--quiet"));
  command_expect(0, WORDS(ETX, "plan", model, "-o", regions_path, "--quiet",
                          "--parallel-regions"));
  command_expect(0, WORDS(ETX, "verify", regions_path));
  return 0;
}

static void fill_inputs(void) {
  uint32_t random = 5;
  float* const all[] = {rows, weights[0]};
  const size_t counts[] = {ROWS * COLUMNS, sizeof weights / sizeof(float)};
  for (size_t k = 0; k < 2; ++k) {
    for (size_t i = 0; i < counts[k]; ++i) {
      random = random * 1664525u + 1013904223u;
      all[k][i] = (float)(random >> 8) / 16777216.0f - 0.5f;
    }
  }
  for (int64_t i = 0; i < ROWS; ++i) {
    indices[0][i] = ROWS - 1 - i;
    indices[1][i] = i * 7 % ROWS;
  }
}

typedef struct encoder {
  etx_run_session session;
  etx_method* method;
  void* memory;
  size_t bytes;
} encoder;

static void set_input(encoder* e, size_t index, void* data, etx_dtype dtype,
                      int32_t first, int32_t second) {
  etx_tensor tensor = {.data = data, .dtype = dtype};
  const int32_t sizes[2] = {first, second};
  tensor.rank = second == 0 ? 1 : 2;
  tensor.sizes = sizes;
  require_ok(etx_method_set_input(e->method, index, &tensor, &diag));
}

static void open_encoder(encoder* e, const char* path, size_t threads) {
  const etx_run_session_options options = {.threads = threads};
  memset(e, 0, sizeof *e);
  etx_diag_init(&diag);
  require_ok(etx_run_session_open(&e->session, path, &options, &diag));
  require_ok(etx_run_session_method(&e->session, "encode", &e->method, &diag));
  set_input(e, 0, rows, ETX_DTYPE_FLOAT32, ROWS, COLUMNS);
  for (size_t b = 0; b < 2; ++b) {
    set_input(e, 1 + b, indices[b], ETX_DTYPE_INT64, ROWS, 0);
  }
  for (size_t w = 0; w < WEIGHTS; ++w) {
    set_input(e, 3 + w, weights[w], ETX_DTYPE_FLOAT32,
              w % 2 == 0 ? COLUMNS : WIDE, w % 2 == 0 ? WIDE : COLUMNS);
  }
}

static void use_regions(encoder* e, const etx_launcher* launcher,
                        size_t limit) {
  require_ok(etx_method_regions_needed(e->method, limit, &e->bytes, &diag));
  e->memory = aligned_alloc(16, (e->bytes + 15) / 16 * 16);
  require_ok(etx_method_use_regions(
      e->method, launcher, limit, (etx_bytes_mut){e->memory, e->bytes}, &diag));
}

static void close_encoder(encoder* e) {
  etx_run_session_close(&e->session);
  free(e->memory);
}

static const float* output_of(const encoder* e) {
  const etx_value* value = NULL;
  require_ok(etx_method_output(e->method, 0, &value));
  return value->as.tensor.data;
}

static void check_bits(const encoder* a, const encoder* b) {
  assert_memory_equal(output_of(a), output_of(b),
                      ROWS * COLUMNS * sizeof(float));
}

static void regions_give_the_same_bits(void** state) {
  static const size_t counts[] = {1, 2, 8};
  encoder plain;
  (void)state;
  fill_inputs();
  open_encoder(&plain, plain_path, 1);
  require_ok(etx_method_run(plain.method, &diag));
  for (size_t t = 0; t < 3; ++t) {
    for (size_t limit = 1; limit <= 8; limit *= 2) {
      encoder e;
      open_encoder(&e, regions_path, counts[t]);
      use_regions(&e, &e.session.pool.launcher, limit);
      const size_t beside = etx_method_region_steps(e.method);
      // All instructions but the last one are in regions.
      assert_int_equal(beside, limit == 1 ? 0 : e.method->step_count - 1);
      for (size_t run = 0; run < RUNS; ++run) {
        memset(e.method->scratch.data, 0xff, e.method->scratch.size);
        require_ok(etx_method_run(e.method, &diag));
        check_bits(&plain, &e);
      }
      close_encoder(&e);
    }
  }
  close_encoder(&plain);
}

// The first failure in the order of the file is reported, whoever fails first.
static void check_failure(int64_t* first, int64_t* second) {
  encoder plain, e;
  etx_diag expected;
  fill_inputs();
  if (first != NULL) *first = 1000;
  if (second != NULL) *second = 2000;
  etx_diag_init(&expected);
  open_encoder(&plain, regions_path, 1);
  const etx_status status = etx_method_run(plain.method, &expected);
  assert_int_not_equal(status, ETX_OK);
  open_encoder(&e, regions_path, 2);
  use_regions(&e, &e.session.pool.launcher, 2);
  for (size_t run = 0; run < RUNS; ++run) {
    etx_diag_init(&diag);
    assert_int_equal(etx_method_run(e.method, &diag), status);
    assert_string_equal(diag.text, expected.text);
    assert_int_equal(diag.status, expected.status);
  }
  fill_inputs();
  etx_diag_init(&diag);
  require_ok(etx_method_run(e.method, &diag));
  require_ok(etx_method_run(plain.method, &diag));
  check_bits(&plain, &e);
  close_encoder(&e);
  close_encoder(&plain);
}

static void failures_are_those_of_a_plain_run(void** state) {
  (void)state;
  check_failure(&indices[0][5], &indices[1][3]);
  check_failure(&indices[0][5], NULL);
  check_failure(NULL, &indices[1][3]);
}

// A run that is a work itself submits its regions to the same threads.
static void regions_run_inside_of_asynchronous_runs(void** state) {
  encoder plain, e;
  etx_future future = {.status = ETX_OK};
  (void)state;
  fill_inputs();
  open_encoder(&plain, plain_path, 1);
  require_ok(etx_method_run(plain.method, &diag));
  for (size_t threads = 1; threads <= 8; threads *= 2) {
    open_encoder(&e, regions_path, threads);
    use_regions(&e, &e.session.pool.launcher, 2);
    for (size_t run = 0; run < RUNS; ++run) {
      require_ok(etx_method_run_async(e.method, &e.session.pool.launcher,
                                      &future, &diag));
      require_ok(etx_future_wait(&future, &diag));
      check_bits(&plain, &e);
    }
    close_encoder(&e);
  }
  close_encoder(&plain);
}

// Without the option, the second branch reuses memory of the first one.
static void only_the_option_keeps_branches_apart(void** state) {
  encoder plain, e;
  (void)state;
  fill_inputs();
  open_encoder(&plain, plain_path, 2);
  open_encoder(&e, regions_path, 2);
  use_regions(&plain, &plain.session.pool.launcher, 2);
  use_regions(&e, &e.session.pool.launcher, 2);
  assert_true(etx_method_region_steps(plain.method) <
              etx_method_region_steps(e.method));
  assert_true(plain.method->scratch.size < e.method->scratch.size);
  for (size_t run = 0; run < RUNS; ++run) {
    require_ok(etx_method_run(plain.method, &diag));
    require_ok(etx_method_run(e.method, &diag));
    check_bits(&plain, &e);
  }
  close_encoder(&e);
  close_encoder(&plain);
}

static bool refuse(void* context, etx_work* work) {
  (void)work;
  ++*(size_t*)context;
  return false;
}

static void a_launcher_may_refuse(void** state) {
  encoder plain, e;
  size_t refused = 0;
  const etx_launcher launcher = {.submit = refuse, .context = &refused};
  (void)state;
  fill_inputs();
  open_encoder(&plain, plain_path, 1);
  open_encoder(&e, regions_path, 1);
  use_regions(&e, &launcher, 2);
  require_ok(etx_method_run(plain.method, &diag));
  require_ok(etx_method_run(e.method, &diag));
  assert_int_equal(refused, 1);
  check_bits(&plain, &e);
  // An observer ends the use of regions.
  etx_method_observe(e.method, NULL);
  assert_int_equal(etx_method_region_steps(e.method), 0);
  require_ok(etx_method_run(e.method, &diag));
  assert_int_equal(refused, 1);
  close_encoder(&e);
  close_encoder(&plain);
}

static void memory_and_limits_are_exact(void** state) {
  encoder e;
  size_t bytes = 0;
  (void)state;
  fill_inputs();
  open_encoder(&e, regions_path, 2);
  const etx_launcher* const launcher = &e.session.pool.launcher;
  static const size_t wrong[] = {0, 65};
  for (size_t i = 0; i < 2; ++i) {
    etx_diag_init(&diag);
    assert_int_equal(
        etx_method_regions_needed(e.method, wrong[i], &bytes, &diag),
        ETX_BAD_ARGUMENT);
    assert_non_null(strstr(diag.text, "regions at a time, expected 1 to 64"));
  }
  etx_diag_init(&diag);
  require_ok(etx_method_regions_needed(e.method, 2, &bytes, &diag));
  uint8_t* const memory = aligned_alloc(16, bytes / 16 * 16 + 32);
  assert_int_equal(
      etx_method_use_regions(e.method, launcher, 2,
                             (etx_bytes_mut){memory, bytes - 1}, &diag),
      ETX_OUT_OF_MEMORY);
  etx_diag_init(&diag);
  assert_int_equal(
      etx_method_use_regions(e.method, launcher, 2,
                             (etx_bytes_mut){memory + 8, bytes}, &diag),
      ETX_BAD_ARGUMENT);
  assert_int_equal(etx_method_region_steps(e.method), 0);
  close_encoder(&e);
  free(memory);
}

// ---- the commands ----

enum { SMALL_ROWS = 32, SMALL_COLUMNS = 128, SMALL_LAYERS = 4 };

// Two branches of softmax and tanh, the first of which begins with rows
// selected by `i` and the second with rows selected by `k`.
static void write_small_model(const char* path) {
  FILE* const file = fopen(path, "w");
  assert_non_null(file);
  fprintf(file, "etx: 1\nmethod: small\ninputs:\n");
  fprintf(file, "  - {name: i, type: 'int64[%d]'}\n", SMALL_ROWS);
  fprintf(file, "  - {name: k, type: 'int64[%d]'}\n", SMALL_ROWS);
  fprintf(file, "  - {name: x, type: 'float32[%d]'}\nnodes:\n", SMALL_COLUMNS);
  fprintf(file,
          "  - {out: r, op: aten.expand_copy.default, args: [x, [%d, %d]]}\n",
          SMALL_ROWS, SMALL_COLUMNS);
  for (int b = 0; b < 2; ++b) {
    const char c = "ik"[b];
    fprintf(file,
            "  - {out: %c0, op: aten.index_select.default, "
            "args: [r, 0, %c]}\n",
            c, c);
    for (int l = 0; l < SMALL_LAYERS; ++l) {
      fprintf(file,
              "  - {out: s%c%d, op: aten._softmax.default, "
              "args: [%c%d, 1, false]}\n",
              c, l, c, l);
      fprintf(file, "  - {out: %c%d, op: aten.%s.default, args: [s%c%d]}\n", c,
              l + 1, b == 0 ? "tanh" : "sin", c, l);
    }
  }
  fprintf(file, "  - {out: y, op: aten.mul.Tensor, args: [i%d, k%d]}\n",
          SMALL_LAYERS, SMALL_LAYERS);
  fprintf(file, "outputs: [y]\n");
  fclose(file);
}

// "i=[0, 7, 14, ...]", with `wrong` at position 5 if it is not 0.
static const char* list_indices(char* out, size_t size, char name, int step,
                                int wrong) {
  size_t at = (size_t)snprintf(out, size, "%c=[", name);
  for (int r = 0; r < SMALL_ROWS; ++r) {
    at +=
        (size_t)snprintf(out + at, size - at, "%s%d", r == 0 ? "" : ", ",
                         r == 5 && wrong != 0 ? wrong : r * step % SMALL_ROWS);
  }
  snprintf(out + at, size - at, "]");
  return out;
}

static const char* list_values(char* out, size_t size) {
  size_t at = (size_t)snprintf(out, size, "x=[");
  for (int c = 0; c < SMALL_COLUMNS; ++c) {
    at += (size_t)snprintf(out + at, size - at, "%s%d.25", c == 0 ? "" : ", ",
                           c * 5 % 7 - 3);
  }
  snprintf(out + at, size - at, "]");
  return out;
}

// Runs the small model with and without regions, and expects the same code,
// messages and results.
static void run_small(const char* path, int wrong_i, int wrong_k, int code) {
  char i[512], k[512], x[2048], out[PATH_BYTES + 16], plain[PATH_BYTES],
      found[PATH_BYTES];
  snprintf(plain, sizeof plain, "%s/plain.npy", command_directory);
  snprintf(found, sizeof found, "%s/found.npy", command_directory);
  snprintf(out, sizeof out, "output_0=%s", plain);
  list_indices(i, sizeof i, 'i', 7, wrong_i);
  list_indices(k, sizeof k, 'k', 3, wrong_k);
  list_values(x, sizeof x);
  command_result expected =
      command_run(WORDS(ETX, "run", path, "small", "--in", i, "--in", k, "--in",
                        x, "--out", out));
  if (expected.code != code) fail_msg("%s", expected.err);
  snprintf(out, sizeof out, "output_0=%s", found);
  for (int run = 0; run < 5; ++run) {
    command_result result = command_run(
        WORDS(ETX, "run", path, "small", "--in", i, "--in", k, "--in", x,
              "--out", out, "--threads", "2", "--parallel-regions"));
    assert_int_equal(result.code, code);
    assert_string_equal(result.err, expected.err);
    if (code == 0) command_expect_same_files(plain, found);
    command_end(&result);
  }
  command_end(&expected);
}

static void the_commands_use_regions(void** state) {
  char model[PATH_BYTES], path[PATH_BYTES];
  (void)state;
  snprintf(model, sizeof model, "%s/small.yaml", command_directory);
  snprintf(path, sizeof path, "%s/small.pte", command_directory);
  write_small_model(model);
  command_expect(
      0, WORDS(ETX, "plan", model, "-o", path, "-q", "--parallel-regions"));
  command_expect_out(0, WORDS(ETX, "verify", path, "--parallel-regions", "2"),
                     "may run at the same time and share no byte");
  run_small(path, 0, 0, 0);
  run_small(path, 100, 200, 5);
  run_small(path, 0, 200, 5);
  run_small(path, 100, 0, 5);
  command_expect_out(
      0, WORDS(ETX, "run", path, "--smoke", "-t", "2", "--parallel-regions"),
      "2 calls passed");
  command_expect_out(0,
                     WORDS(ETX, "bench", path, "--threads", "2", "--seconds",
                           "0.01", "--parallel-regions"),
                     "small");
  command_expect_err(2,
                     WORDS(ETX, "run", path, "small", "--profile", "trace.json",
                           "--parallel-regions"),
                     "cannot be combined with --parallel-regions");
  command_expect_err(2, WORDS(ETX, "verify", path, "--parallel-regions", "65"),
                     "expected 1 to 64");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(regions_give_the_same_bits),
      cmocka_unit_test(failures_are_those_of_a_plain_run),
      cmocka_unit_test(regions_run_inside_of_asynchronous_runs),
      cmocka_unit_test(only_the_option_keeps_branches_apart),
      cmocka_unit_test(a_launcher_may_refuse),
      cmocka_unit_test(memory_and_limits_are_exact),
      cmocka_unit_test(the_commands_use_regions),
  };
  return cmocka_run_group_tests_name("parallel_regions", tests, set_up,
                                     command_tear_down);
}
