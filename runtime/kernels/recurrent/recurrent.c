// One direction of one recurrent layer (GRU, LSTM, plain RNN) over all steps.
// `input` has the input's part of the gates of every step, which one linear
// layer computed. A step multiplies the hidden state by the hidden weights and
// applies the gates (recurrent_loops.h).
//
// All results have the bits of the same steps as single operators (linear, add,
// sigmoid, ..). So the products of few rows are dot products, as linear's are.
// A unit needs only the hidden state of the step before, so threads share the
// units: each one computes its products gate by gate, then the gates.
//
//   w_hh  .------.
//         | r    |  a thread has some rows of each gate, in pieces
//         | z    |
//         | n    |  odd steps read the pieces backwards
//         '------'
//
// The weights are often larger than a cache. Read in the same order by every
// step, they would all have been evicted when they are read again. A step that
// reads them in the opposite order finds the last ones still in the cache.
//
// The time of a single row is that of reading the weights. Nothing comes
// between the pieces, because the hardware prefetcher then follows long streams
// of memory: with the gates of each piece after it, a step takes 3 % longer.

#include <string.h>

#include "format/base/checked_math.h"
#include "runtime/kernels/core/parallel_for.h"
#include "runtime/kernels/matmul/gemm.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/registry/temporary_kernels.h"
#include "runtime/kernels/simd/f32/f32_microkernels.h"
#include "runtime/kernels/simd/recurrent/recurrent_loops.h"

enum {
  // The arguments before the out tensors; only an LSTM has a cell.
  INPUT = ETX_ARG_lstm_sequence_input,
  HIDDEN = ETX_ARG_lstm_sequence_hx,
  WEIGHT = ETX_ARG_lstm_sequence_w_hh,
  BIAS = ETX_ARG_lstm_sequence_b_hh,
  REVERSE = ETX_ARG_lstm_sequence_reverse,
  BATCH_FIRST = ETX_ARG_lstm_sequence_batch_first,
  CELL = ETX_ARG_lstm_sequence_cx,
  BLOCK = 16,   // units that threads share: a panel of each gate
  PIECE = 128,  // units that are read at once, in the order of memory
  // Rows from which on one product of all gates is faster: it is not split into
  // dot products either (gemm.h).
  MANY_ROWS = ETX_GEMM_NT_ROWS + 1,
};

typedef struct recurrent_step {
  etx_cell_kind kind;
  size_t gates;        // of a unit
  size_t rows, units;  // sizes of the hidden state
  const float* input;  // of this step
  ptrdiff_t input_row;
  const float* hidden;  // the state after the step before
  ptrdiff_t hidden_row;
  float* out;  // the state after this step
  ptrdiff_t out_row;
  float* cell;          // [rows, units] of an LSTM, updated in place
  const float* weight;  // [gates * units, units], or panels of it
  const float* bias;    // [gates * units], or NULL
  float* products;      // [rows, gates, units]: the hidden part of the gates
  const etx_f32_microkernels* loops;
  const etx_recurrent_loops* row_loops;
  bool has_panels;    // the weight: [.. / 16, units, 16]
  bool is_backwards;  // reads the blocks backwards
} recurrent_step;

// ------------------------------------------------ steps

// The hidden part of one gate of some units.
static void multiply(const recurrent_step* s, size_t gate, size_t first,
                     size_t count) {
  const size_t column = gate * s->units + first;
  const float* weight = s->weight + column * s->units;
  if (s->has_panels) {
    s->row_loops->panel_dots(&(etx_panel_dots){.out = s->products + column,
                                               .left = s->hidden,
                                               .panels = weight,
                                               .panel_count = count / BLOCK,
                                               .count = s->units});
    return;
  }
  s->loops->dots(&(etx_gemm_nt){.out = s->products + column,
                                .out_row = (ptrdiff_t)(s->gates * s->units),
                                .left = s->hidden,
                                .left_row = s->hidden_row,
                                .right = weight,
                                .right_row = (ptrdiff_t)s->units,
                                .rows = s->rows,
                                .columns = count,
                                .count = s->units});
}

// The units of `g` that are fewer than ETX_GATES_UNITS, in a copy with that
// many.
static void apply_last_gates(const recurrent_step* s, const etx_gates* g) {
  enum { UNITS = ETX_GATES_UNITS, GATES = 4 };
  float parts[3][GATES][UNITS] = {{{0}}}, states[3][UNITS] = {{0}};
  const float* const from[] = {g->products, g->input, g->bias};
  const size_t bytes = g->count * sizeof(float);
  for (size_t i = 0; i < 3 * s->gates; ++i) {
    const size_t part = i % 3, gate = i / 3;
    if (from[part] == NULL) continue;
    memcpy(parts[part][gate], from[part] + gate * g->gate_step, bytes);
  }
  memcpy(states[0], g->hidden, bytes);
  if (g->cell != NULL) memcpy(states[1], g->cell, bytes);
  s->row_loops->gates_by_cell[s->kind](
      &(etx_gates){.count = UNITS,
                   .gate_step = UNITS,
                   .products = parts[0][0],
                   .input = parts[1][0],
                   .bias = g->bias == NULL ? NULL : parts[2][0],
                   .hidden = states[0],
                   .cell = states[1],
                   .out = states[2]});
  if (g->cell != NULL) memcpy(g->cell, states[1], bytes);
  memcpy(g->out, states[2], bytes);
}

// Applies the gates to some units of one row.
static void apply_gates(const recurrent_step* s, size_t row, size_t first,
                        size_t count) {
  const ptrdiff_t at = (ptrdiff_t)row;
  const size_t rest = count % ETX_GATES_UNITS, whole = count - rest;
  etx_gates g = {
      .count = whole,
      .gate_step = s->units,
      .products = s->products + row * s->gates * s->units + first,
      .input = s->input + at * s->input_row + first,
      .bias = s->bias == NULL ? NULL : s->bias + first,
      .hidden = s->hidden + at * s->hidden_row + first,
      .cell = s->cell == NULL ? NULL : s->cell + row * s->units + first,
      .out = s->out + at * s->out_row + first};
  s->row_loops->gates_by_cell[s->kind](&g);
  if (rest == 0) return;
  g.count = rest;
  g.products += whole;
  g.input += whole;
  if (g.bias != NULL) g.bias += whole;
  g.hidden += whole;
  if (g.cell != NULL) g.cell += whole;
  g.out += whole;
  apply_last_gates(s, &g);
}

// Computes the units of the blocks [first, end).
static void run_blocks(const void* context, size_t first, size_t end) {
  const recurrent_step* s = context;
  const size_t unit = first * BLOCK;
  const size_t count = (end * BLOCK < s->units ? end * BLOCK : s->units) - unit;
  const size_t pieces = (count + PIECE - 1) / PIECE;
  const size_t last = s->gates * pieces - 1;
  for (size_t i = 0; i <= last; ++i) {
    const size_t at = s->is_backwards ? last - i : i;
    const size_t done = at % pieces * PIECE, left = count - done;
    multiply(s, at / pieces, unit + done, left < PIECE ? left : PIECE);
  }
  for (size_t row = 0; row < s->rows; ++row) apply_gates(s, row, unit, count);
}

static void run_rows(const void* context, size_t first, size_t end) {
  const recurrent_step* s = context;
  for (size_t row = first; row < end; ++row) apply_gates(s, row, 0, s->units);
}

// The product of a step with many rows.
static etx_gemm product_of_step(const recurrent_step* s) {
  const size_t all = s->gates * s->units;
  return (etx_gemm){.rows = s->rows,
                    .columns = all,
                    .inner = s->units,
                    .dtype = ETX_DTYPE_FLOAT32,
                    .right_dtype = ETX_DTYPE_FLOAT32,
                    .left = (const char*)s->hidden,
                    .left_row = s->hidden_row,
                    .left_inner = 1,
                    .right = (const char*)s->weight,
                    .right_inner = 1,
                    .right_column = (ptrdiff_t)s->units,
                    .has_panels = s->has_panels,
                    .out = (char*)s->products,
                    .out_row = (ptrdiff_t)all};
}

static void run_step(const recurrent_step* s, const etx_parallel* parallel,
                     void* temporary) {
  const size_t all = s->gates * s->units;
  const bool are_blocks = s->has_panels ? s->rows == 1 && s->units % BLOCK == 0
                                        : s->rows < MANY_ROWS;
  if (are_blocks) {
    // A single row reads one weight for each step, as in gemm.c.
    const double work =
        (double)(s->rows > 1 ? s->rows : 2) * (double)all * (double)s->units;
    etx_parallel_for_repeated(parallel, (s->units + BLOCK - 1) / BLOCK, work,
                              run_blocks, s);
    return;
  }
  const etx_gemm product = product_of_step(s);
  etx_gemm_run(&product, parallel, temporary);
  // A gate takes about as long as ten products.
  etx_parallel_for(parallel, s->rows, 10.0 * (double)s->rows * (double)all,
                   run_rows, s);
}

// The state before the first step is copied to the results: without a step they
// are what is returned.
static etx_status run(etx_call* call, etx_cell_kind kind) {
  static const size_t gates_of[ETX_CELL_KINDS] = {3, 4, 1, 1};
  const etx_tensor* input = etx_call_tensor(call, INPUT);
  const etx_tensor* hidden = etx_call_tensor(call, HIDDEN);
  const bool has_cell = kind == ETX_CELL_LSTM;
  const size_t gates = gates_of[kind];
  const size_t out = has_cell ? CELL + 1 : CELL;
  const bool batch_first = etx_call_boolean(call, BATCH_FIRST);
  const bool is_reverse = etx_call_boolean(call, REVERSE);
  const size_t steps = (size_t)input->sizes[batch_first ? 1 : 0];
  const etx_instruction_set set =
      etx_instruction_set_within(call->parallel->instruction_set);
  recurrent_step s = {.kind = kind,
                      .gates = gates,
                      .rows = (size_t)hidden->sizes[0],
                      .units = (size_t)hidden->sizes[1],
                      .hidden = hidden->data,
                      .weight = etx_call_tensor(call, WEIGHT)->data,
                      .has_panels = etx_call_tensor(call, WEIGHT)->rank == 3,
                      .products = call->temporary,
                      .loops = etx_f32_microkernels_of(set),
                      .row_loops = etx_recurrent_loops_of(set)};
  const size_t bytes = s.rows * s.units * sizeof(float);
  if (bytes == 0) return ETX_OK;
  const size_t all = gates * s.units;
  const size_t products = s.rows * all;
  if (!etx_call_is_none(call, BIAS)) {
    s.bias = etx_call_tensor(call, BIAS)->data;
  }
  if (has_cell) {
    s.cell = etx_call_tensor(call, out + 2)->data;
    memcpy(s.cell, etx_call_tensor(call, CELL)->data, bytes);
  }
  s.hidden_row = (ptrdiff_t)s.units;
  s.input_row = (ptrdiff_t)(batch_first ? steps * all : all);
  s.out_row = (ptrdiff_t)(batch_first ? steps * s.units : s.units);
  const size_t apart = batch_first ? 1 : s.rows;
  for (size_t i = 0; i < steps; ++i) {
    const size_t step = (is_reverse ? steps - 1 - i : i) * apart;
    s.input = (const float*)input->data + step * all;
    s.out = (float*)etx_call_tensor(call, out)->data + step * s.units;
    s.is_backwards = i % 2 == 1;
    run_step(&s, call->parallel, s.products + products);
    s.hidden = s.out;
    s.hidden_row = s.out_row;
  }
  float* last = etx_call_tensor(call, out + 1)->data;
  for (size_t row = 0; row < s.rows; ++row, last += s.units) {
    memcpy(last, s.hidden + (ptrdiff_t)row * s.hidden_row,
           s.units * sizeof(float));
  }
  return ETX_OK;
}

static etx_status run_gru(etx_call* call) { return run(call, ETX_CELL_GRU); }
static etx_status run_lstm(etx_call* call) { return run(call, ETX_CELL_LSTM); }
static etx_status run_rnn_tanh(etx_call* call) {
  return run(call, ETX_CELL_RNN_TANH);
}
static etx_status run_rnn_relu(etx_call* call) {
  return run(call, ETX_CELL_RNN_RELU);
}

static etx_status prepare(etx_call* call, etx_kernel_function run_function) {
  const size_t count = call->argument_count;
  for (size_t i = 0; i < count; ++i) {
    if (i == REVERSE || i == BATCH_FIRST) continue;
    if (i == BIAS && etx_call_is_none(call, i)) continue;
    ETX_TRY(etx_call_check_dtype(call, i, ETX_DTYPE_FLOAT32));
    ETX_TRY(etx_call_check_contiguous(call, i));
  }
  if (!etx_call_is_again(call)) {
    ETX_TRY(etx_temporary_recurrent(call, &call->temporary_bytes));
  }
  call->run = run_function;
  return ETX_OK;
}

etx_status etx_kernel_gru_sequence_out_prepare(etx_call* call) {
  return prepare(call, run_gru);
}
etx_status etx_kernel_lstm_sequence_out_prepare(etx_call* call) {
  return prepare(call, run_lstm);
}
etx_status etx_kernel_rnn_tanh_sequence_out_prepare(etx_call* call) {
  return prepare(call, run_rnn_tanh);
}
etx_status etx_kernel_rnn_relu_sequence_out_prepare(etx_call* call) {
  return prepare(call, run_rnn_relu);
}

// The hidden part of all gates, and behind it the memory of their product.
// Planned before the arguments are checked.
etx_status etx_temporary_recurrent(const etx_call* call, size_t* out_bytes) {
  const etx_tensor* input = etx_call_tensor(call, INPUT);
  const etx_tensor* hidden = etx_call_tensor(call, HIDDEN);
  *out_bytes = 0;
  if (input->rank != 3 || hidden->rank != 2) return ETX_OK;
  size_t count = 0, product_bytes = 0;
  const etx_gemm product = {
      .rows = (size_t)hidden->sizes[0],
      .columns = (size_t)input->sizes[2],
      .inner = (size_t)hidden->sizes[1],
      .dtype = ETX_DTYPE_FLOAT32,
      .right_dtype = ETX_DTYPE_FLOAT32,
      .has_panels = etx_call_tensor(call, WEIGHT)->rank == 3};
  const bool uses_product = product.rows >= MANY_ROWS && !product.has_panels;
  const bool fits =
      etx_multiply_size(product.rows, product.columns, &count) &&
      etx_multiply_size(count, sizeof(float), out_bytes) &&
      (!uses_product ||
       (etx_gemm_temporary(&product, call->parallel, &product_bytes) &&
        etx_add_size(*out_bytes, product_bytes, out_bytes)));
  if (fits) return ETX_OK;
  return etx_call_refuse(call, ETX_OUT_OF_RANGE,
                         "the workspace for the gates overflows");
}
