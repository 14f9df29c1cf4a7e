// A call's outputs against what it reads.
//
// A kernel may write before it has read everything, so an output lies on an
// argument only where the operator's row allows it, and then on exactly the
// same bytes. A copy onto itself does nothing; other exporters leave some in
// their files, etx leaves none.

#include "cli/verify/verify_internal.h"

// Sizes are equal but for leading ones.
static bool same_elements(const etx_pte_tensor* a, const etx_pte_tensor* b) {
  const etx_pte_tensor* const longer = a->rank >= b->rank ? a : b;
  const etx_pte_tensor* const shorter = a->rank >= b->rank ? b : a;
  const size_t more = (size_t)(longer->rank - shorter->rank);
  for (size_t i = 0; i < longer->rank; ++i) {
    const int32_t other = i < more ? 1 : shorter->sizes[i - more];
    if (longer->sizes[i] != other) return false;
    if (more == 0 && a->dim_order[i] != b->dim_order[i]) return false;
  }
  return etx_dtype_bytes(a->dtype) == etx_dtype_bytes(b->dtype);
}

// Wherever the two may lie, they have all bytes in common or none.
static bool same_place(const etx_verify_method* m, uint32_t a, uint32_t b) {
  for (uint32_t i = 0; i < m->values[a].place_count; ++i) {
    for (uint32_t k = 0; k < m->values[b].place_count; ++k) {
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

// The operator's row lets the output lie on this argument.
static bool may_share(const etx_verify_method* m, const etx_op* op,
                      const etx_verify_access* read, uint32_t written) {
  const etx_pte_tensor a = etx_pte_value_at(&m->plan, read->value).as.tensor;
  const etx_pte_tensor b = etx_pte_value_at(&m->plan, written).as.tensor;
  if (!same_place(m, read->value, written)) return false;
  if (is_copy(op->id) && a.dtype == b.dtype) return true;
  switch (op->in_place) {
    case ETX_IN_PLACE_ELEMENTWISE:
      return same_elements(&a, &b);
    case ETX_IN_PLACE_SELF:
      return read->is_first;
    case ETX_IN_PLACE_NEVER:
      break;
  }
  return false;
}

etx_status etx_verify_in_place(const etx_verify_method* m, const etx_op* op,
                               const etx_verify_access* read,
                               uint32_t written) {
  if (!etx_verify_may_overlap(m, read->value, written)) return ETX_OK;
  if (!may_share(m, op, read, written)) {
    return etx_verify_refuse(m,
                             "value '%u' is written over value '%u', which the "
                             "same instruction reads",
                             (uint64_t)written, (uint64_t)read->value);
  }
  if (m->blob == NULL || !is_copy(op->id)) return ETX_OK;
  const etx_pte_tensor a = etx_pte_value_at(&m->plan, read->value).as.tensor;
  const etx_pte_tensor b = etx_pte_value_at(&m->plan, written).as.tensor;
  if (a.dtype != b.dtype) return ETX_OK;
  return etx_verify_refuse(m, "value '%u' is copied onto itself as value '%u'",
                           (uint64_t)read->value, (uint64_t)written);
}
