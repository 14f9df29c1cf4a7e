// The rows of op_schema.def as a table, and the cursor that reads their
// argument texts. Rows are looked up by name with a linear scan, which passes
// over names of other lengths: it happens some times per operator and method,
// when a file is loaded.

#include "format/ops/op_schema.h"

#include "format/base/assertion.h"
#include "format/ops/op_shapes.h"

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

// Bytes of both names of a row, so that most are passed over at one look.
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

typedef struct type_name {
  const char* text;
  etx_argument_type type;
  etx_argument_type list;  // the type with "[]"; same as `type` if there is
                           // none
} type_name;

static const type_name type_names[] = {
    {"Tensor", ETX_ARGUMENT_TENSOR, ETX_ARGUMENT_TENSORS},
    {"Scalar", ETX_ARGUMENT_SCALAR, ETX_ARGUMENT_SCALAR},
    {"int", ETX_ARGUMENT_INT, ETX_ARGUMENT_INTS},
    {"SymInt", ETX_ARGUMENT_INT, ETX_ARGUMENT_INTS},
    {"float", ETX_ARGUMENT_FLOAT, ETX_ARGUMENT_FLOATS},
    {"bool", ETX_ARGUMENT_BOOL, ETX_ARGUMENT_BOOLS},
    {"str", ETX_ARGUMENT_STRING, ETX_ARGUMENT_STRING},
    {"ScalarType", ETX_ARGUMENT_SCALAR_TYPE, ETX_ARGUMENT_SCALAR_TYPE},
    {"MemoryFormat", ETX_ARGUMENT_MEMORY_FORMAT, ETX_ARGUMENT_MEMORY_FORMAT},
    {"Layout", ETX_ARGUMENT_LAYOUT, ETX_ARGUMENT_LAYOUT},
    {"Device", ETX_ARGUMENT_DEVICE, ETX_ARGUMENT_DEVICE},
};

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         (c >= '0' && c <= '9');
}

static etx_text read_word(const char** rest) {
  const char* start = *rest;
  while (is_letter(**rest)) ++*rest;
  const etx_text word = {start, (size_t)(*rest - start)};
  return word;
}

static bool skip(const char** rest, char c) {
  if (**rest != c) return false;
  ++*rest;
  return true;
}

static const type_name* find_type(etx_text word) {
  const size_t count = sizeof(type_names) / sizeof(type_names[0]);
  size_t i = 0;
  while (i < count && !etx_text_is(word, type_names[i].text)) ++i;
  ETX_ASSERT(i < count);
  return &type_names[i];
}

// Reads what may follow a type's name: "(a!)", "?", "[]", "[2]", "[]?".
static void read_suffixes(const char** rest, const type_name* type,
                          etx_argument* argument) {
  bool optional_item = false;
  argument->type = type->type;
  for (;;) {
    if (skip(rest, '(')) {
      for (; !skip(rest, ')'); ++*rest) {
        if (**rest == '!') argument->written = true;
      }
    } else if (skip(rest, '?')) {
      argument->optional = true;
    } else if (skip(rest, '[')) {
      unsigned count = 0;
      for (; !skip(rest, ']'); ++*rest) {
        count = count * 10 + (unsigned)(**rest - '0');
      }
      argument->fixed_count = (uint8_t)count;
      argument->type = type->list;
      optional_item = argument->optional;
      argument->optional = false;
    } else {
      break;
    }
  }
  if (optional_item && argument->type == ETX_ARGUMENT_TENSORS) {
    argument->type = ETX_ARGUMENT_OPTIONAL_TENSORS;
  }
}

// A default may contain commas inside brackets: "[0, 1]".
static etx_text read_default(const char** rest) {
  const char* start = *rest;
  unsigned depth = 0;
  for (; **rest != '\0' && (depth > 0 || **rest != ','); ++*rest) {
    if (**rest == '[') ++depth;
    if (**rest == ']') --depth;
  }
  const etx_text text = {start, (size_t)(*rest - start)};
  return text;
}

bool etx_argument_next(etx_argument_cursor* cursor,
                       etx_argument* out_argument) {
  const char* rest = cursor->rest;
  while (*rest == ' ' || *rest == ',' || *rest == '*') {
    if (*rest == '*') cursor->keyword_only = true;
    ++rest;
  }
  if (*rest == '\0') {
    cursor->rest = rest;
    return false;
  }
  *out_argument = (etx_argument){.keyword_only = cursor->keyword_only};
  const type_name* type = find_type(read_word(&rest));
  read_suffixes(&rest, type, out_argument);
  while (skip(&rest, ' ')) {
  }
  out_argument->name = read_word(&rest);
  if (skip(&rest, '=')) out_argument->default_text = read_default(&rest);
  cursor->rest = rest;
  return true;
}

const etx_op* etx_op_at(etx_op_id id) {
  ETX_ASSERT(id < ETX_OP_COUNT);
  return &rows[id];
}

// True if a row with these sizes may be what a file states: both names apart,
// or joined as "name.overload".
static bool sizes_fit(row_size size, etx_text name, etx_text overload) {
  if (overload.size > 0) {
    return size.name == name.size && size.overload == overload.size;
  }
  const size_t tail = size.overload == 0 ? 0 : 1u + size.overload;
  return name.size == size.name + tail;
}

// Compares a row whose sizes fit.
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

size_t etx_op_argument_count(const etx_op* op) {
  etx_argument_cursor cursor = etx_argument_first(op->arguments);
  etx_argument argument;
  size_t count = 0;
  while (etx_argument_next(&cursor, &argument)) ++count;
  return count;
}

size_t etx_op_call_count(const etx_op* op) {
  return etx_op_argument_count(op) + (op->result == ETX_RESULT_NONE ? 0 : 1);
}
