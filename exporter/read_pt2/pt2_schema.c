// Access to the JSON of an archive with checks of its schema: kinds of members,
// unions with exactly one tag, floats that are written as strings.

#include <math.h>
#include <stdlib.h>
#include <stdarg.h>

#include "exporter/read_pt2/pt2_internal.h"

enum { MAX_DIGITS = 40 };  // characters of a number in a text

void etx_pt2_set_context(etx_pt2_graph* graph, const char* format, ...) {
  va_list list;
  va_start(list, format);
  (void)etx_format_text_list(graph->context, sizeof graph->context, format,
                             list);
  va_end(list);
}

etx_status etx_pt2_fail_malformed(etx_pt2_graph* graph, const char* format,
                                  ...) {
  char text[ETX_DIAG_TEXT_BYTES];
  va_list list;
  va_start(list, format);
  (void)etx_format_text_list(text, sizeof text, format, list);
  va_end(list);
  return etx_diag_fail(graph->diag, ETX_BAD_FILE, "%s: %s", graph->context,
                       text);
}

etx_status etx_pt2_fail_unsupported(etx_pt2_graph* graph, const char* format,
                                    ...) {
  char text[ETX_DIAG_TEXT_BYTES];
  va_list list;
  va_start(list, format);
  (void)etx_format_text_list(text, sizeof text, format, list);
  va_end(list);
  return etx_diag_fail(graph->diag, ETX_UNSUPPORTED, "%s: %s", graph->context,
                       text);
}

etx_status etx_pt2_expect(etx_pt2_graph* graph, const etx_json* value,
                          etx_json_kind kind, const char* what) {
  if (value == NULL)
    return etx_pt2_fail_malformed(graph, "'%s' is missing", what);
  if (value->kind == kind) return ETX_OK;
  return etx_pt2_fail_malformed(graph, "'%s' should be %s, found %s", what,
                                etx_json_kind_name(kind),
                                etx_json_kind_name(value->kind));
}

etx_status etx_pt2_field(etx_pt2_graph* graph, const etx_json* object,
                         const char* key, etx_json_kind kind,
                         const etx_json** out_value) {
  if (object == NULL || object->kind != ETX_JSON_OBJECT) {
    return etx_pt2_fail_malformed(
        graph, "expected an object with '%s', found %s", key,
        object == NULL ? "nothing" : etx_json_kind_name(object->kind));
  }
  const etx_json* const value = etx_json_member(object, key);
  ETX_TRY(etx_pt2_expect(graph, value, kind, key));
  *out_value = value;
  return ETX_OK;
}

etx_status etx_pt2_text(etx_pt2_graph* graph, const etx_json* object,
                        const char* key, etx_text* out_text) {
  const etx_json* value = NULL;
  ETX_TRY(etx_pt2_field(graph, object, key, ETX_JSON_STRING, &value));
  *out_text = value->string;
  return ETX_OK;
}

etx_status etx_pt2_union(etx_pt2_graph* graph, const etx_json* value,
                         etx_text* out_tag, const etx_json** out_payload) {
  if (value == NULL || value->kind != ETX_JSON_OBJECT || value->count != 1) {
    return etx_pt2_fail_malformed(
        graph, "a union should have exactly one tag, found %z",
        value == NULL || value->kind != ETX_JSON_OBJECT ? (size_t)0
                                                        : value->count);
  }
  *out_tag = value->keys[0];
  *out_payload = &value->items[0];
  return ETX_OK;
}

etx_status etx_pt2_double(etx_pt2_graph* graph, const etx_json* value,
                          double* out) {
  if (value != NULL && value->kind == ETX_JSON_DOUBLE) {
    *out = value->real;
    return ETX_OK;
  }
  if (value != NULL && value->kind == ETX_JSON_INT) {
    *out = (double)value->integer;
    return ETX_OK;
  }
  ETX_TRY(etx_pt2_expect(graph, value, ETX_JSON_STRING, "as_float"));
  if (etx_text_is(value->string, "NaN")) {
    *out = (double)NAN;
  } else if (etx_text_is(value->string, "Infinity")) {
    *out = HUGE_VAL;
  } else if (etx_text_is(value->string, "-Infinity")) {
    *out = -HUGE_VAL;
  } else {
    return etx_pt2_fail_malformed(graph, "'%t' is not a number", value->string);
  }
  return ETX_OK;
}

typedef struct pt2_dtype_code {
  int64_t code;
  etx_dtype dtype;
} pt2_dtype_code;

// The codes of an archive differ from those of ATen and of .pte files.
static const pt2_dtype_code dtype_codes[] = {
    {1, ETX_DTYPE_UINT8},
    {2, ETX_DTYPE_INT8},
    {3, ETX_DTYPE_INT16},
    {4, ETX_DTYPE_INT32},
    {5, ETX_DTYPE_INT64},
    {6, ETX_DTYPE_FLOAT16},
    {7, ETX_DTYPE_FLOAT32},
    {8, ETX_DTYPE_FLOAT64},
    {10, ETX_DTYPE_COMPLEX64},
    {11, ETX_DTYPE_COMPLEX128},
    {12, ETX_DTYPE_BOOL},
    {13, ETX_DTYPE_BFLOAT16},
    {28, ETX_DTYPE_UINT16},
    {29, ETX_DTYPE_FLOAT8_E4M3FN},
    {30, ETX_DTYPE_FLOAT8_E5M2},
    {31, ETX_DTYPE_FLOAT8_E4M3FNUZ},
    {32, ETX_DTYPE_FLOAT8_E5M2FNUZ},
    {34, ETX_DTYPE_UINT32},
    {35, ETX_DTYPE_UINT64},
};

etx_status etx_pt2_dtype(etx_pt2_graph* graph, const etx_json* value,
                         etx_dtype* out_dtype) {
  ETX_TRY(etx_pt2_expect(graph, value, ETX_JSON_INT, "dtype"));
  for (size_t i = 0; i < sizeof dtype_codes / sizeof dtype_codes[0]; ++i) {
    if (dtype_codes[i].code != value->integer) continue;
    *out_dtype = dtype_codes[i].dtype;
    return ETX_OK;
  }
  return etx_pt2_fail_unsupported(
      graph, "the dtype with code %i is not supported", value->integer);
}

enum { LAYOUT_STRIDED = 7 };

etx_status etx_pt2_check_storage(etx_pt2_graph* graph,
                                 const etx_json* tensor_meta) {
  const etx_json* layout = NULL;
  const etx_json* device = NULL;
  etx_text type;
  ETX_TRY(etx_pt2_field(graph, tensor_meta, "layout", ETX_JSON_INT, &layout));
  if (layout->integer != LAYOUT_STRIDED) {
    return etx_pt2_fail_unsupported(
        graph, "layout %i is not supported, expected strided (%i)",
        layout->integer, (int64_t)LAYOUT_STRIDED);
  }
  ETX_TRY(
      etx_pt2_field(graph, tensor_meta, "device", ETX_JSON_OBJECT, &device));
  ETX_TRY(etx_pt2_text(graph, device, "type", &type));
  if (etx_text_is(type, "cpu")) return ETX_OK;
  return etx_pt2_fail_unsupported(
      graph, "device '%t' is not supported: export the model on the CPU", type);
}

bool etx_pt2_float_number(etx_text text, size_t* at, double* out) {
  const etx_text tail = etx_text_of("', precision=53)");
  char digits[MAX_DIGITS + 1];
  size_t size = 0;
  char* end = NULL;
  for (; *at < text.size && text.data[*at] != '\''; ++*at) {
    if (size == MAX_DIGITS) return false;
    digits[size++] = text.data[*at];
  }
  digits[size] = '\0';
  *out = strtod(digits, &end);
  const etx_text rest = {text.data + *at, text.size - *at};
  if (size == 0 || *end != '\0' || !etx_text_starts_with(rest, tail)) {
    return false;
  }
  *at += tail.size;
  return true;
}
