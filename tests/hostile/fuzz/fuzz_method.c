#define _DEFAULT_SOURCE  // mkdtemp

#include "tests/hostile/fuzz/fuzz_method.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/plan/kernel_evaluator.h"
#include "exporter/export.h"
#include "tests/hostile/hostile_memory.h"
#include "tests/support/assert_message.h"

// The directory is removed when the process ends.
static char directory[64];
static char path[128];

static void remove_directory(void) {
  (void)unlink(path);
  (void)rmdir(directory);
}

static void make_directory(void) {
  if (directory[0] != '\0') return;
  hostile_limit_memory();
  snprintf(directory, sizeof directory, "/tmp/etx-fuzz-XXXXXX");
  if (mkdtemp(directory) == NULL || atexit(remove_directory) != 0) abort();
}

static etx_status ignore(void* context, etx_bytes bytes) {
  (void)context;
  (void)bytes;
  return ETX_OK;
}

static void check(etx_status status, const etx_diag* diag) {
  if (status == ETX_OK) return;
  if (status != ETX_INTERNAL && status != ETX_BAD_PLAN &&
      test_has_message(diag)) {
    return;
  }
  fprintf(stderr, "%s: '%s'\n", etx_status_name(status), diag->text);
  __builtin_trap();
}

static etx_status read_and_plan(etx_ir_module* module, etx_diag* diag) {
  const etx_sink sink = {ignore, NULL};
  etx_export_options options;
  etx_export_report report;
  memset(&options, 0, sizeof options);
  options.evaluator = etx_kernel_evaluator();
  ETX_TRY(etx_export_read(module, directory, NULL, diag));
  return etx_export_plan(module, &options, &sink, &report, NULL, diag);
}

void fuzz_method(const char* file_name, etx_bytes bytes) {
  etx_pool pool;
  etx_ir_module module;
  etx_diag diag;
  make_directory();
  snprintf(path, sizeof path, "%s/%s", directory, file_name);
  FILE* file = fopen(path, "wb");
  if (file == NULL || fwrite(bytes.data, 1, bytes.size, file) != bytes.size ||
      fclose(file) != 0) {
    abort();
  }
  etx_diag_init(&diag);
  etx_pool_init(&pool);
  etx_ir_module_init(&module, &pool);
  check(read_and_plan(&module, &diag), &diag);
  etx_pool_close(&pool);
}
