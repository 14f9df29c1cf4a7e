#include "cli/plan/plan_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/json/json_value.h"
#include "cli/plan/plan_memories_report.h"
#include "cli/plan/plan_packed.h"
#include "cli/plan/plan_caches.h"
#include "cli/plan/plan_quantized.h"
#include "cli/base/plural.h"
#include "format/memory_table/memory_table.h"
#include "runtime/memories.h"
#include "runtime/variants.h"
#include "shared_memory/shared_memory.h"

static uint64_t gap_of(const etx_export_method_report* method) {
  return method->planned_bytes - method->lower_bound;
}

static double gap_percent(const etx_export_method_report* method) {
  if (method->lower_bound == 0) return 0;
  return 100.0 * (double)gap_of(method) / (double)method->lower_bound;
}

static void print_method(const etx_export_method_report* method, int width) {
  printf("  %-*.*s %12" PRIu64 " %12" PRIu64 " %6.2f%% %9" PRIu64
         " %6zu %6zu  %s",
         width, (int)method->name.size, method->name.data,
         method->scratch_bytes, method->lower_bound, gap_percent(method),
         method->steps, method->instruction_count, method->value_count,
         method->algorithm == NULL ? "-" : method->algorithm);
  if (method->peak_operator.size != 0) {
    printf("  %.*s (instruction %u)", (int)method->peak_operator.size,
           method->peak_operator.data, (unsigned)method->peak_instruction);
  }
  fputc('\n', stdout);
}

// Explains the lower bound and counts the plans that reach it.
static void print_verdict(const etx_export_report* report) {
  size_t least = 0;
  for (size_t i = 0; i < report->method_count; ++i) {
    least += gap_of(&report->methods[i]) == 0;
  }
  printf(
      "  lower bound: the largest number of live bytes, or more where a search "
      "has proved it.\n  ");
  if (least == report->method_count) {
    printf("Each plan is proved to be the smallest.\n");
  } else {
    printf("%zu of %zu plans are proved to be the smallest.\n", least,
           report->method_count);
  }
}

// What methods with varying sizes need at smaller ones.
static void print_smaller_sizes(const etx_export_report* report) {
  for (size_t i = 0; i < report->method_count; ++i) {
    const etx_export_method_report* const method = &report->methods[i];
    if (method->worst_ratio == 0) continue;
    printf("  %.*s at smaller sizes: at most %" PRIu64 ".%02" PRIu64
           " x the lower bound of the sizes",
           (int)method->name.size, method->name.data,
           method->worst_ratio / 1000, method->worst_ratio % 1000 / 10);
    if (method->layout_count > 0) {
      printf(", with %zu more layout%s", method->layout_count,
             etx_plural(method->layout_count));
    }
    fputc('\n', stdout);
  }
}

static void print_concurrent(const etx_export_report* report) {
  for (size_t i = 0; i < report->concurrent_count; ++i) {
    const etx_ir_pair* const pair = &report->concurrent[i];
    printf("  %.*s and %.*s may run at the same time and share no byte\n",
           (int)pair->first.size, pair->first.data, (int)pair->second.size,
           pair->second.data);
  }
}

static void print_saving(const char* what, uint64_t bytes) {
  printf("    %-38s %12" PRIu64 "\n", what, bytes);
}

static void print_peak(const etx_export_method_report* method) {
  printf("  peak at instruction %u, %.*s: %" PRIu64 " live bytes, and %" PRIu64
         " of padding\n",
         (unsigned)method->peak_instruction, (int)method->peak_operator.size,
         method->peak_operator.data, method->live_bytes, method->padding_bytes);
  for (size_t i = 0; i < method->peak_value_count; ++i) {
    const etx_export_block* const value = &method->peak_values[i];
    printf("    %12" PRIu64 " at %12" PRIu64 "  %.*s, %.*s", value->bytes,
           value->offset, (int)value->name.size, value->name.data,
           value->op.size == 0 ? 5 : (int)value->op.size,
           value->op.size == 0 ? "input" : value->op.data);
    if (i < ETX_EXPORT_SAVINGS) {
      printf("; without it the peak is %" PRIu64 " lower", value->saves);
    }
    fputc('\n', stdout);
  }
}

static void print_savings(const etx_export_method_report* method) {
  printf("%.*s: %" PRIu64 " bytes, gap %" PRIu64 " (%.2f%%), %s, after %" PRIu64
         " steps\n",
         (int)method->name.size, method->name.data, method->scratch_bytes,
         gap_of(method), gap_percent(method),
         gap_of(method) == 0 ? "proved to be the smallest"
                             : "not proved to be the smallest",
         method->steps);
  print_saving("naive plan, nothing shared", method->naive_bytes);
  print_saving("saved by views", method->view_bytes);
  print_saving("saved by in-place updates", method->in_place_bytes);
  print_saving("saved by sharing memory over time", method->sharing_bytes);
  print_saving("peak lowered by scheduling", method->order_bytes);
  if (method->range_start != 0) {
    print_saving("offset behind concurrent methods", method->range_start);
  }
  if (method->stable_bytes != 0) {
    print_saving("stable outputs", method->stable_bytes);
  }
  if (method->peak_value_count != 0) print_peak(method);
}

static int name_width(const etx_export_report* report) {
  size_t width = 6;
  for (size_t i = 0; i < report->method_count; ++i) {
    if (report->methods[i].name.size > width) {
      width = report->methods[i].name.size;
    }
  }
  return width > 40 ? 40 : (int)width;
}

// What the model itself asks for is no copy that remains.
static void print_parts(const etx_export_report* report) {
  for (size_t i = 0; i < report->method_count; ++i) {
    const etx_export_method_report* const method = &report->methods[i];
    if (method->part_count == 0) continue;
    printf("  %.*s: %12" PRIu64
           "  more for slices, permutes and expands of the model (%zu)\n",
           (int)method->name.size, method->name.data, method->part_bytes,
           method->part_count);
  }
}

static void print_copies(const etx_export_report* report) {
  if (report->copy_count == 0) {
    printf("copies that remain: none\n");
    print_parts(report);
    return;
  }
  printf("copies that remain, bytes per call:\n");
  uint64_t total = 0;
  for (size_t i = 0; i < report->copy_count; ++i) {
    const etx_export_copy_report* const copy = &report->copies[i];
    printf("  %.*s: %12" PRIu64 "  %.*s by %.*s: %.*s\n",
           (int)copy->method.size, copy->method.data, copy->bytes,
           (int)copy->target.size, copy->target.data, (int)copy->op.size,
           copy->op.data, (int)copy->reason.size, copy->reason.data);
    total += copy->bytes;
  }
  printf("  total: %" PRIu64 "\n", total);
  print_parts(report);
}

static bool is_same_kind(const etx_fusion* a, const etx_fusion* b) {
  return (a->reason == NULL) == (b->reason == NULL) &&
         strcmp(a->kind, b->kind) == 0;
}

static void print_fusion(const etx_fusion* fusion) {
  printf("  %.*s: %s '%.*s'%s%s\n", (int)fusion->method.size,
         fusion->method.data, fusion->kind, (int)fusion->node.size,
         fusion->node.data, fusion->reason == NULL ? "" : ": ",
         fusion->reason == NULL ? "" : fusion->reason);
}

// Prints the number of fusions of each kind, or each one with `in_full`; then
// what was not fused, with the reason.
static void print_fusions(const etx_export_report* report, bool in_full) {
  bool has_one = false;
  for (size_t i = 0; i < report->fusion_count; ++i) {
    const etx_fusion* const fusion = &report->fusions[i];
    size_t before = 0, count = 0;
    if (fusion->reason != NULL) continue;
    for (size_t k = 0; k < report->fusion_count; ++k) {
      const bool is_same = is_same_kind(fusion, &report->fusions[k]);
      before += is_same && k < i;
      count += is_same;
    }
    if (before != 0) continue;
    printf("%s%zu %s", has_one ? ", " : "fused: ", count, fusion->kind);
    has_one = true;
  }
  printf(has_one ? "\n" : "fused: nothing\n");
  for (size_t i = 0; in_full && i < report->fusion_count; ++i) {
    if (report->fusions[i].reason == NULL) print_fusion(&report->fusions[i]);
  }
  bool has_missed = false;
  for (size_t i = 0; i < report->fusion_count; ++i) {
    if (report->fusions[i].reason == NULL) continue;
    if (!has_missed) printf("not fused:\n");
    has_missed = true;
    print_fusion(&report->fusions[i]);
  }
}

static void print_skipped(const etx_export_report* report) {
  if (report->skipped_count == 0) return;
  printf("variants that are not there:\n");
  for (size_t i = 0; i < report->skipped_count; ++i) {
    printf("  %.*s\n", (int)report->skipped[i].size, report->skipped[i].data);
  }
}

static json_t* json_of_skipped(const etx_export_report* report) {
  json_t* const list = json_array();
  for (size_t i = 0; i < report->skipped_count; ++i) {
    json_array_append_new(list, etx_json_text(report->skipped[i]));
  }
  return list;
}

// What was read from a GGUF file.
static void print_weights(const etx_export_report* report) {
  const etx_ir_weights* const from = &report->weights;
  if (from->path.size == 0) return;
  printf("weights: %zu tensor%s of %.*s: %.*s\n", from->tensor_count,
         etx_plural(from->tensor_count), (int)from->path.size, from->path.data,
         (int)from->types.size, from->types.data);
  if (from->rounded_count == 0) return;
  printf("  %zu of them rounded to the float16 or bfloat16 of the graph\n",
         from->rounded_count);
}

static json_t* json_of_weights(const etx_ir_weights* from) {
  json_t* const object = json_object();
  json_object_set_new(object, "file", etx_json_text(from->path));
  json_object_set_new(object, "types", etx_json_text(from->types));
  json_object_set_new(object, "tensors", etx_json_unsigned(from->tensor_count));
  json_object_set_new(object, "rounded",
                      etx_json_unsigned(from->rounded_count));
  return object;
}

void etx_plan_report_print(const char* path, const etx_export_report* report,
                           bool in_full) {
  const int width = name_width(report);
  printf(
      "%s: %" PRIu64 " bytes, the maximum over the methods\n",
      report->memory_count > 1 ? "scratch in all memories" : "arena 1, scratch",
      report->scratch_bytes);
  printf("  %-*s %12s %12s %7s %9s %6s %6s  %s\n", width, "method", "bytes",
         "lower bound", "gap", "steps", "instr", "values",
         "algorithm, operator at the peak");
  for (size_t i = 0; i < report->method_count; ++i) {
    print_method(&report->methods[i], width);
  }
  print_verdict(report);
  print_smaller_sizes(report);
  print_skipped(report);
  print_concurrent(report);
  etx_plan_memories_print(report, in_full);
  for (size_t i = 0; in_full && i < report->method_count; ++i) {
    print_savings(&report->methods[i]);
  }
  printf("arena 2, state: %" PRIu64 " bytes, %" PRIu64
         " of them padding, %zu state%s, one layout for all\n",
         report->state_bytes, report->state_bytes - report->state_bound,
         report->state_count, etx_plural(report->state_count));
  printf("constants: %" PRIu64 " bytes in %zu\n", report->constant_bytes,
         report->constant_count);
  print_weights(report);
  etx_plan_quantized_print(report, in_full);
  etx_plan_caches_print(report);
  etx_plan_packed_print(report, in_full);
  print_fusions(report, in_full);
  print_copies(report);
  printf("%s: %" PRIu64 " bytes\n", path, report->file_bytes);
}

static void set_bytes(json_t* object, const char* key, uint64_t bytes) {
  json_object_set_new(object, key, etx_json_unsigned(bytes));
}

static json_t* json_of_saved(const etx_export_method_report* method) {
  json_t* const object = json_object();
  set_bytes(object, "views", method->view_bytes);
  set_bytes(object, "in_place", method->in_place_bytes);
  set_bytes(object, "sharing", method->sharing_bytes);
  set_bytes(object, "order", method->order_bytes);
  return object;
}

static json_t* json_of_peak(const etx_export_method_report* method) {
  json_t* const object = json_object();
  json_t* const values = json_array();
  for (size_t i = 0; i < method->peak_value_count; ++i) {
    const etx_export_block* const value = &method->peak_values[i];
    json_t* const row = json_object();
    json_object_set_new(row, "name", etx_json_text(value->name));
    json_object_set_new(
        row, "operator",
        value->op.size == 0 ? json_null() : etx_json_text(value->op));
    set_bytes(row, "bytes", value->bytes);
    set_bytes(row, "offset", value->offset);
    if (i < ETX_EXPORT_SAVINGS) set_bytes(row, "saves", value->saves);
    json_array_append_new(values, row);
  }
  set_bytes(object, "live_bytes", method->live_bytes);
  set_bytes(object, "padding_bytes", method->padding_bytes);
  json_object_set_new(object, "values", values);
  return object;
}

static json_t* json_of_gaps(const etx_export_block* block) {
  json_t* const gaps = json_array();
  for (size_t i = 0; i < block->gap_count; ++i) {
    json_t* const gap = json_array();
    json_array_append_new(gap, etx_json_unsigned(block->gaps[i].start));
    json_array_append_new(gap, etx_json_unsigned(block->gaps[i].end));
    json_array_append_new(gaps, gap);
  }
  return gaps;
}

// The blocks that the planner placed, with their offsets.
static json_t* json_of_blocks(const etx_export_report* report,
                              const etx_export_method_report* method) {
  json_t* const blocks = json_array();
  for (size_t i = 0; i < method->block_count; ++i) {
    const etx_export_block* const block = &method->blocks[i];
    json_t* const row = json_object();
    json_object_set_new(row, "name", etx_json_text(block->name));
    set_bytes(row, "bytes", block->bytes);
    set_bytes(row, "offset", block->offset);
    if (report->memory_count > 1) {
      json_object_set_new(row, "memory",
                          etx_json_text(report->memories[block->memory].name));
      set_bytes(row, "traffic", block->traffic);
    }
    json_object_set_new(row, "start", etx_json_unsigned(block->start));
    json_object_set_new(row, "end", etx_json_unsigned(block->end));
    json_object_set_new(row, "gaps", json_of_gaps(block));
    json_object_set_new(row, "stable", json_boolean(block->is_stable));
    json_array_append_new(blocks, row);
  }
  return blocks;
}

// How the bytes of arena 1 are made up.
static void set_savings(json_t* object,
                        const etx_export_method_report* method) {
  set_bytes(object, "range_start", method->range_start);
  set_bytes(object, "planned_bytes", method->planned_bytes);
  set_bytes(object, "stable_bytes", method->stable_bytes);
  set_bytes(object, "gap_bytes", gap_of(method));
  json_object_set_new(object, "gap_percent", json_real(gap_percent(method)));
  json_object_set_new(object, "proved", json_boolean(gap_of(method) == 0));
  set_bytes(object, "steps", method->steps);
  if (method->worst_ratio > 0) {
    set_bytes(object, "layouts", method->layout_count);
    json_object_set_new(object, "worst_ratio_at_smaller_sizes",
                        json_real((double)method->worst_ratio / 1000));
  }
  set_bytes(object, "naive_bytes", method->naive_bytes);
  json_object_set_new(object, "saved", json_of_saved(method));
  set_bytes(object, "order_steps", method->order_steps);
  json_object_set_new(object, "peak", json_of_peak(method));
}

static json_t* json_of_method(const etx_export_report* report,
                              const etx_export_method_report* method) {
  json_t* const object = json_object();
  json_object_set_new(object, "name", etx_json_text(method->name));
  json_object_set_new(object, "scratch_bytes",
                      etx_json_unsigned(method->scratch_bytes));
  json_object_set_new(object, "lower_bound",
                      etx_json_unsigned(method->lower_bound));
  set_savings(object, method);
  if (report->memory_count > 0) {
    json_object_set_new(object, "memories",
                        etx_plan_method_memories_json(report, method));
  }
  json_object_set_new(object, "blocks", json_of_blocks(report, method));
  json_object_set_new(object, "planned_values",
                      etx_json_unsigned(method->value_count));
  json_object_set_new(object, "instructions",
                      etx_json_unsigned(method->instruction_count));
  json_object_set_new(object, "peak_instruction",
                      etx_json_unsigned(method->peak_instruction));
  json_object_set_new(object, "peak_operator",
                      etx_json_text(method->peak_operator));
  json_object_set_new(object, "copied_bytes",
                      etx_json_unsigned(method->copied_bytes));
  json_object_set_new(object, "parts", etx_json_unsigned(method->part_count));
  json_object_set_new(object, "part_bytes",
                      etx_json_unsigned(method->part_bytes));
  json_object_set_new(
      object, "algorithm",
      method->algorithm == NULL ? json_null() : json_string(method->algorithm));
  return object;
}

static json_t* json_of_copy(const etx_export_copy_report* copy) {
  json_t* const object = json_object();
  json_object_set_new(object, "method", etx_json_text(copy->method));
  json_object_set_new(object, "target", etx_json_text(copy->target));
  json_object_set_new(object, "operator", etx_json_text(copy->op));
  json_object_set_new(object, "bytes", etx_json_unsigned(copy->bytes));
  json_object_set_new(object, "reason", etx_json_text(copy->reason));
  return object;
}

static json_t* json_of_fusions(const etx_export_report* report) {
  json_t* const all = json_array();
  for (size_t i = 0; i < report->fusion_count; ++i) {
    const etx_fusion* const fusion = &report->fusions[i];
    json_t* const object = json_object();
    json_object_set_new(object, "method", etx_json_text(fusion->method));
    json_object_set_new(object, "value", etx_json_text(fusion->node));
    json_object_set_new(object, "kind", json_string(fusion->kind));
    json_object_set_new(
        object, "missed",
        fusion->reason == NULL ? json_null() : json_string(fusion->reason));
    json_array_append_new(all, object);
  }
  return all;
}

json_t* etx_plan_report_json(const char* path,
                             const etx_export_report* report) {
  json_t* const methods = json_array();
  json_t* const copies = json_array();
  for (size_t i = 0; i < report->method_count; ++i) {
    json_array_append_new(methods, json_of_method(report, &report->methods[i]));
  }
  for (size_t i = 0; i < report->copy_count; ++i) {
    json_array_append_new(copies, json_of_copy(&report->copies[i]));
  }
  json_t* const concurrent = json_array();
  for (size_t i = 0; i < report->concurrent_count; ++i) {
    const etx_ir_pair* const pair = &report->concurrent[i];
    json_t* const names = json_array();
    json_array_append_new(names, etx_json_text(pair->first));
    json_array_append_new(names, etx_json_text(pair->second));
    json_array_append_new(concurrent, names);
  }
  json_t* const root = json_object();
  json_object_set_new(root, "file", etx_json_text(etx_text_of(path)));
  json_object_set_new(root, "file_bytes",
                      etx_json_unsigned(report->file_bytes));
  json_object_set_new(root, "scratch_bytes",
                      etx_json_unsigned(report->scratch_bytes));
  json_object_set_new(root, "state_bytes",
                      etx_json_unsigned(report->state_bytes));
  set_bytes(root, "scratch_sum_bytes", report->method_bytes);
  set_bytes(root, "state_bound", report->state_bound);
  json_object_set_new(root, "states", etx_json_unsigned(report->state_count));
  json_object_set_new(root, "constant_bytes",
                      etx_json_unsigned(report->constant_bytes));
  json_object_set_new(root, "constants",
                      etx_json_unsigned(report->constant_count));
  json_object_set_new(root, "methods", methods);
  json_object_set_new(root, "copies", copies);
  json_object_set_new(root, "fusions", json_of_fusions(report));
  json_object_set_new(root, "quantized", etx_plan_quantized_json(report));
  json_object_set_new(root, "quantize_rules", etx_plan_rules_json(report));
  json_object_set_new(root, "caches", etx_plan_caches_json(report));
  json_object_set_new(root, "packed", etx_plan_packed_json(report));
  json_object_set_new(root, "skipped_variants", json_of_skipped(report));
  json_object_set_new(root, "concurrent", concurrent);
  if (report->weights.path.size > 0) {
    json_object_set_new(root, "weights", json_of_weights(&report->weights));
  }
  if (report->memory_count > 0) {
    json_object_set_new(root, "memories", etx_plan_memories_json(report));
  }
  return root;
}

// The character of a macro name for a byte of a method's name: upper case
// letters and digits, and '_' for all others.
static int macro_byte(char byte) {
  const bool is_lower = byte >= 'a' && byte <= 'z';
  const bool is_plain =
      (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9');
  return is_lower ? byte - 'a' + 'A' : is_plain ? byte : '_';
}

// Prints `text` as a part of a macro name.
static void print_macro(FILE* out, const char* text, size_t size) {
  for (size_t i = 0; i < size; ++i) fputc(macro_byte(text[i]), out);
}

static bool is_same_macro(etx_text a, etx_text b) {
  if (a.size != b.size) return false;
  for (size_t i = 0; i < a.size; ++i) {
    if (macro_byte(a.data[i]) != macro_byte(b.data[i])) return false;
  }
  return true;
}

// Refuses methods whose names are the same as parts of macros, such as "a.b"
// and "a_b".
static etx_status check_macro(const etx_program* program, size_t index,
                              etx_text name, etx_diag* diag) {
  for (size_t i = 0; i < index; ++i) {
    etx_method_info info;
    ETX_TRY(etx_program_method_at(program, i, &info));
    if (info.is_constant || !is_same_macro(info.name, name)) continue;
    return etx_diag_fail(
        diag, ETX_BAD_ARGUMENT,
        "methods '%t' and '%t' have the same macro names in the "
        "header",
        info.name, name);
  }
  return ETX_OK;
}

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

static void print_define(FILE* out, const char* stem, etx_text method,
                         const char* what, size_t bytes) {
  fputs("#define ", out);
  print_macro(out, stem, strlen(stem));
  fputc('_', out);
  if (method.size != 0) {
    print_macro(out, method.data, method.size);
    fputc('_', out);
  }
  fprintf(out, "%s_BYTES %zu\n", what, bytes);
}

static void print_needed(FILE* out, const char* stem, etx_text method,
                         const etx_memory_needed* needed) {
  print_define(out, stem, method, "STRUCTURE", needed->structure_bytes);
  print_define(out, stem, method, "SCRATCH", needed->scratch_bytes);
  print_define(out, stem, method, "TEMPORARY", needed->temporary_bytes);
}

// The largest scratch of any method in each memory of a board.
static etx_status print_memories(const etx_program* program, FILE* out,
                                 const char* stem, etx_diag* diag) {
  etx_memory_table table;
  size_t most[ETX_MEMORY_TABLE_MOST] = {0};
  const etx_status found = etx_memory_table_open(&table, &program->pte, diag);
  if (found == ETX_NOT_FOUND) return ETX_OK;
  ETX_TRY(found);
  for (size_t i = 0; i < etx_program_method_count(program); ++i) {
    size_t bytes[ETX_MEMORY_TABLE_MOST];
    size_t count = 0;
    etx_method_info info;
    ETX_TRY(etx_program_method_at(program, i, &info));
    ETX_TRY(etx_method_memories_needed(program, info.name, bytes,
                                       ETX_MEMORY_TABLE_MOST, &count, diag));
    for (size_t k = 0; k < count; ++k) most[k] = larger(most[k], bytes[k]);
  }
  fputs("// or a block for each memory (runtime/memories.h)\n", out);
  for (size_t k = 0; k < etx_memory_table_count(&table); ++k) {
    char what[80] = "SCRATCH_IN_";
    const etx_text name = etx_memory_table_at(&table, k).name;
    for (size_t i = 0; i < name.size; ++i) {
      what[strlen(what)] = (char)macro_byte(name.data[i]);
    }
    print_define(out, stem, (etx_text){NULL, 0}, what, most[k]);
  }
  return ETX_OK;
}

static etx_status print_methods(const etx_program* program, FILE* out,
                                const char* stem, etx_diag* diag) {
  const etx_text whole = {NULL, 0};
  size_t scratch = 0;
  size_t temporary = 0;
  size_t session = 0;
  const size_t count = etx_program_method_count(program);
  for (size_t i = 0; i < count; ++i) {
    etx_method_info info;
    etx_memory_needed needed;
    etx_memory_needed all;
    size_t variants = 0;
    ETX_TRY(etx_program_method_at(program, i, &info));
    if (info.is_constant) continue;
    ETX_TRY(check_macro(program, i, info.name, diag));
    ETX_TRY(etx_method_needed(program, info.name, &needed, diag));
    ETX_TRY(
        etx_method_variants_needed(program, info.name, &variants, &all, diag));
    print_needed(out, stem, info.name, &needed);
    if (variants > 0) {
      print_define(out, stem, info.name, "VARIANTS", all.structure_bytes);
    }
    scratch = larger(scratch, all.scratch_bytes);
    temporary = larger(temporary, all.temporary_bytes);
  }
  ETX_TRY(etx_shared_memory_needed(program, &session));
  fputs("// one block for all methods, of which one runs at a time\n", out);
  print_define(out, stem, whole, "SCRATCH", scratch);
  ETX_TRY(print_memories(program, out, stem, diag));
  print_define(out, stem, whole, "TEMPORARY", temporary);
  fputs("// one session of state, aligned to ETX_SHARED_MEMORY_ALIGNMENT\n",
        out);
  print_define(out, stem, whole, "SESSION", session);
  fputs("// stack of a thread that loads or runs methods, at most\n", out);
  print_define(out, stem, whole, "THREAD_STACK", ETX_THREAD_STACK_BYTES);
  return ETX_OK;
}

// "out/stateful_model_memory.h" -> "stateful_model_memory".
static void stem_of(const char* path, char* out, size_t capacity) {
  const char* const slash = strrchr(path, '/');
  const char* const name = slash == NULL ? path : slash + 1;
  const size_t size = strcspn(name, ".");
  const etx_text stem = {name, size};
  etx_format_text(out, capacity, "%t", stem);
}

static etx_status print_header(const etx_program* program, FILE* out,
                               const char* path, etx_diag* diag) {
  char stem[128];
  stem_of(path, stem, sizeof stem);
  fputs(
      "// Memory that a program needs, in bytes; written by etx plan. Blocks "
      "are"
      "\n// aligned to ETX_MEMORY_ALIGNMENT.\n#ifndef ",
      out);
  print_macro(out, stem, strlen(stem));
  fputs("_H\n#define ", out);
  print_macro(out, stem, strlen(stem));
  fputs("_H\n\n", out);
  ETX_TRY(print_methods(program, out, stem, diag));
  fputs("\n#endif\n", out);
  return ETX_OK;
}

etx_status etx_plan_report_header(const etx_program* program,
                                  etx_output_file* output, etx_diag* diag) {
  ETX_TRY(print_header(program, output->file, output->path, diag));
  return etx_output_file_finish(output);
}
