// What jumps, moves and late values cost: each program beside a straight one of
// the same kernels, as one line of JSON each.
//
//   bench_control_flow              times of all programs
//   bench_control_flow CASE SIDE RUNS
//                                   runs one only: for counting instructions.
//                                   SIDE is 0 for the straight program
//
//   loop    800 iterations of five kernels on 8 floats
//   carry   the same; a move carries the result to the next iteration
//   choice  12 dynamic layers of three small kernels behind a choice
//   item    the same layers, then a slice whose size is read from a tensor
//   late    such a slice first, then the layers on its result
//   choice_linear, item_linear, late_linear
//           the same with a linear layer of 64 features instead of a sum
//
// The sizes are the same in all runs. The programs take turns; a time is the
// median of all rounds.

#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/method.h"
#include "tests/support/loaded_method.h"
#include "tests/support/test_program.h"

enum { ROUNDS = 51, CASES = 8, ITERATIONS = 800, LAYERS = 12, ROWS = 4 };
enum { MOST_ROWS = 16, WIDTH = 64 };

typedef enum flow_kind { LOOP, CARRY, CHOICE, ITEM, LATE } flow_kind;

typedef struct flow_case {
  const char* name;
  flow_kind kind;
  int width;  // of layers
} flow_case;

static const flow_case cases[CASES] = {
    {"loop", LOOP, 0},
    {"carry", CARRY, 0},
    {"choice", CHOICE, 8},
    {"item", ITEM, 8},
    {"late", LATE, 8},
    {"choice_linear", CHOICE, WIDTH},
    {"item_linear", ITEM, WIDTH},
    {"late_linear", LATE, WIDTH},
};

typedef struct flow_bench {
  test_program* file;
  etx_program program;
  test_loaded loaded;
  float x[ROWS * WIDTH];
  int64_t count;
  uint8_t flag;
  double ns[ROUNDS];
} flow_bench;

static void stop_on(etx_status status, const etx_diag* diag) {
  if (status == ETX_OK) return;
  fprintf(stderr, "bench_control_flow: %s\n", diag->text);
  exit(1);
}

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

// Values of a loop.
typedef struct loop_slots {
  int x, alpha, one, limit, counter, done, carried, sums[3];
} loop_slots;

static loop_slots add_loop_slots(test_program* p) {
  static const int64_t numbers[2] = {1, ITERATIONS};
  loop_slots s;
  const uint32_t one = test_data(p, &numbers[0], sizeof numbers[0]);
  const uint32_t limit = test_data(p, &numbers[1], sizeof numbers[1]);
  s.x = test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(8)), "");
  s.alpha = test_int(p, 1);
  s.one = test_constant(p, ETX_DTYPE_INT64, SIZES(1), one);
  s.limit = test_constant(p, ETX_DTYPE_INT64, SIZES(1), limit);
  s.counter = test_scratch(p, ETX_DTYPE_INT64, SIZES(1), 0);
  s.done = test_scratch(p, ETX_DTYPE_BOOL, SIZES(1), 16);
  s.carried = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(8), 32);
  for (uint64_t i = 0; i < 3; ++i) {
    s.sums[i] = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(8), 64 + 32 * i);
  }
  return s;
}

static void add_body(test_program* p, const loop_slots* s, int from) {
  for (size_t i = 0; i < 3; ++i) {
    test_call(p, "aten::add", "out",
              ARGS(from, s->x, s->alpha, s->sums[i], s->sums[i]));
    from = s->sums[i];
  }
  test_call(p, "aten::add", "out",
            ARGS(s->counter, s->one, s->alpha, s->counter, s->counter));
  test_call(p, "aten::ge", "Tensor_out",
            ARGS(s->counter, s->limit, s->done, s->done));
}

// The counter starts at 1 less than 1.
static void write_loop(test_program* p, bool is_straight, bool moves) {
  const loop_slots s = add_loop_slots(p);
  const int result = s.sums[2];
  test_call(p, "aten::sub", "out",
            ARGS(s.one, s.one, s.alpha, s.counter, s.counter));
  test_call(p, "aten::sub", "out", ARGS(s.x, s.x, s.alpha, result, result));
  if (moves && !is_straight) test_move(p, result, s.carried);
  const int from = moves && !is_straight ? s.carried : result;
  for (int i = 0; i < (is_straight ? ITERATIONS : 1); ++i) {
    add_body(p, &s, from);
  }
  if (moves && !is_straight) test_move(p, result, s.carried);
  if (!is_straight) test_jump_false(p, s.done, moves ? 3 : 2);
  test_output(p, result, "");
}

// The values that layers use.
typedef struct layer_slots {
  int x, alpha, weight, slots[4];
} layer_slots;

static int add_rows(test_program* p, int width, uint64_t place) {
  const uint64_t bytes = (uint64_t)(MOST_ROWS * width) * sizeof(float);
  return test_dynamic(p, test_scratch(p, ETX_DTYPE_FLOAT32,
                                      SIZES(MOST_ROWS, width), bytes * place));
}

static layer_slots add_layer_slots(test_program* p, int width) {
  static float weight[WIDTH * WIDTH];
  const uint32_t data = test_data(p, weight, sizeof weight);
  layer_slots s;
  s.x = test_input(p,
                   test_dynamic(p, test_borrowed(p, ETX_DTYPE_FLOAT32,
                                                 SIZES(MOST_ROWS, width))),
                   "");
  s.alpha = test_int(p, 1);
  s.weight = test_constant(p, ETX_DTYPE_FLOAT32, SIZES(WIDTH, WIDTH), data);
  for (uint64_t i = 0; i < 4; ++i) s.slots[i] = add_rows(p, width, i);
  return s;
}

// Layers write to two slots in turn; returns the last one.
static int add_layers(test_program* p, const layer_slots* s, int width, int x) {
  const int* slots = s->slots;
  const int none = test_none(p);
  int from = x;
  for (size_t i = 0; i < LAYERS; ++i) {
    const int to = slots[2 + i % 2];
    if (width == WIDTH) {
      test_call(p, "aten::linear", "out",
                ARGS(from, s->weight, none, slots[0], slots[0]));
    } else {
      test_call(p, "aten::add", "out",
                ARGS(from, x, s->alpha, slots[0], slots[0]));
    }
    test_call(p, "aten::relu", "out", ARGS(slots[0], slots[1], slots[1]));
    test_call(p, "aten::mul", "out", ARGS(slots[1], x, to, to));
    from = to;
  }
  return from;
}

static void write_layers(test_program* p, const flow_case* c,
                         bool is_straight) {
  const layer_slots s = add_layer_slots(p, c->width);
  const int flag =
      test_input(p, test_borrowed(p, ETX_DTYPE_BOOL, SIZES(1)), "");
  const int count =
      test_input(p, test_borrowed(p, ETX_DTYPE_INT64, SIZES(1)), "");
  const int zero = test_int(p, 0), never = test_bool(p, false);
  const int rows = test_int(p, is_straight ? ROWS - 1 : 0);
  const int part = add_rows(p, c->width, 4);
  if (c->kind == CHOICE) {
    if (!is_straight) test_jump_false(p, flag, 3 * LAYERS + 2);
    const int last = add_layers(p, &s, c->width, s.x);
    if (!is_straight) {
      test_jump_false(p, never, 3 * LAYERS + 3);
      test_call(p, "aten::neg", "out", ARGS(s.x, last, last));
    }
    test_output(p, last, "");
    return;
  }
  const int whole = c->kind == ITEM ? add_layers(p, &s, c->width, s.x) : s.x;
  if (!is_straight) {
    test_call(p, "aten::_local_scalar_dense", "", ARGS(count, rows));
  }
  test_call(p, "aten::slice_copy", "Tensor_out",
            ARGS(whole, zero, zero, rows, s.alpha, part, part));
  test_output(p, c->kind == LATE ? add_layers(p, &s, c->width, part) : part,
              "");
}

static void set_inputs(flow_bench* b, const flow_case* c) {
  etx_diag diag;
  etx_diag_init(&diag);
  etx_method* method = &b->loaded.method;
  const etx_tensor flat = TEST_TENSOR(b->x, ETX_DTYPE_FLOAT32, 8);
  const etx_tensor rows = TEST_TENSOR(b->x, ETX_DTYPE_FLOAT32, ROWS, c->width);
  const etx_tensor flag = TEST_TENSOR(&b->flag, ETX_DTYPE_BOOL, 1);
  const etx_tensor count = TEST_TENSOR(&b->count, ETX_DTYPE_INT64, 1);
  b->flag = 1;
  b->count = ROWS - 1;
  const bool is_loop = c->width == 0;
  stop_on(etx_method_set_input(method, 0, is_loop ? &flat : &rows, &diag),
          &diag);
  if (is_loop) return;
  stop_on(etx_method_set_input(method, 1, &flag, &diag), &diag);
  stop_on(etx_method_set_input(method, 2, &count, &diag), &diag);
}

static void open_bench(flow_bench* b, const flow_case* c, bool is_straight) {
  etx_diag diag;
  etx_diag_init(&diag);
  memset(b, 0, sizeof *b);
  b->file = test_program_new();
  test_method(b->file, "forward");
  test_arenas(b->file, 5 * MOST_ROWS * WIDTH * sizeof(float), 0);
  if (c->width == 0) {
    write_loop(b->file, is_straight, c->kind == CARRY);
  } else {
    write_layers(b->file, c, is_straight);
  }
  stop_on(etx_program_open(&b->program, test_file(b->file), &etx_all_kernels,
                           NULL, &diag),
          &diag);
  stop_on(test_load(&b->loaded, &b->program, "forward", NULL, &diag), &diag);
  set_inputs(b, c);
}

static void run_many(flow_bench* b, size_t runs) {
  etx_diag diag;
  etx_diag_init(&diag);
  for (size_t i = 0; i < runs; ++i) {
    stop_on(etx_method_run(&b->loaded.method, &diag), &diag);
  }
}

static void time_runs(flow_bench* b, const flow_case* c, size_t round) {
  const size_t runs = c->width == 0 ? 4 : c->width == WIDTH ? 40 : 400;
  const double start = now_ns();
  run_many(b, runs);
  b->ns[round] = (now_ns() - start) / (double)runs;
}

static int compare_ns(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median_ns(flow_bench* b) {
  qsort(b->ns, ROUNDS, sizeof b->ns[0], compare_ns);
  return b->ns[ROUNDS / 2];
}

static void close_bench(flow_bench* b) {
  (void)test_unload(&b->loaded);
  test_program_end(b->file);
}

static void measure(void) {
  static flow_bench benches[CASES][2];
  for (size_t i = 0; i < 2 * CASES; ++i) {
    open_bench(&benches[i / 2][i % 2], &cases[i / 2], i % 2 == 0);
    run_many(&benches[i / 2][i % 2], 2);
  }
  for (size_t round = 0; round < ROUNDS; ++round) {
    for (size_t i = 0; i < 2 * CASES; ++i) {
      time_runs(&benches[i / 2][i % 2], &cases[i / 2], round);
    }
  }
  for (size_t i = 0; i < CASES; ++i) {
    const double straight = median_ns(&benches[i][0]);
    const double ns = median_ns(&benches[i][1]);
    printf(
        "{\"case\": \"%s\", \"straight_ns\": %.0f, \"ns\": %.0f, "
        "\"ratio\": %.3f}\n",
        cases[i].name, straight, ns, ns / straight);
    close_bench(&benches[i][0]);
    close_bench(&benches[i][1]);
  }
}

int main(int argc, char** argv) {
  static flow_bench bench;
  if (argc == 1) {
    measure();
    return 0;
  }
  for (size_t i = 0; argc == 4 && i < CASES; ++i) {
    if (strcmp(argv[1], cases[i].name) != 0) continue;
    open_bench(&bench, &cases[i], strcmp(argv[2], "0") == 0);
    run_many(&bench, strtoul(argv[3], NULL, 10));
    close_bench(&bench);
    return 0;
  }
  fputs("usage: bench_control_flow [CASE 0|1 RUNS]\n", stderr);
  return 2;
}
