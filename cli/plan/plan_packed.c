#include "cli/plan/plan_packed.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/plural.h"
#include "cli/json/json_value.h"

static void print_reason(const etx_packed* row) {
  if (row->reason != NULL) {
    printf(": %s", row->reason);
  } else if (row->reader.size != 0) {
    printf(": also stored unpacked for");
  }
  if (row->reader.size != 0) {
    printf(" %.*s", (int)row->reader.size, row->reader.data);
  }
}

static void print_row(const etx_packed* row) {
  printf("    %-6s %-9s %10" PRIu64 "  %.*s",
         row->reason == NULL ? "packed" : "kept", row->type, row->bytes,
         (int)row->name.size, row->name.data);
  if (row->name_count > 1)
    printf(" and %zu more name%s", row->name_count - 1,
           etx_plural(row->name_count - 1));
  print_reason(row);
  fputc('\n', stdout);
}

// True for weights of one line of the short report: the same type and reason.
static bool is_alike(const etx_packed* a, const etx_packed* b) {
  if (strcmp(a->type, b->type) != 0) return false;
  if (!etx_text_equal(a->reader, b->reader)) return false;
  if (a->reason == NULL || b->reason == NULL) return a->reason == b->reason;
  return strcmp(a->reason, b->reason) == 0;
}

static void print_group(const etx_export_report* report, size_t first) {
  const etx_packed* const rows = report->packed;
  uint64_t bytes = 0;
  size_t count = 0;
  for (size_t i = first; i < report->packed_count; ++i) {
    if (!is_alike(&rows[i], &rows[first])) continue;
    ++count;
    bytes += rows[i].bytes;
  }
  printf("  %zu %s, %s, %" PRIu64 " bytes", count,
         rows[first].reason == NULL ? "packed" : "not packed", rows[first].type,
         bytes);
  print_reason(&rows[first]);
  fputc('\n', stdout);
}

void etx_plan_packed_print(const etx_export_report* report, bool in_full) {
  const etx_packed* const rows = report->packed;
  if (report->packed_count == 0) return;
  printf("packed weights:\n");
  if (report->pack_budget > 0) {
    printf("  %" PRIu64 " bytes of a budget of %" PRIu64
           " for weights that are stored twice\n",
           report->pack_copy_bytes, report->pack_budget);
  }
  for (size_t i = 0; i < report->packed_count; ++i) {
    bool is_first = true;
    for (size_t k = 0; k < i && is_first; ++k) {
      is_first = !is_alike(&rows[k], &rows[i]);
    }
    if (is_first) print_group(report, i);
  }
  for (size_t i = 0; in_full && i < report->packed_count; ++i) {
    print_row(&rows[i]);
  }
}

static json_t* json_of_row(const etx_packed* row) {
  json_t* const object = json_object();
  json_object_set_new(object, "name", etx_json_text(row->name));
  json_object_set_new(object, "names",
                      json_integer((json_int_t)row->name_count));
  json_object_set_new(object, "type", json_string(row->type));
  json_object_set_new(object, "bytes", etx_json_unsigned(row->bytes));
  json_object_set_new(object, "packed", json_boolean(row->reason == NULL));
  json_object_set_new(
      object, "reason",
      row->reason == NULL ? json_null() : json_string(row->reason));
  json_object_set_new(object, "copy_bytes", etx_json_unsigned(row->copy_bytes));
  json_object_set_new(
      object, "reader",
      row->reader.size == 0 ? json_null() : etx_json_text(row->reader));
  return object;
}

json_t* etx_plan_packed_json(const etx_export_report* report) {
  json_t* const all = json_array();
  for (size_t i = 0; i < report->packed_count; ++i) {
    json_array_append_new(all, json_of_row(&report->packed[i]));
  }
  return all;
}
