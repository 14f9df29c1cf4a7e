#include "cli/run/region_proof.h"

#include <string.h>

#include "cli/run/smoke_run.h"
#include "cli/verify/verify_regions.h"
#include "format/base/independent_regions.h"
#include "format/pte/reserved_names.h"
#include "runtime/regions.h"

typedef struct region_prover {
  etx_run_session* session;
  etx_method* method;
  etx_text name;
  size_t limit;
  etx_pool* pool;
  etx_region_proof_report* report;
  etx_diag* diag;
} region_prover;

static void add_block(etx_verify_schedule* schedule, etx_verify_block* blocks,
                      const char* what, size_t number, etx_bytes_mut memory) {
  const uint64_t start = (uintptr_t)memory.data;
  if (memory.data == NULL || memory.size == 0) return;
  blocks[schedule->block_count++] =
      (etx_verify_block){what, number, start, start + memory.size};
}

// The memory of the method and of its regions. Region 0 has the temporary
// memory of the method.
static void find_blocks(const region_prover* p, etx_verify_schedule* schedule,
                        etx_verify_block* blocks) {
  const etx_method* const m = p->method;
  add_block(schedule, blocks, "scratch of method", 0, m->scratch);
  add_block(schedule, blocks, "state of session", 0,
            (etx_bytes_mut){m->state.data, m->state.size});
  for (size_t r = 0; r < p->limit; ++r) {
    add_block(schedule, blocks, "temporary memory of region", r,
              etx_method_region_temporary(m, r));
  }
  schedule->blocks = blocks;
}

static etx_status prove_schedule(const region_prover* p) {
  etx_verify_schedule schedule = {.method = p->name};
  etx_region_step at;
  size_t pairs = 0, grouped = 0;
  while (etx_method_region_step_at(p->method, schedule.step_count, &at)) {
    ++schedule.step_count;
  }
  if (etx_method_region_steps(p->method) == 0) return ETX_OK;
  etx_verify_region_step* const steps =
      etx_pool_take(p->pool, schedule.step_count * sizeof *steps);
  etx_verify_block* const blocks =
      etx_pool_take(p->pool, (p->limit + 2) * sizeof *blocks);
  if (steps == NULL || blocks == NULL) {
    return etx_diag_fail(p->diag, ETX_OUT_OF_MEMORY,
                         "not enough memory for the regions of a method");
  }
  for (size_t i = 0; i < schedule.step_count; ++i) {
    if (!etx_method_region_step_at(p->method, i, &at)) return ETX_INTERNAL;
    steps[i] =
        (etx_verify_region_step){at.instruction, at.group_end, at.region};
    grouped += at.group_end != 0;
  }
  schedule.steps = steps;
  find_blocks(p, &schedule, blocks);
  ETX_TRY(
      etx_verify_regions(p->session->file.program, &schedule, &pairs, p->diag));
  p->report->method_count += 1;
  p->report->step_count += grouped;
  p->report->pair_count += pairs;
  return ETX_OK;
}

static etx_status prove_method(region_prover* p) {
  const etx_text name = etx_pool_copy_text(p->pool, p->name);
  if (name.data == NULL) {
    return etx_diag_fail(p->diag, ETX_OUT_OF_MEMORY,
                         "not enough memory for a name");
  }
  ETX_TRY(etx_run_session_method(p->session, name.data, &p->method, p->diag));
  const etx_zero_inputs zeros = {&p->session->module.program, p->method,
                                 p->name, true, p->pool};
  ETX_TRY(etx_zero_inputs_set(&zeros, p->diag));
  ETX_TRY(etx_module_regions_use(&p->session->regions, p->method,
                                 &p->session->pool.launcher, p->limit,
                                 p->diag));
  return prove_schedule(p);
}

etx_status etx_region_proof_run(etx_run_session* session, size_t limit,
                                etx_region_proof_report* out_report,
                                etx_diag* diag) {
  const etx_program* const program = &session->module.program;
  const size_t count = etx_program_method_count(program);
  etx_region_proof_report report = {0};
  if (limit > ETX_REGIONS_MOST) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "%z regions at a time, expected 1 to %z", limit,
                         (size_t)ETX_REGIONS_MOST);
  }
  for (size_t i = 0; i < count; ++i) {
    etx_method_info info;
    etx_pool pool;
    ETX_TRY(etx_program_method_at(program, i, &info));
    if (info.is_constant || etx_text_is(info.name, ETX_METHOD_INIT)) continue;
    region_prover p = {.session = session,
                       .name = info.name,
                       .limit = limit,
                       .pool = &pool,
                       .report = &report,
                       .diag = diag};
    etx_pool_init(&pool);
    const etx_status status = prove_method(&p);
    etx_pool_close(&pool);
    ETX_TRY(status);
  }
  *out_report = report;
  return ETX_OK;
}
