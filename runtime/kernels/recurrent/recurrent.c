// One direction of one recurrent layer (GRU, LSTM, plain RNN) over all steps.
// `input` has the input's part of the gates of every step, which one linear
// layer computed. A step multiplies the hidden state by the hidden weights and
// applies the gates.
//
//   gru   r = sigmoid(x_r + h_r)    z = sigmoid(x_z + h_z)
//         n = tanh(x_n + r h_n)     h' = n + z (h - n)
//   lstm  i, f, o = sigmoid(x + h)  g = tanh(x_g + h_g)
//         c' = f c + i g            h' = o tanh(c')
//   rnn   h' = tanh(x + h), or relu
//
// All results have the bits of the same steps as single operators (linear, add,
// sigmoid, ..). So the products of few rows are dot products, as linear's are.
// They are computed in blocks of hidden units: the rows of all gates for some
// units, then these gates. A block needs only the hidden state of the step
// before, so threads share the blocks.
//
//   w_hh  .------.
//         | r    |  a block of units has some rows of each gate
//         | z    |
//         | n    |  odd steps read the blocks backwards
//         '------'
//
// The weights are often larger than a cache. Read in the same order by every
// step, they would all have been evicted when they are read again. A step that
// reads them in the opposite order finds the last ones still in the cache.

#include <string.h>

#include "format/base/checked_math.h"
#include "runtime/kernels/core/loop_apply.h"
#include "runtime/kernels/matmul/gemm.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/registry/temporary_kernels.h"
#include "runtime/kernels/simd/elementwise/float_loops.h"
#include "runtime/kernels/simd/f32/f32_microkernels.h"

enum {
  // The arguments before the out tensors; only an LSTM has a cell.
  INPUT = ETX_ARG_lstm_sequence_input,
  HIDDEN = ETX_ARG_lstm_sequence_hx,
  WEIGHT = ETX_ARG_lstm_sequence_w_hh,
  BIAS = ETX_ARG_lstm_sequence_b_hh,
  REVERSE = ETX_ARG_lstm_sequence_reverse,
  BATCH_FIRST = ETX_ARG_lstm_sequence_batch_first,
  CELL = ETX_ARG_lstm_sequence_cx,
  UNITS = 16,          // of a block: the columns that `dots` computes at a time
  BLOCKS_AT_ONCE = 8,  // with fewer, calls of `dots` take 5 % of the time
  // Rows from which on one product of all gates is faster: it is not split into
  // dot products either (gemm.h).
  MANY_ROWS = ETX_GEMM_NT_ROWS + 1,
};

typedef struct recurrent_step recurrent_step;

// Some hidden units of one row of the batch.
typedef struct unit_range {
  size_t row, first, count;
  float* products;  // [gates, count]: the hidden part of the gates
} unit_range;

// Applies the gates to some units.
typedef void (*gates_function)(const recurrent_step* s, const unit_range* u);

struct recurrent_step {
  gates_function apply;
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
  // For each block of units: [rows, gates, units of the block]. One block has
  // all units if there are many rows.
  float* products;
  const etx_f32_microkernels* loops;
  const etx_unary_loop* functions;  // by etx_unary_function
  bool has_panels;                  // the weight: [.. / 16, units, 16]
  bool is_backwards;                // reads the blocks backwards
};

// ------------------------------------------------ gates

static void apply_function(const recurrent_step* s, etx_unary_function function,
                           float* out, const float* in, size_t count) {
  static const etx_scalar none[ETX_UNARY_PARAMETERS];
  etx_unary_apply(s->functions[function],
                  (etx_loop_bytes){sizeof(float), sizeof(float)}, out, in,
                  count, none);
}

// to = from + to.
static void add(float* restrict to, const float* restrict from, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = from[i] + to[i];
}

// The hidden part of a gate, with its bias.
static float* hidden_part(const recurrent_step* s, const unit_range* u,
                          size_t gate) {
  float* part = u->products + gate * u->count;
  if (s->bias != NULL)
    add(part, s->bias + gate * s->units + u->first, u->count);
  return part;
}

static const float* input_part(const recurrent_step* s, const unit_range* u,
                               size_t gate) {
  return s->input + (ptrdiff_t)u->row * s->input_row + gate * s->units +
         u->first;
}

// The sum of both parts of a gate.
static float* summed_part(const recurrent_step* s, const unit_range* u,
                          size_t gate) {
  float* part = hidden_part(s, u, gate);
  add(part, input_part(s, u, gate), u->count);
  return part;
}

static float* out_of(const recurrent_step* s, const unit_range* u) {
  return s->out + (ptrdiff_t)u->row * s->out_row + u->first;
}

static void mix_gru(float* restrict out, const float* restrict fresh,
                    const float* restrict update, const float* restrict hidden,
                    size_t count) {
  for (size_t i = 0; i < count; ++i) {
    out[i] = fresh[i] + update[i] * (hidden[i] - fresh[i]);
  }
}

static void reset_fresh(float* restrict fresh, const float* restrict reset,
                        const float* restrict input, size_t count) {
  for (size_t i = 0; i < count; ++i) fresh[i] = input[i] + reset[i] * fresh[i];
}

static void apply_gru(const recurrent_step* s, const unit_range* u) {
  float* reset = summed_part(s, u, 0);
  const float* update = summed_part(s, u, 1);
  float* fresh = hidden_part(s, u, 2);
  apply_function(s, ETX_UNARY_sigmoid, reset, reset, 2 * u->count);
  reset_fresh(fresh, reset, input_part(s, u, 2), u->count);
  apply_function(s, ETX_UNARY_tanh, fresh, fresh, u->count);
  mix_gru(out_of(s, u), fresh, update,
          s->hidden + (ptrdiff_t)u->row * s->hidden_row + u->first, u->count);
}

static void update_cell(float* restrict cell, const float* restrict keep,
                        const float* restrict enter,
                        const float* restrict fresh, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    cell[i] = keep[i] * cell[i] + enter[i] * fresh[i];
  }
}

static void multiply(float* restrict out, const float* restrict a,
                     const float* restrict b, size_t count) {
  for (size_t i = 0; i < count; ++i) out[i] = a[i] * b[i];
}

static void apply_lstm(const recurrent_step* s, const unit_range* u) {
  float* enter = summed_part(s, u, 0);
  const float* keep = summed_part(s, u, 1);
  float* fresh = summed_part(s, u, 2);
  float* leave = summed_part(s, u, 3);
  float* cell = s->cell + u->row * s->units + u->first;
  apply_function(s, ETX_UNARY_sigmoid, enter, enter, 2 * u->count);
  apply_function(s, ETX_UNARY_tanh, fresh, fresh, u->count);
  apply_function(s, ETX_UNARY_sigmoid, leave, leave, u->count);
  update_cell(cell, keep, enter, fresh, u->count);
  apply_function(s, ETX_UNARY_tanh, fresh, cell, u->count);
  multiply(out_of(s, u), leave, fresh, u->count);
}

static void apply_rnn_tanh(const recurrent_step* s, const unit_range* u) {
  const float* sum = summed_part(s, u, 0);
  apply_function(s, ETX_UNARY_tanh, out_of(s, u), sum, u->count);
}

static void apply_rnn_relu(const recurrent_step* s, const unit_range* u) {
  const float* sum = summed_part(s, u, 0);
  apply_function(s, ETX_UNARY_relu, out_of(s, u), sum, u->count);
}

// ------------------------------------------------ steps

// Prefetches what is added to the products: the weights, which are read in
// between, have evicted it since the step before.
static void prefetch_addends(const recurrent_step* s, const unit_range* u) {
  enum { LINE = 16 };  // floats
  for (size_t gate = 0; gate < s->gates; ++gate) {
    const float* input = input_part(s, u, gate);
    for (size_t i = 0; i < u->count; i += LINE) {
      __builtin_prefetch(input + i);
      if (s->bias == NULL) continue;
      __builtin_prefetch(s->bias + gate * s->units + u->first + i);
    }
  }
}

static void run_units(const recurrent_step* s, size_t first, size_t count) {
  const size_t width = s->gates * count;
  unit_range u = {.first = first,
                  .count = count,
                  .products = s->products + s->rows * s->gates * first};
  prefetch_addends(s, &u);
  for (size_t gate = 0; gate < s->gates; ++gate) {
    const etx_gemm_nt b = {
        .out = u.products + gate * count,
        .out_row = (ptrdiff_t)width,
        .left = s->hidden,
        .left_row = s->hidden_row,
        .right = s->weight + (gate * s->units + first) * s->units,
        .right_row = (ptrdiff_t)s->units,
        .rows = s->rows,
        .columns = count,
        .count = s->units};
    s->loops->dots(&b);
  }
  for (; u.row < s->rows; ++u.row, u.products += width) s->apply(s, &u);
}

// Computes the blocks [first, end), some at a time.
static void run_blocks(const void* context, size_t first, size_t end) {
  const recurrent_step* s = context;
  for (size_t done = first; done < end; done += BLOCKS_AT_ONCE) {
    const size_t left = end - done;
    const size_t blocks = left < BLOCKS_AT_ONCE ? left : BLOCKS_AT_ONCE;
    const size_t block = s->is_backwards ? first + end - done - blocks : done;
    const size_t unit = block * UNITS, rest = s->units - unit;
    run_units(s, unit, rest < blocks * UNITS ? rest : blocks * UNITS);
  }
}

static void run_rows(const void* context, size_t first, size_t end) {
  const recurrent_step* s = context;
  const size_t width = s->gates * s->units;
  for (size_t row = first; row < end; ++row) {
    const unit_range u = {row, 0, s->units, s->products + row * width};
    s->apply(s, &u);
  }
}

static void run_step(const recurrent_step* s, const etx_parallel* parallel) {
  const size_t all = s->gates * s->units;
  if (s->rows < MANY_ROWS && !s->has_panels) {
    // A single row reads one weight for each step, as in gemm.c.
    const double work =
        (double)(s->rows > 1 ? s->rows : 2) * (double)all * (double)s->units;
    etx_parallel_for_repeated(parallel, (s->units + UNITS - 1) / UNITS, work,
                              run_blocks, s);
    return;
  }
  const etx_gemm product = {.rows = s->rows,
                            .columns = all,
                            .inner = s->units,
                            .dtype = ETX_DTYPE_FLOAT32,
                            .left = (const char*)s->hidden,
                            .left_row = s->hidden_row,
                            .left_inner = 1,
                            .right = (const char*)s->weight,
                            .right_inner = 1,
                            .right_column = (ptrdiff_t)s->units,
                            .has_panels = s->has_panels,
                            .out = (char*)s->products,
                            .out_row = (ptrdiff_t)all};
  etx_gemm_run(&product, parallel);
  // A gate takes about as long as ten products.
  etx_parallel_for(parallel, s->rows, 10.0 * (double)s->rows * (double)all,
                   run_rows, s);
}

// The state before the first step is copied to the results: without a step they
// are what is returned.
static etx_status run(etx_call* call, gates_function apply, size_t gates) {
  const etx_tensor* input = etx_call_tensor(call, INPUT);
  const etx_tensor* hidden = etx_call_tensor(call, HIDDEN);
  const bool has_cell = apply == apply_lstm;
  const size_t out = has_cell ? CELL + 1 : CELL;
  const bool batch_first = etx_call_boolean(call, BATCH_FIRST);
  const bool is_reverse = etx_call_boolean(call, REVERSE);
  const size_t steps = (size_t)input->sizes[batch_first ? 1 : 0];
  const etx_instruction_set set =
      etx_instruction_set_within(call->parallel->instruction_set);
  recurrent_step s = {.apply = apply,
                      .gates = gates,
                      .rows = (size_t)hidden->sizes[0],
                      .units = (size_t)hidden->sizes[1],
                      .hidden = hidden->data,
                      .weight = etx_call_tensor(call, WEIGHT)->data,
                      .has_panels = etx_call_tensor(call, WEIGHT)->rank == 3,
                      .products = call->temporary,
                      .loops = etx_f32_microkernels_of(set),
                      .functions = etx_float_loops_of(set)->unary};
  const size_t bytes = s.rows * s.units * sizeof(float);
  if (bytes == 0) return ETX_OK;
  const size_t all = gates * s.units;
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
    run_step(&s, call->parallel);
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

static etx_status run_gru(etx_call* call) { return run(call, apply_gru, 3); }
static etx_status run_lstm(etx_call* call) { return run(call, apply_lstm, 4); }
static etx_status run_rnn_tanh(etx_call* call) {
  return run(call, apply_rnn_tanh, 1);
}
static etx_status run_rnn_relu(etx_call* call) {
  return run(call, apply_rnn_relu, 1);
}

static etx_status prepare(etx_call* call, etx_kernel_function run_function) {
  const size_t count = call->argument_count;
  for (size_t i = 0; i < count; ++i) {
    if (i == REVERSE || i == BATCH_FIRST) continue;
    if (i == BIAS && etx_call_is_none(call, i)) continue;
    ETX_TRY(etx_call_check_dtype(call, i, ETX_DTYPE_FLOAT32));
    ETX_TRY(etx_call_check_contiguous(call, i));
  }
  call->run = run_function;
  return etx_temporary_recurrent(call, &call->temporary_bytes);
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

// The hidden part of all gates. Planned before the arguments are checked.
etx_status etx_temporary_recurrent(const etx_call* call, size_t* out_bytes) {
  const etx_tensor* input = etx_call_tensor(call, INPUT);
  const etx_tensor* hidden = etx_call_tensor(call, HIDDEN);
  *out_bytes = 0;
  if (input->rank != 3 || hidden->rank != 2) return ETX_OK;
  size_t count = 0;
  const bool fits = etx_multiply_size((size_t)hidden->sizes[0],
                                      (size_t)input->sizes[2], &count) &&
                    etx_multiply_size(count, sizeof(float), out_bytes);
  if (fits) return ETX_OK;
  return etx_call_refuse(call, ETX_OUT_OF_RANGE,
                         "the workspace for the gates overflows");
}
