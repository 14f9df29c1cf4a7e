// Bytes and multiply-adds of an operator call, computed from the sizes of its
// arguments. Used for program files and for methods that run.

#ifndef ETX_CLI_PROGRAM_OPERATOR_COST_H
#define ETX_CLI_PROGRAM_OPERATOR_COST_H

#include "format/base/size_limits.h"
#include "format/ops/op_schema.h"
#include "format/tensor/dtype.h"

typedef struct etx_operator_cost {
  uint64_t multiply_adds;       // of matrix products, convolutions, attention
  uint64_t byte_multiply_adds;  // those of them on int8 or uint8
  uint64_t bytes;               // read and written, every tensor once
  uint64_t constant_bytes;      // those of them that are constants: weights
} etx_operator_cost;

// One tensor argument.
typedef struct etx_operator_cost_tensor {
  size_t argument;  // position in the schema
  const int32_t* sizes;
  size_t rank;
  etx_dtype dtype;
  bool is_written;
  bool is_constant;
  uint64_t place;  // the same number for tensors in the same memory; 0: unknown
} etx_operator_cost_tensor;

enum { ETX_OPERATOR_COST_TENSORS = 64 };

// The dimension that holds the rows of an operand of etx::attention: the third
// item of the operand's int[4] order argument.
typedef struct etx_operator_cost_order {
  size_t argument;  // position of the int[] in the schema
  int64_t rows_dim;
} etx_operator_cost_order;

enum { ETX_OPERATOR_COST_ORDERS = 4 };

typedef struct etx_operator_cost_call {
  const etx_op* op;
  etx_operator_cost_tensor tensors[ETX_OPERATOR_COST_TENSORS];
  size_t count;  // at most ETX_OPERATOR_COST_TENSORS; others are left out
  etx_operator_cost_order orders[ETX_OPERATOR_COST_ORDERS];
  size_t order_count;
} etx_operator_cost_call;

// Adds a tensor. Borrows tensor->sizes.
void etx_operator_cost_call_add(etx_operator_cost_call* call,
                                const etx_operator_cost_tensor* tensor);

// Adds an int[4] argument by its third item. Lists beyond
// ETX_OPERATOR_COST_ORDERS are left out.
void etx_operator_cost_call_add_order(etx_operator_cost_call* call,
                                      size_t argument, int64_t rows_dim);

etx_operator_cost etx_operator_cost_of(const etx_operator_cost_call* call);

// The kind of an operator in reports: "product", "attention", "elementwise".
const char* etx_operator_cost_kind(const etx_op* op);

static inline void etx_operator_cost_add(etx_operator_cost* to,
                                         const etx_operator_cost* more) {
  to->multiply_adds += more->multiply_adds;
  to->byte_multiply_adds += more->byte_multiply_adds;
  to->bytes += more->bytes;
  to->constant_bytes += more->constant_bytes;
}

#endif
