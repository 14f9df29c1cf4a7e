#define _POSIX_C_SOURCE 200809L  // mkdtemp, posix_memalign

#include "tests/hostile/fuzz/fuzz_method.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/plan/kernel_evaluator.h"
#include "cli/verify/verify_program.h"
#include "exporter/export.h"
#include "tests/hostile/hostile_memory.h"
#include "tests/hostile/hostile_program.h"
#include "tests/support/assert_message.h"

// Larger programs are planned, but neither proved nor run.
enum { MOST_PROGRAM_BYTES = 1 << 20, MOST_FILES = 2, PATH_BYTES = 128 };

// The directory is removed when the process ends.
static char directory[64];
static char paths[MOST_FILES][PATH_BYTES];

static void remove_directory(void) {
  for (size_t i = 0; i < MOST_FILES; ++i) {
    if (paths[i][0] != '\0') (void)unlink(paths[i]);
  }
  (void)rmdir(directory);
}

// In memory if the host has such a place, because every input is written.
static void make_directory(void) {
  if (directory[0] != '\0') return;
  hostile_limit_memory();
  const char* const parent =
      access("/dev/shm", R_OK | W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
  snprintf(directory, sizeof directory, "%s/etx-fuzz-XXXXXX", parent);
  if (mkdtemp(directory) == NULL || atexit(remove_directory) != 0) abort();
}

void fuzz_method_file(const char* file_name, etx_bytes bytes) {
  char path[PATH_BYTES];
  size_t i = 0;
  make_directory();
  snprintf(path, sizeof path, "%s/%s", directory, file_name);
  while (i < MOST_FILES && paths[i][0] != '\0' && strcmp(paths[i], path) != 0) {
    ++i;
  }
  if (i == MOST_FILES) abort();
  memcpy(paths[i], path, sizeof path);
  FILE* file = fopen(path, "wb");
  if (file == NULL || fwrite(bytes.data, 1, bytes.size, file) != bytes.size ||
      fclose(file) != 0) {
    abort();
  }
}

// A program that was planned. `size` counts all bytes, also those that did not
// fit.
typedef struct planned_program {
  uint8_t* bytes;
  size_t size;
} planned_program;

static etx_status append(void* context, etx_bytes bytes) {
  planned_program* const out = context;
  if (out->size + bytes.size <= MOST_PROGRAM_BYTES && bytes.size > 0) {
    memcpy(out->bytes + out->size, bytes.data, bytes.size);
  }
  out->size += bytes.size;
  return ETX_OK;
}

static void fail(const char* what, etx_status status, const etx_diag* diag) {
  fprintf(stderr, "%s: %s: '%s'\n", what, etx_status_name(status), diag->text);
  __builtin_trap();
}

// Only memories of a board can be too small for every plan.
static void check_plan(const etx_ir_module* module, etx_status status,
                       const etx_diag* diag) {
  if (status == ETX_OK) return;
  if (status == ETX_INTERNAL ||
      (status == ETX_BAD_PLAN && module->memory_count == 0) ||
      !test_has_message(diag)) {
    fail("plan", status, diag);
  }
}

// What etx has planned is correct, as far as it can be proved. The proof reads a
// copy of exactly this size, so that sanitizers see a read past its end.
static void check_program(const planned_program* program) {
  hostile_counts counts = {0}, plain = {0};
  etx_diag diag;
  void* copy = NULL;
  if (program->size > MOST_PROGRAM_BYTES) return;
  if (posix_memalign(&copy, 64, program->size) != 0) abort();
  memcpy(copy, program->bytes, program->size);
  const etx_bytes bytes = {copy, program->size};
  etx_diag_init(&diag);
  const etx_status status = etx_verify_program(bytes, NULL, &diag);
  if (status != ETX_OK && status != ETX_UNSUPPORTED &&
      status != ETX_OUT_OF_MEMORY) {
    fail("proof", status, &diag);
  }
  hostile_try(bytes, &counts);
  hostile_try_plainly(bytes, &plain);
  free(copy);
  // Threads need more temporary memory, which may be more than the tests have.
  if (status == ETX_OK && counts.too_large == plain.too_large &&
      (counts.ran != plain.ran || counts.results != plain.results)) {
    fail("results of another instruction set", ETX_BAD_PLAN, &diag);
  }
}

static etx_status read_and_plan(etx_ir_module* module, etx_target target,
                                planned_program* out, etx_diag* diag) {
  const etx_sink sink = {append, out};
  etx_export_options options;
  etx_export_report report;
  memset(&options, 0, sizeof options);
  options.target = target;
  options.evaluator = etx_kernel_evaluator();
  ETX_TRY(etx_export_read(module, directory, NULL, diag));
  return etx_export_plan(module, &options, &sink, &report, NULL, diag);
}

bool fuzz_method(const char* file_name, etx_bytes bytes) {
  static uint8_t memory[MOST_PROGRAM_BYTES];
  etx_pool pool;
  etx_ir_module module;
  etx_diag diag;
  planned_program program = {memory, 0};
  fuzz_method_file(file_name, bytes);
  etx_diag_init(&diag);
  etx_pool_init(&pool);
  etx_ir_module_init(&module, &pool);
  const etx_target target =
      bytes.size % 2 == 0 ? ETX_TARGET_ETX : ETX_TARGET_EXECUTORCH;
  const etx_status status = read_and_plan(&module, target, &program, &diag);
  check_plan(&module, status, &diag);
  etx_pool_close(&pool);
  if (status == ETX_OK) check_program(&program);
  return status == ETX_OK;
}
