// A depth-first walk with a stack of its own: one frame per open table says
// which field, and which element of a vector of tables, comes next. The input
// decides how long the walk is, but neither how deep the C stack grows nor how
// many tables are visited.
//
// Writers share vtables, so most tables of a file have a form that was seen
// before: of the same type, with the same vtable, at a position that is as far
// from a multiple of eight. Where its fields lie was verified then; what is
// left is that the table ends in the buffer, and what its references lead to.
// If that are vectors and small tables, or a union that holds such a table,
// there is nothing to come back to: no frame is opened (`is_seen`).

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

// What tables of a form lead to.
typedef struct lead {
  uint16_t offset;  // of the reference, from the start of a table
  uint8_t bytes;    // of an element
  uint8_t what;     // LEAD_VECTOR, LEAD_STRING, or LEAD_TABLE and its index
} lead;

enum { LEAD_VECTOR, LEAD_STRING, LEAD_TABLE };

// Leads of a form that is looked at without a frame.
enum { FORM_LEADS = 4 };

typedef enum form_kind {
  FORM_OTHER,
  FORM_FLAT,     // leads to strings and vectors of scalars
  FORM_NEST,     // and to tables
  FORM_WRAPPER,  // nothing leads on but a union
} form_kind;

// Where the fields of a table lie.
typedef struct layout {
  const etx_fb_table_info* info;
  uint32_t vtable;  // position of the vtable
  uint32_t leads;   // fields that lead on, a bit each; they are there
  uint16_t vtable_bytes;
} layout;

// Tables of one type and vtable.
typedef struct form {
  layout layout;
  uint32_t end;  // bytes from the start of a table to the end of its fields
  uint8_t kind;  // form_kind
  uint8_t lead_count;
  lead list[FORM_LEADS];  // of a wrapper: the value, `what` the union; the code
} form;

// Forms that are remembered: more than real files have.
enum { FORM_BITS = 6, FORMS = 1 << FORM_BITS };

#define NO_KEY UINT64_MAX

// A table that is being verified.
typedef struct frame {
  layout layout;
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
  uint32_t last;  // position at which the last four bytes lie
  uint32_t max_tables;
  uint32_t table_count;
  uint32_t depth;  // open frames
  frame frames[ETX_MAX_FB_DEPTH];
  uint64_t keys[FORMS];  // of the forms, see key_of; NO_KEY: none yet
  form forms[FORMS];
} verifier;

static frame* top(verifier* v) { return &v->frames[v->depth - 1]; }

static const etx_fb_field_info* fields_of(const verifier* v,
                                          const etx_fb_table_info* info) {
  return v->schema->fields + info->first_field;
}

// A name of the schema: the first is 0.
static const char* name_at(const etx_fb_schema* schema, size_t index) {
  const char* name = schema->names;
  for (; index > 0; --index) name += strlen(name) + 1;
  return name;
}

static etx_status refuse(verifier* v, reason why, uint32_t position,
                         uint64_t found, uint64_t allowed) {
  if (!ETX_MESSAGES) {
    return etx_diag_fail_at(v->diag, ETX_BAD_FILE, position, "");
  }
  char text[160];
  (void)etx_format_text(text, sizeof text, reason_texts[why], found, allowed);
  if (v->depth == 0) {
    return etx_diag_fail_at(v->diag, ETX_BAD_FILE, position, "%s", text);
  }
  const frame* f = top(v);
  const etx_fb_table_info* info = f->layout.info;
  // As many tables have a name before this one, and all of their fields.
  const size_t index = (size_t)(info - v->schema->tables) + info->first_field;
  const char* table = name_at(v->schema, index);
  if (f->field >= info->field_count) {
    return etx_diag_fail_at(v->diag, ETX_BAD_FILE, position, "'%s': %s", table,
                            text);
  }
  return etx_diag_fail_at(v->diag, ETX_BAD_FILE, position, "'%s.%s': %s", table,
                          name_at(v->schema, index + 1 + f->field), text);
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
static uint32_t offset_of(const verifier* v, const layout* l, uint32_t id) {
  const uint32_t slot = 4 + 2 * id;
  uint16_t offset = 0;
  if (slot + 2 <= l->vtable_bytes) {
    (void)etx_fb_load_u16(v->buffer, (uint64_t)l->vtable + slot, &offset);
  }
  return offset;
}

// Position of field `id`, or 0 if it is absent; whole and aligned if not.
static etx_status locate(verifier* v, uint32_t id, uint32_t bytes,
                         uint32_t* out) {
  const frame* f = top(v);
  const uint32_t offset = offset_of(v, &f->layout, id);
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

// Bytes that a field takes in a table.
static uint32_t field_bytes(const etx_fb_field_info* field) {
  const type_info type = types[field->type];
  const bool is_vector = type.shape == VECTOR || type.shape == STRING;
  return is_vector ? 4 : type.bytes;
}

// How a form leads on by a field that is no union; false if it is a field that
// needs a frame.
static bool describe_lead(const verifier* v, const layout* l, uint32_t id,
                          lead* out) {
  const etx_fb_field_info* field = &fields_of(v, l->info)[id];
  const type_info type = types[field->type];
  out->offset = (uint16_t)offset_of(v, l, id);
  out->bytes = (uint8_t)type.bytes;
  switch (type.shape) {
    case VECTOR:
      out->what = LEAD_VECTOR;
      return true;
    case STRING:
      out->what = LEAD_STRING;
      return true;
    case TABLE:
      out->what = (uint8_t)(LEAD_TABLE + field->target);
      return field->target < UINT8_MAX - LEAD_TABLE;
    default:
      return false;
  }
}

// Finds by what tables of a form can be looked at without a frame.
static void sort_form(const verifier* v, form* f) {
  const layout* const l = &f->layout;
  const uint32_t first = (uint32_t)__builtin_ctz(l->leads | 1u << 31);
  const bool is_one = l->leads != 0 && (l->leads & (l->leads - 1)) == 0;
  form_kind kind = FORM_FLAT;
  f->kind = FORM_OTHER;
  f->lead_count = 0;
  const etx_fb_field_info* const only =
      is_one ? &fields_of(v, l->info)[first] : NULL;
  if (only != NULL && types[only->type].shape == UNION) {
    f->list[0].offset = (uint16_t)offset_of(v, l, first);
    f->list[0].what = only->target;
    f->list[1].offset = (uint16_t)offset_of(v, l, first - 1);
    if (f->list[0].offset != 0 && f->list[1].offset != 0) {
      f->kind = FORM_WRAPPER;
    }
    return;
  }
  for (uint32_t left = l->leads; left != 0; left &= left - 1) {
    lead* const next = &f->list[f->lead_count];
    if (f->lead_count == FORM_LEADS ||
        !describe_lead(v, l, (uint32_t)__builtin_ctz(left), next)) {
      return;
    }
    if (next->what >= LEAD_TABLE) kind = FORM_NEST;
    ++f->lead_count;
  }
  f->kind = (uint8_t)kind;
}

// Verifies where the fields of the top frame's table lie, and notes in a form
// how far they reach and which lead on. A union leads on if only its code is
// there, which has to be looked at.
static etx_status learn(verifier* v, form* out) {
  frame* f = top(v);
  const etx_fb_table_info* info = f->layout.info;
  ETX_ASSERT(info->field_count <= 32);
  out->end = 4;
  f->layout.leads = 0;
  uint32_t before = 0;
  for (f->field = 0; f->field < info->field_count; ++f->field) {
    const etx_fb_field_info* field = &fields_of(v, info)[f->field];
    const shape kind = types[field->type].shape;
    const uint32_t bytes = field_bytes(field);
    uint32_t position = 0;
    ETX_TRY(locate(v, f->field, bytes, &position));
    if (position == 0 && field->is_needed) {
      return refuse(v, FIELD_MISSING, f->position, f->position, f->field);
    }
    const uint32_t end = position == 0 ? 0 : position + bytes - f->position;
    if (end > out->end) out->end = end;
    const bool leads = kind == UNION
                           ? position != 0 || before != 0
                           : position != 0 && kind != SCALAR && kind != CODE;
    if (leads) f->layout.leads |= (uint32_t)1 << f->field;
    before = position;
  }
  out->layout = f->layout;
  sort_form(v, out);
  return ETX_OK;
}

// True if the vector or string that the reference at `position` leads to is
// good. Otherwise check_vector and check_string tell why.
static inline bool is_good_vector(const verifier* v, lead l,
                                  uint32_t position) {
  const uint8_t* const data = v->buffer->data;
  const uint64_t size = v->buffer->size;
  uint32_t distance = 0;
  uint32_t count = 0;
  memcpy(&distance, data + position, sizeof distance);
  const uint64_t start = (uint64_t)position + distance + 4;
  if (distance == 0 || start % 4 != 0 || start > size) return false;
  memcpy(&count, data + start - 4, sizeof count);
  const uint64_t end = start + (uint64_t)count * l.bytes;
  if (end > size || (count > 0 && (start & (l.bytes - 1u)) != 0)) return false;
  return l.what != LEAD_STRING || (end < size && data[end] == 0);
}

// What tables of one form have in common: three bits of their position, their
// type, of which there are fewer than 256, and their vtable.
static inline uint64_t key_of(uint32_t type, uint64_t position,
                              uint32_t vtable) {
  return position << 61 | (uint64_t)type << 32 | vtable;
}

// Where a form is remembered, if it is: there or in the place beside. The upper
// bits of a product depend on all bits of the key.
static inline uint32_t slot_of(uint64_t key) {
  return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - FORM_BITS));
}

// The position that the reference at `position`, which lies inside, leads to. A
// reference of 0 leads to itself, where no table of a known form is: it would
// be as far from its vtable, whose size would be 0.
static inline uint64_t goal_of(const verifier* v, uint32_t position) {
  uint32_t distance = 0;
  memcpy(&distance, v->buffer->data + position, sizeof distance);
  return (uint64_t)position + distance;
}

// The form that tables such as this one were seen in, if it is remembered and
// the table ends inside; NULL otherwise, as for a table that starts outside.
// Forms are learned from tables that are aligned, so one of the same phase is,
// too.
static inline const form* recall(const verifier* v, uint32_t type,
                                 uint64_t position) {
  uint32_t distance = 0;
  if (position > v->last) return NULL;
  memcpy(&distance, v->buffer->data + position, sizeof distance);
  const uint64_t key = key_of(type, position, (uint32_t)position - distance);
  uint32_t slot = slot_of(key);
  if (v->keys[slot] != key) {
    slot ^= 1;
    if (v->keys[slot] != key) return NULL;
  }
  const form* const known = &v->forms[slot];
  return known->end <= v->buffer->size - position ? known : NULL;
}

// Of two forms that want one place, the newer one gets it.
static void remember(verifier* v, uint64_t key, const form* f) {
  const uint32_t slot = slot_of(key);
  v->keys[slot ^ 1] = v->keys[slot];
  v->forms[slot ^ 1] = v->forms[slot];
  v->keys[slot] = key;
  v->forms[slot] = *f;
}

// True if all that a table of a flat form, which lies inside, leads to is good.
static inline bool is_good_flat(const verifier* v, const form* f,
                                uint32_t position) {
  for (uint32_t i = 0; i < f->lead_count; ++i) {
    if (!is_good_vector(v, f->list[i], position + f->list[i].offset)) {
      return false;
    }
  }
  return true;
}

// The same for a nest. Counts tables.
static bool is_good_nest(const verifier* v, const form* f, uint32_t position,
                         uint32_t* count) {
  for (uint32_t i = 0; i < f->lead_count; ++i) {
    const lead l = f->list[i];
    const uint32_t at = position + l.offset;
    if (l.what < LEAD_TABLE) {
      if (!is_good_vector(v, l, at)) return false;
      continue;
    }
    const uint64_t goal = goal_of(v, at);
    const form* const inner = recall(v, l.what - (uint32_t)LEAD_TABLE, goal);
    if (inner == NULL || inner->kind != FORM_FLAT ||
        !is_good_flat(v, inner, (uint32_t)goal)) {
      return false;
    }
    ++*count;
  }
  return true;
}

// Goes from a table of a wrapping form to the member of its union. False if the
// union does not hold one; check_union tells why.
static inline bool unwrap(const verifier* v, const form* f, uint32_t* type,
                          uint64_t* position) {
  const etx_fb_union_info* const choices = &v->schema->unions[f->list[0].what];
  const uint32_t table = (uint32_t)*position;
  const uint8_t code = v->buffer->data[table + f->list[1].offset];
  if (code == 0 || code > choices->member_count) return false;
  *type = choices->members[code - 1];
  *position = goal_of(v, table + f->list[0].offset);
  return true;
}

// True if the table at `position` and all that it leads to is good, found
// without opening it. If not, nothing was done, and it has to be opened.
static inline bool is_seen(verifier* v, uint32_t type, uint64_t position) {
  uint32_t count = 1;  // tables
  uint32_t depth = 1;  // frames that were open at once if they were opened
  const form* known = recall(v, type, position);
  if (known == NULL) return false;
  if (known->kind == FORM_WRAPPER) {
    if (!unwrap(v, known, &type, &position)) return false;
    known = recall(v, type, position);
    if (known == NULL) return false;
    ++count;
    ++depth;
  }
  if (known->kind == FORM_NEST) {
    if (!is_good_nest(v, known, (uint32_t)position, &count)) return false;
    ++depth;
  } else if (known->kind != FORM_FLAT ||
             !is_good_flat(v, known, (uint32_t)position)) {
    return false;
  }
  if (depth > ETX_MAX_FB_DEPTH - v->depth ||
      count > v->max_tables - v->table_count) {
    return false;
  }
  v->table_count += count;
  return true;
}

// Opens the table at `position` as one of `type`.
static etx_status push(verifier* v, uint32_t type, uint32_t position) {
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
  const form* const known = recall(v, type, position);
  frame* f = &v->frames[v->depth];
  f->position = position;
  f->element = 0;
  f->is_open = false;
  if (known != NULL) {
    f->layout = known->layout;
  } else {
    form learned;
    f->layout = (layout){.info = &v->schema->tables[type], .vtable = vtable};
    ETX_TRY(check_vtable(v, position, vtable, &f->layout.vtable_bytes));
    ++v->depth;
    ETX_TRY(learn(v, &learned));
    --v->depth;
    remember(v, key_of(type, position, vtable), &learned);
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
  const uint32_t code_offset = offset_of(v, &f->layout, f->field - 1);
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
  return push(v, info->members[code - 1], table);
}

// Goes on with the vector of tables at `position` until one of them has to be
// opened or none is left.
static etx_status check_tables(verifier* v, uint32_t type, uint32_t position) {
  frame* f = top(v);
  if (!f->is_open) {
    ETX_TRY(check_vector(v, position, 4, &f->rows));
    f->is_open = true;
    f->element = 0;
  }
  uint32_t at = f->rows.position + 4 * f->element;
  const uint32_t end = f->rows.position + 4 * f->rows.count;
  while (at < end && is_seen(v, type, goal_of(v, at))) at += 4;
  f->is_open = at < end;
  if (!f->is_open) return ETX_OK;
  uint32_t table = 0;
  ETX_TRY(follow(v, at, &table));
  f->element = (at - f->rows.position) / 4 + 1;
  return push(v, type, table);
}

// Verifies what field `f->field` of the open table leads to.
static etx_status check_field(verifier* v, const frame* f) {
  const etx_fb_field_info* field = &fields_of(v, f->layout.info)[f->field];
  const type_info type = types[field->type];
  const uint32_t offset = offset_of(v, &f->layout, f->field);
  const uint32_t position = offset == 0 ? 0 : f->position + offset;
  etx_fb_vector vector = {0, 0};
  uint32_t table = 0;
  switch (type.shape) {
    case UNION:
      return check_union(v, &v->schema->unions[field->target], position);
    case TABLES:
      return check_tables(v, field->target, position);
    case TABLE:
      ETX_TRY(follow(v, position, &table));
      return push(v, field->target, table);
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
  while (f->layout.leads != 0) {
    f->field = (uint32_t)__builtin_ctz(f->layout.leads);
    ETX_TRY(check_field(v, f));
    if (!f->is_open) f->layout.leads &= f->layout.leads - 1;
    if (v->depth != depth) return ETX_OK;
  }
  --v->depth;
  return ETX_OK;
}

static etx_status check_head(verifier* v, uint32_t* out_root) {
  const etx_fb_buffer* buffer = v->buffer;
  if (buffer->size < 8) return refuse(v, TOO_SHORT, 0, buffer->size, 8);
  v->last = buffer->size - 4;
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
  for (size_t i = 0; i < FORMS; ++i) v.keys[i] = NO_KEY;
  uint32_t root = 0;
  ETX_TRY(check_head(&v, &root));
  ETX_TRY(push(&v, 0, root));
  while (v.depth > 0) ETX_TRY(check_fields(&v));
  return ETX_OK;
}
