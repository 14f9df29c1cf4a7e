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

// Lengths of both names of a row, which differ for most rows.
typedef struct row_size {
  uint8_t name;
  uint8_t overload;
} row_size;

static const row_size row_sizes[ETX_OP_COUNT] = {
#define OP(symbol, name, overload, arguments, result, shape_rule, in_place) \
  {sizeof(name) - 1, sizeof(overload) - 1},
#include "format/ops/op_schema.def"
#undef OP
};

const etx_op* etx_op_at(etx_op_id id) {
  ETX_ASSERT(id < ETX_OP_COUNT);
  return &rows[id];
}

// True if the names in a file have the lengths of a row, either apart or joined
// as "name.overload".
static bool sizes_fit(row_size size, etx_text name, etx_text overload) {
  if (overload.size > 0) {
    return size.name == name.size && size.overload == overload.size;
  }
  const size_t tail = size.overload == 0 ? 0 : 1u + size.overload;
  return name.size == size.name + tail;
}

// Compares the names of a row whose lengths match.
static bool row_is_named(const etx_op* op, row_size size, etx_text name,
                         etx_text overload) {
  if (memcmp(name.data, op->name, size.name) != 0) return false;
  if (size.overload == 0) return true;
  if (overload.size > 0) {
    return memcmp(overload.data, op->overload, size.overload) == 0;
  }
  const char* const tail = name.data + size.name;
  return *tail == '.' && memcmp(tail + 1, op->overload, size.overload) == 0;
}

const etx_op* etx_op_find(etx_text name, etx_text overload) {
  for (size_t i = 0; i < ETX_OP_COUNT; ++i) {
    const row_size size = row_sizes[i];
    if (sizes_fit(size, name, overload) &&
        row_is_named(&rows[i], size, name, overload)) {
      return &rows[i];
    }
  }
  return NULL;
}
