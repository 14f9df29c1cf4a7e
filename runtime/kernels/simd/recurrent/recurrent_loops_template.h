// All loops of recurrent layers for one instruction set (recurrent_loops.h),
// and the macro ETX_RECURRENT_LOOPS that makes the table of them.
//
//   VECTOR_BYTES  required  bytes of a vector register: 16, 32 or 64

#if !defined(VECTOR_BYTES)
#error "define VECTOR_BYTES before this header"
#endif

#include "runtime/kernels/simd/vector/f32_vec_template.h"
#include "runtime/kernels/simd/vector/sigmoid_template.h"
#include "runtime/kernels/simd/recurrent/panel_dots_template.h"
#include "runtime/kernels/simd/recurrent/recurrent_gates_template.h"

#define ETX_RECURRENT_LOOPS(name)                                       \
  {                                                                     \
    name, ETX_IF_ANY_LOOP(ETX_LOOP_recurrent_panel_dots, panel_dots), { \
      ETX_IF_ANY_LOOP(ETX_LOOP_recurrent_gru, gru_gates),               \
          ETX_IF_ANY_LOOP(ETX_LOOP_recurrent_lstm, lstm_gates),         \
          ETX_IF_ANY_LOOP(ETX_LOOP_recurrent_rnn_tanh, rnn_tanh_gates), \
          ETX_IF_ANY_LOOP(ETX_LOOP_recurrent_rnn_relu, rnn_relu_gates)  \
    }                                                                   \
  }
