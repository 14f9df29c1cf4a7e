// Reads planned files and checks what they copy: rows of a constant or a state
// are read in place, for both targets, also if their number is dynamic.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/pte/pte_program.h"
#include "format/pte/reserved_names.h"
#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"

static const char* const methods[] = {
    ETX_SOURCE "/samples/translate/model/pt2",
    ETX_SOURCE "/samples/translate/model/pt2/core",
    ETX_TEST_DATA "/pt2/prefix",
    ETX_TEST_DATA "/pt2/prefix/core",
    ETX_TEST_DATA "/pt2/llama",
    ETX_TEST_DATA "/pt2/llama/core",
};
static const char* const targets[] = {"etx", "executorch"};

static bool has_part(etx_text text, const char* part) {
  const size_t size = strlen(part);
  for (size_t i = 0; i + size <= text.size; ++i) {
    if (memcmp(text.data + i, part, size) == 0) return true;
  }
  return false;
}

// Operators that copy a range of the first argument, or repeat it.
static bool copies_rows(etx_text op) {
  static const char* const names[] = {
      "slice_copy", "select_copy",           "narrow_copy",
      "split_copy", "split_with_sizes_copy", "unbind_copy",
      "expand_copy"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    if (has_part(op, names[i])) return true;
  }
  return false;
}

// Scalars are not counted: they may be expanded.
static bool is_constant(const etx_pte_tensor* tensor) {
  return !tensor->has_allocation && tensor->data_buffer_index != 0 &&
         etx_pte_tensor_numel(tensor) > 1;
}

static bool is_state(const etx_pte_tensor* tensor) {
  return tensor->has_allocation && tensor->memory_id == ETX_MEMORY_STATE;
}

static void check_plan(const etx_pte_plan* plan, const char* path) {
  const etx_text name = etx_pte_plan_name(plan);
  const size_t count = etx_pte_instruction_count(plan, 0);
  for (size_t i = 0; i < count; ++i) {
    const etx_pte_instruction at = etx_pte_instruction_at(plan, 0, i);
    const etx_pte_operator op = etx_pte_operator_at(plan, (size_t)at.index);
    if (!has_part(op.name, "_copy")) continue;
    for (size_t a = 0; a < at.argument_count; ++a) {
      const etx_pte_value value =
          etx_pte_value_at(plan, (size_t)at.arguments[a]);
      if (value.kind != ETX_PTE_TENSOR) continue;
      if (is_constant(&value.as.tensor) ||
          (a == 0 && is_state(&value.as.tensor) && copies_rows(op.name))) {
        fail_msg(
            "%s: '%.*s', instruction %zu of method '%.*s', copies value "
            "%d",
            path, (int)op.name.size, op.name.data, i, (int)name.size, name.data,
            (int)at.arguments[a]);
      }
    }
  }
}

static etx_bytes_mut read_program(const char* path) {
  size_t size = 0;
  char* const read = command_read_file(path, &size);
  const etx_bytes_mut file = {aligned_alloc(16, (size + 31) / 16 * 16), size};
  assert_non_null(file.data);
  memcpy(file.data, read, size);
  free(read);
  return file;
}

static void no_row_of_a_constant_or_a_state_is_copied(void** state) {
  (void)state;
  for (size_t m = 0; m < sizeof methods / sizeof *methods; ++m) {
    for (size_t t = 0; t < sizeof targets / sizeof *targets; ++t) {
      char path[256];
      etx_pte pte;
      snprintf(path, sizeof path, "%s/%zu.%s.pte", command_directory, m,
               targets[t]);
      command_expect(0, WORDS(ETX, "plan", methods[m], "-q", "-o", path, "-t",
                              targets[t]));
      const etx_bytes_mut file = read_program(path);
      const etx_bytes bytes = {file.data, file.size};
      assert_int_equal(etx_pte_open(&pte, bytes, NULL, NULL), ETX_OK);
      for (size_t i = 0; i < etx_pte_plan_count(&pte); ++i) {
        const etx_pte_plan plan = etx_pte_plan_at(&pte, i);
        check_plan(&plan, methods[m]);
      }
      free(file.data);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_row_of_a_constant_or_a_state_is_copied),
  };
  return cmocka_run_group_tests(tests, command_set_up, command_tear_down);
}
