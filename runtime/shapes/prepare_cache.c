// Models repeat their layers, so most calls equal an earlier one: the same
// operator on tensors of the same types, sizes and strides, with the same
// numbers. Shape functions and prepare depend on nothing else (kernel.h), so
// their results are reused. Memory, writability and overlaps are still checked
// for each call.

#include "runtime/shapes/prepare_cache.h"

// Earlier calls of the operator that are compared: a layer has a few of each.
enum { MAX_CANDIDATES = 4 };

static inline bool tensors_match(const etx_tensor* a, const etx_tensor* b) {
  if (a->rank != b->rank || a->dtype != b->dtype) return false;
  for (size_t i = 0; i < a->rank; ++i) {
    if (a->sizes[i] != b->sizes[i] || a->strides[i] != b->strides[i]) {
      return false;
    }
  }
  return true;
}

static bool items_match(const etx_value* a, const etx_value* b) {
  return a == b || (a != NULL && b != NULL &&
                    tensors_match(&a->as.tensor, &b->as.tensor));
}

// Compares values of one kind, which are not tensors.
static bool scalars_and_lists_match(const etx_value* a, const etx_value* b) {
  switch (a->kind) {
    case ETX_VALUE_NONE:
      return true;
    case ETX_VALUE_INT:
      return a->as.integer == b->as.integer;
    case ETX_VALUE_BOOL:
      return a->as.boolean == b->as.boolean;
    case ETX_VALUE_INTS:
      if (a->as.integers.count != b->as.integers.count) return false;
      for (size_t i = 0; i < a->as.integers.count; ++i) {
        if (a->as.integers.items[i]->as.integer !=
            b->as.integers.items[i]->as.integer) {
          return false;
        }
      }
      return true;
    case ETX_VALUE_TENSORS:
      if (a->as.tensors.count != b->as.tensors.count) return false;
      for (size_t i = 0; i < a->as.tensors.count; ++i) {
        if (!items_match(a->as.tensors.items[i], b->as.tensors.items[i])) {
          return false;
        }
      }
      return true;
    default:
      return false;  // strings and floats: equal ones usually share a slot
  }
}

static inline bool values_match(const etx_value* a, const etx_value* b) {
  if (a == b) return true;
  if (a->kind != b->kind) return false;
  return a->kind == ETX_VALUE_TENSOR
             ? tensors_match(&a->as.tensor, &b->as.tensor)
             : scalars_and_lists_match(a, b);
}

static bool arguments_match(const etx_call* a, const etx_call* b,
                            size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (!values_match(a->arguments[i], b->arguments[i])) return false;
  }
  return true;
}

// Compares the arguments that a shape function reads: all except an out tensor,
// which is the last argument; only its rank matters.
static bool reads_match(const etx_call* a, const etx_call* b) {
  const size_t last = a->argument_count - 1;
  if (a->op->result != ETX_RESULT_OUT) {
    return arguments_match(a, b, a->argument_count);
  }
  return etx_call_tensor(a, last)->rank == etx_call_tensor(b, last)->rank &&
         arguments_match(a, b, last);
}

const etx_method_record* etx_prepare_cache_find(
    const etx_method* method, const etx_method_record* record) {
  // During the run, values may have changed since.
  if (etx_method_runs(method)) return NULL;
  const etx_method_record* at = record;
  for (size_t i = 0; i < MAX_CANDIDATES && at->from != ETX_NO_INDEX; ++i) {
    at = &method->records[at->from];
    if (!at->is_sized_by_data && at->late != ETX_RECORD_LATE &&
        reads_match(&record->call, &at->call)) {
      return at;
    }
  }
  return NULL;
}

bool etx_prepare_cache_has_same_result(const etx_method_record* a,
                                       const etx_method_record* b) {
  const size_t last = a->call.argument_count - 1;
  return a->call.op->result != ETX_RESULT_OUT ||
         tensors_match(etx_call_tensor(&a->call, last),
                       etx_call_tensor(&b->call, last));
}
