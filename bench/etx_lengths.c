// etx with texts of varying lengths: the protocol of varying_lengths.py.
//
//   bench_lengths THREADS RESIDENT
//
// RESIDENT bytes of the program stay in memory; 0: all.
//
// Reads lines and answers each with a line of JSON: load PATH, check LENGTH,
// run LENGTH...

#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/monotonic_clock.h"
#include "runtime/module/module.h"
#include "runtime/threads/thread_pool.h"

enum { MOST_LENGTH = 512, LINE_BYTES = 4096, RESULTS = 64 };

typedef struct encoder_program {
  bool is_open;
  etx_module module;
  etx_module_shared shared;
  etx_method* method;
  size_t resident_bytes;
  int64_t ids[MOST_LENGTH];
} encoder_program;

static etx_status load_encoder(encoder_program* e, const char* path,
                               const etx_parallel* parallel, etx_diag* diag) {
  const etx_module_options options = {.parallel = parallel};
  etx_planned_memory allocator;
  ETX_TRY(etx_module_open(&e->module, path, &options, diag));
  if (e->resident_bytes > 0) {
    ETX_TRY(etx_module_limit_resident(&e->module, e->resident_bytes, diag));
  }
  ETX_TRY(etx_module_shared_open(&e->shared, &e->module, diag));
  ETX_TRY(etx_module_shared_allocator(&e->shared, "forward", &allocator, diag));
  ETX_TRY(etx_module_load_method(&e->module, "forward", &allocator, diag));
  e->method = etx_module_method(&e->module, "forward");
  e->is_open = true;
  for (size_t i = 0; i < MOST_LENGTH; ++i) {
    e->ids[i] = (int64_t)(5 + i * 37 % 1000);
  }
  return ETX_OK;
}

static etx_status encode(encoder_program* e, long length, etx_diag* diag) {
  if (!e->is_open || length < 1 || length > MOST_LENGTH) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT, "no program, or no length");
  }
  const int32_t sizes[] = {1, (int32_t)length};
  const etx_value ids = etx_module_tensor(e->ids, ETX_DTYPE_INT64, sizes, 2);
  ETX_TRY(etx_method_set_value(e->method, 0, &ids, diag));
  return etx_method_run(e->method, diag);
}

static etx_status encode_all(encoder_program* e, const char* words,
                             etx_diag* diag) {
  for (;;) {
    char* end = NULL;
    const long length = strtol(words, &end, 10);
    if (end == words) return ETX_OK;
    ETX_TRY(encode(e, length, diag));
    words = end;
  }
}

static void print_encoding(const encoder_program* e) {
  const etx_value* out = NULL;
  if (etx_method_output(e->method, 0, &out) != ETX_OK) return;
  const size_t count = etx_tensor_numel(&out->as.tensor);
  const float* const values = out->as.tensor.data;
  printf("\"result\": [");
  for (size_t i = 0; i < count && i < RESULTS; ++i) {
    printf("%s%.9g", i == 0 ? "" : ", ", (double)values[i]);
  }
  printf("], ");
}

static etx_status answer_line(encoder_program* e, char* line,
                              const etx_parallel* parallel, etx_diag* diag) {
  const double start = etx_monotonic_clock_seconds();
  line[strcspn(line, "\n")] = '\0';
  const bool is_check = strncmp(line, "check ", 6) == 0;
  if (strncmp(line, "load ", 5) == 0) {
    ETX_TRY(load_encoder(e, line + 5, parallel, diag));
  } else {
    ETX_TRY(encode_all(e, line + (is_check ? 6 : 4), diag));
  }
  const double seconds = etx_monotonic_clock_seconds() - start;
  printf("{");
  if (is_check) print_encoding(e);
  printf("\"ms\": %.5f}\n", 1e3 * seconds);
  return ETX_OK;
}

static int answer_lines(const etx_parallel* parallel, size_t resident_bytes) {
  static encoder_program encoder;
  static char line[LINE_BYTES];
  int status = 0;
  encoder.resident_bytes = resident_bytes;
  puts("{}");  // ready
  fflush(stdout);
  while (status == 0 && fgets(line, sizeof line, stdin) != NULL) {
    etx_diag diag;
    etx_diag_init(&diag);
    if (answer_line(&encoder, line, parallel, &diag) != ETX_OK) {
      fprintf(stderr, "bench_lengths: %s\n", diag.text);
      status = 1;
    }
    fflush(stdout);
  }
  if (encoder.is_open) {
    etx_module_shared_close(&encoder.shared);
    etx_module_close(&encoder.module);
  }
  return status;
}

int main(int argc, char** argv) {
  static _Alignas(16) uint8_t memory[8192];
  etx_thread_pool pool;
  etx_diag diag;
  if (argc != 3) {
    fputs("usage: bench_lengths THREADS RESIDENT\n", stderr);
    return 2;
  }
  etx_diag_init(&diag);
  if (etx_thread_pool_init(&pool, strtoul(argv[1], NULL, 10),
                           (etx_bytes_mut){memory, sizeof memory},
                           &diag) != ETX_OK) {
    fprintf(stderr, "bench_lengths: %s\n", diag.text);
    return 1;
  }
  const int status = answer_lines(&pool.parallel, strtoul(argv[2], NULL, 10));
  etx_thread_pool_close(&pool);
  return status;
}
