// Programs, as `etx mem` reads and shows them.

#define _POSIX_C_SOURCE 200809L  // posix_memalign

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/memory/memory_formats.h"
#include "tests/hostile/fuzz/fuzz_target.h"
#include "tests/support/assert_message.h"

static void check(bool condition) {
  if (!condition) __builtin_trap();
}

// Properties that every picture relies on.
static void check_method(const etx_memory_method* method) {
  for (size_t i = 0; i < method->box_count; ++i) {
    const etx_memory_box* const box = &method->boxes[i];
    uint32_t last = 0;
    for (size_t s = 0; s < box->span_count; ++s) {
      check(box->spans[s].start < box->spans[s].end);
      check(s == 0 || box->spans[s].start > last);
      last = box->spans[s].end;
    }
    check(last <= method->step_count);
    check(i == 0 || method->boxes[i - 1].arena <= box->arena);
  }
  for (size_t a = 0; a < method->arena_count; ++a) {
    check(method->arenas[a].peak_step < method->step_count);
  }
}

static void show(const etx_memory_map* map) {
  static FILE* out;
  if (out == NULL) out = fopen("/dev/null", "wb");
  check(out != NULL);
  for (size_t i = 0; i < map->method_count; ++i) check_method(&map->methods[i]);
  etx_memory_json_print(map, "file.pte", out);
  const etx_status text = etx_memory_text_print(map, "file.pte", out);
  const etx_status trace = etx_memory_trace_print(map, "file.pte", out);
  check(text == ETX_OK && trace == ETX_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  void* copy = NULL;  // at an address that a mapped file would have
  if (posix_memalign(&copy, 64, size == 0 ? 1 : size) != 0) return 0;
  if (size > 0) memcpy(copy, data, size);
  const etx_bytes bytes = {copy, size};
  etx_diag diag;
  etx_memory_map map;
  etx_diag_init(&diag);
  const etx_status status = etx_memory_map_read(&map, bytes, &diag);
  if (status == ETX_OK) {
    show(&map);
  } else {
    check(test_has_message(&diag));
  }
  etx_memory_map_close(&map);
  free(copy);
  return 0;
}
