#include "tests/ops/vector_compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/kernels/core/convert.h"

typedef struct tolerance {
  double absolute;
  double relative;
  bool any_zero_sign;
  bool any_sign;
} tolerance;

static double number(json_t* entry, json_t* test_case, const char* key) {
  json_t* found = json_object_get(entry, key);
  if (found == NULL) found = json_object_get(test_case, key);
  const char* text = json_string_value(found);
  return text != NULL ? strtod(text, NULL) : json_number_value(found);
}

static tolerance tolerance_of(json_t* entry, json_t* test_case) {
  const char* sign = json_string_value(json_object_get(test_case, "zero_sign"));
  const tolerance t = {number(entry, test_case, "atol"),
                       number(entry, test_case, "rtol"),
                       sign != NULL && strcmp(sign, "any") == 0,
                       json_is_true(json_object_get(entry, "any_sign"))};
  return t;
}

static bool is_close(double got, double want, const tolerance* t) {
  if (t->any_sign) {
    got = fabs(got);
    want = fabs(want);
  }
  if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
  if (isinf(want) || isinf(got)) return got == want;
  if (t->absolute == 0 && t->relative == 0) {
    return got == want && (t->any_zero_sign || signbit(got) == signbit(want));
  }
  return fabs(got - want) <= t->absolute + t->relative * fabs(want);
}

// The address of element i in row-major order.
static const char* element_at(const etx_tensor* tensor, size_t i) {
  size_t at = 0;
  for (size_t d = tensor->rank; d-- > 0;) {
    at += i % (size_t)tensor->sizes[d] * (size_t)tensor->strides[d];
    i /= (size_t)tensor->sizes[d];
  }
  return (const char*)tensor->data + at * etx_dtype_bytes(tensor->dtype);
}

etx_dtype vector_component(etx_dtype dtype) {
  if (dtype == ETX_DTYPE_COMPLEX64) return ETX_DTYPE_FLOAT32;
  return dtype == ETX_DTYPE_COMPLEX128 ? ETX_DTYPE_FLOAT64 : dtype;
}

double vector_real(etx_dtype dtype, const void* element) {
  union {
    unsigned char bytes[8];
    uint64_t aligned;
  } copy = {.aligned = 0};  // files do not align their tensors
  double real = 0;
  memcpy(copy.bytes, element, etx_dtype_bytes(dtype));
  // No kernel computes with such a type, for instance uint16 or float8: its
  // bytes, as an integer.
  if (etx_compute_type_of(dtype) == ETX_COMPUTE_NONE)
    return (double)copy.aligned;
  etx_convert(ETX_DTYPE_FLOAT64, &real, 1, dtype, copy.bytes, 1, 1);
  return real;
}

static const char* compare_tensor(const etx_tensor* got,
                                  const vector_tensor* want, const tolerance* t,
                                  char* text, size_t capacity) {
  if (got->dtype != want->dtype) return "the type differs";
  const etx_dtype part = vector_component(want->dtype);
  const size_t bytes = etx_dtype_bytes(part);
  const size_t parts = etx_dtype_bytes(want->dtype) / bytes;
  const bool exact = etx_dtype_category_of(part) != ETX_CATEGORY_FLOATING;
  for (size_t i = 0; i < want->size / bytes; ++i) {
    const char* a = element_at(got, i / parts) + i % parts * bytes;
    const unsigned char* b = want->data + i * bytes;
    const double x = vector_real(part, a), y = vector_real(part, b);
    const bool same = exact ? memcmp(a, b, bytes) == 0 : is_close(x, y, t);
    if (same) continue;
    snprintf(text, capacity, "element %zu is %.9g, expected %.9g", i / parts, x,
             y);
    return text;
  }
  return NULL;
}

// Reads the expected tensor `name`; a message if there is none. `entry` says
// whether it holds pairs that are complex numbers; it may be NULL.
static const char* read_expected(const vector_file* file, const char* name,
                                 json_t* entry, vector_tensor* out) {
  if (name == NULL || !vector_file_find(file, name, out)) {
    return "the expected tensor is missing";
  }
  if (json_object_get(entry, "complex") != NULL &&
      !vector_file_make_complex(out)) {
    return "the expected tensor does not consist of pairs";
  }
  return NULL;
}

static const char* compare_output(const vector_call* c, size_t output,
                                  const vector_tensor* want, const tolerance* t,
                                  char* text, size_t capacity) {
  if (output >= c->output_count) return "a result is missing";
  return compare_tensor(&c->outputs[output]->as.tensor, want, t, text,
                        capacity);
}

static const char* compare_scalar(const vector_call* c, json_t* entry,
                                  const tolerance* t, char* text,
                                  size_t capacity) {
  const etx_value* got = &c->values[c->count - 1];
  json_t* want = json_object_get(entry, "i");
  if (want != NULL) {
    if (got->kind == ETX_VALUE_INT &&
        got->as.integer == json_integer_value(want)) {
      return NULL;
    }
    snprintf(text, capacity, "kind %d, %lld", (int)got->kind,
             (long long)got->as.integer);
    return text;
  }
  want = json_object_get(entry, "b");
  if (want != NULL) {
    const bool same =
        got->kind == ETX_VALUE_BOOL && got->as.boolean == json_is_true(want);
    return same ? NULL : "the boolean differs";
  }
  const double wanted = number(entry, entry, "f");
  const bool same =
      got->kind == ETX_VALUE_DOUBLE && is_close(got->as.real, wanted, t);
  return same ? NULL : "the number differs";
}

// The output that an expected result is for, found by the argument's name. In a
// schema the arguments that the operator changes come first, but in a case
// their results come last. `otherwise` for functional forms, whose results have
// other names.
static size_t output_named(const vector_call* c, json_t* entry,
                           size_t otherwise) {
  const char* name = json_string_value(json_object_get(entry, "name"));
  etx_argument_cursor cursor = etx_argument_first(c->op->arguments);
  etx_argument argument;
  size_t output = 0;
  while (name != NULL && etx_argument_next(&cursor, &argument)) {
    if (!argument.written) continue;
    if (etx_text_is(argument.name, name)) return output;
    ++output;
  }
  return otherwise;
}

const char* vector_compare(const vector_call* c, const vector_file* file,
                           json_t* test_case, char* text, size_t capacity) {
  json_t* outs = json_object_get(test_case, "outs");
  const char* check = json_string_value(json_object_get(test_case, "check"));
  const size_t count = json_array_size(outs);
  size_t output = 0;
  if (check != NULL) return NULL;  // contents are free; sizes were checked
  for (size_t i = 0; i < count; ++i) {
    json_t* entry = json_array_get(outs, i);
    const char* own = json_string_value(json_object_get(entry, "check"));
    const tolerance t = tolerance_of(entry, test_case);
    const char* why = NULL;
    vector_tensor want;
    json_t* names = json_object_get(entry, "tl");
    if (c->op->result == ETX_RESULT_SCALAR) {
      return compare_scalar(c, entry, &t, text, capacity);
    }
    if (names != NULL) {
      for (size_t k = 0; k < json_array_size(names) && why == NULL; ++k) {
        const char* name = json_string_value(json_array_get(names, k));
        why = read_expected(file, name, NULL, &want);
        if (why == NULL) {
          why = compare_output(c, output++, &want, &t, text, capacity);
        }
      }
    } else if (own != NULL) {
      ++output;
    } else {
      const char* name = json_string_value(json_object_get(entry, "t"));
      why = read_expected(file, name, entry, &want);
      if (why == NULL) {
        why = compare_output(c, output_named(c, entry, output), &want, &t, text,
                             capacity);
      }
      ++output;
    }
    if (why != NULL) return why;
  }
  return NULL;
}
