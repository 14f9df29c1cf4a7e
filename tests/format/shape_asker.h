// Asks a shape rule from a test: arguments as a list of literals, sizes as
// numbers or as functions of one symbol s in 2..8.
//
//   asker a;
//   asker_begin(&a, "aten::slice_copy.Tensor_out");
//   asker_tensor(&a, ETX_DTYPE_FLOAT32, 2, (etx_dim[]){asker_s(&a), 4});
//   ...
//   assert_int_equal(asker_infer(&a), ETX_OK);
//   a.outputs[0].dims[0] ...

#ifndef ETX_TESTS_FORMAT_SHAPE_ASKER_H
#define ETX_TESTS_FORMAT_SHAPE_ASKER_H

#include "format/ops/op_shapes.h"

enum { ASKER_LEAST = 2, ASKER_MOST = 8, ASKER_VALUES = 7 };

typedef struct asker_argument {
  etx_shape_kind kind;
  size_t count;         // of a list, else 1
  etx_shape shapes[6];  // tensors; is_none for missing ones of a list
  bool is_none[6];
  etx_dim integers[8];
  double reals[4];
} asker_argument;

typedef struct asker {
  const etx_op* op;
  asker_argument arguments[16];
  size_t count;
  etx_shape outputs[8];
  size_t output_count;
  // A handle is an index into these: the value for each s.
  int64_t values[64][ASKER_VALUES];
  size_t value_count;
  etx_diag diag;
} asker;

void asker_begin(asker* a, const char* name);
void asker_tensor(asker* a, etx_dtype dtype, size_t rank, const etx_dim* dims);
void asker_integer(asker* a, etx_dim integer);
void asker_real(asker* a, double real);
void asker_boolean(asker* a, bool boolean);
void asker_none(asker* a);
void asker_string(asker* a);
void asker_integers(asker* a, size_t count, const etx_dim* integers);
void asker_reals(asker* a, size_t count, const double* reals);
// The last `count` tensors (or None) become one list.
void asker_gather_list(asker* a, size_t count);

// factor * s + offset as a size.
etx_dim asker_affine(asker* a, int64_t factor, int64_t offset);

etx_status asker_infer(asker* a);

// True if output `index` has this type and these sizes, for every s.
bool asker_gave(asker* a, size_t index, etx_dtype dtype, size_t rank,
                const etx_dim* dims);

#endif
