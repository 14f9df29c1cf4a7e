// Operators that a .pte file can name: one row each in op_schema.def.
//
// A row states the name as the file has it, the arguments as ATen writes them,
// what stands in the trailing return slot, the rule that sizes the outputs and
// which arguments an output may overwrite. Exporter, runtime and `etx verify`
// all read these rows. Each row is an object of its own, etx_op_row_<symbol>:
// the rows of a kernel table point to those that it has kernels for, and a
// program with a short table links no other row and no other shape function.
//
// A row may also be an application's own (ETX_OP_COUNT as its id): the runtime
// finds operators in the table of kernels that it is given.
//
// The argument text is ATen's: "Tensor self, Tensor other, *, Scalar alpha=1,
// Tensor(a!) out". Types: Tensor, Tensor?, Tensor[], Tensor?[], Scalar, int,
// int[], float, float[], bool, bool[], str, ScalarType, MemoryFormat, Layout,
// Device, each optionally followed by "?". SymInt is written int. "(a!)" marks
// an argument that is written. Nothing is allocated: the text is read with a
// cursor, once when a method is loaded.

#ifndef ETX_FORMAT_OPS_OP_SCHEMA_H
#define ETX_FORMAT_OPS_OP_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/build_parts.h"
#include "format/base/span.h"
#include "format/base/status.h"

// An operator: ETX_OP_ and the symbol of its row in op_schema.def.
typedef enum etx_op_id {
#define OP(symbol, name, overload, arguments, result, shape_rule, in_place) \
  ETX_OP_##symbol,
#include "format/ops/op_schema.def"
#undef OP
  ETX_OP_COUNT  // the number of operators
} etx_op_id;

// What the value index after the last argument of a KernelCall holds.
typedef enum etx_op_result {
  ETX_RESULT_OUT,       // the one out tensor again
  ETX_RESULT_OUT_LIST,  // a TensorList of the out tensors
  ETX_RESULT_LIST,      // the out TensorList again, or one with the same items
  ETX_RESULT_SELF,      // the changed first argument (copy_, index_put_)
  ETX_RESULT_SCALAR,    // an Int, Double or Bool slot that the kernel writes
  ETX_RESULT_NONE,      // nothing: the call carries the arguments alone
} etx_op_result;

// Which memory an output may share with an argument that dies in the call.
typedef enum etx_op_in_place {
  ETX_IN_PLACE_NEVER,  // none: it needs memory of its own
  // The first tensor argument, at exactly the same bytes: the kernel changes
  // some elements and leaves the others (index_put, slice_scatter), or copies.
  ETX_IN_PLACE_SELF,
  // Any tensor argument, or tensor of a list, with the output's sizes and
  // element bytes: the kernel reads element i of all arguments before it writes
  // element i.
  ETX_IN_PLACE_ELEMENTWISE,
} etx_op_in_place;

struct etx_shape_call;  // format/shapes/op_shapes.h

// An operator. Its strings are static.
typedef struct etx_op {
  etx_op_id id;      // position in op_schema.def; ETX_OP_COUNT: not there
  uint16_t lengths;  // of name and overload, by ETX_OP_NAME; 0: has no name in
                     // files and is never found
  // An output may have sizes that depend on elements: the shape function then
  // passes it to `output_at_most`.
  bool may_size_by_data;
  const char* name;          // with namespace: "aten::add"
  const char* overload;      // "out", or "" for the default overload
  const char* arguments;     // ATen text, see above
  etx_op_result result;      // what the return slot holds
  etx_op_in_place in_place;  // which argument an output may overwrite
  // Sizes the outputs from the arguments. Never NULL: rows whose kernel writes
  // a scalar slot have a rule that sizes nothing (etx_shape_by_kernel).
  etx_status (*shape)(struct etx_shape_call* call);
} etx_op;

// The lengths of a name and an overload, each below 256, as one number. It
// differs for most pairs of names.
#define ETX_OP_LENGTHS(name_bytes, overload_bytes) \
  ((uint16_t)((name_bytes) | (overload_bytes) << 8))

// The fields of a row for its names, which are string literals:
//   {.id = ETX_OP_COUNT, ETX_OP_NAME("my::scale", "out"), ...}
#define ETX_OP_NAME(name_text, overload_text)       \
  .name = (name_text), .overload = (overload_text), \
  .lengths = ETX_OP_LENGTHS(sizeof(name_text) - 1, sizeof(overload_text) - 1)

// The row of each operator, an object of its own.
#define OP(symbol, name, overload, arguments, result, shape_rule, in_place) \
  extern const etx_op etx_op_row_##symbol;
#include "format/ops/op_schema.def"
#undef OP

// Types of arguments, in ATen's words.
typedef enum etx_argument_type {
  ETX_ARGUMENT_TENSOR,            // Tensor
  ETX_ARGUMENT_TENSORS,           // Tensor[]
  ETX_ARGUMENT_OPTIONAL_TENSORS,  // Tensor?[]
  ETX_ARGUMENT_SCALAR,            // int, float or bool
  ETX_ARGUMENT_INT,               // int
  ETX_ARGUMENT_INTS,              // int[]
  ETX_ARGUMENT_FLOAT,             // float, a double here
  ETX_ARGUMENT_FLOATS,            // float[]
  ETX_ARGUMENT_BOOL,              // bool
  ETX_ARGUMENT_BOOLS,             // bool[]
  ETX_ARGUMENT_STRING,            // str
  ETX_ARGUMENT_SCALAR_TYPE,       // an Int value holding an etx_dtype code
  ETX_ARGUMENT_MEMORY_FORMAT,     // an Int value: 0 contiguous, 1 preserve
  ETX_ARGUMENT_LAYOUT,            // an Int value: 0 strided
  ETX_ARGUMENT_DEVICE,            // never in a .pte; only in importable schemas
} etx_argument_type;

// Finds a type by the word that an argument text has for it, and the type of
// lists of it (`*out_type` again if there are none). False for other words.
bool etx_argument_type_find(etx_text word, etx_argument_type* out_type,
                            etx_argument_type* out_list);

// One argument of an argument text, whose texts it borrows.
typedef struct etx_argument {
  etx_text name;           // "self"
  etx_text default_text;   // "1", "None", "[]"; size 0 if there is none
  etx_argument_type type;  // without "?" and sizes
  uint8_t fixed_count;     // 2 for int[2], else 0
  bool optional;           // "?" after the type: may be a Null value
  bool written;            // "(a!)"
  bool keyword_only;       // stands after "*"
} etx_argument;

// True for a written argument that has a content before the call (the self of
// copy_, the cache of update_cache); out arguments, after "*", have none.
static inline bool etx_argument_is_changed(const etx_argument* argument) {
  return argument->written && !argument->keyword_only;
}

// Position in an argument text; start with the text and zeros.
typedef struct etx_argument_cursor {
  const char* rest;   // next unread character
  bool keyword_only;  // "*" was passed
} etx_argument_cursor;

// A cursor before the first argument of the text, which it borrows.
static inline etx_argument_cursor etx_argument_first(const char* arguments) {
  const etx_argument_cursor cursor = {arguments, false};
  return cursor;
}

// Reads the next argument; false at the end. The text is trusted: it comes
// from a .def row.
bool etx_argument_next(etx_argument_cursor* cursor, etx_argument* out_argument);

// A name as a file states it, ready to be compared with rows.
typedef struct etx_op_name {
  etx_text name;      // without the overload
  etx_text overload;  // of size 0 for the default one
  uint16_t lengths;   // ETX_OP_LENGTHS of both; 0: no row has this name
} etx_op_name;

// Reads the name that a file states: name and overload are joined with a point
// before comparing, as ExecuTorch's runtime does, so that ("aten::add", "out")
// and ("aten::add.out", "") are the same.
etx_op_name etx_op_name_of(etx_text name, etx_text overload);

// True if the row's texts are those of the name, whose lengths it has.
bool etx_op_texts_are(const etx_op* op, const etx_op_name* name);

// True if the row has the name.
static inline bool etx_op_is_named(const etx_op* op, const etx_op_name* name) {
  return op->lengths == name->lengths && etx_op_texts_are(op, name);
}

// The row of an operator id. This function and the next one refer to all rows:
// they are for exporters and tools.
const etx_op* etx_op_at(etx_op_id id);

// Finds a row of op_schema.def by the name that a file states. NULL if there is
// none.
const etx_op* etx_op_find(etx_text name, etx_text overload);

// Finds one of the operators that make views, which need no kernel; NULL for
// other names.
const etx_op* etx_op_find_view(const etx_op_name* name);

// True if the operator makes its last argument a view of its first one: nothing
// is computed or copied.
static inline bool etx_op_makes_view(const etx_op* op) {
  return ETX_VIEWS && (op->id == ETX_OP_et_view_default ||
                       op->id == ETX_OP_part_view_default ||
                       op->id == ETX_OP_part_after_default);
}

// True if the operator sets the sizes of its output and writes none of its
// bytes (empty.out). So a file can give a tensor that aliases another one, even
// a constant, a dynamic size.
static inline bool etx_op_only_sizes(const etx_op* op) {
  return op->id == ETX_OP_empty_out || op->id == ETX_OP_empty_dim_order_out;
}

// True if results of equal calls differ, because the operator draws numbers.
static inline bool etx_op_draws_random_numbers(const etx_op* op) {
  return op->id == ETX_OP_rand_out || op->id == ETX_OP_randn_out ||
         op->id == ETX_OP_native_dropout_out;
}

enum {
  // Largest number of pixels of etx::mean_u8, so that sums stay below 2^31.
  ETX_MEAN_U8_MOST_PIXELS = 1 << 23
};

// Arguments of a row, outputs included, the return slot not.
size_t etx_op_argument_count(const etx_op* op);

// Value indices that a KernelCall of this row carries.
size_t etx_op_call_count(const etx_op* op);

#endif
