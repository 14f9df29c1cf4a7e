// Sizes that are computed from symbols against those that the shape functions
// give, for recorded models and random sizes. Sizes, strides, places, prepared
// calls and steps of all values and records must be the same.

#include "tests/support/assert_status.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/program/pte_file.h"
#include "runtime/method/method_types.h"
#include "runtime/run/sized_memory.h"
#include "tests/cli/command.h"
#include "tests/support/loaded_method.h"
#include "tests/support/test_random.h"

#define ETX ETX_BINARY "/etx"

static etx_diag diag;

// Those of the first group are planned for ExecuTorch, too.
static const char* const sets[] = {
    "whisper",  "llama",      "cnn",         "gru",   "recurrent",
    "in_place", "quantized",  "small_sizes", "mixed", "wrapped",
    "planes",   "halves",     "varying",     "parts", "lines",
    "shapes",   "branches",   "loops",       "scans", "late",
    "choices",  "loop_sizes", "distinct",    "boxes", "data_numbers",
    "cond"};

enum {
  BOTH_TARGETS = 12,
  VECTORS = 60,
  MOST_INPUTS = 32,
  INPUT_BYTES = 1 << 20
};

// One method, loaded twice.
typedef struct method_pair {
  etx_program programs[2];
  test_loaded loaded[2];  // with and without a size program
  size_t in_blob;
} method_pair;

static uint8_t input_bytes[INPUT_BYTES] __attribute__((aligned(64)));

// Sets the inputs of one instance for the values of the symbols. False: the
// method refuses them.
static bool set_inputs(etx_method* method, size_t in_blob,
                       const int64_t* symbols) {
  int32_t sizes[MOST_INPUTS][ETX_MAX_RANK];
  const etx_blob* const blob = &method->program->blob;
  assert_true(method->input_count <= MOST_INPUTS);
  for (size_t i = 0; i < method->input_count; ++i) {
    const etx_method_input* const input = &method->inputs[i];
    if (input->tensor == ETX_NO_INDEX) continue;
    const etx_method_tensor* const tensor = &method->tensors[input->tensor];
    memcpy(sizes[i], tensor->bounds,
           tensor->value->as.tensor.rank * sizeof(int32_t));
  }
  for (size_t i = 0; i < etx_blob_input_dim_count(blob, in_blob); ++i) {
    const etx_blob_input_dim row = etx_blob_input_dim_at(blob, in_blob, i);
    const int64_t size = row.factor * symbols[row.symbol] + row.offset;
    etx_value number;
    if (row.dim >= 0) {
      sizes[row.input][row.dim] = (int32_t)size;
      continue;
    }
    memset(&number, 0, sizeof number);
    number.kind = ETX_VALUE_INT;
    number.as.integer = size;
    if (etx_method_set_value(method, row.input, &number, &diag) != ETX_OK) {
      return false;
    }
  }
  for (size_t i = 0; i < method->input_count; ++i) {
    const etx_method_input* const input = &method->inputs[i];
    if (input->tensor == ETX_NO_INDEX) continue;
    etx_tensor tensor = method->values[input->value].as.tensor;
    tensor.sizes = sizes[i];
    tensor.strides = NULL;
    tensor.data = input_bytes;
    assert_true(etx_tensor_bytes(&tensor) <= INPUT_BYTES);
    if (etx_method_set_input(method, i, &tensor, &diag) != ETX_OK) return false;
  }
  return true;
}

static void expect_same_tensors(const etx_method* a, const etx_method* b) {
  for (size_t i = 0; i < a->tensor_count; ++i) {
    const etx_method_tensor* const x = &a->tensors[i];
    const etx_method_tensor* const y = &b->tensors[i];
    const size_t rank = x->value->as.tensor.rank;
    // No record uses it.
    if (etx_method_is_dynamic(x) && a->sizes.tensors[i].alike == ETX_NO_INDEX) {
      continue;
    }
    for (size_t d = 0; d < rank; ++d) {
      assert_int_equal(x->value->as.tensor.sizes[d],
                       y->value->as.tensor.sizes[d]);
      assert_int_equal(x->value->as.tensor.strides[d],
                       y->value->as.tensor.strides[d]);
    }
    assert_int_equal(x->bytes, y->bytes);
    assert_int_equal(x->root, y->root);
    assert_int_equal(x->root_offset, y->root_offset);
  }
}

// Kernels that are prepared again need not state their memory again, so the
// kernels' rows are asked. They give at least what prepare states.
static void expect_same_temporary(const etx_method* a, const etx_method* b) {
  const size_t needed = etx_method_temporary_needed(b);
  assert_int_equal(etx_method_temporary_needed(a), needed);
  for (size_t i = 0; i < b->record_count; ++i) {
    if (b->records[i].kind != ETX_RECORD_KERNEL ||
        b->records[i].late == ETX_RECORD_LATE) {
      continue;
    }
    assert_true(b->records[i].call.temporary_bytes <= needed);
  }
}

// True if a record is prepared ahead by one of them and during the run by the
// program, which keeps what the first phases left to the run.
static bool is_left_to_run(const etx_method_record* a,
                           const etx_method_record* b) {
  assert_true(a->late == b->late || a->late == ETX_RECORD_LATE);
  return a->late != b->late;
}

static void expect_same_steps(const etx_method* a, const etx_method* b) {
  assert_int_equal(a->step_count, b->step_count);
  assert_int_equal(a->first_state_step, b->first_state_step);
  for (size_t i = 0; i < a->step_count; ++i) {
    assert_true(a->steps[i].run == b->steps[i].run);
    assert_int_equal(etx_record_of_call(a->steps[i].call) - a->records,
                     etx_record_of_call(b->steps[i].call) - b->records);
  }
}

static void expect_same_records(const etx_method* a, const etx_method* b) {
  size_t left = 0;
  for (size_t i = 0; i < a->record_count; ++i) {
    const etx_method_record* const x = &a->records[i];
    const etx_method_record* const y = &b->records[i];
    if (is_left_to_run(x, y)) {
      ++left;
      continue;
    }
    if (x->late == ETX_RECORD_LATE) continue;
    if (x->kind == ETX_RECORD_SCALAR) {
      assert_int_equal(a->values[x->slot].as.integer,
                       b->values[y->slot].as.integer);
    }
    if (x->kind != ETX_RECORD_KERNEL) continue;
    assert_true(x->call.run == y->call.run);
    assert_memory_equal(x->call.prepared, y->call.prepared,
                        sizeof x->call.prepared);
    assert_int_equal(x->is_idle, y->is_idle);
  }
  if (left == 0) expect_same_steps(a, b);
}

static void choose_symbols(const method_pair* pair, int64_t* symbols) {
  const etx_blob* const blob = &pair->programs[0].blob;
  for (size_t i = 0; i < etx_blob_symbol_count(blob, pair->in_blob); ++i) {
    const etx_blob_symbol symbol = etx_blob_symbol_at(blob, pair->in_blob, i);
    symbols[i] = test_random_integer(symbol.minimum, symbol.maximum);
  }
}

// Returns the number of vectors that both accepted.
// No sizes may end the use of a size program for those that follow.
static size_t compare(method_pair* pair) {
  size_t accepted = 0;
  etx_method* const a = &pair->loaded[0].method;
  etx_method* const b = &pair->loaded[1].method;
  for (size_t i = 0; i < VECTORS; ++i) {
    int64_t symbols[64];
    choose_symbols(pair, symbols);
    const bool takes = set_inputs(a, pair->in_blob, symbols);
    assert_int_equal(takes, set_inputs(b, pair->in_blob, symbols));
    if (!takes) continue;
    const etx_status wanted = etx_method_prepare(b, &diag);
    assert_int_equal(etx_method_prepare(a, &diag), wanted);
    if (wanted != ETX_OK || !a->sizes.is_used) continue;
    expect_same_tensors(a, b);
    expect_same_temporary(a, b);
    expect_same_records(a, b);
    ++accepted;
  }
  assert_true(accepted == 0 || a->sizes.is_used);
  return accepted;
}

static void open_pair(method_pair* pair, etx_bytes file) {
  etx_limits limits;
  memset(&limits, 0, sizeof limits);
  for (size_t i = 0; i < 2; ++i) {
    limits.calls_shape_functions = i == 1;
    assert_ok(etx_program_open(&pair->programs[i], file, &etx_all_kernels,
                               &limits, &diag));
  }
}

typedef struct program_counts {
  size_t methods;  // with symbols
  size_t used;     // that have a size program
  size_t vectors;  // that were compared
} program_counts;

static void check_method(method_pair* pair, etx_text name,
                         program_counts* counted) {
  uint32_t torn = 0;
  etx_memory_needed needed;
  assert_ok(etx_method_needed(&pair->programs[0], name, &needed, &diag));
  const test_block block = test_block_new(needed.state_bytes, 64);
  const etx_planned_memory state = {block.bytes.data, needed.state_bytes,
                                    &torn};
  char text[64];
  snprintf(text, sizeof text, "%.*s", (int)name.size, name.data);
  for (size_t i = 0; i < 2; ++i) {
    assert_ok(
        test_load(&pair->loaded[i], &pair->programs[i], text, &state, &diag));
  }
  ++counted->methods;
  counted->vectors += compare(pair);
  if (pair->loaded[0].method.sizes.is_used) ++counted->used;
  for (size_t i = 0; i < 2; ++i) assert_true(test_unload(&pair->loaded[i]));
  test_block ended = block;
  assert_true(test_block_end(&ended));
}

static void check_program(etx_bytes file, program_counts* counted) {
  method_pair pair;
  open_pair(&pair, file);
  for (size_t i = 0; i < etx_program_method_count(&pair.programs[0]); ++i) {
    etx_method_info info;
    assert_ok(etx_program_method_at(&pair.programs[0], i, &info));
    if (info.is_constant ||
        !etx_blob_method_find(&pair.programs[0].blob, info.name,
                              &pair.in_blob) ||
        etx_blob_symbol_count(&pair.programs[0].blob, pair.in_blob) == 0) {
      continue;
    }
    check_method(&pair, info.name, counted);
  }
}

static const char* const targets[] = {"etx", "executorch"};

static void sizes_are_those_of_the_shape_functions(void** state) {
  (void)state;
  program_counts counted = {0, 0, 0};
  for (size_t i = 0; i < sizeof sets / sizeof *sets; ++i) {
    for (size_t k = 0; k < (i < BOTH_TARGETS ? 2 : 1); ++k) {
      char program[512], methods[512];
      etx_pte_file file;
      snprintf(methods, sizeof methods, ETX_TEST_DATA "/pt2/%s", sets[i]);
      snprintf(program, sizeof program, "%s/%s.pte", command_directory,
               sets[i]);
      command_expect(0, WORDS(ETX, "plan", methods, "-o", program, "--target",
                              targets[k]));
      assert_ok(etx_pte_file_open(&file, program, &diag));
      check_program(file.program, &counted);
      etx_pte_file_close(&file);
    }
  }
  print_message("%zu of %zu methods have a size program, %zu vectors\n",
                counted.used, counted.methods, counted.vectors);
  assert_true(counted.used >= 20);
  assert_true(counted.vectors >= 20 * VECTORS / 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_are_those_of_the_shape_functions),
  };
  test_random_start();
  return cmocka_run_group_tests(tests, command_set_up, command_tear_down);
}
