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

enum { GATES_MOST = 4 };

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
  const etx_f32_vec reset = sigmoid_of(gates_sum(g, 0, unit));
  const etx_f32_vec update = sigmoid_of(gates_sum(g, 1, unit));
  const etx_f32_vec input = gates_load(g->input + 2 * g->gate_step + unit);
  const etx_f32_vec fresh = tanh_of(input + reset * gates_hidden(g, 2, unit));
  return fresh + update * (gates_load(g->hidden + unit) - fresh);
}

static inline __attribute__((always_inline)) etx_f32_vec gates_lstm(
    const etx_gates* g, size_t unit) {
  const etx_f32_vec enter = sigmoid_of(gates_sum(g, 0, unit));
  const etx_f32_vec keep = sigmoid_of(gates_sum(g, 1, unit));
  const etx_f32_vec fresh = tanh_of(gates_sum(g, 2, unit));
  const etx_f32_vec leave = sigmoid_of(gates_sum(g, 3, unit));
  const etx_f32_vec cell = keep * gates_load(g->cell + unit) + enter * fresh;
  memcpy(g->cell + unit, &cell, sizeof cell);
  return leave * tanh_of(cell);
}

static inline __attribute__((always_inline)) etx_f32_vec gates_rnn_tanh(
    const etx_gates* g, size_t unit) {
  return tanh_of(gates_sum(g, 0, unit));
}

static inline __attribute__((always_inline)) etx_f32_vec gates_rnn_relu(
    const etx_gates* g, size_t unit) {
  const etx_f32_vec x = gates_sum(g, 0, unit), zero = {0};
  return etx_f32_vec_select(zero, x, x <= zero);
}

// Computes the last units, fewer than a vector, in a copy with whole vectors.
static void gates_rest(const etx_gates* g, size_t gates, etx_gates_loop loop) {
  float products[GATES_MOST][ETX_F32_LANES] = {{0}};
  float input[GATES_MOST][ETX_F32_LANES] = {{0}};
  float bias[GATES_MOST][ETX_F32_LANES] = {{0}};
  float hidden[ETX_F32_LANES] = {0}, cell[ETX_F32_LANES] = {0};
  float out[ETX_F32_LANES];
  const size_t left = g->count % ETX_F32_LANES, done = g->count - left;
  const size_t bytes = left * sizeof(float);
  for (size_t i = 0; i < gates; ++i) {
    memcpy(products[i], g->products + i * g->gate_step + done, bytes);
    memcpy(input[i], g->input + i * g->gate_step + done, bytes);
    if (g->bias == NULL) continue;
    memcpy(bias[i], g->bias + i * g->gate_step + done, bytes);
  }
  if (g->hidden != NULL) memcpy(hidden, g->hidden + done, bytes);
  if (g->cell != NULL) memcpy(cell, g->cell + done, bytes);
  loop(&(etx_gates){.count = ETX_F32_LANES,
                    .products = products[0],
                    .gate_step = ETX_F32_LANES,
                    .input = input[0],
                    .bias = g->bias == NULL ? NULL : bias[0],
                    .hidden = hidden,
                    .cell = cell,
                    .out = out});
  if (g->cell != NULL) memcpy(g->cell + done, cell, bytes);
  memcpy(g->out + done, out, bytes);
}

// The loop of a kind of cell: gates_<cell> on all units.
#define GATES_LOOP(cell, gates)                                              \
  static __attribute__((noinline)) void cell##_vectors(const etx_gates* g) { \
    for (size_t i = 0; i + ETX_F32_LANES <= g->count; i += ETX_F32_LANES) {  \
      const etx_f32_vec out = gates_##cell(g, i);                            \
      memcpy(g->out + i, &out, sizeof out);                                  \
    }                                                                        \
  }                                                                          \
  static void cell##_gates(const etx_gates* g) {                             \
    cell##_vectors(g);                                                       \
    if (g->count % ETX_F32_LANES != 0) gates_rest(g, gates, cell##_vectors); \
  }

//   @gates_by_cell_0  float32 | gates of a GRU | {ETX_F32_LANES} units
GATES_LOOP(gru, 3)
//   @gates_by_cell_1  float32 | gates of an LSTM | {ETX_F32_LANES} units
GATES_LOOP(lstm, 4)
//   @gates_by_cell_2  float32 | gate of a plain RNN, tanh | {ETX_F32_LANES}
//   units
GATES_LOOP(rnn_tanh, 1)
//   @gates_by_cell_3  float32 | gate of a plain RNN, relu | {ETX_F32_LANES}
//   units
GATES_LOOP(rnn_relu, 1)

#undef GATES_LOOP
