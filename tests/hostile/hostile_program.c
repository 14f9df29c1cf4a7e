#define _POSIX_C_SOURCE 200112L  // posix_memalign

#include "tests/hostile/hostile_program.h"

#include <stdio.h>
#include <stdlib.h>

#include "format/base/arena.h"
#include "runtime/method.h"
#include "shared_memory/shared_memory.h"
#include "tests/format/fixtures/program_walk.h"
#include "tests/hostile/hostile_random.h"
#include "tests/support/assert_message.h"

// The most memory for a file. It is enough for every sample, and small enough
// that runs with damaged sizes are short.
enum { MOST_BYTES = 1 << 20, MOST_ARENA_BYTES = 1 << 16, MOST_STEPS = 1000 };

static uint64_t seen;  // keeps reads from being optimised away

static etx_bytes_mut take(size_t size) {
  void* data = NULL;
  if (posix_memalign(&data, ETX_SHARED_MEMORY_ALIGNMENT,
                     size == 0 ? 1 : size) != 0) {
    abort();
  }
  // Memory is filled with a pattern other than zeros: nothing may depend on
  // memory that was not written.
  memset(data, 0xa5, size);
  const etx_bytes_mut block = {data, size};
  return block;
}

// All memory that belongs to one loaded method.
typedef struct attempt {
  const etx_program* program;
  etx_text name;
  etx_method method;
  etx_bytes_mut structures;
  etx_bytes_mut scratch;
  etx_bytes_mut temporary;
  etx_bytes_mut* inputs;
  size_t input_count;
} attempt;

static bool fits(const etx_memory_needed* needed) {
  return needed->structure_bytes <= MOST_BYTES &&
         needed->scratch_bytes <= MOST_BYTES &&
         needed->state_bytes <= MOST_BYTES &&
         needed->temporary_bytes <= MOST_BYTES;
}

// The runtime's value for a scalar input of the file.
static bool fixed_value(const etx_pte_value* from, etx_value* out) {
  memset(out, 0, sizeof *out);
  switch (from->kind) {
    case ETX_PTE_NULL:
      out->kind = ETX_VALUE_NONE;
      return true;
    case ETX_PTE_INT:
      out->kind = ETX_VALUE_INT;
      out->as.integer = from->as.integer;
      return true;
    case ETX_PTE_BOOL:
      out->kind = ETX_VALUE_BOOL;
      out->as.boolean = from->as.boolean;
      return true;
    case ETX_PTE_DOUBLE:
      out->kind = ETX_VALUE_DOUBLE;
      out->as.real = from->as.real;
      return true;
    case ETX_PTE_STRING:
      out->kind = ETX_VALUE_STRING;
      out->as.string = from->as.string;
      return true;
    default:
      return false;
  }
}

// What the inputs of a run are.
typedef struct input_choice {
  bool is_small;  // the smallest sizes that are not empty, not the largest
  bool is_mixed;  // bytes of all kinds, not zeros
} input_choice;

// Elements that are large, negative, not a number, or no truth value.
static void fill(etx_bytes_mut bytes, bool is_mixed) {
  hostile_random random = hostile_random_of(bytes.size, 1);
  memset(bytes.data, 0, bytes.size);
  for (size_t i = 0; is_mixed && i < bytes.size; i += 4) {
    static const uint32_t words[] = {0,          1,          2,
                                     0xffffffff, 0x7fc00000, 0x3f800000,
                                     0xff7fffff, 0x80000000, 0x7f0102fe};
    const uint32_t word =
        words[hostile_below(&random, sizeof words / sizeof *words)];
    memcpy(bytes.data + i, &word, bytes.size - i < 4 ? bytes.size - i : 4);
  }
}

static bool set_input(attempt* a, size_t index, input_choice choice) {
  etx_port_info info;
  if (etx_program_input_at(a->program, a->name, index, &info, NULL) != ETX_OK) {
    return false;
  }
  if (info.kind != ETX_PTE_TENSOR) {
    etx_value value;
    return fixed_value(&info.value, &value) &&
           etx_method_set_value(&a->method, index, &value, NULL) == ETX_OK;
  }
  const etx_pte_tensor* bound = &info.value.as.tensor;
  int32_t sizes[ETX_MAX_RANK];
  etx_tensor tensor = {NULL, sizes, NULL, bound->rank, bound->dtype};
  for (size_t i = 0; i < bound->rank; ++i) {
    const bool varies = bound->dynamism != ETX_PTE_STATIC;
    sizes[i] =
        choice.is_small && varies && bound->sizes[i] > 0 ? 1 : bound->sizes[i];
  }
  const size_t bytes = etx_tensor_bytes(&tensor);
  if (bytes > MOST_BYTES) return false;
  free(a->inputs[index].data);
  a->inputs[index] = take(bytes);
  fill(a->inputs[index], choice.is_mixed);
  tensor.data = a->inputs[index].data;
  return etx_method_set_input(&a->method, index, &tensor, NULL) == ETX_OK;
}

static void read_output(const etx_value* value, uint64_t* results) {
  if (value->kind == ETX_VALUE_STRING) {
    for (size_t i = 0; i < value->as.string.size; ++i) {
      seen += (uint8_t)value->as.string.data[i];
    }
  }
  if (value->kind != ETX_VALUE_TENSOR) return;
  const etx_tensor* tensor = &value->as.tensor;
  const uint8_t* bytes = tensor->data;
  if (bytes == NULL || !etx_tensor_is_contiguous(tensor)) return;
  const size_t size = etx_tensor_bytes(tensor);
  for (size_t i = 0; i < size; ++i) {
    *results = (*results ^ bytes[i]) * UINT64_C(0x100000001b3);
  }
}

static void run(attempt* a, input_choice choice, hostile_counts* counts) {
  for (size_t i = 0; i < a->input_count; ++i) {
    if (set_input(a, i, choice)) continue;
    ++counts->stopped;
    return;
  }
  if (etx_method_run(&a->method, NULL) != ETX_OK) {
    ++counts->stopped;
    return;
  }
  ++counts->ran;
  for (size_t i = 0; i < a->method.output_count; ++i) {
    const etx_value* value = NULL;
    if (etx_method_output(&a->method, i, &value) == ETX_OK) {
      read_output(value, &counts->results);
    }
  }
}

static void load(attempt* a, const etx_planned_memory* state,
                 hostile_counts* counts) {
  const etx_method_memory memory = {a->structures, a->scratch, a->temporary,
                                    state};
  if (etx_method_init(&a->method, a->program, a->name, &memory, NULL, NULL) !=
      ETX_OK) {
    return;
  }
  ++counts->loaded;
  a->input_count = a->method.input_count;
  a->inputs = calloc(a->input_count + 1, sizeof *a->inputs);
  if (a->inputs == NULL) abort();
  run(a, (input_choice){false, false}, counts);
  run(a, (input_choice){true, false}, counts);
  run(a, (input_choice){false, true}, counts);
  for (size_t i = 0; i < a->input_count; ++i) free(a->inputs[i].data);
  free(a->inputs);
}

static void try_method(const etx_program* program, size_t index,
                       etx_shared_memory* shared, hostile_counts* counts) {
  etx_method_info info;
  etx_memory_needed needed;
  etx_planned_memory state;
  attempt a;
  memset(&a, 0, sizeof a);
  a.program = program;
  if (etx_program_method_at(program, index, &info) != ETX_OK) return;
  a.name = info.name;
  if (info.is_constant) {
    etx_value value;
    etx_constant_hold hold;
    if (etx_program_constant(program, a.name, &value, &hold, NULL) == ETX_OK) {
      read_output(&value, &counts->results);
    }
  }
  if (etx_method_needed(program, a.name, &needed, NULL) != ETX_OK) return;
  if (!fits(&needed)) {
    ++counts->too_large;
    return;
  }
  if (etx_shared_memory_allocator(shared, a.name, &state, NULL) != ETX_OK) {
    return;
  }
  a.structures = take(needed.structure_bytes);
  a.scratch = take(needed.scratch_bytes);
  a.temporary = take(needed.temporary_bytes);
  load(&a, &state, counts);
  free(a.structures.data);
  free(a.scratch.data);
  free(a.temporary.data);
}

// What was saved is restored, and gives the same snapshot again.
static void save_and_restore(etx_shared_memory* shared) {
  const etx_bytes_mut first = take(etx_shared_memory_save_needed(shared));
  const etx_bytes_mut second = take(first.size);
  size_t size = 0, again = 0;
  if (etx_shared_memory_save(shared, first, &size, NULL) == ETX_OK) {
    const etx_bytes snapshot = {first.data, size};
    if (etx_shared_memory_restore(shared, snapshot, NULL) != ETX_OK ||
        etx_shared_memory_save(shared, second, &again, NULL) != ETX_OK ||
        again != size || memcmp(first.data, second.data, size) != 0) {
      abort();
    }
  }
  free(first.data);
  free(second.data);
}

static void try_methods(const etx_program* program, hostile_counts* counts) {
  size_t bytes = 0;
  etx_shared_memory shared;
  if (etx_shared_memory_needed(program, &bytes) != ETX_OK) return;
  if (bytes > MOST_BYTES) {
    ++counts->too_large;
    return;
  }
  const etx_bytes_mut block = take(bytes);
  if (etx_shared_memory_init(&shared, program, block, NULL) == ETX_OK) {
    const size_t count = etx_program_method_count(program);
    for (size_t i = 0; i < count; ++i) {
      try_method(program, i, &shared, counts);
    }
    save_and_restore(&shared);
    if (etx_shared_memory_reset(&shared, etx_text_of(""), NULL) != ETX_OK) {
      ++counts->stopped;
    }
  }
  free(block.data);
}

static void run_backwards(void* context, void (*task)(void* argument, size_t i),
                          void* argument, size_t count) {
  (void)context;
  while (count > 0) task(argument, --count);
}

static void try_aligned(etx_bytes file, bool is_plain, hostile_counts* counts) {
  static const etx_parallel plain = {.parallel_for = run_backwards,
                                     .thread_count = 3,
                                     .instruction_set = ETX_SET_BASE};
  etx_limits limits;
  etx_program program;
  etx_pte pte;
  etx_blob blob;
  etx_diag diag;
  memset(&limits, 0, sizeof limits);
  limits.file.max_arena_bytes = MOST_ARENA_BYTES;
  limits.file.max_instructions = MOST_STEPS;
  limits.max_steps = MOST_STEPS;
  limits.parallel = is_plain ? &plain : NULL;
  limits.calls_shape_functions = is_plain;
  limits.repeats_size_values = is_plain;
  etx_diag_init(&diag);
  ++counts->files;
  if (etx_pte_open(&pte, file, &limits.file, &diag) != ETX_OK) {
    // A refusal without a reason would be a bug.
    if (!test_has_message(&diag)) abort();
    return;
  }
  ++counts->opened;
  seen += program_walk(&pte);
  etx_diag_init(&diag);
  const etx_status status = etx_blob_open(&blob, &pte, &diag);
  if (status == ETX_OK) seen += blob_walk(&blob);
  if (status != ETX_OK && status != ETX_NOT_FOUND && !test_has_message(&diag)) {
    abort();
  }
  if (etx_program_open(&program, file, &etx_all_kernels, &limits, NULL) ==
      ETX_OK) {
    try_methods(&program, counts);
  }
}

static void try_copy(etx_bytes file, bool is_plain, hostile_counts* counts) {
  // A copy of exactly this size, so that reads past the end are seen.
  const etx_bytes_mut copy = take(file.size);
  if (file.size > 0) memcpy(copy.data, file.data, file.size);
  const etx_bytes view = {copy.data, copy.size};
  try_aligned(view, is_plain, counts);
  free(copy.data);
}

void hostile_try(etx_bytes file, hostile_counts* counts) {
  try_copy(file, false, counts);
}

void hostile_try_plainly(etx_bytes file, hostile_counts* counts) {
  try_copy(file, true, counts);
}

void hostile_print(const char* title, const hostile_counts* counts) {
  printf(
      "%s: %zu files, %zu opened, %zu methods loaded, %zu runs, %zu "
      "stopped, %zu too large\n",
      title, counts->files, counts->opened, counts->loaded, counts->ran,
      counts->stopped, counts->too_large);
}
