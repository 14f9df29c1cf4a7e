// What a change of sizes costs: the shape phase of every method of a program
// with dynamic sizes, as one line of JSON each.
//
//   bench_shape_phase FILE          times
//   bench_shape_phase FILE PHASES   runs so many phases of the first such
//                                   method only: for counting instructions
//   bench_shape_phase FILE PHASES moved   the same with moved blocks
//
// Sizes go through VECTORS vectors of symbol values, between least and most, in
// turn; those that the model excludes are left out. `changed_ns` is the time to
// set the inputs and prepare the method when each call has other sizes than the
// one before, `unchanged_ns` the same at equal sizes, and `repeated_ns` that of
// KEPT vectors in turn, for which a copy of the method is kept
// (runtime/variants.h). `moved_ns` is `changed_ns` of a method that was given a
// byte less than its largest sizes need, so that each change moves its blocks.
// They are medians over rounds that take turns. No kernel runs.

#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/method/method_types.h"
#include "runtime/variants.h"
#include "tests/support/loaded_method.h"

enum { ROUNDS = 41, CALLS = 64, MOST_INPUTS = 64, VECTORS = 61, KEPT = 4 };

typedef struct phase_bench {
  etx_program program;
  test_loaded loaded;
  test_block copies;
  size_t blob_index;
  int32_t sizes[MOST_INPUTS][ETX_MAX_RANK];
  void* data[MOST_INPUTS];
  size_t vectors[VECTORS];  // numbers of those that the model takes
  size_t vector_count;
} phase_bench;

static void stop_on(etx_status status, const etx_diag* diag) {
  if (status == ETX_OK) return;
  fprintf(stderr, "bench_shape_phase: %s\n", diag->text);
  exit(1);
}

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static etx_bytes read_whole(const char* path) {
  FILE* const file = fopen(path, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
    fprintf(stderr, "bench_shape_phase: %s cannot be read\n", path);
    exit(1);
  }
  const size_t size = (size_t)ftell(file);
  uint8_t* const data = aligned_alloc(64, (size + 63) / 64 * 64);
  rewind(file);
  if (data == NULL || fread(data, 1, size, file) != size) exit(1);
  (void)fclose(file);
  return (etx_bytes){data, size};
}

// The value of a symbol in vector `k`. Symbols take other steps, so that
// vectors differ in all of them.
static int64_t symbol_value(const phase_bench* b, size_t symbol, size_t k) {
  const etx_blob_symbol s =
      etx_blob_symbol_at(&b->program.blob, b->blob_index, symbol);
  const int64_t span = s.maximum - s.minimum + 1;
  return s.maximum - (int64_t)(k * (7 + 2 * symbol)) % span;
}

static void set_inputs(phase_bench* b, size_t k) {
  etx_method* const method = &b->loaded.method;
  const etx_blob* const blob = &b->program.blob;
  const size_t rows = etx_blob_input_dim_count(blob, b->blob_index);
  etx_diag diag;
  etx_diag_init(&diag);
  for (size_t i = 0; i < rows; ++i) {
    const etx_blob_input_dim row =
        etx_blob_input_dim_at(blob, b->blob_index, i);
    const int64_t value = symbol_value(b, row.symbol, k);
    const int64_t size = row.factor * value + row.offset;
    if (row.dim >= 0) b->sizes[row.input][row.dim] = (int32_t)size;
    if (row.dim >= 0) continue;
    etx_value number;
    memset(&number, 0, sizeof number);
    number.kind = ETX_VALUE_INT;
    number.as.integer = size;
    stop_on(etx_method_set_value(method, row.input, &number, &diag), &diag);
  }
  for (size_t i = 0; i < method->input_count; ++i) {
    const etx_method_input* input = &method->inputs[i];
    if (input->tensor == ETX_NO_INDEX) continue;
    etx_tensor tensor = method->values[input->value].as.tensor;
    tensor.sizes = b->sizes[i];
    tensor.strides = NULL;
    tensor.data = b->data[i];
    stop_on(etx_method_set_input(method, i, &tensor, &diag), &diag);
  }
}

static void call(phase_bench* b, size_t k) {
  etx_diag diag;
  etx_diag_init(&diag);
  set_inputs(b, k);
  stop_on(etx_method_prepare(&b->loaded.method, &diag), &diag);
}

static void find_vectors(phase_bench* b) {
  etx_diag diag;
  etx_diag_init(&diag);
  b->vector_count = 0;
  for (size_t k = 0; k < VECTORS; ++k) {
    set_inputs(b, k);
    if (etx_method_prepare(&b->loaded.method, &diag) != ETX_OK) continue;
    b->vectors[b->vector_count++] = k;
  }
  if (b->vector_count <= KEPT) {
    fputs("bench_shape_phase: the model takes too few sizes\n", stderr);
    exit(1);
  }
}

static int compare_ns(const void* a, const void* b) {
  const double x = *(const double*)a;
  const double y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median(double* ns) {
  qsort(ns, ROUNDS, sizeof *ns, compare_ns);
  return ns[ROUNDS / 2];
}

// Time of a call that takes the first `count` vectors in turn.
static double time_calls(phase_bench* b, size_t count) {
  call(b, b->vectors[0]);
  const double start = now_ns();
  for (size_t i = 0; i < CALLS; ++i) call(b, b->vectors[i % count]);
  return (now_ns() - start) / CALLS;
}

static void measure(phase_bench* b, phase_bench* kept, phase_bench* moved,
                    const char* name) {
  double changed[ROUNDS], unchanged[ROUNDS], repeated[ROUNDS], less[ROUNDS];
  for (size_t round = 0; round < ROUNDS; ++round) {
    changed[round] = time_calls(b, b->vector_count);
    unchanged[round] = time_calls(b, 1);
    repeated[round] = time_calls(kept, KEPT);
    less[round] = time_calls(moved, moved->vector_count);
  }
  const double most = median(changed);
  const double least = median(unchanged);
  const double again = median(repeated);
  const double movement = median(less);
  const size_t count = b->loaded.method.record_count;
  printf(
      "{\"method\": \"%s\", \"instructions\": %zu, \"steps\": %zu, "
      "\"changed_ns\": %.0f, \"unchanged_ns\": %.0f, \"phase_ns\": %.0f, "
      "\"ns_per_instruction\": %.1f, \"repeated_ns\": %.0f, "
      "\"moved_ns\": %.0f, "
      "\"uses_expressions\": %s}\n",
      name, count, b->loaded.method.step_count, most, least, most - least,
      (most - least) / (double)count, again - least, movement - least,
      b->loaded.method.sizes.is_used ? "true" : "false");
}

static bool load(phase_bench* b, size_t index, char* name, size_t bytes) {
  etx_diag diag;
  etx_diag_init(&diag);
  const etx_pte_plan plan = etx_pte_plan_at(&b->program.pte, index);
  const etx_text text = etx_pte_plan_name(&plan);
  (void)snprintf(name, bytes, "%.*s", (int)text.size, text.data);
  if (!etx_blob_method_find(&b->program.blob, text, &b->blob_index) ||
      etx_blob_input_dim_count(&b->program.blob, b->blob_index) == 0) {
    return false;
  }
  stop_on(test_load(&b->loaded, &b->program, name, NULL, &diag), &diag);
  const etx_method* const method = &b->loaded.method;
  for (size_t i = 0; i < method->input_count && i < MOST_INPUTS; ++i) {
    if (method->inputs[i].tensor == ETX_NO_INDEX) continue;
    const etx_method_tensor* tensor =
        &method->tensors[method->inputs[i].tensor];
    const size_t rank = tensor->value->as.tensor.rank;
    memcpy(b->sizes[i], tensor->bounds, rank * sizeof *tensor->bounds);
    b->data[i] = calloc(1, 64 + etx_method_bound_numel(tensor) * 8);
  }
  return true;
}

// Lets the method keep copies for recent sizes.
static void keep_sizes(phase_bench* b, const char* name) {
  etx_diag diag;
  etx_memory_needed needed;
  size_t count = 0;
  etx_diag_init(&diag);
  stop_on(etx_method_variants_needed(&b->program, etx_text_of(name), &count,
                                     &needed, &diag),
          &diag);
  b->copies = test_block_new(needed.structure_bytes, ETX_MEMORY_ALIGNMENT);
  stop_on(
      etx_method_use_variants(&b->loaded.method, b->copies.bytes, NULL, &diag),
      &diag);
}

// Gives the method a byte less of scratch than its largest sizes need.
static void give_less(phase_bench* b) {
  etx_diag diag;
  etx_bytes_mut scratch = b->loaded.scratch.bytes;
  if (scratch.size > 0) --scratch.size;
  etx_diag_init(&diag);
  stop_on(etx_method_set_memory(&b->loaded.method, scratch,
                                b->loaded.temporary.bytes, &diag),
          &diag);
}

static void open_program(phase_bench* b, etx_bytes file, uint32_t kept) {
  etx_diag diag;
  const etx_limits limits = {.kept_sizes = kept};
  etx_diag_init(&diag);
  stop_on(etx_program_open(&b->program, file, &etx_all_kernels, &limits, &diag),
          &diag);
}

int main(int argc, char** argv) {
  static phase_bench bench, kept, moved;
  if (argc < 2) {
    fputs("usage: bench_shape_phase FILE [PHASES [moved]]\n", stderr);
    return 2;
  }
  const etx_bytes file = read_whole(argv[1]);
  open_program(&bench, file, 0);
  open_program(&kept, file, KEPT);
  open_program(&moved, file, 0);
  const size_t methods = etx_pte_plan_count(&bench.program.pte);
  for (size_t i = 0; i < methods; ++i) {
    char name[64];
    if (!load(&bench, i, name, sizeof name)) continue;
    if (argc > 2) {
      const size_t phases = strtoul(argv[2], NULL, 10);
      if (argc > 3) give_less(&bench);
      find_vectors(&bench);
      for (size_t k = 0; k < phases; ++k) {
        call(&bench, bench.vectors[k % bench.vector_count]);
      }
      return 0;
    }
    (void)load(&kept, i, name, sizeof name);
    keep_sizes(&kept, name);
    find_vectors(&bench);
    (void)load(&moved, i, name, sizeof name);
    give_less(&moved);
    find_vectors(&kept);
    find_vectors(&moved);
    measure(&bench, &kept, &moved, name);
    (void)test_unload(&bench.loaded);
    (void)test_unload(&kept.loaded);
    (void)test_unload(&moved.loaded);
    (void)test_block_end(&kept.copies);
  }
  return 0;
}
