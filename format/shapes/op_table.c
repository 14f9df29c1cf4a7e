// The rows of op_schema.def as a table. It is in this folder because it lists
// the shape functions; op_schema.h declares its functions. Lookup by name is a
// linear scan that first compares lengths. That is fast enough: it happens a
// few times for each operator of a method, when a file is loaded.

#include "format/base/assertion.h"
#include "format/ops/op_schema.h"
#include "format/shapes/op_shapes.h"

static const etx_op rows[ETX_OP_COUNT] = {
#define OP(symbol, name, overload, arguments, result, shape_rule, in_place) \
  {ETX_OP_##symbol,                                                         \
   name,                                                                    \
   overload,                                                                \
   arguments,                                                               \
   ETX_RESULT_##result,                                                     \
   ETX_IN_PLACE_##in_place,                                                 \
   etx_shape_##shape_rule},
#include "format/ops/op_schema.def"
#undef OP
};

// The lengths of both names as one number, which differs for most rows. Lengths
// are below 256.
#define LENGTHS(name, overload) ((name) | (overload) << 8)

static const uint16_t row_lengths[ETX_OP_COUNT] = {
#define OP(symbol, name, overload, arguments, result, shape_rule, in_place) \
  LENGTHS(sizeof(name) - 1, sizeof(overload) - 1),
#include "format/ops/op_schema.def"
#undef OP
};

const etx_op* etx_op_at(etx_op_id id) {
  ETX_ASSERT(id < ETX_OP_COUNT);
  return &rows[id];
}

// Splits "name.overload", as some files write it. No name has a dot.
static void split_name(etx_text* name, etx_text* overload) {
  const char* const dot =
      name->size == 0 ? NULL : memchr(name->data, '.', name->size);
  if (dot == NULL || dot + 1 == name->data + name->size) return;
  const size_t before = (size_t)(dot - name->data);
  *overload = (etx_text){dot + 1, name->size - before - 1};
  name->size = before;
}

static bool has_bytes(etx_text text, const char* bytes) {
  return text.size == 0 || memcmp(text.data, bytes, text.size) == 0;
}

const etx_op* etx_op_find(etx_text name, etx_text overload) {
  if (overload.size == 0) split_name(&name, &overload);
  if (name.size > UINT8_MAX || overload.size > UINT8_MAX) return NULL;
  const size_t lengths = LENGTHS(name.size, overload.size);
  for (size_t i = 0; i < ETX_OP_COUNT; ++i) {
    if (row_lengths[i] == lengths && has_bytes(name, rows[i].name) &&
        has_bytes(overload, rows[i].overload)) {
      return &rows[i];
    }
  }
  return NULL;
}
