// Models repeat their layers, so most calls look like one shortly before: the
// same operator on tensors of the same types, sizes and strides, with the same
// numbers. A shape rule and a kernel's prepare see nothing else (kernel.h), so
// what they found for the one is taken over for the other. Only what they found
// is: memory, owners and overlaps are checked for each call.

#include "runtime/shapes/prepare_cache.h"

// Calls of an operator that are looked at: a layer has a few of each.
enum { MOST_TRIED = 4 };

static inline bool is_alike_tensor(const etx_tensor* a, const etx_tensor* b) {
  if (a->rank != b->rank || a->dtype != b->dtype) return false;
  for (size_t i = 0; i < a->rank; ++i) {
    if (a->sizes[i] != b->sizes[i] || a->strides[i] != b->strides[i]) {
      return false;
    }
  }
  return true;
}

static bool is_alike_item(const etx_value* a, const etx_value* b) {
  return a == b ||
         (a != NULL && b != NULL &&
          is_alike_tensor(&a->as.tensor, &b->as.tensor));
}

// Values of one kind that are no tensors.
static bool is_alike_other(const etx_value* a, const etx_value* b) {
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
        if (!is_alike_item(a->as.tensors.items[i], b->as.tensors.items[i])) {
          return false;
        }
      }
      return true;
    default:
      return false;  // texts and floats: equal ones are usually one value
  }
}

static inline bool is_alike(const etx_value* a, const etx_value* b) {
  if (a == b) return true;
  if (a->kind != b->kind) return false;
  return a->kind == ETX_VALUE_TENSOR
             ? is_alike_tensor(&a->as.tensor, &b->as.tensor)
             : is_alike_other(a, b);
}

static bool are_alike(const etx_call* a, const etx_call* b, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (!is_alike(a->arguments[i], b->arguments[i])) return false;
  }
  return true;
}

// Arguments that a rule may look at: all, but for a result that is only
// written. It is the last, and of a type and a rank that were not chosen.
static bool has_alike_reads(const etx_call* a, const etx_call* b) {
  const size_t last = a->argument_count - 1;
  if (a->op->result != ETX_RESULT_OUT) {
    return are_alike(a, b, a->argument_count);
  }
  return etx_call_tensor(a, last)->rank == etx_call_tensor(b, last)->rank &&
         are_alike(a, b, last);
}

const etx_method_record* etx_prepare_cache_find(
    const etx_method* method, const etx_method_record* record) {
  // Where shapes and work follow each other, values have changed since.
  if (method->prepares_as_it_runs) return NULL;
  const etx_method_record* at = record;
  for (size_t i = 0; i < MOST_TRIED && at->from != ETX_NO_INDEX; ++i) {
    at = &method->records[at->from];
    if (!at->is_sized_by_data && has_alike_reads(&record->call, &at->call)) {
      return at;
    }
  }
  return NULL;
}

bool etx_prepare_cache_has_same_result(const etx_method_record* a,
                                 const etx_method_record* b) {
  const size_t last = a->call.argument_count - 1;
  return a->call.op->result != ETX_RESULT_OUT ||
         is_alike_tensor(etx_call_tensor(&a->call, last),
                         etx_call_tensor(&b->call, last));
}
