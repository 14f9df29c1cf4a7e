// Checks that outputs do not overlap other arguments of a call.
//
// Kernels use restrict pointers, and read an index once to check it and again
// to use it: if an output overlapped an index tensor, a malicious file could
// write out of bounds. So an output may share bytes with another argument only
// if the operator's row allows it, and then exactly the same bytes in the same
// order of elements. The caller guarantees that inputs do not overlap other
// memory (see etx_method_set_input), so an input is compared only with itself.

#include "runtime/shapes/call_overlap.h"

#include "runtime/shapes/scratch_compaction.h"

// The bytes of a tensor: addresses, or offsets in an input, whose address may
// not be known yet, or offsets in compacted scratch, as the file states them:
// the check then holds for all sizes (scratch_compaction.h).
typedef struct byte_range {
  const etx_method_tensor* tensor;
  const etx_method_tensor* input;  // that has the bytes; NULL: none
  uint32_t block;                  // of compacted scratch; ETX_NO_INDEX: none
  uintptr_t start, end;
} byte_range;

static bool find_range(const etx_method* method, const etx_value* value,
                       byte_range* out) {
  if (value == NULL || value->kind != ETX_VALUE_TENSOR) return false;
  const etx_method_tensor* tensor = etx_method_tensor_of(method, value);
  if (tensor->bytes == 0 || tensor->root == ETX_NO_INDEX) return false;
  const etx_method_tensor* root = &method->tensors[tensor->root];
  const bool is_input = root->storage_kind == ETX_METHOD_STORAGE_INPUT;
  out->tensor = tensor;
  out->input = is_input ? root : NULL;
  if (ETX_DYNAMIC) out->block = etx_scratch_block_of(method, root);
  out->start =
      tensor->root_offset + (is_input ? 0
                             : ETX_DYNAMIC && out->block != ETX_NO_INDEX
                                 ? root->storage_offset
                                 : (uintptr_t)root->storage);
  out->end = out->start + tensor->bytes;
  return true;
}

// True for the argument that an operator with ETX_IN_PLACE_SELF may overwrite:
// the first tensor. A copy may also overwrite its source, the second one.
static bool may_overwrite(const etx_call* call, size_t argument) {
  const bool is_copy =
      call->op->id == ETX_OP_copy_in_place || call->op->id == ETX_OP_copy_out;
  for (size_t i = 0; i < argument; ++i) {
    if (call->arguments[i]->kind == ETX_VALUE_TENSOR) return is_copy;
  }
  return true;
}

// True if `other`, at position `argument`, may have the bytes of an output.
static bool may_share(const etx_call* call, size_t argument,
                      const byte_range* output, const byte_range* other) {
  const etx_value_kind kind = call->arguments[argument]->kind;
  const bool is_list = kind == ETX_VALUE_TENSORS &&
                       call->op->in_place == ETX_IN_PLACE_ELEMENTWISE;
  if (kind != ETX_VALUE_TENSOR && !is_list) return false;
  const etx_dtype from = other->tensor->value->as.tensor.dtype;
  const etx_dtype to = output->tensor->value->as.tensor.dtype;
  switch (call->op->in_place) {
    case ETX_IN_PLACE_ELEMENTWISE:
      return from == to || etx_dtype_bytes(from) == etx_dtype_bytes(to);
    case ETX_IN_PLACE_SELF:
      return may_overwrite(call, argument);
    default:
      return false;
  }
}

// True if element i of both has the same offset, for all i.
static bool have_same_layout(const byte_range* a, const byte_range* b) {
  const etx_tensor* x = &a->tensor->value->as.tensor;
  const etx_tensor* y = &b->tensor->value->as.tensor;
  bool are_equal = x->rank == y->rank;
  for (size_t i = 0; are_equal && i < x->rank; ++i) {
    are_equal = x->sizes[i] == y->sizes[i] && x->strides[i] == y->strides[i];
  }
  return are_equal ||
         (etx_tensor_is_contiguous(x) && etx_tensor_is_contiguous(y));
}

// Clears `all_sizes` if the answer may differ at other sizes.
static bool overlap(const etx_method* method, const byte_range* a,
                    const byte_range* b, bool* all_sizes) {
  if (a->input != b->input) return false;
  if (ETX_DYNAMIC && (a->block != ETX_NO_INDEX || b->block != ETX_NO_INDEX)) {
    // Compacted scratch shares no bytes with other memory.
    if (a->block == ETX_NO_INDEX || b->block == ETX_NO_INDEX) return false;
    const etx_block_relation relation =
        etx_scratch_relation(method, a->block, b->block);
    if (relation != ETX_BLOCKS_TOGETHER) return relation != ETX_BLOCKS_APART;
  }
  if (ETX_DYNAMIC) *all_sizes = false;
  return a->start < b->end && b->start < a->end;
}

static bool are_equal(const etx_method* method, const byte_range* a,
                      const byte_range* b) {
  return a->start == b->start && a->end == b->end &&
         (!ETX_DYNAMIC || a->block == ETX_NO_INDEX ||
          etx_scratch_relation(method, a->block, b->block) ==
              ETX_BLOCKS_TOGETHER);
}

// Decides whether an overlap is allowed.
static etx_status compare(const etx_method* method,
                          const etx_method_record* record, size_t argument,
                          const byte_range* output, const byte_range* other,
                          etx_diag* diag) {
  const bool is_written = (record->written >> argument & 1) != 0;
  if (are_equal(method, output, other) && !is_written &&
      may_share(&record->call, argument, output, other) &&
      have_same_layout(output, other)) {
    return ETX_OK;
  }
  return etx_diag_fail(diag, ETX_BAD_FILE, "argument %z overlaps an output",
                       argument);
}

// Compares an output with the values of an argument. A written argument
// contains the output itself, which is skipped once.
static etx_status compare_values(const etx_method* method,
                                 etx_method_record* record, size_t argument,
                                 const byte_range* output, etx_diag* diag) {
  etx_value_span values = etx_call_argument_values(&record->call, argument);
  bool is_itself = (record->written >> argument & 1) == 0;
  for (; values.at != values.end; ++values.at) {
    const etx_value* item = *values.at;
    byte_range other;
    if (!is_itself && item == output->tensor->value) {
      is_itself = true;
    } else if (!find_range(method, item, &other)) {
      // An empty tensor has bytes at other sizes.
      if (ETX_DYNAMIC && item != NULL && item->kind == ETX_VALUE_TENSOR) {
        record->is_apart = false;
      }
    } else if (overlap(method, output, &other, &record->is_apart)) {
      ETX_TRY(compare(method, record, argument, output, &other, diag));
    }
  }
  return ETX_OK;
}

#ifdef __OPTIMIZE_SIZE__
enum { COMPARES_ADDRESSES = 0 };  // saves the code of the fast path
#else
enum { COMPARES_ADDRESSES = 1 };
#endif

// Fast path for most arguments: true if addresses alone show that an argument
// has no byte in `start` to `end`. Lists, and inputs without memory yet, whose
// address is NULL, take the general path.
static inline bool is_disjoint(const etx_method* method, const etx_value* value,
                               uintptr_t start, uintptr_t end) {
  if (value->kind != ETX_VALUE_TENSOR) return value->kind != ETX_VALUE_TENSORS;
  const uintptr_t other = (uintptr_t)value->as.tensor.data;
  return end <= other ||
         other + method->tensors[value->position].bytes <= start;
}

static etx_status check_output(const etx_method* method,
                               etx_method_record* record,
                               const etx_value* value, etx_diag* diag) {
  byte_range output;
  const bool has_bytes = find_range(method, value, &output);
  if (ETX_DYNAMIC && (!has_bytes || output.block == ETX_NO_INDEX)) {
    record->is_apart = false;
  }
  if (!has_bytes) return ETX_OK;
  const uintptr_t start = (uintptr_t)value->as.tensor.data;
  const uintptr_t end = start + output.tensor->bytes;
  const size_t count = record->call.argument_count;
  const etx_value* const* const arguments = record->call.arguments;
  for (size_t i = 0; i < count; ++i) {
    const etx_value* argument = arguments[i];
    if (COMPARES_ADDRESSES && (!ETX_DYNAMIC || output.block == ETX_NO_INDEX) &&
        (is_disjoint(method, argument, start, end) ||
         (argument == value && (record->written >> i & 1) != 0))) {
      continue;
    }
    ETX_TRY(compare_values(method, record, i, &output, diag));
  }
  return ETX_OK;
}

static etx_status check_outputs(const etx_method* method,
                                etx_method_record* record, etx_diag* diag) {
  for (uint64_t left = record->written; left != 0; left &= left - 1) {
    etx_value_span values =
        etx_call_argument_values(&record->call, (size_t)__builtin_ctzll(left));
    for (; values.at != values.end; ++values.at) {
      ETX_TRY(check_output(method, record, *values.at, diag));
    }
  }
  return ETX_OK;
}

etx_status etx_method_check_overlap(const etx_method* method,
                                    etx_method_record* record, etx_diag* diag) {
  // Without control flow the roots of all tensors are the same in each phase.
  if (ETX_DYNAMIC && record->is_apart && method->flow == 0) return ETX_OK;
  if (ETX_DYNAMIC) record->is_apart = true;
  const etx_status status = check_outputs(method, record, diag);
  // What is refused once is refused again.
  if (ETX_DYNAMIC && status != ETX_OK) record->is_apart = false;
  return status;
}
