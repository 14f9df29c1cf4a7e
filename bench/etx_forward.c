// etx with models of a single call: the protocol of forward_peers.py.
//
//   bench_forward CACHE THREADS
//
// A model is CACHE/MODEL/etx-KIND/model.pte; its inputs are
// CACHE/MODEL/data/input0.npy and on.

#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/monotonic_clock.h"
#include "cli/base/mapped_file.h"
#include "cli/tensors/npy.h"
#include "runtime/module/module.h"
#include "runtime/threads/thread_pool.h"

enum {
  KIND_COUNT = 3,
  MOST_INPUTS = 8,
  PATH_BYTES = 1024,
  FOLDER_BYTES = 900,
  RESULTS = 64
};

typedef struct loaded_model {
  bool is_open;
  etx_module module;
  etx_module_shared shared;
  etx_method* method;
  etx_pool pool;  // owns the inputs
  etx_host_tensor inputs[MOST_INPUTS];
} loaded_model;

static const char* const kinds[KIND_COUNT] = {"float32", "int8", "int8-static"};

// The index of a kind; 0 for an unknown one.
static size_t kind_of(const char* name) {
  size_t kind = KIND_COUNT;
  while (--kind > 0 && strcmp(name, kinds[kind]) != 0) continue;
  return kind;
}

static etx_status read_input(loaded_model* m, const char* folder, size_t index,
                             etx_diag* diag) {
  char path[PATH_BYTES];
  etx_mapped_file file;
  snprintf(path, sizeof path, "%.900s/data/input%zu.npy", folder, index);
  ETX_TRY(etx_mapped_file_open(&file, path, diag));
  etx_status status =
      etx_npy_read(file.bytes, &m->pool, &m->inputs[index], diag);
  etx_mapped_file_close(&file);
  if (status != ETX_OK) return status;
  const etx_host_tensor* const x = &m->inputs[index];
  const etx_value value =
      etx_module_tensor(x->data, x->dtype, x->sizes, x->rank);
  return etx_method_set_value(m->method, index, &value, diag);
}

static etx_status open_method(loaded_model* m, etx_diag* diag) {
  etx_planned_memory allocator;
  ETX_TRY(etx_module_shared_open(&m->shared, &m->module, diag));
  ETX_TRY(etx_module_shared_allocator(&m->shared, "forward", &allocator, diag));
  ETX_TRY(etx_module_load_method(&m->module, "forward", &allocator, diag));
  m->method = etx_module_method(&m->module, "forward");
  return ETX_OK;
}

static void close_model(loaded_model* m) {
  if (!m->is_open) return;
  etx_module_shared_close(&m->shared);
  etx_module_close(&m->module);
  etx_pool_close(&m->pool);
  m->is_open = false;
}

static void print_result(const loaded_model* m, double seconds) {
  const etx_value* out = NULL;
  if (etx_method_output(m->method, 0, &out) != ETX_OK) return;
  const size_t count = etx_tensor_numel(&out->as.tensor);
  const float* const values = out->as.tensor.data;
  printf("{\"load_ms\": %.3f, \"version\": \"this tree\", \"result\": [",
         1e3 * seconds);
  for (size_t i = 0; i < count && i < RESULTS; ++i) {
    printf("%s%.9g", i == 0 ? "" : ", ", (double)values[i]);
  }
  puts("]}");
}

static etx_status load(loaded_model* m, const char* folder, const char* kind,
                       const etx_parallel* parallel, etx_diag* diag) {
  char path[PATH_BYTES];
  const etx_module_options options = {.parallel = parallel};
  snprintf(path, sizeof path, "%.900s/etx-%s/model.pte", folder, kind);
  close_model(m);
  const double start = etx_monotonic_clock_seconds();
  ETX_TRY(etx_module_open(&m->module, path, &options, diag));
  ETX_TRY(open_method(m, diag));
  const double seconds = etx_monotonic_clock_seconds() - start;
  m->is_open = true;
  etx_pool_init(&m->pool);
  const size_t count = m->method->input_count;
  for (size_t i = 0; i < count && i < MOST_INPUTS; ++i) {
    ETX_TRY(read_input(m, folder, i, diag));
  }
  ETX_TRY(etx_method_run(m->method, diag));
  print_result(m, seconds);
  return ETX_OK;
}

static etx_status go(loaded_model* m, double seconds, etx_diag* diag) {
  size_t count = 0;
  double taken = 0;
  const double start = etx_monotonic_clock_seconds();
  while (taken < seconds) {
    ETX_TRY(etx_method_run(m->method, diag));
    ++count;
    taken = etx_monotonic_clock_seconds() - start;
  }
  printf("{\"ms\": %.5f, \"calls\": %zu}\n", 1e3 * taken / (double)count,
         count);
  return ETX_OK;
}

static etx_status answer(loaded_model models[KIND_COUNT], const char* cache,
                         const char* line, const etx_parallel* parallel,
                         etx_diag* diag) {
  char folder[FOLDER_BYTES] = "", name[128], kind[16];
  double seconds;
  if (sscanf(line, "load %127s %15s", name, kind) == 2) {
    snprintf(folder, sizeof folder, "%.700s/%s", cache, name);
    return load(&models[kind_of(kind)], folder, kind, parallel, diag);
  }
  if (sscanf(line, "go %15s %lf", kind, &seconds) == 2) {
    return go(&models[kind_of(kind)], seconds, diag);
  }
  return etx_diag_fail(diag, ETX_BAD_ARGUMENT, "unknown command");
}

static void answer_all(const char* cache, const etx_parallel* parallel) {
  static loaded_model models[KIND_COUNT];
  char line[256];
  while (fgets(line, sizeof line, stdin) != NULL) {
    etx_diag diag;
    etx_diag_init(&diag);
    if (answer(models, cache, line, parallel, &diag) != ETX_OK) {
      for (char* at = diag.text; *at != '\0'; ++at) {
        if (*at == '"' || *at == '\\') *at = '\'';
      }
      printf("{\"error\": \"%s\"}\n", diag.text);
    }
    fflush(stdout);
  }
  for (size_t i = 0; i < KIND_COUNT; ++i) close_model(&models[i]);
}

int main(int argc, char** argv) {
  static _Alignas(16) uint8_t memory[8192];
  etx_thread_pool pool;
  etx_diag diag;
  if (argc != 3) {
    fputs("usage: bench_forward CACHE THREADS\n", stderr);
    return 2;
  }
  etx_diag_init(&diag);
  if (etx_thread_pool_init(&pool, strtoul(argv[2], NULL, 10),
                           (etx_bytes_mut){memory, sizeof memory},
                           &diag) != ETX_OK) {
    fprintf(stderr, "bench_forward: %s\n", diag.text);
    return 1;
  }
  answer_all(argv[1], &pool.parallel);
  etx_thread_pool_close(&pool);
  return 0;
}
