#include "tests/ops/vector_retyped.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/kernels/core/convert.h"
#include "tests/ops/vector_compare.h"
#include "tests/support/assert_message.h"

static const etx_dtype types[] = {
    ETX_DTYPE_UINT8,     ETX_DTYPE_INT8,      ETX_DTYPE_INT16,
    ETX_DTYPE_INT32,     ETX_DTYPE_INT64,     ETX_DTYPE_FLOAT16,
    ETX_DTYPE_BFLOAT16,  ETX_DTYPE_FLOAT32,   ETX_DTYPE_FLOAT64,
    ETX_DTYPE_COMPLEX64, ETX_DTYPE_COMPLEX128};

// Every tensor of type `from` gets the type `to`, or only that at place
// `index`.
typedef struct retyping {
  etx_dtype from, to;
  size_t index;
} retyping;

enum { EVERY_TENSOR = -1 };

static bool is_number(etx_dtype dtype) {
  const etx_dtype part = vector_component(dtype);
  return etx_compute_type_of(part) != ETX_COMPUTE_NONE &&
         part != ETX_DTYPE_BOOL;
}

// Gives a dense tensor the type, with new memory. True if its elements are the
// same numbers as before.
static bool retype(vector_call* c, etx_tensor* tensor, etx_dtype to) {
  const size_t count = etx_tensor_numel(tensor);
  const etx_tensor old = *tensor;
  const etx_dtype part = vector_component(to);
  const size_t step = etx_dtype_bytes(to) / etx_dtype_bytes(part);
  tensor->dtype = to;
  tensor->data = vector_call_take(c, count * etx_dtype_bytes(to));
  if (!is_number(old.dtype) || vector_component(old.dtype) != old.dtype) {
    return false;
  }
  etx_convert(part, tensor->data, (ptrdiff_t)step, old.dtype, old.data, 1,
              count);
  for (size_t i = 0; i < count; ++i) {
    const double before = vector_real(
        old.dtype, (const char*)old.data + i * etx_dtype_bytes(old.dtype));
    const double now =
        vector_real(part, (const char*)tensor->data + i * etx_dtype_bytes(to));
    if (before != now) return false;
  }
  return true;
}

// Part 0 of element i, or the imaginary part of a complex number.
static double element(const etx_tensor* tensor, size_t i, size_t part) {
  const etx_dtype dtype = vector_component(tensor->dtype);
  size_t at = 0;
  for (size_t d = tensor->rank; d-- > 0;) {
    at += i % (size_t)tensor->sizes[d] * (size_t)tensor->strides[d];
    i /= (size_t)tensor->sizes[d];
  }
  if (part > 0 && dtype == tensor->dtype) return 0;
  return vector_real(dtype, (const char*)tensor->data +
                                at * etx_dtype_bytes(tensor->dtype) +
                                part * etx_dtype_bytes(dtype));
}

// True if results of the type must be these elements: integers wrap, halves
// overflow, and a number that is not finite has other parts as a complex one.
static bool fit(const etx_tensor* tensor, etx_dtype to) {
  const etx_dtype_category category = etx_dtype_category_of(to);
  const size_t bits = 8 * etx_dtype_bytes(to);
  double end = INFINITY, first = -INFINITY;
  if (category == ETX_CATEGORY_INTEGER) {
    end = ldexp(1.0, (int)bits - (to == ETX_DTYPE_UINT8 ? 0 : 1));
    first = to == ETX_DTYPE_UINT8 ? -1 : -end - 1;
  } else if (to == ETX_DTYPE_FLOAT16 || to == ETX_DTYPE_BFLOAT16) {
    end = 65504;
    first = -end;
  } else if (category != ETX_CATEGORY_COMPLEX) {
    return true;
  }
  for (size_t i = 0; i < etx_tensor_numel(tensor); ++i) {
    const double x = element(tensor, i, 0);
    if (!(x > first && x < end)) return false;
    if (category == ETX_CATEGORY_INTEGER && x != floor(x)) return false;
  }
  return true;
}

// Kernels may compute in the type of an argument, so results may differ by as
// much as float16 rounds, and rounded results by one.
static bool are_near(const etx_tensor* a, const etx_tensor* b) {
  const size_t count = etx_tensor_numel(a);
  const bool is_real = etx_dtype_category_of(a->dtype) == ETX_CATEGORY_FLOATING;
  for (size_t i = 0; i < 2 * count; ++i) {
    const double x = element(a, i / 2, i % 2), y = element(b, i / 2, i % 2);
    const double most = (is_real ? 1e-3 : 1.0) + 0.01 * fabs(y);
    if (isnan(x) != isnan(y) || (x != y && fabs(x - y) > most)) return false;
  }
  return true;
}

// True if another type of an argument gives other results: it decides what the
// elements mean, or is the type that 65535 steps are counted or numbers drawn
// in.
static bool has_results_by_type(const vector_call* c) {
  return c->op->id == ETX_OP_chain_u8_out || c->op->id == ETX_OP_rand_out ||
         c->op->id == ETX_OP_view_dtype_out ||
         c->op->id == ETX_OP_choose_qparams_tensor_out;
}

// A sentence that names the operator. What this build leaves out is refused
// before the operator is asked.
static bool is_refusal(const vector_call* c, etx_status status) {
  const bool is_known = status == ETX_BAD_ARGUMENT ||
                        status == ETX_UNSUPPORTED || status == ETX_OUT_OF_RANGE;
  return is_known && test_message_has(&c->diag, c->op->name);
}

static bool is_written(const vector_call* c, const etx_tensor* tensor) {
  for (size_t i = 0; i < c->count; ++i) {
    if (&c->values[i].as.tensor == tensor) return c->is_written[i];
  }
  for (size_t i = 0; i < c->output_count; ++i) {
    if (&c->outputs[i]->as.tensor == tensor) return true;
  }
  return false;
}

// True if a number of either type is computed with alike: integers are divided
// and wrap otherwise than floats.
static bool are_alike(etx_dtype a, etx_dtype b) {
  return etx_dtype_category_of(vector_component(a)) ==
         etx_dtype_category_of(vector_component(b));
}

// Changes the call, and returns true if its numbers are the same. Sets
// `*out_changes` to how many tensors changed.
static bool change_types(vector_call* c, const retyping* r, bool is_checked,
                         size_t* out_changes) {
  const bool only_writes =
      c->op->result == ETX_RESULT_OUT || c->op->result == ETX_RESULT_OUT_LIST;
  etx_tensor* tensor;
  bool is_same =
      is_checked && !has_results_by_type(c) &&
      (r->index != (size_t)EVERY_TENSOR || are_alike(r->from, r->to));
  *out_changes = 0;
  for (size_t i = 0; (tensor = vector_tensor_at(c, i)) != NULL; ++i) {
    const bool is_meant = r->index == (size_t)EVERY_TENSOR
                              ? tensor->dtype == r->from
                              : i == r->index && tensor->dtype != r->to;
    if (!is_meant || !etx_tensor_is_contiguous(tensor)) continue;
    const bool is_result = is_written(c, tensor);
    // Has memory to grow in.
    if (is_result && c->op->result == ETX_RESULT_NONE) continue;
    // A mask is no number, and an index of bytes is a mask.
    const bool is_mask = r->to == ETX_DTYPE_UINT8;
    const bool has_same = retype(c, tensor, r->to) && !is_mask;
    const bool is_every = r->index == (size_t)EVERY_TENSOR;
    is_same &= is_result ? is_every && (has_same || only_writes) : has_same;
    ++*out_changes;
  }
  return is_same;
}

static bool has_results_of(const vector_call* c, const vector_call* plain) {
  for (size_t i = 0; i < c->output_count; ++i) {
    const etx_tensor* own = &c->outputs[i]->as.tensor;
    const etx_tensor* from = &plain->outputs[i]->as.tensor;
    if (fit(from, own->dtype) && !are_near(own, from)) return false;
  }
  return true;
}

static const char* run_retyped(const vector_call* plain,
                               const vector_file* file, json_t* test_case,
                               const retyping* r, char* text, size_t capacity) {
  vector_call c;
  size_t changes = 0;
  const char* why = vector_call_build(&c, file, test_case, VECTOR_DENSE);
  const bool is_checked = json_object_get(test_case, "check") == NULL;
  bool is_same = why == NULL && change_types(&c, r, is_checked, &changes);
  if (changes > 0) {
    etx_status status = vector_call_size(&c, false);
    is_same &= !c.dtype_differs;
    if (status == ETX_OK) status = vector_call_run(&c);
    if (status == ETX_OK && is_same && !has_results_of(&c, plain)) {
      why = "the result differs";
    }
    // As an index, a tensor has other results than as a mask.
    const bool is_other = status == ETX_INTERNAL && !is_same;
    if (status != ETX_OK && !is_other && !is_refusal(&c, status)) {
      snprintf(text, capacity, "%.24s: %.120s", etx_status_name(status),
               c.diag.text);
      why = text;
    }
  }
  vector_call_end(&c);
  return why;
}

static size_t tensors_of(const vector_file* file, json_t* test_case) {
  vector_call c;
  size_t count = 0;
  if (vector_call_build(&c, file, test_case, VECTOR_DENSE) == NULL) {
    while (vector_tensor_at(&c, count) != NULL) ++count;
  }
  vector_call_end(&c);
  return count;
}

const char* vector_retyped_check(const vector_call* plain,
                                 const vector_file* file, json_t* test_case,
                                 char* text, size_t capacity) {
  const etx_dtype all_of[] = {ETX_DTYPE_FLOAT32, ETX_DTYPE_INT64};
  const size_t count = tensors_of(file, test_case);
  for (size_t t = 0; t < sizeof(types) / sizeof(*types); ++t) {
    if (!etx_dtype_is_built(types[t])) continue;
    for (size_t i = 0; i < count + 2; ++i) {
      char reason[200];
      const retyping r = {.from = all_of[i % 2],
                          .to = types[t],
                          .index = i < count ? i : (size_t)EVERY_TENSOR};
      const char* why =
          run_retyped(plain, file, test_case, &r, reason, sizeof(reason));
      if (why == NULL) continue;
      snprintf(text, capacity, "tensor %d as '%s': %.180s",
               i < count ? (int)i : EVERY_TENSOR, etx_dtype_name(types[t]),
               why);
      return text;
    }
  }
  return NULL;
}
