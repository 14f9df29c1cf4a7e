// Shape functions: they compute sizes and dtypes of an operator's outputs from
// its arguments.
//
// The runtime and the exporter call the same functions: the runtime with
// numbers, the exporter with symbolic sizes, since a method may have dynamic
// dimensions. So a size is an etx_dim: a number, or a handle that only the
// caller's etx_dim_math can compute with. Shape functions use the arithmetic
// below, never + or == on sizes that may be symbolic.
//
// A shape function refuses what PyTorch refuses: wrong ranks, dimensions out of
// range, sizes that do not broadcast. Kernels check dtypes, except where the
// dtype of an output depends on them.

#ifndef ETX_FORMAT_SHAPES_OP_SHAPES_H
#define ETX_FORMAT_SHAPES_OP_SHAPES_H

#include "format/base/diag.h"
#include "format/base/size_limits.h"
#include "format/ops/op_schema.h"
#include "format/tensor/dtype.h"

// A size or an integer argument: a number, which is above ETX_DIM_HANDLE, or a
// handle, which is at or below it. Handles need an etx_dim_math. So the
// integers from INT64_MIN to INT64_MIN / 2 cannot be represented; readers
// refuse them.
typedef int64_t etx_dim;
// The largest handle.
#define ETX_DIM_HANDLE (INT64_MIN / 2)

// True for a number, false for a handle.
static inline bool etx_dim_is_number(etx_dim dim) {
  return dim > ETX_DIM_HANDLE;
}

// Arithmetic over handles. Only called if at least one operand is a handle.
typedef struct etx_dim_math {
  void* context;  // handed to all functions
  // The sum.
  etx_status (*add)(void* context, etx_dim a, etx_dim b, etx_dim* out);
  // The product.
  etx_status (*multiply)(void* context, etx_dim a, etx_dim b, etx_dim* out);
  // Rounds toward minus infinity, as Python's //.
  etx_status (*floor_divide)(void* context, etx_dim a, etx_dim b, etx_dim* out);
  // The smaller one.
  etx_status (*minimum)(void* context, etx_dim a, etx_dim b, etx_dim* out);
  // The larger one.
  etx_status (*maximum)(void* context, etx_dim a, etx_dim b, etx_dim* out);
  // True if equal for every value of the symbols.
  bool (*equal)(void* context, etx_dim a, etx_dim b);
  // Smallest and largest value over the symbols' bounds.
  void (*bounds)(void* context, etx_dim a, int64_t* low, int64_t* high);
} etx_dim_math;

// Dtype of an output that is that of the out argument: creation and casts. Only
// used in shapes passed to `output`.
#define ETX_DTYPE_FROM_OUT ETX_DTYPE_COUNT

// Type and sizes of a tensor.
typedef struct etx_shape {
  etx_dtype dtype;             // of the elements
  uint8_t rank;                // number of dimensions
  etx_dim dims[ETX_MAX_RANK];  // their sizes, `rank` of them
} etx_shape;

// The kind of an argument.
typedef enum etx_shape_kind {
  ETX_SHAPE_NONE,
  ETX_SHAPE_TENSOR,
  ETX_SHAPE_INT,
  ETX_SHAPE_DOUBLE,
  ETX_SHAPE_BOOL,
  ETX_SHAPE_STRING,
  ETX_SHAPE_LIST,  // of any of the above; items are read one by one
} etx_shape_kind;

// The call of an operator whose outputs get their sizes.
typedef struct etx_shape_call {
  const etx_op* op;          // the operator
  const etx_dim_math* math;  // NULL: all sizes are numbers
  etx_diag* diag;            // may be NULL

  // Callbacks that read the arguments. `argument` is a position in the schema;
  // `item` is the position in a list, and 0 otherwise.
  void* context;
  etx_shape_kind (*kind)(void* context, size_t argument);  // of an argument
  // Number of items of a list.
  size_t (*list_count)(void* context, size_t argument);
  // False if the item is None (a Tensor?[] list, an optional tensor).
  bool (*tensor)(void* context, size_t argument, size_t item,
                 etx_shape* out_shape);
  // Types (ScalarType) are integers: the code of the etx_dtype.
  etx_dim (*integer)(void* context, size_t argument, size_t item);
  // an int, a float or a bool, or an item of a list of floats.
  double (*real)(void* context, size_t argument, size_t item);
  // Called once for each output of the operator, in order: the out arguments,
  // or the changed first one. A shape function does not know how many items an
  // out list has: the callback must refuse an index beyond the list, and the
  // caller must check that no item is missing.
  etx_status (*output)(void* context, size_t index, const etx_shape* shape);
  // The same for an output whose sizes depend on the elements of inputs: dtype
  // and rank are those of `most`, whose sizes are upper bounds. NULL: such
  // operators are refused.
  etx_status (*output_at_most)(void* context, size_t index,
                               const etx_shape* most);
  // Set if a shape function made a decision that not all values of the symbols
  // share: then it may have accepted what it refuses for some of them, and its
  // results hold for the others only. NULL: the caller does not ask.
  bool* undecided;
} etx_shape_call;

// Passes the shapes of all outputs to `call->output`, or fails with a message.
static inline etx_status etx_shape_infer(etx_shape_call* call) {
  return call->op->shape(call);
}

// Arithmetic for shape functions and their callers.
etx_status etx_dim_add(const etx_shape_call* call, etx_dim a, etx_dim b,
                       etx_dim* out);
// The same for a difference.
etx_status etx_dim_subtract(const etx_shape_call* call, etx_dim a, etx_dim b,
                            etx_dim* out);
// The same for a product.
etx_status etx_dim_multiply(const etx_shape_call* call, etx_dim a, etx_dim b,
                            etx_dim* out);
// The same for a quotient, rounded toward minus infinity.
etx_status etx_dim_floor_divide(const etx_shape_call* call, etx_dim a,
                                etx_dim b, etx_dim* out);
// The same for the smaller one.
etx_status etx_dim_minimum(const etx_shape_call* call, etx_dim a, etx_dim b,
                           etx_dim* out);
// The same for the larger one.
etx_status etx_dim_maximum(const etx_shape_call* call, etx_dim a, etx_dim b,
                           etx_dim* out);

// Questions about sizes. Those of the first group set `undecided` if the answer
// depends on the values of the symbols, or may do.
//
// True if `a` equals `b` for every value of the symbols.
bool etx_dim_equal(const etx_shape_call* call, etx_dim a, etx_dim b);
// True if `dim` equals `number` for every value of the symbols.
bool etx_dim_is(const etx_shape_call* call, etx_dim dim, int64_t number);
// True if no value of the symbols makes `a` equal to `b`.
bool etx_dim_differ(const etx_shape_call* call, etx_dim a, etx_dim b);
// True if `a` is less than `b` for every value of the symbols.
bool etx_dim_is_below(const etx_shape_call* call, etx_dim a, etx_dim b);
// True if `dim` is a number (every size is one without an etx_dim_math).
bool etx_shape_is_number(const etx_shape_call* call, etx_dim dim);
// Smallest and largest value over the symbols' bounds.
void etx_dim_bounds(const etx_shape_call* call, etx_dim a, int64_t* low,
                    int64_t* high);
// The same without `undecided`: for callers that refuse "no", or for which both
// answers lead to the same result.
bool etx_dim_always_equal(const etx_shape_call* call, etx_dim a, etx_dim b);
// etx_dim_is without `undecided`.
bool etx_dim_always_is(const etx_shape_call* call, etx_dim dim, int64_t number);
// True if `dim` is a handle. Without `undecided`.
bool etx_dim_is_symbolic(const etx_shape_call* call, etx_dim dim);

// A size for a message: the number, or the upper bound of a symbolic size.
int64_t etx_dim_for_message(const etx_shape_call* call, etx_dim dim);

// For shape functions: fails with a message (conversions as in diag.h) to which
// it appends the operator's name. Returns ETX_BAD_ARGUMENT.
etx_status etx_shape_refuse(const etx_shape_call* call, const char* format,
                            ...);

// The same with another status.
etx_status etx_shape_refuse_as(const etx_shape_call* call, etx_status status,
                               const char* format, ...);
#if !ETX_MESSAGES
#define etx_shape_refuse(call, ...) \
  (0 ? (etx_shape_refuse)((call), __VA_ARGS__) : (etx_status)ETX_BAD_ARGUMENT)
#define etx_shape_refuse_as(call, status, ...)              \
  (0 ? (etx_shape_refuse_as)((call), (status), __VA_ARGS__) \
     : (etx_status)(status))
#endif

// Prototypes of all shape functions, from the rows: etx_shape_<shape_rule>.
#define OP(symbol, name, overload, arguments, result, shape_rule, in_place) \
  etx_status etx_shape_##shape_rule(etx_shape_call* call);
#include "format/ops/op_schema.def"
#undef OP

#endif
