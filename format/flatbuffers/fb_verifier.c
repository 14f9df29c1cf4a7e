// A depth-first traversal with an explicit stack: the frame of each open table
// holds the fields that are still to be followed, and the remaining references
// of the current field. The depth of the stack and the number of tables are
// limited, so no input can exhaust the C stack or run forever.
//
// Writers share vtables, so most tables of a file have the layout of an earlier
// one: the same type, the same vtable, and the same position modulo 8. A cache
// keeps such layouts. For a hit, the offsets and alignments of the fields need
// no second check, only the end of the table and the objects it refers to.

#include "format/flatbuffers/fb_verifier.h"

#include "format/base/assertion.h"
#include "format/base/size_limits.h"
#include "format/flatbuffers/fb_row.h"

typedef enum field_shape {
  SCALAR,
  STRING,
  VECTOR,
  TABLE,
  TABLES,
  CODE,
  UNION
} field_shape;

typedef struct type_info {
  uint8_t shape;
  uint8_t bytes;
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

// What tables of one type and vtable have in common.
typedef struct table_layout {
  uint64_t key;                     // see key_of; NO_KEY: none yet
  const etx_fb_field_info* fields;  // of the type
  uint32_t end;  // bytes from the start of a table to the end of its fields
  uint32_t references;  // bit set of the fields that hold references
} table_layout;

// Entries of the cache: more than real files have layouts.
enum { CACHE_BITS = 7, CACHED_LAYOUTS = 1 << CACHE_BITS };

#define NO_KEY UINT64_MAX

// The stack's entry for a table that is being verified.
typedef struct table_frame {
  const etx_fb_field_info* fields;  // of its type
  uint32_t position;
  uint32_t vtable;
  uint32_t references;  // bit set of the fields that are still to be followed
  uint32_t field;       // id of the current field
  // Positions of the references to tables in that field that are still to be
  // followed.
  uint32_t next;
  uint32_t end;
  uint32_t target;  // index of those tables in the schema
} table_frame;

enum { FRAMES = ETX_MAX_FB_DEPTH + 1 };

typedef struct verifier {
  etx_fb_buffer fb;
  const etx_fb_schema* schema;
  etx_diag* diag;
  uint32_t max_tables;
  uint32_t tables_left;
  table_frame* top;
  table_frame frames[FRAMES];  // the first refers to the root
  table_layout layouts[CACHED_LAYOUTS];
} verifier;

// Name `index` of the schema, from 0.
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
  if (v->top == v->frames) {
    return etx_diag_fail_at(v->diag, ETX_BAD_FILE, position, "%s", text);
  }
  const size_t first = (size_t)(v->top->fields - v->schema->fields);
  const etx_fb_table_info* info = v->schema->tables;
  while (info->first_field != first || info->field_count == 0) ++info;
  // The names of all tables before this one and of their fields come first.
  const size_t index = (size_t)(info - v->schema->tables) + first;
  return etx_diag_fail_at(v->diag, ETX_BAD_FILE, position, "'%s.%s': %s",
                          name_at(v->schema, index),
                          name_at(v->schema, index + 1 + v->top->field), text);
}

// Follows the reference at `position`, which is within the buffer.
static inline etx_status follow(verifier* v, uint32_t position, uint32_t* out) {
  const uint32_t distance = etx_fb_u32_at(v->fb.data + position);
  const uint64_t goal = (uint64_t)position + distance;
  if (distance == 0 || goal >= v->fb.size) {
    return refuse(v, REFERENCE, position, goal, v->fb.size);
  }
  *out = (uint32_t)goal;
  return ETX_OK;
}

// Position of the vtable of the table at `position`. The table size in a vtable
// is not checked: common Python writers share vtables between tables of
// different sizes, and no reader needs it.
static inline etx_status find_vtable(verifier* v, uint32_t position,
                                     uint32_t* out) {
  if (position % 4 != 0) {
    return refuse(v, TABLE_ALIGNMENT, position, position, 4);
  }
  if (position > v->fb.size - 4) {
    return refuse(v, TABLE_END, position, (uint64_t)position + 4, v->fb.size);
  }
  // The distance is signed; unsigned subtraction wraps to the same position, or
  // to one outside of the buffer.
  *out = position - etx_fb_u32_at(v->fb.data + position);
  return ETX_OK;
}

static etx_status check_vtable(verifier* v, uint32_t position,
                               uint32_t vtable) {
  const uint32_t size = v->fb.size;
  uint16_t bytes = 0;
  if (vtable % 2 != 0 || !etx_fb_load_u16(&v->fb, vtable, &bytes)) {
    return refuse(v, VTABLE_PLACE, position, position, position - vtable);
  }
  if (bytes < 4 || bytes % 2 != 0 || bytes > size - vtable) {
    return refuse(v, VTABLE_SIZE, vtable, bytes, size - vtable);
  }
  return ETX_OK;
}

// Bytes from the start of the table to field `id`, or 0 if it is absent.
static uint32_t offset_of(const verifier* v, const table_frame* f,
                          uint32_t id) {
  return etx_fb_offset_in(v->fb.data + f->vtable, id);
}

// Bytes that a field takes in a table.
static uint32_t field_bytes(type_info type) {
  return type.shape == VECTOR || type.shape == STRING ? 4 : type.bytes;
}

// Verifies the offsets of the `count` fields of the top frame's table, and
// computes the layout. A union counts as a reference even without a value, so
// that its code is checked.
static etx_status check_fields(verifier* v, uint32_t count, table_layout* out) {
  table_frame* f = v->top;
  const uint32_t left = v->fb.size - f->position;
  ETX_ASSERT(count <= 32);
  out->end = 4;
  out->references = 0;
  for (f->field = 0; f->field < count; ++f->field) {
    const etx_fb_field_info* field = &f->fields[f->field];
    const type_info type = types[field->type];
    const uint32_t bytes = field_bytes(type);
    const uint32_t offset = offset_of(v, f, f->field);
    const uint32_t position = f->position + offset;
    if (offset == 0) {
      if (field->is_required) {
        return refuse(v, FIELD_MISSING, f->position, f->position, f->field);
      }
    } else if (offset < 4 || offset + bytes > left) {
      return refuse(v, FIELD_PLACE, f->position, offset, left);
    } else if (position % bytes != 0) {
      return refuse(v, FIELD_ALIGNMENT, position, position, bytes);
    } else if (offset + bytes > out->end) {
      out->end = offset + bytes;
    }
    const bool is_reference =
        type.shape == UNION ||
        (type.shape != SCALAR && type.shape != CODE && offset != 0);
    if (is_reference) out->references |= (uint32_t)1 << f->field;
  }
  return ETX_OK;
}

// Key of a table layout: the position modulo 8, the type, of which there are
// fewer than 256, and the position of the vtable.
static uint64_t key_of(uint32_t type, uint32_t position, uint32_t vtable) {
  return (uint64_t)position << 61 | (uint64_t)type << 32 | vtable;
}

// The cache entry for a key: a direct-mapped cache with a multiplicative hash,
// whose upper bits depend on all bits of the key.
static table_layout* cache_entry_of(verifier* v, uint64_t key) {
  return &v->layouts[key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - CACHE_BITS)];
}

// Verifies the table at `position`, which is of `type`, and pushes a frame if
// it has references.
static inline etx_status open_table(verifier* v, uint32_t type,
                                    uint32_t position) {
  uint32_t vtable = 0;
  if (v->top + 1 == v->frames + FRAMES) {
    return refuse(v, TOO_DEEP, position, ETX_MAX_FB_DEPTH + 1,
                  ETX_MAX_FB_DEPTH);
  }
  if (v->tables_left-- == 0) {
    return refuse(v, TOO_MANY_TABLES, position, v->max_tables, v->max_tables);
  }
  ETX_TRY(find_vtable(v, position, &vtable));
  const uint64_t key = key_of(type, position, vtable);
  table_layout* const known = cache_entry_of(v, key);
  const bool is_known =
      known->key == key && known->end <= v->fb.size - position;
  if (is_known && known->references == 0) return ETX_OK;
  if (!is_known) {
    ETX_TRY(check_vtable(v, position, vtable));
    known->fields = v->schema->fields + v->schema->tables[type].first_field;
  }
  table_frame* const f = ++v->top;
  f->fields = known->fields;
  f->position = position;
  f->vtable = vtable;
  f->next = f->end = 0;
  if (!is_known) {
    ETX_TRY(check_fields(v, v->schema->tables[type].field_count, known));
    known->key = key;
  }
  f->references = known->references;
  return ETX_OK;
}

// Verifies the vector that the reference at `position` refers to.
static inline etx_status check_vector(verifier* v, uint32_t position,
                                      uint32_t bytes, etx_fb_vector* out) {
  const uint32_t size = v->fb.size;
  uint32_t start = 0;
  ETX_TRY(follow(v, position, &start));
  if (start % 4 != 0) return refuse(v, VECTOR_ALIGNMENT, start, start, 4);
  if (start > size - 4) return refuse(v, REFERENCE, position, start, size);
  out->count = etx_fb_u32_at(v->fb.data + start);
  start += 4;
  out->position = start;
  const uint64_t needed = (uint64_t)out->count * bytes;
  if (needed > size - start) {
    return refuse(v, VECTOR_END, start, needed, size - start);
  }
  if (out->count > 0 && (start & (bytes - 1)) != 0) {
    return refuse(v, ELEMENT_ALIGNMENT, start, start, bytes);
  }
  return ETX_OK;
}

static etx_status check_string(verifier* v, etx_fb_vector bytes) {
  const uint32_t end = bytes.position + bytes.count;
  uint8_t last = 1;
  if (!etx_fb_load_u8(&v->fb, end, &last) || last != 0) {
    return refuse(v, STRING_END, end, end, last);
  }
  return ETX_OK;
}

// Verifies the code of the union in the current field and schedules the table
// that it holds. `position` is that of the value's reference, or of `f`'s table
// if the value is absent. A code without a value is accepted here: the callers
// that know the schema refuse it where it is an error.
static etx_status check_union(verifier* v, table_frame* f,
                              const etx_fb_union_info* info,
                              uint32_t position) {
  const uint32_t code_offset = offset_of(v, f, f->field - 1);
  const uint8_t code =
      code_offset == 0 ? 0 : v->fb.data[f->position + code_offset];
  if (code > info->member_count) {
    return refuse(v, UNION_CODE, f->position, code, info->member_count);
  }
  if (position == f->position) return ETX_OK;
  if (code == 0) return refuse(v, UNION_VALUE, f->position, code, f->position);
  f->target = info->members[code - 1];
  f->next = position;
  f->end = position + 4;
  return ETX_OK;
}

// Verifies the object that the current field refers to, and schedules the
// tables in it.
static inline etx_status check_field(verifier* v, table_frame* f) {
  const etx_fb_field_info field = f->fields[f->field];
  const type_info type = types[field.type];
  const uint32_t position = f->position + offset_of(v, f, f->field);
  etx_fb_vector vector = {position, 1};
  if (type.shape == UNION) {
    return check_union(v, f, &v->schema->unions[field.target], position);
  }
  if (type.shape != TABLE) {
    ETX_TRY(check_vector(v, position, type.bytes, &vector));
    if (type.shape == VECTOR) return ETX_OK;
    if (type.shape == STRING) return check_string(v, vector);
  }
  f->target = field.target;
  f->next = vector.position;
  f->end = vector.position + 4 * vector.count;
  return ETX_OK;
}

// Visits all tables: takes the next field of the top table, or a table that the
// field refers to, or pops the frame.
static etx_status visit_tables(verifier* v) {
  do {
    table_frame* const f = v->top;
    while (f->next == f->end && f->references != 0) {
      f->field = (uint32_t)__builtin_ctz(f->references);
      f->references &= f->references - 1;
      ETX_TRY(check_field(v, f));
    }
    if (f->next != f->end) {
      uint32_t table = 0;
      ETX_TRY(follow(v, f->next, &table));
      f->next += 4;
      ETX_TRY(open_table(v, f->target, table));
    } else {
      --v->top;
    }
  } while (v->top != v->frames);
  return ETX_OK;
}

static etx_status check_head(verifier* v) {
  const etx_fb_buffer* buffer = &v->fb;
  if (buffer->size < 8) return refuse(v, TOO_SHORT, 0, buffer->size, 8);
  if (buffer->size > INT32_MAX) {
    return refuse(v, TOO_LONG, 0, buffer->size, INT32_MAX);
  }
  if (!etx_fb_has_identifier(buffer, v->schema->identifier)) {
    return refuse(v, IDENTIFIER, 4, etx_fb_u32_at(buffer->data + 4),
                  etx_fb_u32_at((const uint8_t*)v->schema->identifier));
  }
  return ETX_OK;
}

// The work stays linear in the size of the buffer. Only tables that several
// references share can be more than this.
static uint32_t default_tables(uint32_t buffer_bytes) {
  enum { LEAST_BYTES = 8 };  // of a table and the reference to it
  const uint32_t tables = buffer_bytes / LEAST_BYTES;
  return tables < ETX_MAX_FB_TABLES ? ETX_MAX_FB_TABLES : tables;
}

etx_status etx_fb_verify(const etx_fb_buffer* buffer,
                         const etx_fb_schema* schema, uint32_t max_tables,
                         etx_diag* diag) {
  verifier v;
  v.fb = *buffer;
  v.schema = schema;
  v.diag = diag;
  v.max_tables = max_tables == 0 ? default_tables(buffer->size) : max_tables;
  v.tables_left = v.max_tables;
  for (size_t i = 0; i < CACHED_LAYOUTS; ++i) v.layouts[i].key = NO_KEY;
  v.top = v.frames;
  v.frames[0] =
      (table_frame){.end = 4};  // the reference to the root, a table of type 0
  ETX_TRY(check_head(&v));
  return visit_tables(&v);
}
