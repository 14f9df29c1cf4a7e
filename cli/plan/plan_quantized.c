#include "cli/plan/plan_quantized.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/plural.h"
#include "cli/json/json_value.h"

// Signal to quantisation noise ratio in dB; infinite without rounding errors.
static double sqnr(double signal, double noise) {
  return 10 * log10(signal / noise);
}

static void print_sqnr(double signal, double noise) {
  if (noise > 0) {
    printf("%6.2f dB", sqnr(signal, noise));
  } else {
    printf("%9s", "exact");
  }
}

// True if the reason ends in "by": the name of the reader completes it.
static bool ends_in_by(const char* reason) {
  static const char end[] = " by";
  const size_t size = strlen(reason);
  return size >= sizeof end - 1 &&
         strcmp(reason + size - (sizeof end - 1), end) == 0;
}

static void print_reason(const etx_quantized* row) {
  if (row->reason == NULL) return;
  printf(": %s", row->reason);
  if (row->reader.size != 0 && ends_in_by(row->reason)) {
    printf(" %.*s", (int)row->reader.size, row->reader.data);
  }
}

static void print_row(const etx_quantized* row) {
  printf("    %-9s %10" PRIu64 " to %10" PRIu64 "  ",
         row->kind == NULL ? row->type : row->kind, row->bytes,
         row->bytes_after);
  if (row->kind != NULL) {
    print_sqnr(row->signal, row->noise);
  } else {
    printf("%9s", "");
  }
  printf("  %.*s", (int)row->name.size, row->name.data);
  if (row->name_count > 1)
    printf(" and %zu more name%s", row->name_count - 1,
           etx_plural(row->name_count - 1));
  if (row->input_rows != 0) {
    printf(", calibrated with %" PRIu64 " row%s", row->input_rows,
           etx_plural(row->input_rows));
  }
  print_reason(row);
  fputc('\n', stdout);
}

static bool is_same(const char* a, const char* b) {
  if (a == NULL || b == NULL) return a == b;
  return strcmp(a, b) == 0;
}

// True for weights of one line of the short report: the same kind, or not
// quantised for the same reason.
static bool is_alike(const etx_quantized* a, const etx_quantized* b) {
  return is_same(a->kind, b->kind) &&
         (a->kind != NULL ||
          (is_same(a->reason, b->reason) && is_same(a->type, b->type)));
}

// Prints the reason of a group, with the operator that reads the weights if it
// is the same for all of them.
static void print_group_reason(const etx_export_report* report, size_t first) {
  const etx_quantized* const rows = report->quantized;
  etx_quantized group = rows[first];
  for (size_t i = first; i < report->quantized_count; ++i) {
    if (is_alike(&rows[i], &rows[first]) &&
        !etx_text_equal(rows[i].reader, rows[first].reader)) {
      group.reader = etx_text_of("other operators");
    }
  }
  print_reason(&group);
}

static void print_group(const etx_export_report* report, size_t first) {
  const etx_quantized* const rows = report->quantized;
  etx_quantized sum = {.kind = rows[first].kind, .type = rows[first].type};
  size_t count = 0, calibrated = 0;
  double lowest = INFINITY;
  for (size_t i = first; i < report->quantized_count; ++i) {
    if (!is_alike(&rows[i], &rows[first])) continue;
    const double ratio = sqnr(rows[i].signal, rows[i].noise);
    ++count;
    calibrated += rows[i].input_rows != 0;
    sum.bytes += rows[i].bytes;
    sum.bytes_after += rows[i].bytes_after;
    sum.signal += rows[i].signal;
    sum.noise += rows[i].noise;
    if (rows[i].noise > 0 && ratio < lowest) lowest = ratio;
  }
  if (sum.kind == NULL) {
    printf("  %zu not quantised, %s, %" PRIu64 " bytes", count, sum.type,
           sum.bytes);
  } else {
    printf("  %zu to %s: %" PRIu64 " to %" PRIu64 " bytes", count, sum.kind,
           sum.bytes, sum.bytes_after);
  }
  if (sum.kind == NULL) {
    print_group_reason(report, first);
  } else if (sum.noise > 0) {
    printf(", SQNR %.2f dB, lowest %.2f dB", sqnr(sum.signal, sum.noise),
           lowest);
  } else {
    printf(", exact");
  }
  if (calibrated > 0) printf(", %zu calibrated", calibrated);
  fputc('\n', stdout);
}

void etx_plan_quantized_print(const etx_export_report* report, bool in_full) {
  const etx_quantized* const rows = report->quantized;
  if (report->rule_count == 0) return;
  printf("quantised weights:\n");
  for (size_t i = 0; i < report->quantized_count; ++i) {
    bool is_first = true;
    for (size_t k = 0; k < i && is_first; ++k) {
      is_first = !is_alike(&rows[k], &rows[i]);
    }
    if (is_first) print_group(report, i);
  }
  for (size_t i = 0; i < report->rule_count; ++i) {
    const etx_quantize_rule* const rule = &report->rules[i];
    if (rule->bits == 0 || rule->rounded != 0) continue;
    printf("  rule '%.*s' quantised no weight\n", (int)rule->text.size,
           rule->text.data);
  }
  for (size_t i = 0; i < report->quantized_count; ++i) {
    if (in_full || rows[i].is_beyond) print_row(&rows[i]);
  }
}

static json_t* text_or_null(const char* text) {
  return text == NULL ? json_null() : json_string(text);
}

static json_t* json_of_row(const etx_quantized* row) {
  json_t* const object = json_object();
  const bool is_rounded = row->kind != NULL && row->noise > 0;
  json_object_set_new(object, "name", etx_json_text(row->name));
  json_object_set_new(object, "names",
                      json_integer((json_int_t)row->name_count));
  json_object_set_new(object, "kind",
                      json_string(row->kind == NULL ? row->type : row->kind));
  json_object_set_new(object, "bytes", etx_json_unsigned(row->bytes));
  json_object_set_new(object, "bytes_after",
                      etx_json_unsigned(row->bytes_after));
  json_object_set_new(
      object, "sqnr_db",
      is_rounded ? json_real(sqnr(row->signal, row->noise)) : json_null());
  json_object_set_new(object, "calibration_rows",
                      etx_json_unsigned(row->input_rows));
  json_object_set_new(object, "reason", text_or_null(row->reason));
  json_object_set_new(
      object, "reader",
      row->reader.size == 0 ? json_null() : etx_json_text(row->reader));
  return object;
}

json_t* etx_plan_rules_json(const etx_export_report* report) {
  json_t* const all = json_array();
  for (size_t i = 0; i < report->rule_count; ++i) {
    json_t* const object = json_object();
    json_object_set_new(object, "rule", etx_json_text(report->rules[i].text));
    json_object_set_new(object, "rounded",
                        json_integer((json_int_t)report->rules[i].rounded));
    json_array_append_new(all, object);
  }
  return all;
}

json_t* etx_plan_quantized_json(const etx_export_report* report) {
  json_t* const all = json_array();
  for (size_t i = 0; i < report->quantized_count; ++i) {
    json_array_append_new(all, json_of_row(&report->quantized[i]));
  }
  return all;
}
