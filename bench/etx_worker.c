// etx as one of the contenders: answers each line of standard input with one
// translation, as a line of JSON.
//
//   bench_worker MODEL.pte THREADS STEPS   encode, then greedy decode steps
//   bench_worker --limits THREADS          the machine's rates of memory reads
//                                          and multiply-adds

#define _POSIX_C_SOURCE 200809L

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/monotonic_clock.h"
#include "cli/machine/machine_limits.h"
#include "runtime/module/module.h"
#include "runtime/threads/thread_pool.h"

// The same for all contenders: opus_mt.py.
enum { MOST_STEPS = 64, MOST_ROWS = 32, MOST_SOURCE = 2048 };

typedef struct worker {
  etx_module module;
  etx_module_shared shared;
  etx_method* encode;
  etx_method* decode;
  int64_t source[MOST_SOURCE];
  size_t source_count;  // of all rows
  size_t rows;          // sentences at once, a fixed size of the program
  size_t steps;
  int32_t source_sizes[2], token_sizes[2];
  int64_t first;  // the token that decoding starts with
  int64_t position;
  int64_t next[MOST_ROWS];
  int64_t tokens[MOST_STEPS];  // of the first row
  double load_seconds;
  etx_diag diag;
} worker;

static void must(const worker* w, etx_status status) {
  if (status == ETX_OK) return;
  fprintf(stderr, "bench_worker: %s\n", w->diag.text);
  exit(1);
}

static void load_method(worker* w, const char* name, etx_method** out_method) {
  etx_planned_memory allocator;
  must(w, etx_module_shared_allocator(&w->shared, name, &allocator, &w->diag));
  must(w, etx_module_load_method(&w->module, name, &allocator, &w->diag));
  *out_method = etx_module_method(&w->module, name);
}

static void read_rows(worker* w) {
  etx_port_info ids;
  must(w, etx_program_input_at(&w->module.program, etx_text_of("encode"), 0,
                               &ids, &w->diag));
  w->rows = (size_t)ids.value.as.tensor.sizes[0];
  if (w->rows < 1 || w->rows > MOST_ROWS || w->source_count % w->rows != 0) {
    fputs("bench_worker: the number of sources does not fit the program\n",
          stderr);
    exit(1);
  }
  w->source_sizes[0] = w->token_sizes[0] = (int32_t)w->rows;
  w->source_sizes[1] = (int32_t)(w->source_count / w->rows);
  w->token_sizes[1] = 1;
}

static void open_model(worker* w, const char* path,
                       const etx_parallel* parallel) {
  static const int32_t position_sizes[1] = {1};
  const etx_module_options options = {.parallel = parallel};
  const double start = etx_monotonic_clock_seconds();
  etx_diag_init(&w->diag);
  must(w, etx_module_open(&w->module, path, &options, &w->diag));
  must(w, etx_module_shared_open(&w->shared, &w->module, &w->diag));
  load_method(w, "encode", &w->encode);
  load_method(w, "decode", &w->decode);
  w->load_seconds = etx_monotonic_clock_seconds() - start;
  read_rows(w);
  const etx_value ids =
      etx_module_tensor(w->source, ETX_DTYPE_INT64, w->source_sizes, 2);
  const etx_value token =
      etx_module_tensor(w->next, ETX_DTYPE_INT64, w->token_sizes, 2);
  const etx_value position =
      etx_module_tensor(&w->position, ETX_DTYPE_INT64, position_sizes, 1);
  must(w, etx_method_set_value(w->encode, 0, &ids, &w->diag));
  must(w, etx_method_set_value(w->decode, 0, &token, &w->diag));
  must(w, etx_method_set_value(w->decode, 1, &position, &w->diag));
}

// `decode` returns the next token of each row.
static void step(worker* w) {
  const etx_value* chosen = NULL;
  must(w, etx_method_run(w->decode, &w->diag));
  must(w, etx_method_output(w->decode, 0, &chosen));
  if (chosen->as.tensor.dtype != ETX_DTYPE_INT64) {
    fputs("bench_worker: 'decode' does not return tokens: make pt2 again\n",
          stderr);
    exit(1);
  }
  memcpy(w->next, chosen->as.tensor.data, w->rows * sizeof *w->next);
}

static void translate(worker* w) {
  const double start = etx_monotonic_clock_seconds();
  must(w, etx_method_run(w->encode, &w->diag));
  const double encoded = etx_monotonic_clock_seconds();
  for (size_t i = 0; i < w->rows; ++i) w->next[i] = w->first;
  for (size_t i = 0; i < w->steps; ++i) {
    w->position = (int64_t)i;
    step(w);
    w->tokens[i] = w->next[0];
  }
  const double decoded = etx_monotonic_clock_seconds();
  printf("{\"encode_ms\": %.4f, \"token_ms\": %.4f, \"tokens\": [",
         1e3 * (encoded - start), 1e3 * (decoded - encoded) / (double)w->steps);
  for (size_t i = 0; i < w->steps; ++i) {
    printf("%s%" PRId64, i == 0 ? "" : ", ", w->tokens[i]);
  }
  puts("]}");
}

// The first line: the start token, then the tokens of all sources.
static void read_source(worker* w) {
  static char line[16 * MOST_SOURCE];
  if (fgets(line, sizeof line, stdin) == NULL) exit(1);
  char* at = line;
  w->first = strtoll(at, &at, 10);
  size_t count = 0;
  while (count < MOST_SOURCE) {
    char* end = NULL;
    const int64_t id = strtoll(at, &end, 10);
    if (end == at) break;
    w->source[count++] = id;
    at = end;
  }
  w->source_count = count;
}

static void print_limits(const etx_parallel* parallel) {
  enum { BYTES = 128 << 20 };
  printf("{\"read_gb\": %.2f, \"multiply_g\": %.2f}\n",
         1e-9 * etx_machine_limits_read_rate(parallel, BYTES),
         1e-9 * etx_machine_limits_multiply_rate_f32(parallel));
}

static void answer(const char* path, size_t steps,
                   const etx_parallel* parallel) {
  static worker w;
  char line[64];
  const bool is_limits = strcmp(path, "--limits") == 0;
  w.steps = steps < MOST_STEPS ? steps : MOST_STEPS;
  read_source(&w);
  if (!is_limits) open_model(&w, path, parallel);
  printf("{\"load_ms\": %.3f, \"version\": \"this tree\"}\n",
         1e3 * w.load_seconds);
  fflush(stdout);
  while (fgets(line, sizeof line, stdin) != NULL) {
    if (is_limits) {
      print_limits(parallel);
    } else {
      translate(&w);
    }
    fflush(stdout);
  }
  if (is_limits) return;
  etx_module_shared_close(&w.shared);
  etx_module_close(&w.module);
}

int main(int argc, char** argv) {
  static _Alignas(16) uint8_t memory[8192];
  etx_thread_pool pool;
  etx_diag diag;
  if (argc < 3) {
    fputs("usage: bench_worker MODEL.pte|--limits THREADS [STEPS]\n", stderr);
    return 2;
  }
  etx_diag_init(&diag);
  if (etx_thread_pool_init(&pool, strtoul(argv[2], NULL, 10),
                           (etx_bytes_mut){memory, sizeof memory},
                           &diag) != ETX_OK) {
    fprintf(stderr, "bench_worker: %s\n", diag.text);
    return 1;
  }
  const char* const steps = argc > 3 ? argv[3] : "32";
  answer(argv[1], strtoul(steps, NULL, 10), &pool.parallel);
  etx_thread_pool_close(&pool);
  return 0;
}
