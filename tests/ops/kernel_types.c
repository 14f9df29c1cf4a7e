// The element types that each kernel takes, found out by calling it:
//
//   kernel_types DIR
//   kernel_types DIR --untested
//
// takes the calls of the vectors below DIR, gives their tensors one type after
// the other, and lets the kernel prepare each call. Prints the rows of
// runtime/kernels/registry/kernel_types.def. With --untested, prints the rows
// of op_schema.def for which DIR has no call that succeeds.
// scripts/operator_files.py runs both.

#include <stdio.h>
#include <string.h>

#include "cli/tensors/dtype_set.h"
#include "runtime/shapes/call_shape.h"
#include "tests/ops/vector_call.h"
#include "tests/ops/vector_tree.h"

typedef struct type_survey {
  uint32_t types[ETX_OP_COUNT];  // bits by code
  bool is_tested[ETX_OP_COUNT];  // by a call that succeeds
} type_survey;

// Tensors of type `from` get the type `to`.
typedef struct exchange {
  etx_dtype from, to;
} exchange;

static void exchange_in(const etx_value* value, const exchange* e) {
  if (value == NULL || value->kind != ETX_VALUE_TENSOR) return;
  etx_tensor* tensor = (etx_tensor*)(uintptr_t)&value->as.tensor;
  if (tensor->dtype == e->from) tensor->dtype = e->to;
}

static void exchange_types(vector_call* c, const exchange* e) {
  for (size_t i = 0; i < c->count; ++i) {
    exchange_in(&c->values[i], e);
    if (c->values[i].kind != ETX_VALUE_TENSORS) continue;
    for (size_t k = 0; k < c->values[i].as.tensors.count; ++k) {
      exchange_in(c->values[i].as.tensors.items[k], e);
    }
  }
}

static const etx_value* first_item(const etx_value* value) {
  const bool is_list =
      value->kind == ETX_VALUE_TENSORS && value->as.tensors.count > 0;
  return is_list ? value->as.tensors.items[0] : value;
}

// The type of the first tensor of a call that is not bool, among those that it
// reads (`written` false) or writes.
static etx_dtype type_among(const vector_call* c, bool written) {
  etx_dtype found = ETX_DTYPE_COUNT;
  for (size_t i = 0; i < c->count; ++i) {
    const etx_value* value = first_item(&c->values[i]);
    if (value == NULL || value->kind != ETX_VALUE_TENSOR) continue;
    if (c->is_written[i] != written) continue;
    if (value->as.tensor.dtype != ETX_DTYPE_BOOL) return value->as.tensor.dtype;
    found = ETX_DTYPE_BOOL;
  }
  return found;
}

// Some kernels check nothing, not even types, where there are no elements.
static bool has_empty(const vector_call* c) {
  for (size_t i = 0; i < c->count; ++i) {
    const etx_value* value = first_item(&c->values[i]);
    if (value != NULL && value->kind == ETX_VALUE_TENSOR &&
        etx_tensor_numel(&value->as.tensor) == 0) {
      return true;
    }
  }
  return false;
}

static etx_dtype main_type(const vector_call* c) {
  const etx_dtype found = type_among(c, false);
  return found == ETX_DTYPE_COUNT ? type_among(c, true) : found;
}

// Takes the type of the shape rule, unless the rule leaves it to the caller.
static etx_status take_type(void* context, const etx_value* output,
                            const etx_shape* shape, bool at_most) {
  (void)context;
  (void)at_most;
  if (shape->dtype == ETX_DTYPE_COUNT) return ETX_OK;
  ((etx_value*)(uintptr_t)output)->as.tensor.dtype = shape->dtype;
  return ETX_OK;
}

static bool is_taken(vector_call* c, etx_dtype to) {
  const exchange e = {main_type(c), to};
  exchange_types(c, &e);
  if (c->op->result != ETX_RESULT_SCALAR &&
      etx_call_size_outputs(&c->call, etx_op_written_arguments(c->op),
                            take_type, NULL) != ETX_OK) {
    return false;
  }
  const etx_kernel* kernel = etx_kernel_find(&etx_all_kernels, c->op->id);
  return etx_kernel_prepare(kernel, &c->call) == ETX_OK;
}

static void survey_case(void* context, const vector_file* file,
                        json_t* test_case) {
  type_survey* s = context;
  const char* expect = json_string_value(json_object_get(test_case, "expect"));
  if (expect != NULL && strcmp(expect, "error") == 0) return;
  for (size_t i = 0; i < ETX_DTYPE_SET_MEMBER_COUNT; ++i) {
    const etx_dtype dtype = etx_dtype_set_members[i];
    const uint32_t bit = UINT32_C(1) << dtype;
    vector_call c;
    const bool is_built =
        vector_call_build(&c, file, test_case, VECTOR_DENSE) == NULL;
    if (is_built) s->is_tested[c.op->id] = true;
    if (is_built && !has_empty(&c) && main_type(&c) != ETX_DTYPE_COUNT &&
        (s->types[c.op->id] & bit) == 0 && is_taken(&c, dtype)) {
      s->types[c.op->id] |= bit;
    }
    vector_call_end(&c);
  }
}

int main(int count, char** arguments) {
  static const char* const symbols[] = {
#define OP(symbol, name, overload, arguments, result, shape_rule, in_place) \
#symbol,
#include "format/ops/op_schema.def"
#undef OP
  };
  static type_survey s;
  const bool lists_untested =
      count == 3 && strcmp(arguments[2], "--untested") == 0;
  if (count != 2 && !lists_untested) {
    fprintf(stderr, "usage: kernel_types DIR [--untested]\n");
    return 2;
  }
  if (vector_tree_walk(arguments[1], survey_case, &s) != 0) return 6;
  for (size_t i = 0; i < ETX_OP_COUNT; ++i) {
    char words[ETX_DTYPE_SET_TEXT_BYTES];
    if (lists_untested && !s.is_tested[i]) printf("%s\n", symbols[i]);
    if (lists_untested || s.types[i] == 0) continue;
    printf("TYPES(%s, \"%s\")\n", symbols[i],
           etx_dtype_set_text(s.types[i], words));
  }
  return 0;
}
