// Outputs that share bytes with arguments of the same call.
//
// A kernel may write before it has read everything. So an output may share
// bytes with an argument only where the operator's schema allows an in-place
// update, and then all bytes, with the elements in the same order. A copy of a
// tensor onto itself is harmless: it is accepted in files of other exporters,
// and refused in files of etx, which removes such copies.

#include "cli/verify/verify_internal.h"

// The dimensions with more than one element, in the order of memory. `shift` is
// added to each.
typedef struct memory_order {
  size_t dims[ETX_MAX_RANK];
  size_t count;
} memory_order;

static memory_order order_of(const etx_pte_tensor* tensor, size_t shift) {
  memory_order order = {.count = 0};
  for (size_t i = 0; i < tensor->rank; ++i) {
    const size_t dim = tensor->dim_order[i];
    if (tensor->sizes[dim] != 1) order.dims[order.count++] = dim + shift;
  }
  return order;
}

static bool is_in_order(const etx_pte_tensor* tensor) {
  const memory_order order = order_of(tensor, 0);
  for (size_t i = 1; i < order.count; ++i) {
    if (order.dims[i - 1] > order.dims[i]) return false;
  }
  return true;
}

// True if the sizes are equal apart from leading dimensions of size 1, and the
// elements have one order in memory.
static bool same_elements(const etx_pte_tensor* a, const etx_pte_tensor* b) {
  const etx_pte_tensor* const longer = a->rank >= b->rank ? a : b;
  const etx_pte_tensor* const shorter = a->rank >= b->rank ? b : a;
  const size_t more = (size_t)(longer->rank - shorter->rank);
  for (size_t i = 0; i < longer->rank; ++i) {
    const int32_t other = i < more ? 1 : shorter->sizes[i - more];
    if (longer->sizes[i] != other) return false;
  }
  const memory_order x = order_of(longer, 0);
  const memory_order y = order_of(shorter, more);
  for (size_t i = 0; i < x.count; ++i) {
    if (x.dims[i] != y.dims[i]) return false;
  }
  return etx_dtype_bytes(a->dtype) == etx_dtype_bytes(b->dtype);
}

// True if the two values, at all their possible ranges, share all bytes or
// none.
static bool same_or_disjoint(const etx_verify_method* m, uint32_t a,
                             uint32_t b) {
  for (uint32_t i = 0; i < m->values[a].range_count; ++i) {
    for (uint32_t k = 0; k < m->values[b].range_count; ++k) {
      const etx_verify_range x = etx_verify_address_range(m, a, i);
      const etx_verify_range y = etx_verify_address_range(m, b, k);
      if (etx_verify_overlap(x, y) && (x.start != y.start || x.end != y.end)) {
        return false;
      }
    }
  }
  return true;
}

static bool is_copy(etx_op_id id) {
  switch (id) {
    case ETX_OP_copy_out:
    case ETX_OP_copy_in_place:
    case ETX_OP_clone_out:
    case ETX_OP_alias_copy_out:
    case ETX_OP_detach_copy_out:
    case ETX_OP_lift_fresh_copy_out:
    case ETX_OP_to_copy_out:
    case ETX_OP_to_dim_order_copy_out:
    case ETX_OP_clone_dim_order_out:
    case ETX_OP_view_copy_out:
    case ETX_OP_unsqueeze_copy_out:
    case ETX_OP_squeeze_copy_dim_out:
    case ETX_OP_squeeze_copy_dims_out:
      return true;
    default:
      return false;
  }
}

// True if the operator's schema allows the output to overwrite this argument.
static bool may_share(const etx_verify_method* m, const etx_op* op,
                      const etx_verify_access* read, uint32_t written) {
  const etx_pte_tensor a = etx_pte_value_at(&m->plan, read->value).as.tensor;
  const etx_pte_tensor b = etx_pte_value_at(&m->plan, written).as.tensor;
  if (!same_or_disjoint(m, read->value, written)) return false;
  if (is_copy(op->id) && a.dtype == b.dtype) {
    return same_elements(&a, &b) || (is_in_order(&a) && is_in_order(&b));
  }
  if (op->in_place == ETX_IN_PLACE_ELEMENTWISE) return same_elements(&a, &b);
  return op->in_place == ETX_IN_PLACE_SELF && read->is_first;
}

etx_status etx_verify_in_place(const etx_verify_method* m, const etx_op* op,
                               const etx_verify_access* read,
                               uint32_t written) {
  if (!etx_verify_may_overlap(m, read->value, written) ||
      etx_verify_are_disjoint_parts(m, read->value, written)) {
    return ETX_OK;
  }
  if (!may_share(m, op, read, written)) {
    return etx_verify_refuse(m,
                             "output value '%u' shares bytes with argument "
                             "value '%u', which the operator does not allow",
                             (uint64_t)written, (uint64_t)read->value);
  }
  if (m->blob == NULL || !is_copy(op->id)) return ETX_OK;
  const etx_pte_tensor a = etx_pte_value_at(&m->plan, read->value).as.tensor;
  const etx_pte_tensor b = etx_pte_value_at(&m->plan, written).as.tensor;
  if (a.dtype != b.dtype) return ETX_OK;
  return etx_verify_refuse(m,
                           "value '%u' is copied onto itself, as value '%u'; "
                           "programs of etx have no such copies",
                           (uint64_t)read->value, (uint64_t)written);
}
