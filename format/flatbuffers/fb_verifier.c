// A depth-first walk with a stack of its own: one frame per open table says
// which field, and which element of a vector of tables, comes next. The input
// decides how long the walk is, but neither how deep the C stack grows nor how
// many tables are visited.
//
// Writers share vtables, so most tables of a file have a form that was seen
// before: of the same type, with the same vtable, at a position that is as far
// from a multiple of eight. Where its fields lie was verified then; what is
// left is that the table ends in the buffer, and what its references lead to.

#include "format/flatbuffers/fb_verifier.h"

#include "format/base/assertion.h"
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

// Tables of one type and vtable.
typedef struct form {
  const etx_fb_table_info* info;  // NULL: none yet
  uint32_t vtable;                // position of the vtable
  uint32_t end;    // bytes from the start of a table to the end of its fields
  uint32_t leads;  // fields that lead on, a bit each; they are there
  uint16_t vtable_bytes;
  uint8_t phase;  // a table's position modulo 8
  bool is_flat;   // what leads on leads to strings and vectors of scalars
} form;

// Forms that are remembered: more than real files have.
enum { FORMS = 64 };

// A table that is being verified.
typedef struct frame {
  form form;
  uint32_t position;   // of the table
  uint32_t field;      // id of the field at hand
  uint32_t element;    // element of that field that comes next
  etx_fb_vector rows;  // of that field, once `is_open`
  bool is_open;
} frame;

typedef struct verifier {
  const etx_fb_buffer* buffer;
  const etx_fb_schema* schema;
  etx_diag* diag;
  uint32_t max_tables;
  uint32_t table_count;
  uint32_t depth;  // open frames
  frame frames[ETX_MAX_FB_DEPTH];
  form forms[FORMS];
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
  const etx_fb_table_info* info = f->form.info;
  if (f->field >= info->field_count) {
    return etx_diag_fail_at(v->diag, ETX_BAD_FILE, position, "'%s': %s",
                            info->name, text);
  }
  return etx_diag_fail_at(v->diag, ETX_BAD_FILE, position, "'%s.%s': %s",
                          info->name, info->fields[f->field].name, text);
}

// Follows the reference at `position`, which lies inside.
static inline etx_status follow(verifier* v, uint32_t position, uint32_t* out) {
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

// Position of the vtable of the table at `position`. The table's size in it is
// not looked at: common Python writers share vtables between tables of
// different sizes, and no reader needs it.
static etx_status find_vtable(verifier* v, uint32_t position, uint32_t* out) {
  uint32_t distance = 0;
  if (position % 4 != 0) {
    return refuse(v, TABLE_ALIGNMENT, position, position, 4);
  }
  if (!etx_fb_load_u32(v->buffer, position, &distance)) {
    return refuse(v, TABLE_END, position, (uint64_t)position + 4,
                  v->buffer->size);
  }
  // Signed distance; wrapping gives the same position, or one that is outside.
  *out = position - distance;
  return ETX_OK;
}

static etx_status check_vtable(verifier* v, uint32_t position, uint32_t vtable,
                               uint16_t* out_bytes) {
  const uint32_t size = v->buffer->size;
  uint16_t bytes = 0;
  if (vtable % 2 != 0 || !etx_fb_load_u16(v->buffer, vtable, &bytes)) {
    return refuse(v, VTABLE_PLACE, position, position, position - vtable);
  }
  if (bytes < 4 || bytes % 2 != 0 || bytes > size - vtable) {
    return refuse(v, VTABLE_SIZE, vtable, bytes, size - vtable);
  }
  *out_bytes = bytes;
  return ETX_OK;
}

// Bytes from the start of a table to field `id`, or 0 if it is absent.
static uint32_t offset_of(const verifier* v, const form* f, uint32_t id) {
  const uint32_t slot = 4 + 2 * id;
  uint16_t offset = 0;
  if (slot + 2 <= f->vtable_bytes) {
    (void)etx_fb_load_u16(v->buffer, (uint64_t)f->vtable + slot, &offset);
  }
  return offset;
}

// Position of field `id`, or 0 if it is absent; whole and aligned if not.
static etx_status locate(verifier* v, uint32_t id, uint32_t bytes,
                         uint32_t* out) {
  const frame* f = top(v);
  const uint32_t offset = offset_of(v, &f->form, id);
  *out = 0;
  if (offset == 0) return ETX_OK;
  const uint32_t left = v->buffer->size - f->position;
  if (offset < 4 || offset + bytes > left) {
    return refuse(v, FIELD_PLACE, f->position, offset, left);
  }
  const uint32_t position = f->position + offset;
  if (position % bytes != 0) {
    return refuse(v, FIELD_ALIGNMENT, position, position, bytes);
  }
  *out = position;
  return ETX_OK;
}

// Bytes that field `id` takes in a table.
static uint32_t field_bytes(const etx_fb_table_info* info, uint32_t id) {
  const type_info type = types[info->fields[id].type];
  const bool is_vector = type.shape == VECTOR || type.shape == STRING;
  return is_vector ? 4 : type.bytes;
}

// Verifies where the fields of the top frame's table lie, and notes in its form
// how far they reach and which lead on. A union leads on if only its code is
// there, which has to be looked at.
static etx_status learn(verifier* v) {
  frame* f = top(v);
  const etx_fb_table_info* info = f->form.info;
  ETX_ASSERT(info->field_count <= 32);
  f->form.end = 4;
  f->form.leads = 0;
  f->form.is_flat = true;
  uint32_t before = 0;
  for (f->field = 0; f->field < info->field_count; ++f->field) {
    const etx_fb_field_info* field = &info->fields[f->field];
    const shape kind = types[field->type].shape;
    const uint32_t bytes = field_bytes(info, f->field);
    uint32_t position = 0;
    ETX_TRY(locate(v, f->field, bytes, &position));
    if (position == 0 && field->is_needed) {
      return refuse(v, FIELD_MISSING, f->position, f->position, f->field);
    }
    const uint32_t end = position == 0 ? 0 : position + bytes - f->position;
    if (end > f->form.end) f->form.end = end;
    const bool leads = kind == UNION
                           ? position != 0 || before != 0
                           : position != 0 && kind != SCALAR && kind != CODE;
    if (leads) f->form.leads |= (uint32_t)1 << f->field;
    if (leads && kind != VECTOR && kind != STRING) f->form.is_flat = false;
    before = position;
  }
  return ETX_OK;
}

// True if the vector or string that the reference at `position` leads to is
// good. Otherwise check_vector and check_string tell why.
static bool is_good_vector(const verifier* v, type_info type,
                           uint32_t position) {
  const uint32_t size = v->buffer->size;
  uint32_t distance = 0;
  uint32_t count = 0;
  uint8_t last = 0;
  (void)etx_fb_load_u32(v->buffer, position, &distance);
  const uint64_t goal = (uint64_t)position + distance;
  if (distance == 0 || goal % 4 != 0 ||
      !etx_fb_load_u32(v->buffer, goal, &count)) {
    return false;
  }
  const uint64_t start = goal + 4;
  const uint64_t end = start + (uint64_t)count * type.bytes;
  if (end > size || (count > 0 && (start & (type.bytes - 1)) != 0)) {
    return false;
  }
  return type.shape != STRING ||
         (etx_fb_load_u8(v->buffer, end, &last) && last == 0);
}

// True if all that a table of a flat form leads to is good.
static bool leads_to_good(const verifier* v, const form* f, uint32_t position) {
  for (uint32_t left = f->leads; left != 0; left &= left - 1) {
    const uint32_t id = (uint32_t)__builtin_ctz(left);
    const type_info type = types[f->info->fields[id].type];
    if (!is_good_vector(v, type, position + offset_of(v, f, id))) return false;
  }
  return true;
}

// Where a form is remembered, if it is. Factors with well mixed bits: vtables
// lie close to each other.
static uint32_t slot_of(uint32_t vtable, uint32_t type, uint32_t phase) {
  const uint32_t mixed =
      vtable * 2654435761u + type * 2246822519u + phase * 3266489917u;
  return (mixed >> 16) % FORMS;
}

// Opens the table at `position` as one of `info`, unless nothing is left to be
// done for it.
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
  uint32_t vtable = 0;
  ETX_TRY(find_vtable(v, position, &vtable));
  form* known = &v->forms[slot_of(vtable, (uint32_t)(info - v->schema->tables),
                                  position % 8)];
  const bool is_known = known->info == info && known->vtable == vtable &&
                        known->phase == position % 8 &&
                        known->end <= v->buffer->size - position;
  if (is_known && known->is_flat && leads_to_good(v, known, position)) {
    return ETX_OK;
  }
  frame* f = &v->frames[v->depth];
  f->position = position;
  f->element = 0;
  f->is_open = false;
  if (is_known) {
    f->form = *known;
  } else {
    f->form = (form){
        .info = info, .vtable = vtable, .phase = (uint8_t)(position % 8)};
    ETX_TRY(check_vtable(v, position, vtable, &f->form.vtable_bytes));
    ++v->depth;
    ETX_TRY(learn(v));
    --v->depth;
    *known = f->form;
  }
  f->field = 0;
  ++v->depth;
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
  uint8_t code = 0;
  uint32_t table = 0;
  const uint32_t code_offset = offset_of(v, &f->form, f->field - 1);
  if (code_offset != 0) {
    (void)etx_fb_load_u8(v->buffer, (uint64_t)f->position + code_offset, &code);
  }
  if (code > info->member_count) {
    return refuse(v, UNION_CODE, f->position, code, info->member_count);
  }
  if (code == 0 && position != 0) {
    return refuse(v, UNION_VALUE, f->position, code, f->position);
  }
  if (position == 0) return ETX_OK;
  ETX_TRY(follow(v, position, &table));
  return push(v, &v->schema->tables[info->members[code - 1]], table);
}

// Goes on with the vector of tables at `position` until one of them is opened
// or none is left.
static etx_status check_tables(verifier* v, const etx_fb_table_info* info,
                               uint32_t position) {
  frame* f = top(v);
  const uint32_t depth = v->depth;
  if (!f->is_open) {
    ETX_TRY(check_vector(v, position, 4, &f->rows));
    f->is_open = true;
    f->element = 0;
  }
  while (f->element < f->rows.count) {
    uint32_t table = 0;
    ETX_TRY(follow(v, f->rows.position + 4 * f->element, &table));
    ETX_TRY(push(v, info, table));
    ++f->element;
    if (v->depth != depth) return ETX_OK;
  }
  f->is_open = false;
  return ETX_OK;
}

// Verifies what field `f->field` of the open table leads to.
static etx_status check_field(verifier* v, const frame* f) {
  const etx_fb_field_info* field = &f->form.info->fields[f->field];
  const type_info type = types[field->type];
  const uint32_t offset = offset_of(v, &f->form, f->field);
  const uint32_t position = offset == 0 ? 0 : f->position + offset;
  etx_fb_vector vector = {0, 0};
  uint32_t table = 0;
  switch (type.shape) {
    case UNION:
      return check_union(v, &v->schema->unions[field->target], position);
    case TABLES:
      return check_tables(v, &v->schema->tables[field->target], position);
    case TABLE:
      ETX_TRY(follow(v, position, &table));
      return push(v, &v->schema->tables[field->target], table);
    case STRING:
      return check_string(v, position);
    case VECTOR:
      return check_vector(v, position, type.bytes, &vector);
    case SCALAR:
    case CODE:
      break;
  }
  return ETX_OK;
}

// Goes on with the fields that lead somewhere until one opens a table; closes
// this one if none is left.
static etx_status check_fields(verifier* v) {
  frame* f = top(v);
  const uint32_t depth = v->depth;
  while (f->form.leads != 0) {
    f->field = (uint32_t)__builtin_ctz(f->form.leads);
    ETX_TRY(check_field(v, f));
    if (!f->is_open) f->form.leads &= f->form.leads - 1;
    if (v->depth != depth) return ETX_OK;
  }
  --v->depth;
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
  memset(v.forms, 0, sizeof v.forms);
  uint32_t root = 0;
  ETX_TRY(check_head(&v, &root));
  ETX_TRY(push(&v, &schema->tables[0], root));
  while (v.depth > 0) ETX_TRY(check_fields(&v));
  return ETX_OK;
}
