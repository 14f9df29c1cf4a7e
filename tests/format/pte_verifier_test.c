// Each refusal of etx_pte_open: the sample with one thing wrong, written and
// opened again. The writer does not check meaning, so it writes all of these.

#include "tests/format/fixtures/format_test.h"

#include "format/base/size_limits.h"
#include "format/pte/pte_program.h"
#include "tests/format/fixtures/sample_program.h"
#include "tests/support/optional_parts.h"

// The sample with parts that can be changed.
typedef struct program_variant {
  etx_pte_content content;
  etx_pte_plan_content plans[3];
  etx_pte_value values[SAMPLE_VALUE_COUNT];
  etx_pte_instruction instructions[4];
  etx_pte_instruction delegate_call[1];
  etx_pte_chain chains[2];
  etx_pte_operator operators[2];
  etx_pte_delegate_content delegates[1];
  etx_pte_buffer_device devices[1];
  int64_t arenas[4];
  int32_t inputs[2];
  int32_t outputs[2];
  int32_t sizes[20];
  uint8_t dim_order[20];
  int32_t arguments[5];
  etx_bytes constants[3];
  etx_pte_limits limits;
} program_variant;

static void variant_init(program_variant* v) {
  memset(v, 0, sizeof *v);
  v->content = *sample_content();
  memcpy(v->plans, v->content.plans, sizeof v->plans);
  memcpy(v->constants, v->content.constants, sizeof v->constants);
  etx_pte_plan_content* plan = &v->plans[0];
  memcpy(v->values, plan->values, sizeof v->values);
  memcpy(v->chains, plan->chains, sizeof v->chains);
  memcpy(v->instructions, v->chains[0].instructions, sizeof v->instructions);
  memcpy(v->delegate_call, v->chains[1].instructions, sizeof v->delegate_call);
  memcpy(v->operators, plan->operators, sizeof v->operators);
  memcpy(v->delegates, plan->delegates, sizeof v->delegates);
  memcpy(v->devices, plan->buffer_devices, sizeof v->devices);
  memcpy(v->arenas, plan->buffer_sizes, sizeof v->arenas);
  memcpy(v->inputs, plan->inputs, sizeof v->inputs);
  memcpy(v->outputs, plan->outputs, sizeof v->outputs);
  memcpy(v->arguments, v->instructions[0].arguments, sizeof v->arguments);
  v->sizes[0] = 2;
  v->sizes[1] = 3;
  v->dim_order[1] = 1;
  v->values[SAMPLE_INPUT].as.tensor.sizes = v->sizes;
  v->values[SAMPLE_INPUT].as.tensor.dim_order = v->dim_order;
  v->instructions[0].arguments = v->arguments;
  v->chains[0].instructions = v->instructions;
  v->chains[1].instructions = v->delegate_call;
  plan->values = v->values;
  plan->chains = v->chains;
  plan->operators = v->operators;
  plan->delegates = v->delegates;
  plan->buffer_devices = v->devices;
  plan->buffer_sizes = v->arenas;
  plan->inputs = v->inputs;
  plan->outputs = v->outputs;
  v->content.plans = v->plans;
  v->content.constants = v->constants;
}

static etx_status open_variant(const program_variant* v, etx_diag* diag) {
  etx_pte pte;
  const etx_bytes_mut file = sample_write(&v->content);
  etx_diag_init(diag);
  const etx_status status =
      etx_pte_open(&pte, sample_view(file), &v->limits, diag);
  sample_release(file);
  return status;
}

static etx_pte_tensor* tensor_of(program_variant* v, size_t value) {
  return &v->values[value].as.tensor;
}

// ---- one function for each error ----

static void rank_too_large(program_variant* v) {
  tensor_of(v, SAMPLE_INPUT)->rank = ETX_MAX_RANK + 1;
}
static void size_negative(program_variant* v) { v->sizes[1] = -3; }
static void bytes_huge(program_variant* v) {
  v->sizes[0] = v->sizes[1] = INT32_MAX;
}
static void bytes_overflow(program_variant* v) {
  bytes_huge(v);
  tensor_of(v, SAMPLE_INPUT)->dtype = ETX_DTYPE_COMPLEX128;
}
static void size_huge(program_variant* v) {
  tensor_of(v, SAMPLE_INPUT)->rank = 4;
  for (int i = 0; i < 4; ++i) v->dim_order[i] = (uint8_t)i;
  v->sizes[0] = v->sizes[1] = v->sizes[2] = v->sizes[3] = INT32_MAX;
}
static void dim_order_repeats(program_variant* v) { v->dim_order[1] = 0; }
static void dim_order_repeats_last(program_variant* v) { v->dim_order[0] = 1; }
static void dim_order_outside(program_variant* v) { v->dim_order[1] = 2; }
static void dtype_unknown(program_variant* v) {
  tensor_of(v, SAMPLE_INPUT)->dtype = (etx_dtype)30;
}
static void dtype_negative(program_variant* v) {
  tensor_of(v, SAMPLE_INPUT)->dtype = (etx_dtype)-1;
}
static void dynamism_unknown(program_variant* v) {
  tensor_of(v, SAMPLE_INPUT)->dynamism = (etx_pte_dynamism)3;
}
static void dynamism_negative(program_variant* v) {
  tensor_of(v, SAMPLE_INPUT)->dynamism = (etx_pte_dynamism)-1;
}
static void location_unknown(program_variant* v) {
  tensor_of(v, SAMPLE_STATE)->location = (etx_pte_location)2;
}
static void location_negative(program_variant* v) {
  tensor_of(v, SAMPLE_STATE)->location = (etx_pte_location)-1;
}
static void external_without_name(program_variant* v) {
  tensor_of(v, SAMPLE_EXTERNAL)->name.size = 0;
}
static void arena_0(program_variant* v) {
  tensor_of(v, SAMPLE_INPUT)->memory_id = 0;
}
static void arena_outside(program_variant* v) {
  tensor_of(v, SAMPLE_INPUT)->memory_id = 4;
}
static void past_its_arena(program_variant* v) {
  tensor_of(v, SAMPLE_INPUT)->memory_offset = 76;
}
static void offset_overflows(program_variant* v) {
  tensor_of(v, SAMPLE_INPUT)->memory_offset = UINT64_MAX - 3;
}
static void offset_misaligned(program_variant* v) {
  tensor_of(v, SAMPLE_INPUT)->memory_offset = 30;
}
static void constant_missing(program_variant* v) {
  tensor_of(v, SAMPLE_CONSTANT)->data_buffer_index = 3;
}
static void constant_short(program_variant* v) { v->constants[2].size = 1; }
static void use_short(program_variant* v) {
  constant_short(v);
  tensor_of(v, SAMPLE_CONSTANT)->data_buffer_index = 2;
}
static void constant_misaligned(program_variant* v) {
  v->content.constant_alignment = 1;
  v->constants[1].size = 23;
  tensor_of(v, SAMPLE_CONSTANT)->data_buffer_index = 2;
  tensor_of(v, SAMPLE_CONSTANT)->rank = 0;
}
static void initial_missing(program_variant* v) {
  tensor_of(v, SAMPLE_TRAINED)->data_buffer_index = 2;
}
static void initial_short(program_variant* v) {
  tensor_of(v, SAMPLE_TRAINED)->dtype = ETX_DTYPE_INT64;
}
static void no_initial_data(program_variant* v) {
  v->content.initial_data_count = 0;
}
static void int_list_outside(program_variant* v) {
  static const int64_t items[] = {SAMPLE_INT, SAMPLE_VALUE_COUNT};
  v->values[SAMPLE_INT_LIST].as.integers.items = items;
  v->values[SAMPLE_INT_LIST].as.integers.count = 2;
}
static void int_list_negative(program_variant* v) {
  static const int64_t items[] = {-1};
  v->values[SAMPLE_INT_LIST].as.integers.items = items;
  v->values[SAMPLE_INT_LIST].as.integers.count = 1;
}
static void int_list_of_double(program_variant* v) {
  static const int64_t items[] = {SAMPLE_DOUBLE};
  v->values[SAMPLE_INT_LIST].as.integers.items = items;
  v->values[SAMPLE_INT_LIST].as.integers.count = 1;
}
static void bool_list_of_two(program_variant* v) {
  static const uint8_t items[] = {1, 2};
  v->values[SAMPLE_BOOL_LIST].as.booleans.items = items;
  v->values[SAMPLE_BOOL_LIST].as.booleans.count = 2;
}
static void list_before_element(program_variant* v) {
  static const int32_t items[] = {SAMPLE_TENSOR_LIST};
  v->values[SAMPLE_TENSOR_LIST].as.tensors.items = items;
  v->values[SAMPLE_TENSOR_LIST].as.tensors.count = 1;
}
static void list_of_integer(program_variant* v) {
  static const int32_t items[] = {SAMPLE_INT};
  v->values[SAMPLE_TENSOR_LIST].as.tensors.items = items;
  v->values[SAMPLE_TENSOR_LIST].as.tensors.count = 1;
}
static void list_of_none(program_variant* v) {
  static const int32_t items[] = {-1};
  v->values[SAMPLE_TENSOR_LIST].as.tensors.items = items;
  v->values[SAMPLE_TENSOR_LIST].as.tensors.count = 1;
}
static void list_of_null(program_variant* v) {
  static const int32_t items[] = {SAMPLE_NULL};
  v->values[SAMPLE_TENSOR_LIST].as.tensors.items = items;
  v->values[SAMPLE_TENSOR_LIST].as.tensors.count = 1;
}
static void list_of_tensor_and_integer(program_variant* v) {
  static const int32_t items[] = {SAMPLE_CONSTANT, SAMPLE_INT};
  v->values[SAMPLE_TENSOR_LIST].as.tensors.items = items;
  v->values[SAMPLE_TENSOR_LIST].as.tensors.count = 2;
}
static void optional_of_integer(program_variant* v) {
  static const int32_t items[] = {SAMPLE_INT};
  v->values[SAMPLE_OPTIONAL_LIST].as.tensors.items = items;
  v->values[SAMPLE_OPTIONAL_LIST].as.tensors.count = 1;
}
static void input_outside(program_variant* v) {
  v->inputs[1] = SAMPLE_VALUE_COUNT;
}
static void output_negative(program_variant* v) { v->outputs[0] = -1; }
static void input_constant(program_variant* v) {
  v->inputs[0] = SAMPLE_CONSTANT;
}
static void input_of_a_data_file(program_variant* v) {
  v->inputs[0] = SAMPLE_EXTERNAL;
}
static void operator_nameless(program_variant* v) {
  v->operators[0].name.size = 0;
}
static void operator_long(program_variant* v) {
  static const char name[] =
      "aten::0123456789012345678901234567890123456789012345678901234567890123"
      "456789012345678901234567890123456789";
  v->operators[0].name.data = name;
  v->operators[0].name.size = 97;
  v->operators[0].overload = etx_text_of("ab");
}
static void operator_outside(program_variant* v) {
  v->instructions[0].index = 2;
}
static void argument_outside(program_variant* v) {
  v->arguments[4] = SAMPLE_VALUE_COUNT;
}
static void argument_negative(program_variant* v) { v->arguments[0] = -1; }
static void jump_backwards_out(program_variant* v) {
  v->instructions[1].target = -1;
}
static void jump_past_the_end(program_variant* v) {
  v->instructions[1].target = 9999;
}
static void jump_on_nothing(program_variant* v) {
  v->instructions[1].index = 99;
}
static void move_outside(program_variant* v) { v->instructions[2].target = 99; }
static void free_integer(program_variant* v) {
  v->instructions[3].index = SAMPLE_INT;
}
static void free_outside(program_variant* v) { v->instructions[3].index = -1; }
static void delegate_outside(program_variant* v) {
  v->delegate_call[0].index = 1;
}
static void delegate_without_data(program_variant* v) {
  v->delegates[0].data_index = 1;
}
static void arena_negative(program_variant* v) { v->arenas[3] = -1; }
static void arena_0_negative(program_variant* v) { v->arenas[0] = -5; }
static void device_of_arena_0(program_variant* v) { v->devices[0].buffer = 0; }
static void device_outside(program_variant* v) { v->devices[0].buffer = 4; }
static void names_twice(program_variant* v) {
  v->plans[2].name = v->plans[0].name;
}
static void name_long(program_variant* v) {
  static char name[ETX_MAX_METHOD_NAME + 1];
  memset(name, 'n', sizeof name);
  v->plans[1].name.data = name;
  v->plans[1].name.size = sizeof name;
}
static void limit_instructions(program_variant* v) {
  v->limits.max_instructions = 4;
}
static void limit_arena(program_variant* v) { v->limits.max_arena_bytes = 95; }
static void limit_file(program_variant* v) { v->limits.max_file_bytes = 1000; }
static void bad_plan(program_variant* v) {
  size_negative(v);
  v->limits.reports_bad_plan = true;
}
static void limit_tables(program_variant* v) { v->limits.max_tables = 20; }

typedef struct verifier_refusal {
  void (*change)(program_variant* v);
  etx_status status;
  const char* message;
} verifier_refusal;

static const verifier_refusal refusals[] = {
    {rank_too_large, ETX_BAD_FILE,
     "a tensor has rank 17, at most 16 is possible (value '5' of method "
     "'forward')"},
    {size_negative, ETX_BAD_FILE, "size '1' is negative: -3"},
    {size_huge, ETX_BAD_FILE, "the stride of dimension '1' is"},
    {bytes_huge, ETX_BAD_FILE,
     "4611686014132420609 elements of 'float32' are more than this machine"},
    {bytes_overflow, ETX_BAD_FILE,
     "4611686014132420609 elements of 'complex128' are more than this"},
    {dim_order_repeats, ETX_BAD_FILE, "the dim order is not a permutation"},
    {dim_order_repeats_last, ETX_BAD_FILE,
     "the dim order is not a permutation"},
    {dim_order_outside, ETX_BAD_FILE, "the dim order is not a permutation"},
    {dtype_unknown, ETX_BAD_FILE, "the unknown scalar type 30"},
    {dtype_negative, ETX_BAD_FILE, "the unknown scalar type -1"},
    {dynamism_unknown, ETX_BAD_FILE, "the unknown dynamism 3"},
    {dynamism_negative, ETX_BAD_FILE, "the unknown dynamism -1"},
    {location_negative, ETX_BAD_FILE, "the unknown data location -1"},
    {location_unknown, ETX_BAD_FILE, "the unknown data location 2"},
    {external_without_name, ETX_BAD_FILE, "it has no name to find it by"},
    {arena_0, ETX_BAD_FILE,
     "planned in arena '0', the method has arenas 1 to 3"},
    {arena_outside, ETX_BAD_FILE, "planned in arena '4'"},
    {past_its_arena, ETX_BAD_FILE,
     "a tensor of 24 bytes at offset 76 passes the end of arena '1', which "
     "has 96 bytes"},
    {offset_overflows, ETX_BAD_FILE, "passes the end of arena '1'"},
    {offset_misaligned, ETX_BAD_FILE,
     "a tensor of 'float32' lies at offset 30 of its arena, not a multiple of "
     "4"},
    {constant_missing, ETX_BAD_FILE, "constant '3' does not exist"},
    {use_short, ETX_BAD_FILE, "constant '2' has 1 bytes, its tensor needs 24"},
    {constant_misaligned, ETX_BAD_FILE, "constant '2' of 'float32' lies at"},
    {initial_missing, ETX_BAD_FILE, "initial data '2' does not exist"},
    {initial_short, ETX_BAD_FILE,
     "initial data '1' has 4 bytes, its tensor needs 8"},
    {no_initial_data, ETX_BAD_FILE, "initial data '1' does not exist"},
    {int_list_outside, ETX_BAD_FILE, "item '1' of a list names value 16 of 16"},
    {int_list_negative, ETX_BAD_FILE, "item '0' of a list names value -1"},
    {int_list_of_double, ETX_BAD_FILE, "value 3, which is not an integer"},
    {bool_list_of_two, ETX_BAD_FILE, "is 2, expected 0 or 1"},
    {list_before_element, ETX_BAD_FILE, "expected one before the list"},
    {list_of_integer, ETX_BAD_FILE, "value 1, which is not a tensor"},
    {list_of_none, ETX_BAD_FILE, "names value -1, expected one before"},
    {list_of_null, ETX_BAD_FILE, "value 0, which is not a tensor"},
    {list_of_tensor_and_integer, ETX_BAD_FILE,
     "value 1, which is not a tensor"},
    {optional_of_integer, ETX_BAD_FILE, "value 1, which is not a tensor"},
    {input_outside, ETX_BAD_FILE,
     "entry '1' names value 16 of 16 (method 'forward')"},
    {output_negative, ETX_BAD_FILE, "entry '0' names value -1 of 16"},
    {input_constant, ETX_BAD_FILE,
     "an input is the constant '1' (input '0' of method 'forward')"},
    {input_of_a_data_file, ETX_BAD_FILE,
     "an input is 'elsewhere' of a data file (input '0' of method 'forward')"},
    {operator_nameless, ETX_BAD_FILE,
     "the name of operator '0' has 0 bytes, expected 1 to 99 (method "
     "'forward')"},
    {operator_long, ETX_BAD_FILE, "has 100 bytes, expected 1 to 99"},
    {operator_outside, ETX_BAD_FILE,
     "it names operator 2 of 2 (instruction '0' of method 'forward')"},
    {argument_outside, ETX_BAD_FILE, "entry '4' names value 16 of 16"},
    {argument_negative, ETX_BAD_FILE, "entry '0' names value -1 of 16"},
    {jump_backwards_out, ETX_BAD_FILE, "jumps to instruction -1 of 4"},
    {jump_past_the_end, ETX_BAD_FILE, "jumps to instruction 9999 of 4"},
    {jump_on_nothing, ETX_BAD_FILE, "it names value 99 of 16"},
    {move_outside, ETX_BAD_FILE, "it names value 99 of 16"},
    {free_integer, ETX_BAD_FILE, "it frees value 1, which is not a tensor"},
    {free_outside, ETX_BAD_FILE, "it names value -1 of 16"},
    {delegate_outside, ETX_BAD_FILE, "it names delegate 1 of 1"},
    {delegate_without_data, ETX_BAD_FILE, "delegate '0' names data 1 of 1"},
    {arena_negative, ETX_BAD_FILE, "arena '3' has a negative size: -1"},
    {arena_0_negative, ETX_BAD_FILE, "arena '0' has a negative size: -5"},
    {device_of_arena_0, ETX_BAD_FILE, "device entry '0' names arena 0 of 4"},
    {device_outside, ETX_BAD_FILE, "device entry '0' names arena 4 of 4"},
    {names_twice, ETX_BAD_FILE, "methods '0' and '2' have the same name"},
    {name_long, ETX_BAD_FILE, "has 256 bytes, at most 255"},
    {limit_instructions, ETX_OUT_OF_RANGE,
     "there are 5 instructions, at most 4 are allowed"},
    {limit_arena, ETX_OUT_OF_RANGE,
     "arena '1' has 96 bytes, at most 95 are allowed"},
    {limit_file, ETX_OUT_OF_RANGE, "at most 1000 are allowed"},
    {bad_plan, ETX_BAD_PLAN, "size '1' is negative: -3"},
    {limit_tables, ETX_BAD_FILE, "there are more than 20 tables"},
};

static void the_unchanged_sample_is_accepted(void** state) {
  program_variant v;
  etx_diag diag;
  (void)state;
  variant_init(&v);
  if (open_variant(&v, &diag) != ETX_OK) fail_msg("%s", diag.text);
}

static void each_error_is_refused_with_its_message(void** state) {
  (void)state;
  for (size_t i = 0; i < COUNT(refusals); ++i) {
    program_variant v;
    etx_diag diag;
    variant_init(&v);
    refusals[i].change(&v);
    const etx_status status = open_variant(&v, &diag);
    if (status != refusals[i].status) {
      fail_msg("refusal %zu ('%s'): %s, '%s'", i, refusals[i].message,
               etx_status_name(status), diag.text);
    }
    assert_says(&diag, refusals[i].message);
  }
}

static void jump_to_the_end(program_variant* v) {
  v->instructions[1].target = 4;
}
static void empty_tensor(program_variant* v) {
  v->sizes[0] = 0;
  v->sizes[1] =
      INT32_MAX / 8;  // a row still fits the address space of a 32-bit machine
}
// The largest stride that is possible, where a size of 0 counts as 1. A machine
// of 32 bits cannot address such a tensor.
static void largest_stride(program_variant* v) {
  tensor_of(v, SAMPLE_INPUT)->rank = 3;
  for (int i = 0; i < 3; ++i) v->dim_order[i] = (uint8_t)i;
  v->sizes[0] = 2;
  v->sizes[1] = SIZE_MAX > UINT32_MAX ? INT32_MAX : INT32_MAX / 16;
  v->sizes[2] = 0;
}
static void exactly_in_its_arena(program_variant* v) {
  tensor_of(v, SAMPLE_INPUT)->memory_offset = 72;
}
static void exact_limits(program_variant* v) {
  v->limits.max_arena_bytes = 96;
  v->limits.max_instructions = 5;
}
static void no_limit_at_all(program_variant* v) {
  v->limits.max_arena_bytes = UINT64_MAX;
  v->limits.max_instructions = UINT32_MAX;
  v->limits.max_file_bytes = UINT64_MAX;
}
static void longer_constant(program_variant* v) {
  tensor_of(v, SAMPLE_CONSTANT)->rank = 1;
}
static void dynamic_without_bound(program_variant* v) {
  tensor_of(v, SAMPLE_TURNED)->dynamism = ETX_PTE_DYNAMIC_UNBOUND;
}
static void operator_of_one_letter(program_variant* v) {
  v->operators[0].name.size = 1;
}
// The limit counts a dot between the two.
static const char letters[ETX_MAX_OPERATOR_NAME + 1] = {'a'};
static void longest_operator(program_variant* v) {
  v->operators[0].name = (etx_text){letters, ETX_MAX_OPERATOR_NAME};
  v->operators[0].overload.size = 0;
}
static void operator_with_the_longest_overload(program_variant* v) {
  v->operators[0].name = (etx_text){letters, 1};
  v->operators[0].overload = (etx_text){letters, ETX_MAX_OPERATOR_NAME - 2};
}
static void external_of_one_letter(program_variant* v) {
  tensor_of(v, SAMPLE_EXTERNAL)->name.size = 1;
}
static void device_of_the_first_arena(program_variant* v) {
  v->devices[0].buffer = 1;
}
static void input_without_memory(program_variant* v) {
  v->inputs[0] = SAMPLE_TURNED;
}
static void no_plans(program_variant* v) { v->content.plan_count = 0; }

// Files that ExecuTorch's runtime loads, and files whose error concerns one
// method only.
static void unusual_but_valid_files_are_accepted(void** state) {
  static void (*const changes[])(program_variant*) = {
      jump_to_the_end,
      empty_tensor,
      largest_stride,
      longest_operator,
      operator_with_the_longest_overload,
      device_of_the_first_arena,
      exactly_in_its_arena,
      exact_limits,
      no_limit_at_all,
      longer_constant,
      dynamic_without_bound,
      input_without_memory,
      operator_of_one_letter,
      external_of_one_letter,
      no_plans};
  (void)state;
  for (size_t i = 0; i < COUNT(changes); ++i) {
    program_variant v;
    etx_diag diag;
    variant_init(&v);
    changes[i](&v);
    if (open_variant(&v, &diag) != ETX_OK) fail_msg("%zu: %s", i, diag.text);
  }
}

static void unaligned_bytes_are_a_wrong_argument(void** state) {
  etx_pte pte;
  etx_diag diag;
  (void)state;
  const etx_bytes_mut file = sample_write(sample_content());
  const etx_bytes_mut longer = sample_copy(sample_view(file));
  const etx_bytes shifted = {longer.data + 8, longer.size - 8};
  etx_diag_init(&diag);
  assert_int_equal(etx_pte_open(&pte, shifted, NULL, &diag), ETX_BAD_ARGUMENT);
  sample_release(longer);
  sample_release(file);
}

static void a_refused_file_leaves_the_output_alone(void** state) {
  etx_pte pte;
  etx_pte before;
  (void)state;
  const etx_bytes_mut file = sample_write(sample_content());
  memset(&pte, 0x5a, sizeof pte);
  before = pte;
  file.data[4] = 'X';
  assert_int_equal(etx_pte_open(&pte, sample_view(file), NULL, NULL),
                   ETX_BAD_FILE);
  assert_memory_equal(&pte, &before, sizeof pte);
  sample_release(file);
}

static void a_file_is_refused_without_a_diag(void** state) {
  program_variant v;
  etx_pte pte;
  (void)state;
  variant_init(&v);
  dtype_unknown(&v);
  const etx_bytes_mut file = sample_write(&v.content);
  assert_int_equal(etx_pte_open(&pte, sample_view(file), NULL, NULL),
                   ETX_BAD_FILE);
  sample_release(file);
}

static void a_file_as_long_as_its_limit_is_accepted(void** state) {
  etx_pte pte;
  etx_diag diag;
  (void)state;
  const etx_bytes_mut file = sample_write(sample_content());
  etx_pte_limits limits = {.max_file_bytes = file.size};
  assert_ok(etx_pte_open(&pte, sample_view(file), &limits, &diag));
  --limits.max_file_bytes;
  etx_diag_init(&diag);
  assert_int_equal(etx_pte_open(&pte, sample_view(file), &limits, &diag),
                   ETX_OUT_OF_RANGE);
  sample_release(file);
}

// Only the head of these files is there, and only that is read.
static void the_head_of_a_file_is_checked_first(void** state) {
  static _Alignas(16) const uint8_t head[64] = {0};
  etx_pte pte;
  etx_diag diag;
  (void)state;
  etx_diag_init(&diag);
  assert_int_equal(etx_pte_open(&pte, (etx_bytes){head, 63}, NULL, &diag),
                   ETX_BAD_FILE);
  assert_says(&diag, "the file has 63 bytes, a program at least 64");
  etx_diag_init(&diag);
  assert_int_equal(
      etx_pte_open(&pte, (etx_bytes){head, (size_t)INT32_MAX + 1}, NULL, &diag),
      ETX_BAD_FILE);
  assert_says(&diag,
              "the program has 2147483648 bytes, at most 2147483647 are");
  if (!ETX_VERIFIER) return;
  etx_diag_init(&diag);
  assert_int_equal(
      etx_pte_open(&pte, (etx_bytes){head, INT32_MAX}, NULL, &diag),
      ETX_BAD_FILE);
  assert_says(&diag, "the identifier is 0x0");
}

static void a_message_says_where_in_the_file(void** state) {
  program_variant v;
  etx_diag diag;
  (void)state;
  variant_init(&v);
  dtype_unknown(&v);
  assert_int_equal(open_variant(&v, &diag), ETX_BAD_FILE);
  assert_true(diag.offset > 64);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_unchanged_sample_is_accepted),
      unit_test_with(ETX_VERIFIER, each_error_is_refused_with_its_message),
      cmocka_unit_test(unusual_but_valid_files_are_accepted),
      cmocka_unit_test(unaligned_bytes_are_a_wrong_argument),
      unit_test_with(ETX_VERIFIER, a_refused_file_leaves_the_output_alone),
      unit_test_with(ETX_VERIFIER, a_message_says_where_in_the_file),
      unit_test_with(ETX_VERIFIER, a_file_is_refused_without_a_diag),
      cmocka_unit_test(a_file_as_long_as_its_limit_is_accepted),
      cmocka_unit_test(the_head_of_a_file_is_checked_first),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
