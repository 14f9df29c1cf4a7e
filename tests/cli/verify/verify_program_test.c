// Whole programs: files of the stock exporter, and long ones.

#include "tests/cli/verify/verify_fixture.h"

#include <stdlib.h>
#include <time.h>

#include "tests/format/fixtures/sample_program.h"

// ---- stock files ----

static void a_stock_file_may_elide_views(void** state) {
  (void)state;
  test_program* const p = stock(64);
  const int x = borrowed_input(p);
  const int a = four_at(p, 0), v = test_scratch(p, F32, SIZES(2, 2), 0);
  const int b = test_scratch(p, F32, SIZES(2, 2), 16);
  relu(p, x, a);
  relu(p, v, b);
  test_output(p, b, "");
  accept(p);
}

static void a_stock_files_state_must_survive_the_call(void** state) {
  (void)state;
  for (int lost = 0; lost < 2; ++lost) {
    test_program* const p = stock(64);
    const int x = borrowed_input(p);
    const int buffer = four_at(p, 0);
    const int t = four_at(p, lost ? 0 : 16), u = four_at(p, 32);
    add(p, buffer, x, u);
    relu(p, u, t);
    test_output(p, t, "");
    if (lost) {
      refuse(p, "the next call reads state");
    } else {
      accept(p);
    }
  }
}

static void a_stock_file_may_copy_a_state_onto_itself(void** state) {
  (void)state;
  test_program* const p = stock(64);
  const int x = borrowed_input(p);
  const int buffer = four_at(p, 0), t = four_at(p, 16);
  add(p, buffer, x, t);
  copy_onto(p, buffer, buffer);
  test_output(p, t, "");
  accept(p);
}

// ---- size ----

// A long chain over four blocks, as a planner would make it.
static etx_bytes_mut long_chain(size_t count) {
  static const int32_t sizes[1] = {4};
  static const uint8_t order[1] = {0};
  etx_pte_value* const values = calloc(count + 1, sizeof *values);
  etx_pte_instruction* const steps = calloc(count, sizeof *steps);
  int32_t(*const arguments)[3] = calloc(count, sizeof *arguments);
  for (size_t i = 0; i <= count; ++i) {
    values[i].kind = ETX_PTE_TENSOR;
    values[i].as.tensor = (etx_pte_tensor){.dtype = F32,
                                           .rank = 1,
                                           .sizes = sizes,
                                           .dim_order = order,
                                           .has_allocation = true,
                                           .memory_id = 1,
                                           .memory_offset = i % 4 * 16};
    if (i == count) break;
    arguments[i][0] = (int32_t)i;
    arguments[i][1] = arguments[i][2] = (int32_t)i + 1;
    steps[i] = (etx_pte_instruction){.kind = ETX_PTE_KERNEL_CALL,
                                     .arguments = arguments[i],
                                     .argument_count = 3};
  }
  const int32_t input = 0, output = (int32_t)count;
  const etx_pte_operator op = {etx_text_of("aten::relu"), etx_text_of("out")};
  const etx_pte_chain chain = {steps, count};
  const int64_t arenas[2] = {0, 64};
  const etx_pte_plan_content plan = {.name = etx_text_of("forward"),
                                     .values = values,
                                     .value_count = count + 1,
                                     .inputs = &input,
                                     .input_count = 1,
                                     .outputs = &output,
                                     .output_count = 1,
                                     .chains = &chain,
                                     .chain_count = 1,
                                     .operators = &op,
                                     .operator_count = 1,
                                     .buffer_sizes = arenas,
                                     .buffer_size_count = 2};
  const etx_bytes none = {NULL, 0};
  const etx_pte_content content = {.plans = &plan,
                                   .plan_count = 1,
                                   .constants = &none,
                                   .constant_count = 1,
                                   .constant_alignment = 16};
  const etx_bytes_mut file = sample_write(&content);
  free(values);
  free(steps);
  free(arguments);
  return file;
}

static double seconds_for(size_t count) {
  const etx_bytes_mut file = long_chain(count);
  const clock_t begin = clock();
  assert_ok(etx_verify_program(sample_view(file), NULL, &diag));
  const double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
  sample_release(file);
  return seconds;
}

// The limit is ten times what it takes, for slow machines and sanitizers.
static void a_hundred_thousand_values_are_proved_in_seconds(void** state) {
  (void)state;
  const double seconds = seconds_for(100000);
  print_message("100000 values in %.3f s\n", seconds);
  assert_true(seconds < 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_stock_file_may_elide_views),
      cmocka_unit_test(a_stock_files_state_must_survive_the_call),
      cmocka_unit_test(a_stock_file_may_copy_a_state_onto_itself),
      cmocka_unit_test(a_hundred_thousand_values_are_proved_in_seconds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
