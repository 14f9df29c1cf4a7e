#include "format/base/checked_math.h"
#include "format/base/size_limits.h"
#include "format/flatbuffers/fb_row.h"
#include "format/pte/pte_verifier_internal.h"

// A value of an unknown code or a reference to a missing value is ETX_BAD_FILE.
// An error of sizes, of the memory plan or of constants is `bad_plan_status`,
// since such a file is well-formed: etx_pte_limits says which status that is.

etx_status etx_pte_verifier_use_items(etx_pte_verifier* v, uint64_t count) {
  if (count > v->items_left) {
    return etx_diag_fail(v->diag, ETX_OUT_OF_RANGE,
                         "the lists of the program have more than %u items "
                         "in total",
                         (uint64_t)ETX_MAX_PTE_ITEMS);
  }
  v->items_left -= count;
  return ETX_OK;
}

// Verifies sizes and dim order. Strides have 32 bits in every runtime of this
// format, and the number of elements must fit a size_t even if a size of 0 is
// counted as 1, as it is in strides.
static etx_status check_layout(etx_pte_verifier* v,
                               const etx_pte_tensor* tensor) {
  uint32_t seen = 0;
  uint64_t stride = 1;
  for (size_t i = tensor->rank; i-- > 0;) {
    const uint8_t dim = tensor->dim_order[i];
    if (dim >= tensor->rank || (seen >> dim & 1) != 0) {
      return etx_diag_fail(v->diag, v->plan.pte->bad_plan_status,
                           "the dim order is not a permutation: entry '%z' "
                           "is %u, the rank is %u",
                           i, (uint64_t)dim, (uint64_t)tensor->rank);
    }
    seen |= (uint32_t)1 << dim;
    const int32_t size = tensor->sizes[dim];
    if (size < 0) {
      return etx_diag_fail(v->diag, v->plan.pte->bad_plan_status,
                           "size '%u' is negative: %i", (uint64_t)dim,
                           (int64_t)size);
    }
    if (stride > INT32_MAX) {
      return etx_diag_fail(v->diag, v->plan.pte->bad_plan_status,
                           "the stride of dimension '%u' is %u, at most %u is "
                           "possible",
                           (uint64_t)dim, stride, (uint64_t)INT32_MAX);
    }
    stride *= size == 0 ? 1 : (uint64_t)size;
  }
  // At most 2^31 times 2^31: no overflow so far, but a size_t may be narrower.
  uint64_t bytes = 0;
  if (!etx_multiply_u64(stride, etx_dtype_bytes(tensor->dtype), &bytes) ||
      bytes > PTRDIFF_MAX) {
    return etx_diag_fail(v->diag, v->plan.pte->bad_plan_status,
                         "%u elements of '%s' are more than this machine can "
                         "address",
                         stride, etx_dtype_name(tensor->dtype));
  }
  return ETX_OK;
}

static etx_status check_allocation(etx_pte_verifier* v,
                                   const etx_pte_tensor* tensor) {
  const size_t arena_count = etx_pte_buffer_size_count(&v->plan);
  if (tensor->memory_id == 0 || tensor->memory_id >= arena_count) {
    return etx_diag_fail(v->diag, v->plan.pte->bad_plan_status,
                         "a tensor is planned in arena '%u', the method has "
                         "arenas 1 to %i",
                         (uint64_t)tensor->memory_id, (int64_t)arena_count - 1);
  }
  const uint64_t arena_bytes =
      (uint64_t)etx_pte_buffer_size_at(&v->plan, tensor->memory_id);
  const uint64_t bytes = etx_pte_tensor_bytes(tensor);
  if (!etx_fits_within(tensor->memory_offset, bytes, arena_bytes)) {
    return etx_diag_fail(v->diag, v->plan.pte->bad_plan_status,
                         "a tensor of %u bytes at offset %u passes the end of "
                         "arena '%u', which has %u bytes",
                         bytes, tensor->memory_offset,
                         (uint64_t)tensor->memory_id, arena_bytes);
  }
  if (!etx_dtype_is_aligned(tensor->dtype, tensor->memory_offset)) {
    return etx_diag_fail(v->diag, v->plan.pte->bad_plan_status,
                         "a tensor of '%s' lies at offset %u of its arena, "
                         "not a multiple of %z",
                         etx_dtype_name(tensor->dtype), tensor->memory_offset,
                         etx_dtype_alignment(tensor->dtype));
  }
  return ETX_OK;
}

static etx_status check_length(etx_pte_verifier* v, const char* what,
                               const etx_pte_tensor* tensor, bool is_found,
                               etx_bytes data) {
  const size_t bytes = etx_pte_tensor_bytes(tensor);
  if (!is_found) {
    return etx_diag_fail(v->diag, v->plan.pte->bad_plan_status,
                         "%s '%u' does not exist or starts outside its "
                         "segment",
                         what, (uint64_t)tensor->data_buffer_index);
  }
  if (data.size < bytes) {
    return etx_diag_fail(v->diag, v->plan.pte->bad_plan_status,
                         "%s '%u' has %z bytes, its tensor needs %z", what,
                         (uint64_t)tensor->data_buffer_index, data.size, bytes);
  }
  return ETX_OK;
}

static etx_status check_constant(etx_pte_verifier* v,
                                 const etx_pte_tensor* tensor) {
  const etx_pte* pte = v->plan.pte;
  etx_bytes data = {NULL, 0};
  const bool is_found =
      etx_pte_constant_find(pte, tensor->data_buffer_index, &data);
  ETX_TRY(check_length(v, "constant", tensor, is_found, data));
  if (data.size == 0) return ETX_OK;
  const size_t position = (size_t)(data.data - pte->file.data);
  if (!etx_dtype_is_aligned(tensor->dtype, position)) {
    return etx_diag_fail(v->diag, v->plan.pte->bad_plan_status,
                         "constant '%u' of '%s' lies at byte %z of the file, "
                         "not a multiple of %z",
                         (uint64_t)tensor->data_buffer_index,
                         etx_dtype_name(tensor->dtype), position,
                         etx_dtype_alignment(tensor->dtype));
  }
  return ETX_OK;
}

// Verifies the location of the tensor's bytes.
static etx_status check_data(etx_pte_verifier* v,
                             const etx_pte_tensor* tensor) {
  if (tensor->has_allocation) ETX_TRY(check_allocation(v, tensor));
  if (tensor->location == ETX_PTE_EXTERNAL) {
    if (tensor->name.size > 0) return ETX_OK;
    return etx_diag_fail(v->diag, ETX_BAD_FILE,
                         "a tensor's data is in another file, but it has no "
                         "name to find it by");
  }
  if (tensor->data_buffer_index == 0) return ETX_OK;
  if (!tensor->has_allocation) return check_constant(v, tensor);
  etx_bytes data = {NULL, 0};
  const bool is_found =
      etx_pte_initial_data_find(v->plan.pte, tensor->data_buffer_index, &data);
  return check_length(v, "initial data", tensor, is_found, data);
}

// The number of elements of a vector, which is stored before them.
static uint32_t count_of(const void* elements) {
  return etx_fb_u32_at((const uint8_t*)elements - sizeof(uint32_t));
}

// Verifies codes and the rank. The rank is read from the file again, since
// tensor->rank has 8 bits only.
static etx_status check_codes(etx_pte_verifier* v,
                              const etx_pte_tensor* tensor) {
  const uint32_t rank = count_of(tensor->sizes);
  const uint32_t order = count_of(tensor->dim_order);
  if (rank > ETX_MAX_RANK) {
    return etx_diag_fail(v->diag, ETX_BAD_FILE,
                         "a tensor has rank %u, at most %u is possible",
                         (uint64_t)rank, (uint64_t)ETX_MAX_RANK);
  }
  if (order != rank) {
    return etx_diag_fail(v->diag, ETX_BAD_FILE,
                         "a tensor of rank %u has a dim order of %u entries",
                         (uint64_t)rank, (uint64_t)order);
  }
  if (!etx_dtype_is_valid((int)tensor->dtype)) {
    return etx_diag_fail(v->diag, ETX_BAD_FILE,
                         "a tensor has the unknown scalar type %i",
                         (int64_t)(int)tensor->dtype);
  }
  if (tensor->storage_offset != 0) {
    return etx_diag_fail(v->diag, ETX_UNSUPPORTED,
                         "a tensor has the storage offset %i, only 0 is "
                         "supported",
                         (int64_t)tensor->storage_offset);
  }
  if ((int)tensor->dynamism < 0 || tensor->dynamism > ETX_PTE_DYNAMIC_UNBOUND) {
    return etx_diag_fail(v->diag, ETX_BAD_FILE,
                         "a tensor has the unknown dynamism %i",
                         (int64_t)(int)tensor->dynamism);
  }
  if ((int)tensor->location < 0 || tensor->location > ETX_PTE_EXTERNAL) {
    return etx_diag_fail(v->diag, ETX_BAD_FILE,
                         "a tensor has the unknown data location %i",
                         (int64_t)(int)tensor->location);
  }
  return ETX_OK;
}

static etx_status check_tensor(etx_pte_verifier* v) {
  const etx_pte_tensor* const tensor = &v->value.as.tensor;
  ETX_TRY(check_codes(v, tensor));
  ETX_TRY(check_layout(v, tensor));
  return check_data(v, tensor);
}

static etx_status check_int_list(etx_pte_verifier* v,
                                 const etx_pte_value* list) {
  for (size_t i = 0; i < list->as.integers.count; ++i) {
    const int64_t item = list->as.integers.items[i];
    if (item < 0 || (uint64_t)item >= v->value_count) {
      return etx_diag_fail(v->diag, ETX_BAD_FILE,
                           "item '%z' of a list names value %i of %z", i, item,
                           v->value_count);
    }
    if (etx_pte_value_kind(&v->plan, (size_t)item) != ETX_PTE_INT) {
      return etx_diag_fail(v->diag, ETX_BAD_FILE,
                           "item '%z' of an integer list names value %i, "
                           "which is not an integer",
                           i, item);
    }
  }
  return ETX_OK;
}

static etx_status check_bool_list(etx_pte_verifier* v,
                                  const etx_pte_value* list) {
  for (size_t i = 0; i < list->as.booleans.count; ++i) {
    const uint8_t item = list->as.booleans.items[i];
    if (item > 1) {
      return etx_diag_fail(v->diag, ETX_BAD_FILE,
                           "item '%z' of a list of booleans is %u, expected 0 "
                           "or 1",
                           i, (uint64_t)item);
    }
  }
  return ETX_OK;
}

// A list must follow its elements, since readers fill values in order.
static etx_status check_tensor_list(etx_pte_verifier* v,
                                    const etx_pte_value* list, size_t index) {
  const bool is_optional = list->kind == ETX_PTE_OPTIONAL_TENSOR_LIST;
  for (size_t i = 0; i < list->as.tensors.count; ++i) {
    const int32_t item = list->as.tensors.items[i];
    if (item == -1 && is_optional) continue;
    if (item < 0 || (size_t)item >= index) {
      return etx_diag_fail(v->diag, ETX_BAD_FILE,
                           "item '%z' of a tensor list names value %i, "
                           "expected one before the list",
                           i, (int64_t)item);
    }
    const etx_pte_kind kind = etx_pte_value_kind(&v->plan, (size_t)item);
    if (kind == ETX_PTE_TENSOR || (kind == ETX_PTE_NULL && is_optional)) {
      continue;
    }
    return etx_diag_fail(v->diag, ETX_BAD_FILE,
                         "item '%z' of a tensor list names value %i, which is "
                         "not a tensor",
                         i, (int64_t)item);
  }
  return ETX_OK;
}

static etx_status check_list(etx_pte_verifier* v, size_t index) {
  const etx_pte_value* const list = &v->value;
  ETX_TRY(etx_pte_verifier_use_items(v, list->as.list.count));
  switch (list->kind) {
    case ETX_PTE_INT_LIST:
      return check_int_list(v, list);
    case ETX_PTE_BOOL_LIST:
      return check_bool_list(v, list);
    default:
      return check_tensor_list(v, list, index);
  }
}

etx_status etx_pte_verifier_check_value(etx_pte_verifier* v, size_t index) {
  const bool has_content = etx_pte_value_read(&v->plan, index, &v->value);
  const etx_pte_kind kind = v->value.kind;
  // The union's code is known to be at most the last kind.
  if ((int)kind == 0) {
    return etx_diag_fail(v->diag, ETX_BAD_FILE, "a value has no kind");
  }
  if (kind == ETX_PTE_NULL) return ETX_OK;
  if (!has_content) {
    return etx_diag_fail(v->diag, ETX_BAD_FILE,
                         "a value of kind %u has no content", (uint64_t)kind);
  }
  if (kind == ETX_PTE_TENSOR) return check_tensor(v);
  // Doubles are stored in the list itself, and all of them are valid.
  return kind < ETX_PTE_INT_LIST || kind == ETX_PTE_DOUBLE_LIST
             ? ETX_OK
             : check_list(v, index);
}
