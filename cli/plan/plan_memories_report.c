#include "cli/plan/plan_memories_report.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/json/json_value.h"

static int size_of(etx_text text) { return (int)text.size; }

static uint64_t traffic_of(const etx_export_report* report,
                           const etx_export_method_report* method) {
  uint64_t sum = 0;
  for (size_t k = 0; k < report->memory_count; ++k) {
    sum += method->memory_traffic[k];
  }
  return sum;
}

static void print_limit(const etx_memory_row* memory) {
  printf("  %.*s: ", size_of(memory->name), memory->name.data);
  if (memory->capacity == 0) {
    printf("no limit");
  } else {
    printf("%" PRIu64 " bytes", memory->capacity);
  }
  printf(", cost %u%s\n", (unsigned)memory->cost,
         memory->holds_state ? ", holds the state" : "");
}

static void print_in_memory(const etx_export_report* report,
                            const etx_export_method_report* method,
                            size_t memory) {
  const etx_text name = report->memories[memory].name;
  const uint64_t all = traffic_of(report, method);
  printf("%s%.*s %" PRIu64, memory == 0 ? " " : ", ", size_of(name), name.data,
         method->memory_bytes[memory]);
  if (all == 0) return;
  printf(" (%.1f%% of the traffic)",
         100.0 * (double)method->memory_traffic[memory] / (double)all);
}

static void print_spilled(const etx_export_report* report,
                          const etx_export_method_report* method) {
  for (size_t i = 0; i < method->block_count; ++i) {
    const etx_export_block* const block = &method->blocks[i];
    if (block->memory == 0) continue;
    const etx_text memory = report->memories[block->memory].name;
    printf("    %.*s in %.*s: %" PRIu64 " bytes, %" PRIu64
           " read and written by a call\n",
           size_of(block->name), block->name.data, size_of(memory), memory.data,
           block->bytes, block->traffic);
  }
}

void etx_plan_memories_print(const etx_export_report* report, bool in_full) {
  if (report->memory_count == 0) return;
  printf("memories, the fastest first:\n");
  for (size_t k = 0; k < report->memory_count; ++k) {
    print_limit(&report->memories[k]);
  }
  for (size_t i = 0; i < report->method_count; ++i) {
    const etx_export_method_report* const method = &report->methods[i];
    printf("  %.*s:", size_of(method->name), method->name.data);
    for (size_t k = 0; k < report->memory_count; ++k) {
      print_in_memory(report, method, k);
    }
    fputc('\n', stdout);
    if (in_full) print_spilled(report, method);
  }
}

json_t* etx_plan_memories_json(const etx_export_report* report) {
  json_t* const all = json_array();
  for (size_t k = 0; k < report->memory_count; ++k) {
    const etx_memory_row* const memory = &report->memories[k];
    json_t* const row = json_object();
    json_object_set_new(row, "name", etx_json_text(memory->name));
    json_object_set_new(row, "capacity",
                        memory->capacity == 0
                            ? json_null()
                            : etx_json_unsigned(memory->capacity));
    json_object_set_new(row, "cost", etx_json_unsigned(memory->cost));
    json_object_set_new(row, "holds_state", json_boolean(memory->holds_state));
    json_array_append_new(all, row);
  }
  return all;
}

json_t* etx_plan_method_memories_json(const etx_export_report* report,
                                      const etx_export_method_report* method) {
  json_t* const all = json_array();
  for (size_t k = 0; k < report->memory_count; ++k) {
    json_t* const row = json_object();
    json_object_set_new(row, "name", etx_json_text(report->memories[k].name));
    json_object_set_new(row, "bytes",
                        etx_json_unsigned(method->memory_bytes[k]));
    json_object_set_new(row, "traffic",
                        etx_json_unsigned(method->memory_traffic[k]));
    json_array_append_new(all, row);
  }
  return all;
}
