// A depth-first walk with a stack of its own: one frame per open table says
// which field, and which element of a vector of tables, comes next. The input
// decides how long the walk is, but neither how deep the C stack grows nor how
// many tables are visited.

#include "format/flatbuffers/fb_verifier.h"

#include "format/base/size_limits.h"

typedef enum shape { SCALAR, STRING, VECTOR, TABLE, TABLES, CODE, UNION } shape;

typedef struct type_info {
  shape shape;
  uint32_t bytes;
} type_info;

static const type_info types[ETX_FB_TYPE_COUNT] = {
#define TYPE(name, shape, bytes) {shape, bytes},
#include "format/flatbuffers/fb_types.def"
#undef TYPE
};

typedef enum reason {
#define REASON(name, text) name,
#include "format/flatbuffers/fb_verifier.def"
#undef REASON
} reason;

static const char* const reason_texts[] = {
#define REASON(name, text) text,
#include "format/flatbuffers/fb_verifier.def"
#undef REASON
};

// A table that is being verified.
typedef struct frame {
  const etx_fb_table_info* info;
  uint32_t position;  // of the table
  uint32_t vtable;    // position of its vtable
  uint16_t vtable_bytes;
  uint32_t field;    // id of the field that comes next
  uint32_t element;  // element of that field that comes next
} frame;

typedef struct verifier {
  const etx_fb_buffer* buffer;
  const etx_fb_schema* schema;
  etx_diag* diag;
  uint32_t max_tables;
  uint32_t table_count;
  uint32_t depth;  // open frames
  frame frames[ETX_MAX_FB_DEPTH];
} verifier;

static frame* top(verifier* v) { return &v->frames[v->depth - 1]; }

static etx_status refuse(verifier* v, reason why, uint32_t position,
                         uint64_t found, uint64_t allowed) {
  char text[160];
  (void)etx_format_text(text, sizeof text, reason_texts[why], found, allowed);
  if (v->depth == 0) {
    return etx_diag_fail_at(v->diag, ETX_BAD_FILE, position, "%s", text);
  }
  const frame* f = top(v);
  if (f->field >= f->info->field_count) {
    return etx_diag_fail_at(v->diag, ETX_BAD_FILE, position, "'%s': %s",
                            f->info->name, text);
  }
  return etx_diag_fail_at(v->diag, ETX_BAD_FILE, position, "'%s.%s': %s",
                          f->info->name, f->info->fields[f->field].name, text);
}

// Follows the reference at `position`, which lies inside.
static etx_status follow(verifier* v, uint32_t position, uint32_t* out) {
  uint32_t distance = 0;
  if (position % 4 != 0) {
    return refuse(v, REFERENCE_ALIGNMENT, position, position, 4);
  }
  if (!etx_fb_load_u32(v->buffer, position, &distance)) {
    return refuse(v, REFERENCE, position, position, v->buffer->size);
  }
  const uint64_t goal = (uint64_t)position + distance;
  if (distance == 0 || goal >= v->buffer->size) {
    return refuse(v, REFERENCE, position, goal, v->buffer->size);
  }
  *out = (uint32_t)goal;
  return ETX_OK;
}

// Finds and verifies the vtable of the table at `f->position`. The table's size
// in it is not looked at: common Python writers share vtables between tables
// of different sizes, and no reader needs it.
static etx_status find_vtable(verifier* v, frame* f) {
  const uint32_t size = v->buffer->size;
  uint32_t distance = 0;
  if (f->position % 4 != 0) {
    return refuse(v, TABLE_ALIGNMENT, f->position, f->position, 4);
  }
  if (!etx_fb_load_u32(v->buffer, f->position, &distance)) {
    return refuse(v, TABLE_END, f->position, (uint64_t)f->position + 4, size);
  }
  // Signed distance; wrapping gives the same position, or one that is outside.
  const uint32_t vtable = f->position - distance;
  uint16_t vtable_bytes = 0;
  if (vtable % 2 != 0 || !etx_fb_load_u16(v->buffer, vtable, &vtable_bytes)) {
    return refuse(v, VTABLE_PLACE, f->position, f->position, distance);
  }
  if (vtable_bytes < 4 || vtable_bytes % 2 != 0 ||
      vtable_bytes > size - vtable) {
    return refuse(v, VTABLE_SIZE, vtable, vtable_bytes, size - vtable);
  }
  f->vtable = vtable;
  f->vtable_bytes = vtable_bytes;
  return ETX_OK;
}

// Opens the table at `position` as one of `info`.
static etx_status push(verifier* v, const etx_fb_table_info* info,
                       uint32_t position) {
  if (v->depth == ETX_MAX_FB_DEPTH) {
    return refuse(v, TOO_DEEP, position, (uint64_t)v->depth + 1,
                  ETX_MAX_FB_DEPTH);
  }
  if (v->table_count == v->max_tables) {
    return refuse(v, TOO_MANY_TABLES, position, v->table_count, v->max_tables);
  }
  ++v->table_count;
  frame f = {info, position, 0, 0, 0, 0};
  ETX_TRY(find_vtable(v, &f));
  v->frames[v->depth++] = f;
  return ETX_OK;
}

// Position of field `id`, or 0 if it is absent; whole and aligned if not.
static etx_status locate(verifier* v, uint32_t id, uint32_t bytes,
                         uint32_t* out) {
  const frame* f = top(v);
  const uint32_t slot = 4 + 2 * id;
  uint16_t offset = 0;
  *out = 0;
  if (slot + 2 <= f->vtable_bytes) {
    (void)etx_fb_load_u16(v->buffer, f->vtable + slot, &offset);
  }
  if (offset == 0) return ETX_OK;
  const uint32_t left = v->buffer->size - f->position;
  if (offset < 4 || (uint32_t)offset + bytes > left) {
    return refuse(v, FIELD_PLACE, f->position, offset, left);
  }
  const uint32_t position = f->position + offset;
  if (position % bytes != 0) {
    return refuse(v, FIELD_ALIGNMENT, position, position, bytes);
  }
  *out = position;
  return ETX_OK;
}

// Verifies the vector that the reference at `position` leads to.
static etx_status check_vector(verifier* v, uint32_t position, uint32_t bytes,
                               etx_fb_vector* out) {
  uint32_t start = 0;
  uint32_t count = 0;
  ETX_TRY(follow(v, position, &start));
  if (start % 4 != 0) return refuse(v, VECTOR_ALIGNMENT, start, start, 4);
  if (!etx_fb_load_u32(v->buffer, start, &count)) {
    return refuse(v, REFERENCE, position, start, v->buffer->size);
  }
  start += 4;
  const uint64_t needed = (uint64_t)count * bytes;
  if (needed > v->buffer->size - start) {
    return refuse(v, VECTOR_END, start, needed, v->buffer->size - start);
  }
  if (count > 0 && start % bytes != 0) {
    return refuse(v, ELEMENT_ALIGNMENT, start, start, bytes);
  }
  out->position = start;
  out->count = count;
  return ETX_OK;
}

static etx_status check_string(verifier* v, uint32_t position) {
  etx_fb_vector bytes = {0, 0};
  uint8_t last = 1;
  ETX_TRY(check_vector(v, position, 1, &bytes));
  const uint32_t end = bytes.position + bytes.count;
  if (!etx_fb_load_u8(v->buffer, end, &last) || last != 0) {
    return refuse(v, STRING_END, end, end, last);
  }
  return ETX_OK;
}

// Opens the member that the union at `position` (0 if absent) holds. A member
// without a value is left to whoever knows what it means.
static etx_status check_union(verifier* v, const etx_fb_union_info* info,
                              uint32_t position) {
  frame* f = top(v);
  uint32_t code_position = 0;
  uint8_t code = 0;
  uint32_t table = 0;
  ETX_TRY(locate(v, f->field - 1, 1, &code_position));
  if (code_position != 0) {
    (void)etx_fb_load_u8(v->buffer, code_position, &code);
  }
  if (code > info->member_count) {
    return refuse(v, UNION_CODE, f->position, code, info->member_count);
  }
  if (code == 0 && position != 0) {
    return refuse(v, UNION_VALUE, f->position, code, f->position);
  }
  if (position != 0) ETX_TRY(follow(v, position, &table));
  if (table != 0) {
    ETX_TRY(push(v, &v->schema->tables[info->members[code - 1]], table));
  }
  ++f->field;
  return ETX_OK;
}

// Opens the next table of the vector of tables at `position`.
static etx_status check_tables(verifier* v, const etx_fb_table_info* info,
                               uint32_t position) {
  frame* f = top(v);
  etx_fb_vector vector = {0, 0};
  uint32_t table = 0;
  ETX_TRY(check_vector(v, position, 4, &vector));
  if (f->element >= vector.count) {
    f->element = 0;
    ++f->field;
    return ETX_OK;
  }
  ETX_TRY(follow(v, vector.position + 4 * f->element, &table));
  ETX_TRY(push(v, info, table));
  ++f->element;
  return ETX_OK;
}

// Verifies the next field of the open table, or the next element of it.
static etx_status check_field(verifier* v) {
  frame* f = top(v);
  const etx_fb_field_info* field = &f->info->fields[f->field];
  const type_info type = types[field->type];
  const bool is_vector = type.shape == VECTOR || type.shape == STRING;
  uint32_t position = 0;
  ETX_TRY(locate(v, f->field, is_vector ? 4 : type.bytes, &position));
  if (type.shape == UNION) {
    return check_union(v, &v->schema->unions[field->target], position);
  }
  if (position == 0) {
    if (field->is_needed) {
      return refuse(v, FIELD_MISSING, f->position, f->position, f->field);
    }
    ++f->field;
    return ETX_OK;
  }
  const etx_fb_table_info* target = &v->schema->tables[field->target];
  etx_fb_vector vector = {0, 0};
  uint32_t table = 0;
  switch (type.shape) {
    case TABLES:
      return check_tables(v, target, position);
    case TABLE:
      ETX_TRY(follow(v, position, &table));
      ETX_TRY(push(v, target, table));
      break;
    case STRING:
      ETX_TRY(check_string(v, position));
      break;
    case VECTOR:
      ETX_TRY(check_vector(v, position, type.bytes, &vector));
      break;
    case SCALAR:
    case CODE:
    case UNION:
      break;
  }
  ++f->field;
  return ETX_OK;
}

static etx_status check_head(verifier* v, uint32_t* out_root) {
  const etx_fb_buffer* buffer = v->buffer;
  if (buffer->size < 8) return refuse(v, TOO_SHORT, 0, buffer->size, 8);
  if (buffer->size > INT32_MAX) {
    return refuse(v, TOO_LONG, 0, buffer->size, INT32_MAX);
  }
  if (memcmp(buffer->data + 4, v->schema->identifier, 4) != 0) {
    uint32_t found = 0;
    uint32_t expected = 0;
    memcpy(&found, buffer->data + 4, 4);
    memcpy(&expected, v->schema->identifier, 4);
    return refuse(v, IDENTIFIER, 4, found, expected);
  }
  return follow(v, 0, out_root);
}

etx_status etx_fb_verify(const etx_fb_buffer* buffer,
                         const etx_fb_schema* schema, uint32_t max_tables,
                         etx_diag* diag) {
  verifier v;
  v.buffer = buffer;
  v.schema = schema;
  v.diag = diag;
  v.max_tables = max_tables == 0 ? ETX_MAX_FB_TABLES : max_tables;
  v.table_count = 0;
  v.depth = 0;
  uint32_t root = 0;
  ETX_TRY(check_head(&v, &root));
  ETX_TRY(push(&v, &schema->tables[0], root));
  while (v.depth > 0) {
    if (top(&v)->field == top(&v)->info->field_count) {
      --v.depth;
    } else {
      ETX_TRY(check_field(&v));
    }
  }
  return ETX_OK;
}
