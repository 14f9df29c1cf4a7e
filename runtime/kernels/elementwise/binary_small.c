#include "runtime/kernels/elementwise/binary_small.h"

#include "runtime/built_loops.h"
#include "runtime/kernel.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/core/short_copy.h"
#include "runtime/kernels/math/wrapping_math.h"
#include "runtime/kernels/registry/op_arguments.h"

// The fields of etx_binary_rows_word.
enum { KIND_BITS = 2, KIND_MASK = 3 };

int64_t etx_binary_rows_word(size_t row_elements, etx_rows_kind first,
                             etx_rows_kind second) {
  const size_t kinds = (size_t)first | (size_t)second << KIND_BITS;
  return (int64_t)(row_elements << (2 * KIND_BITS) | kinds);
}

typedef struct broadcast_room {
  float elements[ETX_BINARY_SMALL_BROADCAST];
} broadcast_room;

// The operand with as many elements as the result: itself, or a broadcast copy
// in `room`.
static const float* broadcast_operand(const etx_call* call, size_t index,
                                      broadcast_room* room) {
  const size_t word = (size_t)call->prepared[ETX_BINARY_SMALL_ROWS];
  const size_t kind = word >> (index * KIND_BITS) & KIND_MASK;
  const size_t inner = word >> (2 * KIND_BITS);
  const size_t count = (size_t)call->prepared[ETX_BINARY_SMALL_COUNT];
  const float* from = etx_call_tensor(call, index)->data;
  if (kind == ETX_ROWS_DENSE) return from;
  float* const to = room->elements;
  if (kind == ETX_ROWS_SAME) {
    for (size_t at = 0; at < count; at += inner) {
      etx_copy_short((char*)(to + at), (const char*)from, inner * sizeof *to);
    }
    return to;
  }
  for (size_t at = 0; at < count; at += inner) {
    const float element = *from++;
    ETX_INDEPENDENT
    for (size_t i = 0; i < inner; ++i) to[at + i] = element;
  }
  return to;
}

// The result may be one of the operands, so pointers are not `restrict`;
// element i is read before it is written. Formulas are those of binary_ops.def.
#define SMALL(name, expression)                                              \
  static inline void name##_each(float* out, const float* a, const float* b, \
                                 size_t count) {                             \
    ETX_INDEPENDENT                                                          \
    for (size_t i = 0; i < count; ++i) {                                     \
      const float x = a[i], y = b[i];                                        \
      out[i] = (expression);                                                 \
    }                                                                        \
  }                                                                          \
  static etx_status name##_small(etx_call* call) {                           \
    const etx_tensor* to = etx_call_tensor(call, call->argument_count - 1);  \
    name##_each(to->data, etx_call_tensor(call, ETX_ARG_add_self)->data,     \
                etx_call_tensor(call, ETX_ARG_add_other)->data,              \
                (size_t)call->prepared[ETX_BINARY_SMALL_COUNT]);             \
    return ETX_OK;                                                           \
  }                                                                          \
  static etx_status name##_small_rows(etx_call* call) {                      \
    const etx_tensor* to = etx_call_tensor(call, call->argument_count - 1);  \
    broadcast_room rooms[2];                                                 \
    const float* a = broadcast_operand(call, ETX_ARG_add_self, &rooms[0]);   \
    const float* b = broadcast_operand(call, ETX_ARG_add_other, &rooms[1]);  \
    name##_each(to->data, a, b,                                              \
                (size_t)call->prepared[ETX_BINARY_SMALL_COUNT]);             \
    return ETX_OK;                                                           \
  }

SMALL(add, x + y)
SMALL(subtract, x - y)
SMALL(multiply, x* y)
SMALL(divide, x / y)
SMALL(minimum, x < y || x != x ? x : y)
SMALL(maximum, x > y || x != x ? x : y)

#define EACH_FUNCTION(kernel)                                              \
  switch (function) {                                                      \
    case ETX_BINARY_add:                                                   \
      return ETX_IF_LOOP(ETX_LOOP_binary_add, ETX_LOOP_F32, add_##kernel); \
    case ETX_BINARY_subtract:                                              \
      return ETX_IF_LOOP(ETX_LOOP_binary_subtract, ETX_LOOP_F32,           \
                         subtract_##kernel);                               \
    case ETX_BINARY_multiply:                                              \
      return ETX_IF_LOOP(ETX_LOOP_binary_multiply, ETX_LOOP_F32,           \
                         multiply_##kernel);                               \
    case ETX_BINARY_divide:                                                \
      return ETX_IF_LOOP(ETX_LOOP_binary_divide, ETX_LOOP_F32,             \
                         divide_##kernel);                                 \
    case ETX_BINARY_minimum:                                               \
      return ETX_IF_LOOP(ETX_LOOP_binary_minimum, ETX_LOOP_F32,            \
                         minimum_##kernel);                                \
    case ETX_BINARY_maximum:                                               \
      return ETX_IF_LOOP(ETX_LOOP_binary_maximum, ETX_LOOP_F32,            \
                         maximum_##kernel);                                \
    default:                                                               \
      return NULL;                                                         \
  }

etx_kernel_function etx_binary_small_of(size_t function){EACH_FUNCTION(small)}

etx_kernel_function etx_binary_small_rows_of(size_t function) {
  EACH_FUNCTION(small_rows)
}

static int64_t integer_operand(const etx_call* call, size_t index) {
  return etx_call_is_tensor(call, index)
             ? *(const int64_t*)etx_call_tensor(call, index)->data
             : etx_call_value(call, index)->as.integer;
}

// Formulas are those of binary_ops.def.
#define ONE_INTEGER(name, type, expression)                                 \
  static etx_status name##_one_integer(etx_call* call) {                    \
    const etx_tensor* to = etx_call_tensor(call, call->argument_count - 1); \
    const int64_t x = integer_operand(call, ETX_ARG_add_self);              \
    const int64_t y = integer_operand(call, ETX_ARG_add_other);             \
    *(type*)to->data = (type)(expression);                                  \
    return ETX_OK;                                                          \
  }

ONE_INTEGER(add, int64_t, etx_wrap_add(x, y))
ONE_INTEGER(subtract, int64_t, etx_wrap_subtract(x, y))
ONE_INTEGER(eq, uint8_t, x == y)
ONE_INTEGER(ne, uint8_t, x != y)
ONE_INTEGER(lt, uint8_t, x < y)
ONE_INTEGER(le, uint8_t, x <= y)
ONE_INTEGER(gt, uint8_t, x > y)
ONE_INTEGER(ge, uint8_t, x >= y)

etx_kernel_function etx_binary_one_integer_of(size_t function) {
  switch (function) {
    case ETX_BINARY_add:
      return ETX_IF_LOOP(ETX_LOOP_binary_add, ETX_LOOP_I64, add_one_integer);
    case ETX_BINARY_subtract:
      return ETX_IF_LOOP(ETX_LOOP_binary_subtract, ETX_LOOP_I64,
                         subtract_one_integer);
    case ETX_BINARY_eq:
      return ETX_IF_LOOP(ETX_LOOP_binary_eq, ETX_LOOP_I64, eq_one_integer);
    case ETX_BINARY_ne:
      return ETX_IF_LOOP(ETX_LOOP_binary_ne, ETX_LOOP_I64, ne_one_integer);
    case ETX_BINARY_lt:
      return ETX_IF_LOOP(ETX_LOOP_binary_lt, ETX_LOOP_I64, lt_one_integer);
    case ETX_BINARY_le:
      return ETX_IF_LOOP(ETX_LOOP_binary_le, ETX_LOOP_I64, le_one_integer);
    case ETX_BINARY_gt:
      return ETX_IF_LOOP(ETX_LOOP_binary_gt, ETX_LOOP_I64, gt_one_integer);
    case ETX_BINARY_ge:
      return ETX_IF_LOOP(ETX_LOOP_binary_ge, ETX_LOOP_I64, ge_one_integer);
    default:
      return NULL;
  }
}
