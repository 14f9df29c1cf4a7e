// All rows of op_schema.def by id and by name. Lookup by name is a linear scan
// that first compares lengths.

#include "format/base/assertion.h"
#include "format/ops/op_schema.h"

static const etx_op* const rows[ETX_OP_COUNT] = {
#define OP(symbol, name, overload, arguments, result, shape_rule, in_place) \
  &etx_op_row_##symbol,
#include "format/ops/op_schema.def"
#undef OP
};

const etx_op* etx_op_at(etx_op_id id) {
  ETX_ASSERT(id < ETX_OP_COUNT);
  return rows[id];
}

const etx_op* etx_op_find(etx_text name, etx_text overload) {
  const etx_op_name wanted = etx_op_name_of(name, overload);
  for (size_t i = 0; i < ETX_OP_COUNT; ++i) {
    if (etx_op_is_named(rows[i], &wanted)) return rows[i];
  }
  return NULL;
}
