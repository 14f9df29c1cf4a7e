// What a call costs at least: bytes it touches and multiply-adds it does, from
// the sizes of its arguments. For programs that are only read as well as for
// those that run.

#ifndef ETX_CLI_BENCH_OPERATOR_COST_H
#define ETX_CLI_BENCH_OPERATOR_COST_H

#include "format/base/size_limits.h"
#include "format/ops/op_schema.h"
#include "format/tensor/dtype.h"

typedef struct etx_operator_cost {
  uint64_t multiply_adds;       // of products, convolutions and attention
  uint64_t byte_multiply_adds;  // of them of numbers of one byte
  uint64_t bytes;               // read and written, every tensor once
  uint64_t constant_bytes;      // of them constants: weights
} etx_operator_cost;

// A tensor among the arguments.
typedef struct etx_operator_cost_tensor {
  size_t argument;  // position in the schema
  const int32_t* sizes;
  size_t rank;
  etx_dtype dtype;
  bool is_written;
  bool is_constant;
  uint64_t place;  // equal for tensors in the same memory; 0: unknown
} etx_operator_cost_tensor;

enum { ETX_OPERATOR_COST_TENSORS = 64 };

// Which dimension of an operand has its rows: the third of the order that
// attention reads it in.
typedef struct etx_operator_cost_order {
  size_t argument;  // position of the int[] in the schema
  int64_t rows_dim;
} etx_operator_cost_order;

enum { ETX_OPERATOR_COST_ORDERS = 4 };

typedef struct etx_operator_cost_call {
  const etx_op* op;
  etx_operator_cost_tensor tensors[ETX_OPERATOR_COST_TENSORS];
  size_t count;  // those beyond the most are left out
  etx_operator_cost_order orders[ETX_OPERATOR_COST_ORDERS];
  size_t order_count;
} etx_operator_cost_call;

// Adds a tensor, which borrows `sizes`.
void etx_operator_cost_call_add(etx_operator_cost_call* call,
                                const etx_operator_cost_tensor* tensor);

// Adds a list of four integers by the third of them; lists beyond the most are
// left out.
void etx_operator_cost_call_add_order(etx_operator_cost_call* call,
                                      size_t argument, int64_t rows_dim);

etx_operator_cost etx_operator_cost_of(const etx_operator_cost_call* call);

// "product", "attention", "elementwise": what a report calls the operator.
const char* etx_operator_cost_kind(const etx_op* op);

static inline void etx_operator_cost_add(etx_operator_cost* to,
                                         const etx_operator_cost* more) {
  to->multiply_adds += more->multiply_adds;
  to->byte_multiply_adds += more->byte_multiply_adds;
  to->bytes += more->bytes;
  to->constant_bytes += more->constant_bytes;
}

#endif
