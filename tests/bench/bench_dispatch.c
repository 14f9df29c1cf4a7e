// The cost of one instruction, of a call and of loading: chains of small
// operators, as one line of JSON each.
//
//   bench_dispatch                    times of every chain and length
//   bench_dispatch CHAIN LENGTH RUNS  runs one only: for counting instructions
//
// Chains: empty (a kernel that does nothing), add (8 floats), product (a row of
// 8 by 8 x 8). A time is the least of many rounds, in which the chains take
// turns: what other programs do makes it longer, never shorter.

#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/method.h"
#include "runtime/threads/thread_pool.h"
#include "tests/support/loaded_method.h"
#include "tests/support/test_program.h"

enum { ROUNDS = 60, LENGTHS = 4, KINDS = 3 };

static const size_t lengths[LENGTHS] = {1, 500, 1000, 2000};
static const char* const kinds[KINDS] = {"empty", "add", "product"};

static etx_status run_nothing(etx_call* call) {
  (void)call;
  return ETX_OK;
}

static etx_status prepare_nothing(etx_call* call) {
  call->run = run_nothing;
  return ETX_OK;
}

typedef struct op_chain {
  test_program* source;
  etx_bytes file;
  etx_kernel kernels[3];
  etx_kernel_table table;
  etx_limits limits;
  bool is_product;
  etx_program program;
  test_loaded loaded;
  float x[8], y[64];
  double best_run_ns;   // least time of a call
  double best_load_ns;  // of opening, counting and loading
} op_chain;

static void stop_on(etx_status status, const etx_diag* diag) {
  if (status == ETX_OK) return;
  fprintf(stderr, "bench_dispatch: %s\n", diag->text);
  exit(1);
}

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

// Every instruction reads what the one before it wrote.
static void write_chain(op_chain* c, const char* kind, size_t length) {
  test_program* p = c->source = test_program_new();
  const bool is_product = c->is_product;
  const test_sizes row = is_product ? SIZES(1, 8) : SIZES(8);
  const test_sizes other = is_product ? SIZES(8, 8) : SIZES(8);
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  const int x = test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, row), "x");
  const int y = test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, other), "y");
  const int alpha = test_int(p, 1);
  const int to[2] = {test_scratch(p, ETX_DTYPE_FLOAT32, row, 0),
                     test_scratch(p, ETX_DTYPE_FLOAT32, row, 32)};
  int from = x;
  for (size_t i = 0; i < length; ++i) {
    const int out = to[i % 2];
    if (is_product) {
      test_call(p, "aten::mm", "out", ARGS(from, y, out, out));
    } else if (strcmp(kind, "add") == 0) {
      test_call(p, "aten::add", "out", ARGS(from, y, alpha, out, out));
    } else {
      test_call(p, "aten::relu", "out", ARGS(from, out, out));
    }
    from = out;
  }
  test_output(p, from, "out");
  test_blob(p);
  c->file = test_file(p);
}

static void take_kernels(op_chain* c) {
  c->kernels[0] = (etx_kernel){&etx_op_row_relu_out, prepare_nothing, NULL};
  c->kernels[1] = *etx_kernel_find(&etx_all_kernels, ETX_OP_add_out);
  c->kernels[2] = *etx_kernel_find(&etx_all_kernels, ETX_OP_mm_out);
  c->table = (etx_kernel_table){c->kernels, 3, NULL};
}

static void set_inputs(op_chain* c) {
  etx_diag diag;
  etx_diag_init(&diag);
  etx_method* method = &c->loaded.method;
  const etx_tensor flat = TEST_TENSOR(c->x, ETX_DTYPE_FLOAT32, 8);
  const etx_tensor row = TEST_TENSOR(c->x, ETX_DTYPE_FLOAT32, 1, 8);
  const etx_tensor other = TEST_TENSOR(c->y, ETX_DTYPE_FLOAT32, 8);
  const etx_tensor square = TEST_TENSOR(c->y, ETX_DTYPE_FLOAT32, 8, 8);
  stop_on(etx_method_set_input(method, 0, c->is_product ? &row : &flat, &diag),
          &diag);
  stop_on(
      etx_method_set_input(method, 1, c->is_product ? &square : &other, &diag),
      &diag);
}

static void open_chain(op_chain* c, const char* kind, size_t length,
                       const etx_parallel* parallel) {
  etx_diag diag;
  memset(c, 0, sizeof *c);
  etx_diag_init(&diag);
  c->is_product = strcmp(kind, "product") == 0;
  c->limits.parallel = parallel;
  write_chain(c, kind, length);
  take_kernels(c);
  for (size_t i = 0; i < 8; ++i) c->y[9 * i] = 1;
  stop_on(etx_program_open(&c->program, c->file, &c->table, &c->limits, &diag),
          &diag);
  stop_on(test_load(&c->loaded, &c->program, "forward", NULL, &diag), &diag);
  set_inputs(c);
}

static void close_chain(op_chain* c) {
  (void)test_unload(&c->loaded);
  test_program_end(c->source);
}

static void run_many(op_chain* c, size_t runs) {
  for (size_t i = 0; i < runs; ++i) {
    const etx_status status = etx_method_run(&c->loaded.method, NULL);
    if (status != ETX_OK) exit(1);
  }
}

static void keep_least(double* best, double ns) {
  if (*best == 0 || ns < *best) *best = ns;
}

static void time_runs(op_chain* c, size_t length) {
  const size_t runs = 20000 / length + 1;
  const double start = now_ns();
  run_many(c, runs);
  keep_least(&c->best_run_ns, (now_ns() - start) / (double)runs);
}

// Memory is there: what is timed is the work of the runtime.
static void time_load(op_chain* c) {
  etx_diag diag;
  etx_memory_needed needed;
  const etx_method_memory memory = {c->loaded.structures.bytes,
                                    c->loaded.scratch.bytes,
                                    c->loaded.temporary.bytes, NULL};
  const etx_text name = {"forward", 7};
  etx_diag_init(&diag);
  const double start = now_ns();
  stop_on(etx_program_open(&c->program, c->file, &c->table, &c->limits, &diag),
          &diag);
  stop_on(etx_method_needed(&c->program, name, &needed, &diag), &diag);
  stop_on(etx_method_init(&c->loaded.method, &c->program, name, &memory, NULL,
                          &diag),
          &diag);
  keep_least(&c->best_load_ns, now_ns() - start);
  set_inputs(c);
}

// Least squares over the lengths: ns for one more instruction.
static double slope(const op_chain chains[LENGTHS], bool of_load) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (size_t i = 0; i < LENGTHS; ++i) {
    const double at = (double)lengths[i];
    const double ns = of_load ? chains[i].best_load_ns : chains[i].best_run_ns;
    n += 1;
    x += at;
    y += ns;
    xx += at * at;
    xy += at * ns;
  }
  return (n * xy - x * y) / (n * xx - x * x);
}

static void print_kind(const char* kind, size_t threads,
                       const op_chain chains[LENGTHS]) {
  printf(
      "{\"chain\": \"%s\", \"threads\": %zu, \"ns_per_op\": %.2f, "
      "\"load_ns_per_op\": %.1f, \"run_ns\": {",
      kind, threads, slope(chains, false), slope(chains, true));
  for (size_t i = 0; i < LENGTHS; ++i) {
    printf("%s\"%zu\": %.1f", i == 0 ? "" : ", ", lengths[i],
           chains[i].best_run_ns);
  }
  fputs("}, \"load_ns\": {", stdout);
  for (size_t i = 0; i < LENGTHS; ++i) {
    printf("%s\"%zu\": %.0f", i == 0 ? "" : ", ", lengths[i],
           chains[i].best_load_ns);
  }
  puts("}}");
}

static void measure(void) {
  enum { POOLS = 2 };
  static op_chain chains[POOLS][KINDS][LENGTHS];
  static etx_thread_pool pools[POOLS];
  _Alignas(16) static uint8_t memory[POOLS][1024];
  for (size_t p = 0; p < POOLS; ++p) {
    etx_diag diag;
    etx_diag_init(&diag);
    stop_on(etx_thread_pool_init(&pools[p], p + 1,
                                 (etx_bytes_mut){memory[p], sizeof memory[p]},
                                 &diag),
            &diag);
    for (size_t k = 0; k < KINDS; ++k) {
      for (size_t i = 0; i < LENGTHS; ++i) {
        open_chain(&chains[p][k][i], kinds[k], lengths[i], &pools[p].parallel);
        run_many(&chains[p][k][i], 10);
      }
    }
  }
  for (size_t round = 0; round < ROUNDS; ++round) {
    for (size_t k = 0; k < KINDS; ++k) {
      for (size_t i = 0; i < LENGTHS; ++i) {
        for (size_t p = 0; p < POOLS; ++p)
          time_runs(&chains[p][k][i], lengths[i]);
        time_load(&chains[0][k][i]);
      }
    }
  }
  for (size_t p = 0; p < POOLS; ++p) {
    for (size_t k = 0; k < KINDS; ++k) {
      print_kind(kinds[k], p + 1, chains[p][k]);
      for (size_t i = 0; i < LENGTHS; ++i) close_chain(&chains[p][k][i]);
    }
    etx_thread_pool_close(&pools[p]);
  }
}

int main(int argc, char** argv) {
  if (argc == 1) {
    measure();
    return 0;
  }
  if (argc != 4) {
    fputs("usage: bench_dispatch [empty|add|product LENGTH RUNS]\n", stderr);
    return 2;
  }
  static op_chain c;
  open_chain(&c, argv[1], strtoul(argv[2], NULL, 10), &etx_parallel_none);
  run_many(&c, strtoul(argv[3], NULL, 10));
  close_chain(&c);
  return 0;
}
