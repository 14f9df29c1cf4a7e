#include "cli/plan/plan_caches.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/json/json_value.h"

static void print_kept(const etx_quantized* row) {
  printf("  '%.*s' stays %s: %s", (int)row->name.size, row->name.data,
         row->type, row->reason);
  if (row->reader.size > 0) {
    printf(" '%.*s'", (int)row->reader.size, row->reader.data);
  }
  fputc('\n', stdout);
}

void etx_plan_caches_print(const etx_export_report* report) {
  etx_quantized sum = {.kind = NULL};
  size_t count = 0;
  if (report->cache_count == 0) return;
  for (size_t i = 0; i < report->cache_count; ++i) {
    const etx_quantized* const row = &report->caches[i];
    if (row->kind == NULL) continue;
    sum.kind = row->kind;
    sum.bytes += row->bytes;
    sum.bytes_after += row->bytes_after;
    ++count;
  }
  printf("caches: %zu", count);
  if (count > 0) {
    printf(" as %s, %" PRIu64 " to %" PRIu64 " bytes", sum.kind, sum.bytes,
           sum.bytes_after);
  }
  fputc('\n', stdout);
  for (size_t i = 0; i < report->cache_count; ++i) {
    if (report->caches[i].kind == NULL) print_kept(&report->caches[i]);
  }
}

json_t* etx_plan_caches_json(const etx_export_report* report) {
  json_t* const all = json_array();
  for (size_t i = 0; i < report->cache_count; ++i) {
    const etx_quantized* const row = &report->caches[i];
    const bool is_kept = row->kind == NULL;
    json_t* const object = json_object();
    json_object_set_new(object, "name", etx_json_text(row->name));
    json_object_set_new(object, "kind",
                        json_string(is_kept ? row->type : row->kind));
    json_object_set_new(object, "bytes", etx_json_unsigned(row->bytes));
    json_object_set_new(object, "bytes_after",
                        etx_json_unsigned(row->bytes_after));
    json_object_set_new(object, "reason",
                        is_kept ? json_string(row->reason) : json_null());
    json_object_set_new(
        object, "reader",
        row->reader.size == 0 ? json_null() : etx_json_text(row->reader));
    json_array_append_new(all, object);
  }
  return all;
}
