// Proves kernel_loops.def by running all test vectors twice:
//
//   check_loops DIR
//
// once with all loops, and once with tables of loops that have only what a
// build that was selected for this very call has (cli/select/selected_loops.h),
// with NULL in place of the others. Both must return the same status and the
// same bits. A call of a loop that is left out ends the program; it names the
// case then.
//
// The tables are those of the baseline instruction set: this program defines
// the functions that choose a table.

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/select/selected_loops.h"
#include "format/ops/chain_steps.h"
#include "runtime/built_loops.h"
#include "runtime/kernels/simd/elementwise/float_loops.h"
#include "runtime/kernels/simd/f32/f32_microkernels.h"
#include "runtime/kernels/simd/recurrent/recurrent_loops.h"
#include "tests/ops/vector_call.h"
#include "tests/ops/vector_tree.h"

// ------------------------------------------------ tables with some loops

static bool is_selecting;
static uint32_t calls[ETX_LOOP_COUNT];

static struct {
  etx_unary_loop unary[ETX_UNARY_COUNT];
  etx_binary_loop binary[ETX_BINARY_COUNT];
  etx_binary_loop whole[ETX_BINARY_COUNT];
  etx_float_loops floats;
  etx_f32_microkernels f32;
  etx_recurrent_loops recurrent;
} selected;

const etx_float_loops* etx_float_loops_of(etx_instruction_set set) {
  (void)set;
  return is_selecting ? &selected.floats : &etx_float_loops_base;
}

const etx_f32_microkernels* etx_f32_microkernels_of(etx_instruction_set set) {
  (void)set;
  return is_selecting ? &selected.f32 : &etx_f32_microkernels_base;
}

const etx_recurrent_loops* etx_recurrent_loops_of(etx_instruction_set set) {
  (void)set;
  return is_selecting ? &selected.recurrent : &etx_recurrent_loops_base;
}

static bool has(etx_loop_id loop, uint32_t types) {
  return (ETX_LOOP_TYPES(calls[loop]) & types) != 0;
}

#define KEEP(table, name, types, field)                              \
  do {                                                               \
    if (!has(ETX_LOOP_ID_##table##_##name, (types))) (field) = NULL; \
  } while (0)
#define KEEP_ANY(table, name, field) KEEP(table, name, UINT32_MAX, field)

static void select_floats(void) {
  selected.floats = etx_float_loops_base;
  memcpy(selected.unary, selected.floats.unary, sizeof selected.unary);
  memcpy(selected.binary, selected.floats.binary, sizeof selected.binary);
  memcpy(selected.whole, selected.floats.whole, sizeof selected.whole);
  selected.floats.unary = selected.unary;
  selected.floats.binary = selected.binary;
  selected.floats.whole = selected.whole;
#define UNARY(name) \
  KEEP(unary, name, ETX_LOOP_F32, selected.unary[ETX_UNARY_##name]);
#define NUMERIC(name, ...) UNARY(name)
#define FLOATING(name, ...) UNARY(name)
#define PREDICATE(name, ...) UNARY(name)
#include "runtime/kernels/simd/elementwise/unary_ops.def"
#define BINARY(name)                                                    \
  KEEP(binary, name, ETX_LOOP_F32, selected.binary[ETX_BINARY_##name]); \
  KEEP(binary, name, ETX_LOOP_I64, selected.whole[ETX_BINARY_##name]);
#define NUMERIC(name, ...) BINARY(name)
#define FLOATING(name, ...) BINARY(name)
#define FLOAT32(name, ...) BINARY(name)
#define COMPARISON(name, ...) BINARY(name)
#define INTEGRAL(name, ...) BINARY(name)
#include "runtime/kernels/simd/elementwise/binary_ops.def"
  KEEP_ANY(floats, spread, selected.floats.spread);
  KEEP_ANY(floats, bits, selected.floats.bits);
  KEEP_ANY(floats, transpose_16x16, selected.floats.transpose_16x16);
  KEEP_ANY(floats, softmax, selected.floats.rows.scale);
  KEEP_ANY(floats, softmax, selected.floats.rows.raise);
  KEEP_ANY(floats, normalize, selected.floats.rows.normalize);
}

static void select_f32(void) {
  etx_f32_microkernels* const f = &selected.f32;
  *f = etx_f32_microkernels_base;
  KEEP(f32, gemm_by_type, ETX_LOOP_I64, f->gemm_by_type[ETX_COMPUTE_I64]);
  if (!has(ETX_LOOP_ID_f32_gemm_float, ETX_LOOP_F32)) {
    KEEP(f32, gemm_by_type, ETX_LOOP_F32, f->gemm_by_type[ETX_COMPUTE_F32]);
  }
  KEEP(f32, gemm_by_type, ETX_LOOP_F64, f->gemm_by_type[ETX_COMPUTE_F64]);
  KEEP_ANY(f32, dots, f->dots);
  KEEP_ANY(f32, gemm_small, f->gemm_small);
  KEEP_ANY(f32, transpose_pack, f->transpose_pack);
  KEEP_ANY(f32, copy_rows, f->copy_rows);
  KEEP_ANY(f32, store_rows, f->store_rows);
  KEEP_ANY(f32, depthwise_row, f->depthwise_row);
  KEEP_ANY(f32, max_pool_row, f->max_pool_row);
  KEEP_ANY(f32, attention_weights, f->attention_weights);
  KEEP_ANY(f32, conv_oc_dense, f->conv_oc_dense);
  KEEP_ANY(f32, conv_oc, f->conv_oc);
  KEEP_ANY(f32, conv_oc_store, f->conv_oc_store);
  KEEP_ANY(f32, winograd, f->winograd.input);
  KEEP_ANY(f32, winograd, f->winograd.weights);
  KEEP_ANY(f32, winograd, f->winograd.output);
}

static void select_recurrent(void) {
  etx_recurrent_loops* const r = &selected.recurrent;
  *r = etx_recurrent_loops_base;
  KEEP_ANY(recurrent, panel_dots, r->panel_dots);
  KEEP_ANY(recurrent, gru, r->gates_by_cell[ETX_CELL_GRU]);
  KEEP_ANY(recurrent, lstm, r->gates_by_cell[ETX_CELL_LSTM]);
  KEEP_ANY(recurrent, rnn_tanh, r->gates_by_cell[ETX_CELL_RNN_TANH]);
  KEEP_ANY(recurrent, rnn_relu, r->gates_by_cell[ETX_CELL_RNN_RELU]);
}

// ------------------------------------------------ what a call is selected for

static uint32_t dtype_bit(const etx_value* value) {
  if (value == NULL || value->kind != ETX_VALUE_TENSOR) return 0;
  return UINT32_C(1) << value->as.tensor.dtype;
}

static void add_value(const etx_value* value, uint32_t* dtypes,
                      uint64_t* steps) {
  *dtypes |= dtype_bit(value);
  if (value->kind == ETX_VALUE_TENSORS) {
    for (size_t i = 0; i < value->as.tensors.count; ++i) {
      *dtypes |= dtype_bit(value->as.tensors.items[i]);
    }
  }
  uint8_t words[ETX_CHAIN_STEPS_MAX];
  size_t count = 0;
  if (value->kind != ETX_VALUE_STRING ||
      !etx_chain_steps_read(value->as.string, ETX_CHAIN_MAX_OTHERS, words,
                            &count)) {
    return;
  }
  for (size_t i = 0; i < count; ++i) *steps |= etx_chain_step_bit(words[i]);
}

static void select_loops_of(const vector_call* c) {
  uint32_t dtypes = 0;
  uint64_t steps = 0;
  for (size_t i = 0; i < c->count; ++i) {
    add_value(&c->values[i], &dtypes, &steps);
  }
  memset(calls, 0, sizeof calls);
  etx_loops_add(c->op->id, dtypes, steps, calls);
  select_floats();
  select_f32();
  select_recurrent();
}

// ------------------------------------------------ all vectors

typedef struct loop_counts {
  size_t equal, failed, skipped;
} loop_counts;

static const char* running = "";

// The only way to a loop that is left out is through NULL.
static void name_the_case(int signal_number) {
  static const char text[] = "a loop that is left out was called by ";
  (void)signal_number;
  (void)!write(STDERR_FILENO, text, sizeof text - 1);
  (void)!write(STDERR_FILENO, running, strlen(running));
  (void)!write(STDERR_FILENO, "\n", 1);
  _exit(7);
}

static etx_status build_and_run(vector_call* c, const vector_file* file,
                                json_t* test_case, bool selects) {
  if (vector_call_build(c, file, test_case, VECTOR_AS_STATED) != NULL) {
    return ETX_UNSUPPORTED;
  }
  if (selects) select_loops_of(c);
  is_selecting = selects;
  etx_status status = vector_call_size(c, false);
  if (status == ETX_OK) status = vector_call_run(c);
  is_selecting = false;
  return status;
}

static bool outputs_are_equal(const vector_call* a, const vector_call* b) {
  for (size_t i = 0; i < a->output_count; ++i) {
    const etx_tensor* const x = &a->outputs[i]->as.tensor;
    const etx_tensor* const y = &b->outputs[i]->as.tensor;
    if (memcmp(x->data, y->data, etx_tensor_bytes(x)) != 0) return false;
  }
  return true;
}

static void check_case(void* context, const vector_file* file,
                       json_t* test_case) {
  loop_counts* const t = context;
  vector_call all, some;
  running = json_string_value(json_object_get(test_case, "id"));
  const etx_status expected = build_and_run(&all, file, test_case, false);
  const etx_status found = build_and_run(&some, file, test_case, true);
  if (expected != found) {
    ++t->failed;
    printf("FAILED %s: %s, expected %s: %s\n", running, etx_status_name(found),
           etx_status_name(expected), some.diag.text);
  } else if (expected != ETX_OK) {
    ++t->skipped;
  } else if (!outputs_are_equal(&all, &some)) {
    ++t->failed;
    printf("FAILED %s: the results differ\n", running);
  } else {
    ++t->equal;
  }
  vector_call_end(&all);
  vector_call_end(&some);
}

int main(int count, char** arguments) {
  if (count != 2) {
    fprintf(stderr, "usage: check_loops DIR\n");
    return 2;
  }
  loop_counts t = {0};
  signal(SIGSEGV, name_the_case);
  t.failed += vector_tree_walk(arguments[1], check_case, &t);
  printf("%zu equal, %zu failed, %zu skipped\n", t.equal, t.failed, t.skipped);
  return t.failed > 0 || t.equal == 0 ? 6 : 0;
}
