// The cursor that reads the argument texts of operators, and their names.

#include "format/ops/op_schema.h"

#include <string.h>

#include "format/base/assertion.h"

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

bool etx_argument_type_find(etx_text word, etx_argument_type* out_type,
                            etx_argument_type* out_list) {
  for (size_t i = 0; i < sizeof type_names / sizeof type_names[0]; ++i) {
    if (!etx_text_is(word, type_names[i].text)) continue;
    *out_type = type_names[i].type;
    *out_list = type_names[i].list;
    return true;
  }
  return false;
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

// Splits "name.overload", as some files write it. No name has a dot.
static void split_name(etx_text* name, etx_text* overload) {
  const char* const dot =
      name->size == 0 ? NULL : memchr(name->data, '.', name->size);
  if (dot == NULL || dot + 1 == name->data + name->size) return;
  const size_t before = (size_t)(dot - name->data);
  *overload = (etx_text){dot + 1, name->size - before - 1};
  name->size = before;
}

etx_op_name etx_op_name_of(etx_text name, etx_text overload) {
  if (overload.size == 0) split_name(&name, &overload);
  const bool fits = name.size <= UINT8_MAX && overload.size <= UINT8_MAX;
  const etx_op_name result = {
      name, overload, fits ? ETX_OP_LENGTHS(name.size, overload.size) : 0};
  return result;
}

static bool has_bytes(etx_text text, const char* bytes) {
  return text.size == 0 || memcmp(text.data, bytes, text.size) == 0;
}

bool etx_op_texts_are(const etx_op* op, const etx_op_name* name) {
  return name->lengths != 0 && has_bytes(name->name, op->name) &&
         has_bytes(name->overload, op->overload);
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
