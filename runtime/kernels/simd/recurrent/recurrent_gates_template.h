// The gates of recurrent layers (recurrent_loops.h). Include after
// sigmoid_template.h. All sets give the same bits, which are those of the
// single operators add, mul, sub, sigmoid and tanh.
//
//   VECTOR_BYTES          required  bytes of a vector register: 16, 32 or 64
//   ETX_F32_FMA(a, b, c)  required  a * b + c, rounded once:
//                                   f32_vec_template.h

#if !defined(VECTOR_BYTES) || !defined(ETX_F32_FMA)
#error "this header needs the macros of its table"
#endif

#include <string.h>

#include "runtime/kernels/simd/recurrent/recurrent_loops.h"

// Both functions are large: one copy of each where size counts, or where the
// fused multiply-add is a function itself.
#if VECTOR_BYTES == 16 || defined(__OPTIMIZE_SIZE__)
#define GATES_COPIES __attribute__((noinline))
#else
#define GATES_COPIES inline __attribute__((always_inline))
#endif

static GATES_COPIES etx_f32_vec gates_sigmoid(etx_f32_vec x) {
  return sigmoid_of(x);
}

static GATES_COPIES etx_f32_vec gates_tanh(etx_f32_vec x) { return tanh_of(x); }

#undef GATES_COPIES

static inline etx_f32_vec gates_load(const float* from) {
  etx_f32_vec x;
  memcpy(&x, from, sizeof x);
  return x;
}

// The hidden part of a gate. A bias of -0 changes no bit.
static inline __attribute__((always_inline)) etx_f32_vec gates_hidden(
    const etx_gates* g, size_t gate, size_t unit) {
  etx_f32_vec bias = ETX_F32_BROADCAST(-0.0f);
  if (g->bias != NULL) {
    bias = gates_load(g->bias + gate * g->gate_step + unit);
  }
  return bias + gates_load(g->products + gate * g->gate_step + unit);
}

static inline __attribute__((always_inline)) etx_f32_vec gates_sum(
    const etx_gates* g, size_t gate, size_t unit) {
  return gates_load(g->input + gate * g->gate_step + unit) +
         gates_hidden(g, gate, unit);
}

static inline __attribute__((always_inline)) etx_f32_vec gates_gru(
    const etx_gates* g, size_t unit) {
  const etx_f32_vec reset = gates_sigmoid(gates_sum(g, 0, unit));
  const etx_f32_vec update = gates_sigmoid(gates_sum(g, 1, unit));
  const etx_f32_vec input = gates_load(g->input + 2 * g->gate_step + unit);
  const etx_f32_vec fresh =
      gates_tanh(input + reset * gates_hidden(g, 2, unit));
  return fresh + update * (gates_load(g->hidden + unit) - fresh);
}

static inline __attribute__((always_inline)) etx_f32_vec gates_lstm(
    const etx_gates* g, size_t unit) {
  const etx_f32_vec enter = gates_sigmoid(gates_sum(g, 0, unit));
  const etx_f32_vec keep = gates_sigmoid(gates_sum(g, 1, unit));
  const etx_f32_vec fresh = gates_tanh(gates_sum(g, 2, unit));
  const etx_f32_vec leave = gates_sigmoid(gates_sum(g, 3, unit));
  const etx_f32_vec cell = keep * gates_load(g->cell + unit) + enter * fresh;
  memcpy(g->cell + unit, &cell, sizeof cell);
  return leave * gates_tanh(cell);
}

static inline __attribute__((always_inline)) etx_f32_vec gates_rnn_tanh(
    const etx_gates* g, size_t unit) {
  return gates_tanh(gates_sum(g, 0, unit));
}

static inline __attribute__((always_inline)) etx_f32_vec gates_rnn_relu(
    const etx_gates* g, size_t unit) {
  const etx_f32_vec x = gates_sum(g, 0, unit), zero = {0};
  return etx_f32_vec_select(zero, x, x <= zero);
}

// The loop of a kind of cell: gates_<cell> on all units.
#define GATES_LOOP(cell)                                   \
  static void cell##_gates(const etx_gates* g) {           \
    for (size_t i = 0; i < g->count; i += ETX_F32_LANES) { \
      const etx_f32_vec out = gates_##cell(g, i);          \
      memcpy(g->out + i, &out, sizeof out);                \
    }                                                      \
  }

//   @gates_by_cell_0  float32 | gates of a GRU | {ETX_F32_LANES} units
GATES_LOOP(gru)
//   @gates_by_cell_1  float32 | gates of an LSTM | {ETX_F32_LANES} units
GATES_LOOP(lstm)
//   @gates_by_cell_2  float32 | gate of a plain RNN, tanh | {ETX_F32_LANES}
//   units
GATES_LOOP(rnn_tanh)
//   @gates_by_cell_3  float32 | gate of a plain RNN, relu | {ETX_F32_LANES}
//   units
GATES_LOOP(rnn_relu)

#undef GATES_LOOP
