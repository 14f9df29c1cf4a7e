// The pipeline of `etx plan`: passes, layout of state, memory plan, file,
// report.

#include "exporter/export.h"

#include "exporter/arenas/concurrent_methods.h"
#include "exporter/arenas/memory_list.h"
#include "exporter/report/copied_results.h"
#include "exporter/report/copied_slices.h"
#include "exporter/emit/emit_program.h"
#include "exporter/fingerprint.h"
#include "exporter/host/host_file.h"
#include "exporter/ir/ir_print.h"
#include "exporter/ir/own_operators.h"
#include "exporter/pass_list.h"
#include "exporter/report/memory_account.h"
#include "exporter/arenas/plan_memory.h"
#include "exporter/import/size_caps.h"
#include "exporter/import/cache_type.h"
#include "exporter/import/quantize_rules.h"
#include "exporter/placement/shared_state.h"
#include "exporter/report/source_lines.h"
#include "exporter/specialize/specialize_method.h"

enum { MIN_ALIGNMENT = 16 };

typedef struct pipeline {
  etx_ir_module* module;
  const etx_export_options* options;
  etx_problems* problems;
  etx_diag* diag;
  etx_pass_context passes;
  etx_state_layout layout;
  etx_memory_plan* memory;
  etx_emit_program program;
  etx_source_lines lines;
  etx_emit_result result;
} pipeline;

static void report_progress(const pipeline* e, const char* stage, size_t done) {
  enum { STAGES = 4 };
  if (e->options->progress == NULL) return;
  e->options->progress(e->options->progress_context, stage, done, STAGES);
}

// Dumps the IR if `pass` is the one of --dump-after.
static etx_status dump_after(void* context, etx_text pass, bool is_lowered,
                             const etx_ir_module* module) {
  const etx_export_options* const options = context;
  (void)is_lowered;
  if (options->dump_after == NULL) return ETX_OK;
  const etx_text wanted =
      etx_pass_present_name(etx_text_of(options->dump_after));
  if (!etx_text_equal(pass, wanted)) return ETX_OK;
  return etx_ir_print(module, &options->dump);
}

// An unknown pass is an error, since nothing would be dumped.
static etx_status check_dump_after(const pipeline* e) {
  const char* const name = e->options->dump_after;
  if (name == NULL) return ETX_OK;
  return etx_pass_check_name(etx_text_of(name), e->diag);
}

// Runs the passes. They need a list of problems, even if the caller has none:
// `own` is used then.
static etx_status run_passes(pipeline* e, etx_problems* own) {
  e->passes = (etx_pass_context){
      .module = e->module,
      .options = e->options,
      .problems = e->problems == NULL ? own : e->problems,
      .diag = e->diag,
      .after = dump_after,
      .after_context = (void*)(uintptr_t)e->options,
  };
  return etx_passes_run(&e->passes);
}

static etx_status lay_out_state(pipeline* e) {
  etx_bytes keep = {NULL, 0};
  if (e->options->keep_layout != NULL) {
    ETX_TRY(etx_file_read(e->module->pool, e->options->keep_layout, &keep,
                          e->diag));
    if (keep.size == 0) {
      return etx_diag_fail(e->diag, ETX_BAD_FILE,
                           "cannot keep the layout of '%s': the file is empty",
                           e->options->keep_layout);
    }
    if (keep.size >= 8 && memcmp(keep.data + 4, "ET12", 4) != 0) {
      return etx_diag_fail(e->diag, ETX_BAD_FILE,
                           "cannot keep the layout of '%s': it is not a "
                           "program file, which has 'ET12' at byte 4",
                           e->options->keep_layout);
    }
  }
  const etx_status status =
      etx_shared_state_layout(e->module, keep, &e->layout, e->diag);
  if (status != ETX_OK && e->options->keep_layout != NULL) {
    etx_diag_append(e->diag, ", while keeping the layout of '%s'",
                    e->options->keep_layout);
  }
  ETX_TRY(status);
  return etx_shared_state_publish(e->module, &e->layout);
}

// The options that can change the bytes of the file, in a fixed order.
static etx_text describe_options(const pipeline* e) {
  const etx_export_options* const o = e->options;
  etx_pool* const pool = e->module->pool;
  const etx_text budget =
      o->pack_budget == 0 ? etx_text_of("")
                          : etx_pool_format(pool, ";budget=%u", o->pack_budget);
  if (budget.data == NULL) return budget;
  const etx_text folding =
      o->fold_budget == 0
          ? etx_text_of("")
          : etx_pool_format(pool, ";folding=%u", o->fold_budget);
  if (folding.data == NULL) return folding;
  return etx_pool_format(pool, "passes=%s;algorithm=%s;keep=%s%s%t%s%t",
                         o->passes == NULL ? "" : o->passes,
                         o->algorithm == NULL ? "" : o->algorithm,
                         o->keep_layout == NULL ? "no" : "yes",
                         o->pack_weights ? ";pack=yes" : "", budget,
                         o->parallel_regions ? ";regions=yes" : "", folding);
}

static etx_status write_program(pipeline* e, const etx_sink* sink) {
  e->program.module = e->module;
  e->program.placements = e->passes.placements;
  e->program.memory = e->memory;
  e->program.layout = &e->layout;
  e->program.target = e->options->target;
  e->program.options = describe_options(e);
  if (e->options->source_lines) e->program.lines = &e->lines;
  if (e->program.options.data == NULL) return ETX_OUT_OF_MEMORY;
  return etx_emit_write(&e->program, sink, &e->result, e->diag);
}

// ---------------------------------------------------------------- report

// Adds to a row the saved bytes and the values that are live at the peak.
static etx_status report_account(const pipeline* e, size_t index,
                                 etx_export_method_report* row) {
  etx_memory_account account;
  ETX_TRY(etx_memory_account_find(
      e->module->pool, e->module, &e->module->methods[index],
      &e->passes.placements[index], &e->memory[index], &account));
  row->naive_bytes = account.naive_bytes;
  row->view_bytes = account.view_bytes;
  row->in_place_bytes = account.in_place_bytes;
  row->sharing_bytes = account.sharing_bytes;
  row->live_bytes = account.live_bytes;
  row->padding_bytes = account.padding_bytes;
  row->peak_values = account.values;
  row->peak_value_count = account.value_count;
  row->blocks = account.blocks;
  row->block_count = account.block_count;
  if (e->passes.orders == NULL) return ETX_OK;
  row->order_bytes = e->passes.orders[index].saved_bytes;
  row->order_steps = e->passes.orders[index].steps;
  return ETX_OK;
}

static etx_export_method_report report_method(const pipeline* e, size_t index) {
  const etx_ir_method* const method = &e->module->methods[index];
  const etx_memory_plan* const memory = &e->memory[index];
  etx_export_method_report row = {
      .name = method->name,
      .scratch_bytes = memory->scratch_bytes,
      .range_start = memory->range_start,
      .planned_bytes = memory->planned_bytes,
      .stable_bytes = memory->stable_bytes,
      .memory_bytes = memory->memory_bytes,
      .memory_traffic = memory->memory_traffic,
      .lower_bound = memory->lower_bound,
      .value_count = memory->block_count,
      .instruction_count = e->result.instruction_counts[index],
      .peak_instruction = (uint32_t)e->result.peak_instructions[index],
      .algorithm = memory->algorithm,
      .steps = memory->steps,
      .layout_count = memory->layout_count,
      .worst_ratio = memory->worst_ratio,
  };
  if (memory->peak_node < method->node_count) {
    row.peak_operator = etx_text_of(method->nodes[memory->peak_node].op->name);
  }
  const etx_copied_parts parts =
      etx_copied_parts_count(method, &e->passes.placements[index]);
  row.part_count = parts.count;
  row.part_bytes = parts.bytes;
  const etx_placement_copies* const copies = &e->passes.copies;
  for (size_t i = 0; i < copies->count; ++i) {
    if (copies->items[i].method == index) {
      row.copied_bytes += copies->items[i].bytes;
    }
  }
  return row;
}

static etx_status report_copies(const pipeline* e, etx_export_report* report) {
  const etx_placement_copies* const copies = &e->passes.copies;
  report->copies =
      etx_pool_take(e->module->pool, copies->count * sizeof *report->copies);
  if (report->copies == NULL) return ETX_OUT_OF_MEMORY;
  report->copy_count = copies->count;
  for (size_t i = 0; i < copies->count; ++i) {
    const etx_placement_copy* const copy = &copies->items[i];
    report->copies[i] = (etx_export_copy_report){
        e->module->methods[copy->method].name, copy->target,
        etx_text_of(copy->op), copy->bytes, etx_text_of(copy->reason)};
  }
  return ETX_OK;
}

// Adds elementwise chains to the fusions. Chains that were fused into another
// operator were reported by that pass.
static etx_status report_fusions(pipeline* e, etx_export_report* report) {
  etx_fusion_report* const fusions = &e->passes.fusions;
  for (size_t i = 0; i < e->module->method_count; ++i) {
    const etx_ir_method* const method = &e->module->methods[i];
    for (size_t n = 0; n < method->node_count; ++n) {
      const etx_ir_node* const node = &method->nodes[n];
      if (node->op->id != ETX_OP_chain_out) continue;
      ETX_TRY(etx_fusion_report_fused_node(fusions, e->module, method, node,
                                           "elementwise chain"));
    }
  }
  report->fusions = fusions->items;
  report->fusion_count = fusions->count;
  return ETX_OK;
}

static uint64_t bytes_of_states(const pipeline* e) {
  uint64_t total = 0;
  for (size_t i = 0; i < e->layout.count; ++i) {
    const etx_ir_buffer* const buffer =
        &e->module->buffers[e->layout.buffers[i]];
    uint64_t bytes = etx_dtype_bytes(buffer->dtype);
    for (size_t d = 0; d < buffer->rank; ++d) {
      bytes *= (uint64_t)buffer->sizes[d];
    }
    total += bytes;
  }
  return total;
}

static etx_status make_report(pipeline* e, etx_export_report* out_report) {
  const size_t count = e->module->method_count;
  etx_export_report report = {
      .methods = etx_pool_take(e->module->pool, count * sizeof *report.methods),
      .method_count = count,
      .weights = e->module->weights,
      .quantized = e->passes.quantized.items,
      .quantized_count = e->passes.quantized.count,
      .caches = e->passes.caches.items,
      .cache_count = e->passes.caches.count,
      .rules = e->module->quantize,
      .rule_count = e->module->quantize_count,
      .skipped = e->module->skipped,
      .skipped_count = e->module->skipped_count,
      .packed = e->passes.packed.items,
      .packed_count = e->passes.packed.count,
      .pack_copy_bytes = e->passes.packed.copy_bytes,
      .pack_budget = e->options->pack_budget,
      .memories = e->module->memories,
      .memory_count = e->module->memory_count,
      .concurrent = e->module->concurrent,
      .concurrent_count = e->module->concurrent_count,
      .state_bytes = e->layout.bytes,
      .state_bound = bytes_of_states(e),
      .state_count = e->layout.count,
      .constant_bytes = e->result.constant_bytes,
      .constant_count = e->result.constant_count,
      .file_bytes = e->result.file_bytes,
  };
  if (report.methods == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) {
    report.methods[i] = report_method(e, i);
    ETX_TRY(report_account(e, i, &report.methods[i]));
    report.method_bytes += report.methods[i].scratch_bytes;
    if (report.methods[i].scratch_bytes > report.scratch_bytes) {
      report.scratch_bytes = report.methods[i].scratch_bytes;
    }
  }
  ETX_TRY(report_copies(e, &report));
  ETX_TRY(report_fusions(e, &report));
  *out_report = report;
  return ETX_OK;
}

// ---------------------------------------------------------------- pipeline

etx_status etx_export_concurrent(etx_ir_module* module, const char* names,
                                 etx_diag* diag) {
  const etx_text all = etx_text_of(names);
  size_t count = 1;
  for (size_t i = 0; i < all.size; ++i) count += all.data[i] == ',';
  etx_text* const list = etx_pool_take(module->pool, count * sizeof *list);
  if (list == NULL) return ETX_OUT_OF_MEMORY;
  size_t start = 0;
  size_t next = 0;
  for (size_t i = 0; i <= all.size; ++i) {
    if (i < all.size && all.data[i] != ',') continue;
    list[next++] = (etx_text){all.data + start, i - start};
    start = i + 1;
  }
  size_t at = 0;
  return etx_concurrent_methods_add(module, list, count, &at, diag);
}

etx_status etx_export_weights(etx_ir_module* module, const char* path,
                              const char* names) {
  etx_ir_weights* const weights = &module->weights;
  weights->path = etx_pool_copy_text(module->pool, etx_text_of(path));
  weights->names = etx_pool_copy_text(
      module->pool, etx_text_of(names == NULL ? "" : names));
  return weights->path.data == NULL || weights->names.data == NULL
             ? ETX_OUT_OF_MEMORY
             : ETX_OK;
}

etx_status etx_export_quantize(etx_ir_module* module, const char* rule,
                               etx_diag* diag) {
  return etx_quantize_rule_add(module, etx_text_of(rule), diag);
}

etx_status etx_export_kv(etx_ir_module* module, const char* type,
                         etx_diag* diag) {
  return etx_cache_type_set(module, etx_text_of(type), diag);
}

etx_status etx_export_specialize(etx_ir_module* module, const char* option,
                                 etx_diag* diag) {
  etx_specialize_option read;
  ETX_TRY(etx_specialize_option_read(etx_text_of(option), &read, diag));
  return etx_specialize_methods(module, &read, diag);
}

etx_status etx_export_memory(etx_ir_module* module, const char* memory,
                             etx_diag* diag) {
  return etx_memory_list_add(module, etx_text_of(memory), diag);
}

etx_status etx_export_cap(etx_ir_module* module, const char* cap,
                          etx_diag* diag) {
  return etx_size_cap_add(module, etx_text_of(cap), diag);
}

etx_status etx_export_operators(etx_ir_module* module, const char* path,
                                etx_diag* diag) {
  etx_bytes bytes = {NULL, 0};
  etx_diag own;
  etx_diag_init(&own);
  ETX_TRY(etx_file_read(module->pool, path, &bytes, diag));
  const etx_text text = {(const char*)bytes.data, bytes.size};
  const etx_status status = etx_own_operators_add(module, text, &own);
  if (status != ETX_BAD_FILE) return status;
  return etx_diag_fail(diag, status, "%s:%u:%u: %s", path, (uint64_t)own.line,
                       (uint64_t)own.column, own.text);
}

// Regions and named algorithms are planned for one memory.
static etx_status check_memories(const pipeline* e) {
  if (e->module->memory_count <= 1) return ETX_OK;
  if (e->options->parallel_regions) {
    return etx_diag_fail(e->diag, ETX_UNSUPPORTED,
                         "parallel regions cannot be planned for several "
                         "memories; leave out one of the two options");
  }
  if (e->options->algorithm == NULL) return ETX_OK;
  return etx_diag_fail(e->diag, ETX_UNSUPPORTED,
                       "a planning algorithm cannot be chosen for several "
                       "memories; leave out one of the two options");
}

etx_status etx_export_plan(etx_ir_module* module,
                           const etx_export_options* options,
                           const etx_sink* sink, etx_export_report* out_report,
                           etx_problems* problems, etx_diag* diag) {
  pipeline e = {
      .module = module, .options = options, .problems = problems, .diag = diag};
  etx_problems own = {0};
  if (module->alignment < MIN_ALIGNMENT) module->alignment = MIN_ALIGNMENT;
  ETX_TRY(check_dump_after(&e));
  ETX_TRY(etx_memory_list_complete(module, diag));
  ETX_TRY(check_memories(&e));
  ETX_TRY(etx_ir_fingerprint(module, options->workers, e.program.fingerprint));
  if (options->source_lines) {
    ETX_TRY(etx_source_lines_take(module, &e.lines));
  }
  report_progress(&e, "passes", 0);
  ETX_TRY(run_passes(&e, &own));
  ETX_TRY(
      etx_copied_slices_find(module, e.passes.placements, &e.passes.copies));
  ETX_TRY(
      etx_copied_results_find(module, e.passes.placements, &e.passes.copies));
  report_progress(&e, "state", 1);
  ETX_TRY(lay_out_state(&e));
  report_progress(&e, "memory", 2);
  const etx_memory_options memory = {
      .algorithm = options->algorithm,
      .keeps_regions_apart = options->parallel_regions,
      .takes_layouts = !options->parallel_regions,
      .state_bytes = e.layout.bytes};
  ETX_TRY(
      etx_plan_memory(module, e.passes.placements, &memory, &e.memory, diag));
  report_progress(&e, "file", 3);
  ETX_TRY(write_program(&e, sink));
  return make_report(&e, out_report);
}
