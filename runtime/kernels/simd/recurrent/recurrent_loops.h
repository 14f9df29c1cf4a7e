// The loops of recurrent layers with one row: products with the hidden weights
// in panels, and the gates. Compiled once for each instruction set; all sets
// give the same bits.

#ifndef ETX_RUNTIME_KERNELS_SIMD_RECURRENT_RECURRENT_LOOPS_H
#define ETX_RUNTIME_KERNELS_SIMD_RECURRENT_RECURRENT_LOOPS_H

#include <stddef.h>

#include "runtime/built_loops.h"
#include "runtime/instruction_set.h"

// out = left * right for one row, [count] * [count, 16 * panel_count], where
// right is given in panels, [panel_count][count][16]. The sums are those of
// GEMM NT (f32_microkernels.h); `count` is a multiple of 16. Panels are read
// once, in order.
typedef struct etx_panel_dots {
  float* out;
  const float* left;
  const float* panels;
  size_t panel_count, count;
} etx_panel_dots;

typedef void (*etx_panel_dots_loop)(const etx_panel_dots* block);

enum { ETX_GATES_UNITS = 16 };

// The kinds of cells, with their gates in PyTorch's order. x is the input's
// part of a gate; h is its hidden part, which is a product and then a bias.
//
//   gru   r = sigmoid(x_r + h_r)    z = sigmoid(x_z + h_z)
//         n = tanh(x_n + r h_n)     h' = n + z (h - n)
//   lstm  i, f, o = sigmoid(x + h)  g = tanh(x_g + h_g)
//         c' = f c + i g            h' = o tanh(c')
//   rnn   h' = tanh(x + h), or relu
typedef enum etx_cell_kind {
  ETX_CELL_GRU,
  ETX_CELL_LSTM,
  ETX_CELL_RNN_TANH,
  ETX_CELL_RNN_RELU,
  ETX_CELL_KINDS
} etx_cell_kind;

// The gates of neighbouring hidden units of one row.
typedef struct etx_gates {
  size_t count;           // of the units, a multiple of ETX_GATES_UNITS
  size_t gate_step;       // from one gate of a unit to the next, in elements
  const float* products;  // [gates, gate_step]
  const float* input;     // [gates, gate_step]
  const float* bias;      // [gates, gate_step], or NULL
  const float* hidden;    // the state before the step
  float* cell;            // of an LSTM, updated in place; or NULL
  float* out;             // the state after the step
} etx_gates;

typedef void (*etx_gates_loop)(const etx_gates* units);

typedef struct etx_recurrent_loops {
  const char* name;  // name of the instruction set
  etx_panel_dots_loop panel_dots;
  etx_gates_loop gates_by_cell[4];  // by etx_cell_kind
} etx_recurrent_loops;

// The baseline, which every processor of the target has.
extern const etx_recurrent_loops etx_recurrent_loops_base;

// The loops for an instruction set.
const etx_recurrent_loops* etx_recurrent_loops_of(etx_instruction_set set);

#endif
