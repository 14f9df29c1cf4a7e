// Chains of parts: tensors that lie one after the other in another one, the
// *whole*, at offsets that depend on sizes (part_after). A concatenation is
// computed in place in this way: its operands are the parts.
//
//   whole      |  first part  |  second  |     third     |
//                             ^ where the first part ends, whatever its size is
//
// The planned addresses are those of the largest sizes and prove nothing for
// smaller ones. So a part is assumed to be anywhere in its whole, except for
// two facts that hold for all sizes:
//
//   Two parts of one chain are disjoint, because each starts where the part
//   before it ends. The same is true of views of them, and of parts of them.
//
//   A concatenation whose operands are all parts of a chain in order, from the
//   first one on, changes no byte of them, because each of them lies where it
//   would be copied to. The shape rule gives the result the size of all parts
//   together. The runtime compares both once more when sizes change, and
//   refuses the call if an operand overlaps the result at another place.
//
// A part, or a view of one, is used in this way only if exactly one instruction
// makes it, before all others that use it and after the one that makes the part
// before it, in a method without jumps.

#include "cli/verify/verify_internal.h"

enum { MAX_LEVELS = 64 };  // of parts of parts, and of views

// The part that `value` is, or is a view of; ETX_VERIFY_NONE if there is none.
static uint32_t enclosing_part(const etx_verify_method* m, uint32_t value) {
  for (size_t i = 0; i < MAX_LEVELS; ++i) {
    const etx_verify_value* const v = &m->values[value];
    if (v->whole != 0) return value;
    if (v->view_of == 0) return ETX_VERIFY_NONE;
    value = v->view_of - 1;
  }
  return ETX_VERIFY_NONE;
}

// The next part outside of part `part`.
static uint32_t outer_part(const etx_verify_method* m, uint32_t part) {
  return enclosing_part(m, m->values[part].whole - 1);
}

bool etx_verify_are_disjoint_parts(const etx_verify_method* m, uint32_t a,
                                   uint32_t b) {
  uint32_t x = enclosing_part(m, a);
  for (size_t i = 0; i < MAX_LEVELS && x != ETX_VERIFY_NONE; ++i) {
    uint32_t y = enclosing_part(m, b);
    for (size_t k = 0; k < MAX_LEVELS && y != ETX_VERIFY_NONE; ++k) {
      if (x != y && m->values[x].whole == m->values[y].whole) return true;
      y = outer_part(m, y);
    }
    x = outer_part(m, x);
  }
  return false;
}

bool etx_verify_is_part_of(const etx_verify_method* m, uint32_t value,
                           uint32_t whole) {
  uint32_t part = enclosing_part(m, value);
  for (size_t i = 0; i < MAX_LEVELS && part != ETX_VERIFY_NONE; ++i) {
    if (m->values[part].whole == whole + 1) return true;
    part = outer_part(m, part);
  }
  return false;
}

// The value whose elements `value` shows, all of them, through et_view.
static uint32_t shown_by(const etx_verify_method* m, uint32_t value) {
  for (size_t i = 0; i < MAX_LEVELS; ++i) {
    const etx_verify_value* const v = &m->values[value];
    if (v->whole != 0 || v->view_of == 0 || !v->shows_all) break;
    value = v->view_of - 1;
  }
  return value;
}

// True if the elements are in the order of the indices.
static bool is_in_order(const etx_verify_method* m, uint32_t value) {
  const etx_pte_tensor tensor = etx_pte_value_at(&m->plan, value).as.tensor;
  for (size_t i = 0; i < tensor.rank; ++i) {
    if (tensor.dim_order[i] != i) return false;
  }
  return true;
}

bool etx_verify_is_joined(const etx_verify_method* m, size_t step) {
  const etx_verify_step* const s = &m->steps[step];
  if (s->op == NULL || s->op->id != ETX_OP_cat_out) return false;
  const int32_t* const arguments = s->instruction.arguments;
  const uint32_t whole = (uint32_t)arguments[2];
  const etx_pte_tensor tensor = etx_pte_value_at(&m->plan, whole).as.tensor;
  const etx_pte_value list = etx_pte_value_at(&m->plan, (size_t)arguments[0]);
  int64_t dimension =
      etx_pte_value_at(&m->plan, (size_t)arguments[1]).as.integer;
  if (dimension < 0) dimension += tensor.rank;
  for (int64_t i = 0; i < dimension && i < tensor.rank; ++i) {
    if (tensor.sizes[i] != 1) return false;
  }
  if (!is_in_order(m, whole)) return false;
  uint32_t before = 0;
  for (size_t i = 0; i < list.as.tensors.count; ++i) {
    const int32_t item = list.as.tensors.items[i];
    if (item < 0) return false;  // a tensor that is missing
    if (!is_in_order(m, (uint32_t)item)) return false;
    const uint32_t part = shown_by(m, (uint32_t)item);
    if (m->values[part].whole != whole + 1 || m->values[part].behind != before)
      return false;
    before = part + 1;
  }
  return before != 0 &&
         m->values[before - 1].range.end == m->values[whole].range.end;
}

// ---- finding chains ----

typedef struct part_finder {
  etx_verify_method* m;
  etx_verify_effects effects;
  bool* is_used;      // by value: an earlier step reads, writes, shows or makes
                      // it
  bool* is_begun;     // by value: its first part is known
  bool* is_followed;  // by part: the part behind it is known
  bool* varies;       // by value: a number that may change at run time
} part_finder;

static void note_uses(part_finder* f) {
  const etx_verify_effects* const e = &f->effects;
  for (size_t i = 0; i < e->read_count; ++i)
    f->is_used[e->reads[i].value] = true;
  for (size_t i = 0; i < e->write_count; ++i) {
    f->is_used[e->writes[i].value] = true;
  }
  if (e->rebound == ETX_VERIFY_NONE) return;
  f->is_used[e->rebound] = f->is_used[e->rebound_from] = true;
}

// True if no part is at this place of the chain yet, and the part before it is
// one of the same whole.
static bool takes_place(part_finder* f, uint32_t whole, uint32_t behind) {
  const bool is_first = behind == 0;
  bool* const at = is_first ? &f->is_begun[whole] : &f->is_followed[behind - 1];
  if (*at || (!is_first && f->m->values[behind - 1].whole != whole + 1)) {
    return false;
  }
  *at = true;
  return true;
}

// At the upper bounds a part is planned where it is made, and so is a view of
// it: there the file's numbers tell where the parts are.
static etx_status check_address(const part_finder* f, uint32_t value,
                                uint64_t start) {
  const etx_verify_value* const v = &f->m->values[value];
  if (v->storage != ETX_VERIFY_STORAGE_PLANNED || f->m->blob == NULL ||
      (v->range.start == start &&
       etx_verify_contains(f->m->values[v->view_of - 1].range, v->range))) {
    return ETX_OK;
  }
  return etx_verify_refuse(f->m,
                           "part '%u' is planned at another address than the "
                           "end of the part before it",
                           (uint64_t)value);
}

// Where a view starts in what it shows, in bytes, at the upper bounds. A number
// that changes gives no address.
static uint64_t start_in_base(const part_finder* f,
                              const etx_verify_step* step) {
  if (step->op->id != ETX_OP_part_view_default) return 0;
  const size_t start = (size_t)step->instruction.arguments[1];
  const etx_pte_value number = etx_pte_value_at(&f->m->plan, start);
  const etx_pte_tensor shown =
      etx_pte_value_at(&f->m->plan, f->effects.rebound).as.tensor;
  return number.kind == ETX_PTE_INT && !f->varies[start]
             ? (uint64_t)number.as.integer * etx_dtype_bytes(shown.dtype)
             : UINT64_MAX;
}

static etx_status note_view(part_finder* f, const etx_verify_step* step) {
  const int32_t* const arguments = step->instruction.arguments;
  const uint32_t from = f->effects.rebound_from;
  const uint32_t to = f->effects.rebound;
  etx_verify_value* const value = &f->m->values[to];
  if (f->is_used[to]) {
    value->view_of = value->whole = 0;
    return ETX_OK;
  }
  value->view_of = from + 1;
  value->shows_all = step->op->id == ETX_OP_et_view_default;
  const etx_verify_range all = f->m->values[from].range;
  if (enclosing_part(f->m, from) != ETX_VERIFY_NONE &&
      step->op->id != ETX_OP_part_after_default) {
    return check_address(f, to, all.start + start_in_base(f, step));
  }
  if (step->op->id != ETX_OP_part_after_default) return ETX_OK;
  const uint32_t before = (uint32_t)arguments[1];
  const bool is_first =
      etx_pte_value_kind(&f->m->plan, before) != ETX_PTE_TENSOR;
  value->behind = is_first ? 0 : before + 1;
  if (!takes_place(f, from, value->behind)) return ETX_OK;
  value->whole = from + 1;
  return check_address(f, to,
                       is_first ? all.start : f->m->values[before].range.end);
}

// Several headers, as moves give them, or headers that only some path gives.
static bool has_jumps(const etx_verify_method* m) {
  for (size_t s = 0; s < m->step_count; ++s) {
    const int kind = (int)m->steps[s].instruction.kind;
    if (kind == ETX_PTE_JUMP_FALSE_CALL || kind == ETX_PTE_MOVE_CALL) {
      return true;
    }
  }
  return false;
}

etx_status etx_verify_find_parts(etx_verify_method* m) {
  part_finder f = {.m = m};
  if (has_jumps(m)) return ETX_OK;
  f.is_used = etx_verify_arena_take(m->memory, m->value_count, sizeof(bool));
  f.is_begun = etx_verify_arena_take(m->memory, m->value_count, sizeof(bool));
  f.is_followed =
      etx_verify_arena_take(m->memory, m->value_count, sizeof(bool));
  if (f.is_used == NULL || f.is_begun == NULL || f.is_followed == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  ETX_TRY(etx_verify_effects_init(&f.effects, m));
  ETX_TRY(etx_verify_find_varying(m, &f.varies));
  for (size_t s = 0; s < m->step_count; ++s) {
    const etx_op* const op = m->steps[s].op;
    etx_verify_effects_again(m, s, &f.effects);
    if (op != NULL && etx_op_makes_view(op)) {
      const etx_status status = note_view(&f, &m->steps[s]);
      if (status != ETX_OK) return etx_verify_at(m, s, status);
    } else if (f.effects.rebound != ETX_VERIFY_NONE) {
      m->values[f.effects.rebound].view_of = 0;
      m->values[f.effects.rebound].whole = 0;
    }
    note_uses(&f);
  }
  return ETX_OK;
}
