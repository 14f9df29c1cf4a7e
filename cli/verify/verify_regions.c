#include "cli/verify/verify_regions.h"

#include "cli/verify/verify_internal.h"
#include "format/base/reachability.h"

// A value that an instruction of a group reads or writes.
typedef struct region_use {
  uint32_t value;
  bool is_written;
} region_use;

typedef struct region_proof {
  etx_verify_method m;
  const etx_verify_schedule* schedule;
  region_use* uses;
  size_t use_count;
  size_t* first_use;  // by step of the schedule, and use_count at the end
  size_t pair_count;
} region_proof;

// ---- messages ----

static void append_instruction(const region_proof* p, size_t step,
                               const char* before) {
  const etx_verify_step* const at =
      &p->m.steps[p->schedule->steps[step].instruction];
  etx_diag_append(p->m.diag, "%sinstruction '%u'", before, (uint64_t)at->index);
  if (at->chain > 0) {
    etx_diag_append(p->m.diag, " of chain '%u'", (uint64_t)at->chain);
  }
  if (ETX_NEVER(at->op == NULL)) return;  // groups have calls only
  etx_diag_append(p->m.diag, " ('%s%s%s')", at->op->name,
                  at->op->overload[0] == '\0' ? "" : ".", at->op->overload);
}

// Names the place of an address: its arena, or memory of the caller.
static void append_bytes(const region_proof* p, uint64_t start, uint64_t end) {
  const size_t count = etx_pte_buffer_size_count(&p->m.plan);
  uint64_t base = 0;
  for (size_t i = 1; i < count; ++i) {
    const uint64_t bytes = (uint64_t)etx_pte_buffer_size_at(&p->m.plan, i);
    if (start < base + bytes) {
      etx_diag_append(p->m.diag, "bytes %u to %u of arena '%z'", start - base,
                      end - base, i);
      return;
    }
    base += bytes;
  }
  etx_diag_append(p->m.diag, "%u bytes of the caller's memory", end - start);
}

static etx_status refuse_pair(const region_proof* p, size_t early, size_t late,
                              const region_use* a, const region_use* b,
                              etx_verify_range common) {
  const etx_status status = etx_diag_fail(
      p->m.diag, ETX_BAD_PLAN, "regions '%z' and '%z' may run at the same time",
      p->schedule->steps[early].region, p->schedule->steps[late].region);
  append_instruction(p, early, ", but ");
  etx_diag_append(p->m.diag, " %s value '%u'",
                  a->is_written ? "writes" : "reads", (uint64_t)a->value);
  append_instruction(p, late, " and ");
  etx_diag_append(p->m.diag, " %s value '%u' at ",
                  b->is_written ? "writes" : "reads", (uint64_t)b->value);
  append_bytes(p, common.start, common.end);
  etx_diag_append(p->m.diag, " (method '%t')", p->m.name);
  return status;
}

static etx_status refuse_step(const region_proof* p, size_t step,
                              const char* why) {
  return etx_diag_fail(p->m.diag, ETX_BAD_ARGUMENT,
                       "step '%z' of the regions of method '%t' %s", step,
                       p->m.name, why);
}

// ---- the schedule itself ----

static etx_status check_group(const region_proof* p, size_t step) {
  const etx_verify_region_step* const at = &p->schedule->steps[step];
  if (at->group_end <= step || at->group_end > p->schedule->step_count) {
    return refuse_step(p, step, "is outside its own group");
  }
  if (step + 1 < at->group_end &&
      p->schedule->steps[step + 1].group_end != at->group_end) {
    return refuse_step(p, step, "and the next one have different groups");
  }
  const etx_op* const op = p->m.steps[at->instruction].op;
  // Methods with groups have calls only.
  if (ETX_NEVER(op == NULL)) return ETX_OK;
  if (etx_op_draws_random_numbers(op)) {
    return refuse_step(p, step, "draws random numbers beside other steps");
  }
  // Reads of numbers and of headers are not compared.
  if (op->result == ETX_RESULT_SCALAR || etx_op_makes_view(op)) {
    return refuse_step(p, step, "sets a number or a view beside other steps");
  }
  return ETX_OK;
}

static bool has_control_flow(const etx_verify_method* m) {
  for (size_t s = 0; s < m->step_count; ++s) {
    if (m->steps[s].instruction.kind != ETX_PTE_KERNEL_CALL) return true;
  }
  return false;
}

static etx_status check_schedule(const region_proof* p) {
  const bool is_straight = !has_control_flow(&p->m);
  for (size_t i = 0; i < p->schedule->step_count; ++i) {
    const etx_verify_region_step* const at = &p->schedule->steps[i];
    if (at->instruction >= p->m.step_count ||
        (i > 0 && at->instruction <= p->schedule->steps[i - 1].instruction)) {
      return refuse_step(p, i, "is not an instruction behind the one before");
    }
    if (at->group_end == 0) continue;
    if (!is_straight) {
      return refuse_step(p, i, "is in a group, but the method has jumps");
    }
    ETX_TRY(check_group(p, i));
  }
  return ETX_OK;
}

// ---- what steps use ----

static void add_uses(region_proof* p, const etx_verify_access* accesses,
                     size_t count, bool are_written) {
  for (size_t i = 0; i < count; ++i) {
    p->uses[p->use_count++] = (region_use){accesses[i].value, are_written};
  }
}

// The second call, with the array, collects what the first call has counted.
static void collect_uses(region_proof* p, etx_verify_effects* effects) {
  size_t count = 0;
  for (size_t i = 0; i < p->schedule->step_count; ++i) {
    p->first_use[i] = count;
    if (p->schedule->steps[i].group_end == 0) continue;
    etx_verify_effects_again(&p->m, p->schedule->steps[i].instruction, effects);
    count += effects->read_count + effects->write_count;
    if (p->uses == NULL) continue;
    add_uses(p, effects->reads, effects->read_count, false);
    add_uses(p, effects->writes, effects->write_count, true);
  }
  p->first_use[p->schedule->step_count] = count;
}

static etx_status find_uses(region_proof* p) {
  etx_verify_effects effects;
  p->first_use = etx_verify_arena_take(p->m.memory, p->schedule->step_count + 1,
                                       sizeof *p->first_use);
  if (p->first_use == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(etx_verify_effects_init(&effects, &p->m));
  collect_uses(p, &effects);
  p->uses = etx_verify_arena_take(
      p->m.memory, p->first_use[p->schedule->step_count], sizeof *p->uses);
  if (p->uses == NULL) return ETX_OUT_OF_MEMORY;
  collect_uses(p, &effects);
  return ETX_OK;
}

// ---- pairs ----

// True if two values have common bytes, at any of their possible addresses.
static bool find_common_bytes(const etx_verify_method* m, uint32_t a,
                              uint32_t b, etx_verify_range* out_common) {
  for (uint32_t i = 0; i < m->values[a].range_count; ++i) {
    for (uint32_t k = 0; k < m->values[b].range_count; ++k) {
      const etx_verify_range x = etx_verify_address_range(m, a, i);
      const etx_verify_range y = etx_verify_address_range(m, b, k);
      if (!etx_verify_overlap(x, y)) continue;
      out_common->start = x.start > y.start ? x.start : y.start;
      out_common->end = x.end < y.end ? x.end : y.end;
      return true;
    }
  }
  return false;
}

static etx_status check_pair(const region_proof* p, size_t early, size_t late) {
  for (size_t i = p->first_use[early]; i < p->first_use[early + 1]; ++i) {
    for (size_t k = p->first_use[late]; k < p->first_use[late + 1]; ++k) {
      const region_use* const a = &p->uses[i];
      const region_use* const b = &p->uses[k];
      etx_verify_range common;
      if ((a->is_written || b->is_written) &&
          find_common_bytes(&p->m, a->value, b->value, &common)) {
        return refuse_pair(p, early, late, a, b, common);
      }
    }
  }
  return ETX_OK;
}

static etx_status check_pairs(region_proof* p) {
  for (size_t late = 0; late < p->schedule->step_count; ++late) {
    const etx_verify_region_step* const at = &p->schedule->steps[late];
    if (at->group_end == 0) continue;
    for (size_t early = late; early-- > 0;) {
      const etx_verify_region_step* const other = &p->schedule->steps[early];
      if (other->group_end != at->group_end) break;
      if (other->region == at->region) continue;
      ETX_TRY(check_pair(p, early, late));
      ++p->pair_count;
    }
  }
  return ETX_OK;
}

static etx_status check_blocks(const region_proof* p) {
  const etx_verify_schedule* const s = p->schedule;
  for (size_t i = 0; i < s->block_count; ++i) {
    for (size_t k = 0; k < i; ++k) {
      const etx_verify_block* const a = &s->blocks[k];
      const etx_verify_block* const b = &s->blocks[i];
      const etx_verify_range x = {a->start, a->end}, y = {b->start, b->end};
      if (!etx_verify_overlap(x, y)) continue;
      return etx_diag_fail(
          p->m.diag, ETX_BAD_PLAN,
          "the %s '%z' and the %s '%z' share %u bytes (method '%t')", a->what,
          a->number, b->what, b->number,
          (x.end < y.end ? x.end : y.end) -
              (x.start > y.start ? x.start : y.start),
          p->m.name);
    }
  }
  return ETX_OK;
}

// ---- the function ----

static etx_status prove(region_proof* p) {
  ETX_TRY(etx_verify_assign_addresses(&p->m));
  ETX_TRY(etx_verify_find_steps(&p->m));
  ETX_TRY(etx_verify_find_rebinding(&p->m));
  ETX_TRY(check_schedule(p));
  ETX_TRY(find_uses(p));
  ETX_TRY(check_pairs(p));
  return check_blocks(p);
}

static etx_status find_method(const etx_pte* pte, etx_text name,
                              size_t* out_index, etx_diag* diag) {
  const size_t count = etx_pte_plan_count(pte);
  for (size_t i = 0; i < count; ++i) {
    const etx_pte_plan plan = etx_pte_plan_at(pte, i);
    if (!etx_text_equal(etx_pte_plan_name(&plan), name)) continue;
    *out_index = i;
    return ETX_OK;
  }
  return etx_diag_fail(diag, ETX_NOT_FOUND, "there is no method '%t'", name);
}

etx_status etx_verify_regions(etx_bytes file,
                              const etx_verify_schedule* schedule,
                              size_t* out_pairs, etx_diag* diag) {
  const etx_pte_limits limits = {.reports_bad_plan = true};
  etx_pte pte;
  etx_blob blob;
  size_t index = 0;
  etx_verify_arena memory = {NULL};
  ETX_TRY(etx_pte_open(&pte, file, &limits, diag));
  const etx_status found = etx_blob_open(&blob, &pte, diag);
  if (found != ETX_OK && found != ETX_NOT_FOUND) return found;
  ETX_TRY(find_method(&pte, schedule->method, &index, diag));
  region_proof p = {.schedule = schedule};
  etx_verify_method_init(&p.m, &pte, found == ETX_OK ? &blob : NULL, index,
                         &memory, diag);
  const etx_status status = prove(&p);
  etx_verify_arena_release(&memory);
  if (status == ETX_OK && out_pairs != NULL) *out_pairs = p.pair_count;
  if (status == ETX_OUT_OF_MEMORY) {
    return etx_diag_fail(diag, status, "not enough memory for the proof");
  }
  return status;
}
