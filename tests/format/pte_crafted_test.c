// Programs that no writer of etx makes: their tables are built field by field.

#include "format/flatbuffers/fb_builder.h"
#include "format/pte/pte_program.h"
#include "format/pte/pte_schema.h"
#include "format/pte/pte_segments.h"
#include "tests/format/fixtures/format_test.h"
#include "tests/format/fixtures/sample_program.h"
#include "tests/support/optional_parts.h"

// A program with one method. References that are 0 become empty lists.
typedef struct crafted {
  etx_fb_builder b;
  // Of the method.
  etx_fb_ref values, chains, operators, delegates, arenas;
  // Of the program.
  etx_fb_ref plans, constant_buffer, segments, constant_segment, initial;
} crafted;

static uint64_t space[1 << 15];

static void craft(crafted* c) {
  memset(c, 0, sizeof *c);
  etx_fb_builder_init(&c->b, (etx_bytes_mut){(uint8_t*)space, sizeof space});
}

static etx_fb_ref none_unless(crafted* c, etx_fb_ref list) {
  return list != 0 ? list : etx_fb_builder_vector(&c->b, NULL, 0, 8, 8);
}

// A vector that has one table several times.
static etx_fb_ref times(crafted* c, size_t count, etx_fb_ref table) {
  const size_t refs = etx_fb_builder_reserve_refs(&c->b, count);
  for (size_t i = 0; i < count; ++i) {
    etx_fb_builder_set_ref(&c->b, refs, i, table);
  }
  return etx_fb_builder_table_vector(&c->b, refs, count);
}

// A table with a number and a reference, each of which may be absent.
static etx_fb_ref row(crafted* c, uint32_t number_id, uint32_t number,
                      uint32_t ref_id, etx_fb_ref ref) {
  etx_fb_builder_start(&c->b);
  etx_fb_builder_add_ref(&c->b, ref_id, ref);
  etx_fb_builder_add_u32(&c->b, number_id, number, 0);
  return etx_fb_builder_end(&c->b);
}

// A table of a union: a value or an instruction.
static etx_fb_ref member(crafted* c, int code, etx_fb_ref content) {
  etx_fb_builder_start(&c->b);
  etx_fb_builder_add_u8(&c->b, ETX_PTE_EValue_val_type, (uint8_t)code, 0);
  etx_fb_builder_add_ref(&c->b, ETX_PTE_EValue_val, content);
  return etx_fb_builder_end(&c->b);
}

// An Int with the value 0.
static etx_fb_ref integer(crafted* c) {
  etx_fb_builder_start(&c->b);
  return member(c, ETX_PTE_INT, etx_fb_builder_end(&c->b));
}

static etx_fb_ref chain_of(crafted* c, size_t count, etx_fb_ref instruction) {
  const etx_fb_ref rows = times(c, count, instruction);
  etx_fb_builder_start(&c->b);
  etx_fb_builder_add_ref(&c->b, ETX_PTE_Chain_instructions, rows);
  return times(c, 1, etx_fb_builder_end(&c->b));
}

static etx_fb_ref plan_of(crafted* c, const char* name) {
  etx_fb_builder* const b = &c->b;
  const etx_fb_ref text = etx_fb_builder_string(b, etx_text_of(name));
  const etx_fb_ref none = none_unless(c, 0);
  if (c->chains == 0) c->chains = chain_of(c, 0, 0);
  etx_fb_builder_start(b);
  etx_fb_builder_add_ref(b, ETX_PTE_ExecutionPlan_name, text);
  etx_fb_builder_add_ref(b, ETX_PTE_ExecutionPlan_values,
                         c->values != 0 ? c->values : none);
  etx_fb_builder_add_ref(b, ETX_PTE_ExecutionPlan_inputs, none);
  etx_fb_builder_add_ref(b, ETX_PTE_ExecutionPlan_outputs, none);
  etx_fb_builder_add_ref(b, ETX_PTE_ExecutionPlan_chains, c->chains);
  etx_fb_builder_add_ref(b, ETX_PTE_ExecutionPlan_operators, c->operators);
  etx_fb_builder_add_ref(b, ETX_PTE_ExecutionPlan_delegates, c->delegates);
  etx_fb_builder_add_ref(b, ETX_PTE_ExecutionPlan_non_const_buffer_sizes,
                         c->arenas != 0 ? c->arenas : none);
  return etx_fb_builder_end(b);
}

// The caller frees the file.
static etx_bytes_mut finish(crafted* c) {
  etx_bytes_mut file;
  etx_fb_builder* const b = &c->b;
  if (c->plans == 0) c->plans = times(c, 1, plan_of(c, "forward"));
  etx_fb_builder_start(b);
  etx_fb_builder_add_ref(b, ETX_PTE_Program_execution_plan, c->plans);
  etx_fb_builder_add_ref(b, ETX_PTE_Program_constant_buffer,
                         c->constant_buffer);
  etx_fb_builder_add_ref(b, ETX_PTE_Program_segments, c->segments);
  etx_fb_builder_add_ref(b, ETX_PTE_Program_constant_segment,
                         c->constant_segment);
  etx_fb_builder_add_ref(b, ETX_PTE_Program_mutable_data_segments, c->initial);
  b->alignment = 16;
  assert_ok(etx_fb_builder_finish(b, etx_fb_builder_end(b), "ET12", &file));
  return sample_copy(sample_view(file));
}

static void expect(crafted* c, etx_status status, const char* message) {
  etx_pte pte;
  etx_diag diag;
  etx_diag_init(&diag);
  const etx_bytes_mut file = finish(c);
  const etx_status found = etx_pte_open(&pte, sample_view(file), NULL, &diag);
  if (found != status) fail_msg("%s: %s", etx_status_name(found), diag.text);
  assert_says(&diag, message);
  sample_release(file);
}

// Opens a program that is good.
static etx_bytes_mut open_good(crafted* c, etx_pte* pte, etx_pte_plan* plan) {
  etx_diag diag;
  etx_diag_init(&diag);
  const etx_bytes_mut file = finish(c);
  if (etx_pte_open(pte, sample_view(file), NULL, &diag) != ETX_OK) {
    fail_msg("%s", diag.text);
  }
  *plan = etx_pte_plan_at(pte, 0);
  return file;
}

// ---- values ----

static void a_value_has_content(void** state) {
  (void)state;
  for (int kind = 0; kind <= ETX_PTE_OPTIONAL_TENSOR_LIST; ++kind) {
    crafted c;
    craft(&c);
    c.values = times(&c, 1, member(&c, kind, 0));
    if (kind == 0) {
      expect(&c, ETX_BAD_FILE,
             "a value has no kind (value '0' of method 'forward')");
    } else if (kind == ETX_PTE_NULL) {
      expect(&c, ETX_OK, "");
    } else {
      char message[64];
      etx_format_text(message, sizeof message,
                      "a value of kind %u has no content", (uint64_t)kind);
      expect(&c, ETX_BAD_FILE, message);
    }
  }
}

static void the_kind_of_a_value_is_known(void** state) {
  crafted c;
  (void)state;
  craft(&c);
  c.values = times(&c, 1, member(&c, 99, 0));
  expect(&c, ETX_BAD_FILE, "a union holds member 99, the largest known is");
}

// As a newer writer might make it.
static void fields_of_an_absent_value_are_ignored(void** state) {
  crafted c;
  etx_pte pte;
  etx_pte_plan plan;
  (void)state;
  craft(&c);
  c.values = times(&c, 1, member(&c, ETX_PTE_NULL, row(&c, 0, 9, 1, 0)));
  const etx_bytes_mut file = open_good(&c, &pte, &plan);
  const etx_pte_value value = etx_pte_value_at(&plan, 0);
  assert_int_equal(value.kind, ETX_PTE_NULL);
  assert_int_equal(value.as.list.count, 0);
  assert_text(etx_pte_plan_input_tree(&plan), "");
  assert_text(etx_pte_plan_output_tree(&plan), "");
  sample_release(file);
}

// A tensor of one dimension without elements.
static etx_fb_ref tensor(crafted* c, size_t order_count, int32_t offset,
                         uint32_t data, bool is_planned) {
  static const int32_t sizes[] = {0};
  static const uint8_t order[] = {0, 1};
  etx_fb_builder* const b = &c->b;
  const etx_fb_ref dims = etx_fb_builder_vector(b, sizes, 1, 4, 4);
  const etx_fb_ref orders = etx_fb_builder_vector(b, order, order_count, 1, 1);
  const etx_fb_ref place =
      is_planned ? row(c, ETX_PTE_AllocationDetails_memory_id, 1, 1, 0) : 0;
  etx_fb_builder_start(b);
  etx_fb_builder_add_ref(b, ETX_PTE_Tensor_sizes, dims);
  etx_fb_builder_add_ref(b, ETX_PTE_Tensor_dim_order, orders);
  etx_fb_builder_add_ref(b, ETX_PTE_Tensor_allocation_info, place);
  etx_fb_builder_add_u32(b, ETX_PTE_Tensor_data_buffer_idx, data, 0);
  etx_fb_builder_add_i32(b, ETX_PTE_Tensor_storage_offset, offset, 0);
  etx_fb_builder_add_i8(b, ETX_PTE_Tensor_scalar_type, ETX_DTYPE_FLOAT32, 0);
  return member(c, ETX_PTE_TENSOR, etx_fb_builder_end(b));
}

static void a_dim_order_has_an_entry_for_each_dimension(void** state) {
  (void)state;
  for (size_t count = 0; count < 3; ++count) {
    char message[64];
    crafted c;
    craft(&c);
    c.values = times(&c, 1, tensor(&c, count, 0, 0, false));
    etx_format_text(message, sizeof message,
                    "a tensor of rank 1 has a dim order of %z entries", count);
    expect(&c, count == 1 ? ETX_OK : ETX_BAD_FILE, count == 1 ? "" : message);
  }
}

static void a_storage_offset_is_not_supported(void** state) {
  crafted c;
  (void)state;
  craft(&c);
  c.values = times(&c, 1, tensor(&c, 1, 4, 0, false));
  expect(&c, ETX_UNSUPPORTED, "a tensor has the storage offset 4, only 0");
}

// ---- constants and segments ----

// The list of two constants in segment `index`.
static etx_fb_ref offsets_in(crafted* c, uint32_t index, size_t count) {
  static const uint64_t offsets[2] = {0, 0};
  const etx_fb_ref list = etx_fb_builder_vector(&c->b, offsets, count, 8, 8);
  return row(c, ETX_PTE_SubsegmentOffsets_segment_index, index,
             ETX_PTE_SubsegmentOffsets_offsets, list);
}

// A vector of one segment without bytes.
static etx_fb_ref empty_segment(crafted* c) {
  return times(c, 1, row(c, 2, 0, 3, 0));
}

static void constants_are_in_a_segment_that_exists(void** state) {
  crafted c;
  (void)state;
  craft(&c);
  c.constant_segment = offsets_in(&c, 3, 2);
  expect(&c, ETX_BAD_FILE, "constants are in segment '3' of 0");
  // The first entry stands for no constant, so that one alone says nothing.
  craft(&c);
  c.constant_segment = offsets_in(&c, 3, 1);
  expect(&c, ETX_OK, "");
}

static void constants_are_in_one_place(void** state) {
  crafted c;
  (void)state;
  craft(&c);
  c.constant_segment = offsets_in(&c, 0, 2);
  c.segments = empty_segment(&c);
  c.constant_buffer = times(&c, 1, row(&c, 1, 0, 0, 0));
  expect(&c, ETX_BAD_FILE,
         "there are 2 constants in a segment and 1 in the program");
}

static void a_constant_may_have_no_bytes(void** state) {
  crafted c;
  etx_pte pte;
  etx_pte_plan plan;
  (void)state;
  craft(&c);
  c.values = times(&c, 1, tensor(&c, 1, 0, 1, false));
  c.segments = empty_segment(&c);
  c.constant_segment = offsets_in(&c, 0, 2);
  const etx_bytes_mut file = open_good(&c, &pte, &plan);
  assert_int_equal(etx_pte_constant(&pte, 1).size, 0);
  sample_release(file);
}

static void initial_data_is_in_a_segment_that_exists(void** state) {
  static const int64_t arenas[] = {0, 16};
  (void)state;
  for (uint32_t segment = 0; segment < 2; ++segment) {
    crafted c;
    craft(&c);
    c.values = times(&c, 1, tensor(&c, 1, 0, 1, true));
    c.arenas = etx_fb_builder_vector(&c.b, arenas, 2, 8, 8);
    c.segments = empty_segment(&c);
    c.initial = times(&c, 1, offsets_in(&c, segment, 2));
    expect(&c, segment == 0 ? ETX_OK : ETX_BAD_FILE,
           segment == 0 ? "" : "initial data '1' does not exist or starts");
  }
}

static void data_of_a_delegate_may_be_in_a_segment(void** state) {
  (void)state;
  for (uint32_t index = 0; index < 2; ++index) {
    crafted c;
    craft(&c);
    c.segments = empty_segment(&c);
    etx_fb_builder_start(&c.b);
    etx_fb_builder_add_u32(&c.b, ETX_PTE_BackendDelegateDataReference_index,
                           index, 0);
    etx_fb_builder_add_i8(&c.b, ETX_PTE_BackendDelegateDataReference_location,
                          1, 0);
    const etx_fb_ref data = etx_fb_builder_end(&c.b);
    const etx_fb_ref id = etx_fb_builder_string(&c.b, etx_text_of("any"));
    etx_fb_builder_start(&c.b);
    etx_fb_builder_add_ref(&c.b, ETX_PTE_BackendDelegate_id, id);
    etx_fb_builder_add_ref(&c.b, ETX_PTE_BackendDelegate_processed, data);
    c.delegates = times(&c, 1, etx_fb_builder_end(&c.b));
    if (index == 1) {
      if (ETX_VERIFIER) expect(&c, ETX_BAD_FILE, "delegate '0' names data 1");
      continue;
    }
    etx_pte pte;
    etx_pte_plan plan;
    const etx_bytes_mut file = open_good(&c, &pte, &plan);
    assert_false(etx_pte_delegate_at(&plan, 0).inline_data);
    assert_int_equal(etx_pte_delegate_data(&plan, 0).size, 0);
    sample_release(file);
  }
}

// ---- instructions and methods ----

static void an_instruction_has_content(void** state) {
  (void)state;
  for (int kind = 0; kind <= ETX_PTE_FREE_CALL; ++kind) {
    crafted c;
    craft(&c);
    c.chains = chain_of(&c, 1, member(&c, kind, 0));
    expect(&c, ETX_BAD_FILE,
           "it has no content (instruction '0' of method 'forward')");
  }
}

// A newer writer may add one.
static void a_second_field_of_a_release_is_ignored(void** state) {
  crafted c;
  etx_pte pte;
  etx_pte_plan plan;
  (void)state;
  craft(&c);
  c.values = times(&c, 1, tensor(&c, 1, 0, 0, false));
  c.chains =
      chain_of(&c, 1, member(&c, ETX_PTE_FREE_CALL, row(&c, 1, 999, 2, 0)));
  const etx_bytes_mut file = open_good(&c, &pte, &plan);
  const etx_pte_instruction it = etx_pte_instruction_at(&plan, 0, 0);
  assert_int_equal(it.kind, ETX_PTE_FREE_CALL);
  assert_int_equal(it.target, 0);
  sample_release(file);
}

static void a_method_has_a_chain(void** state) {
  crafted c;
  (void)state;
  craft(&c);
  c.chains = none_unless(&c, 0);
  expect(&c, ETX_BAD_FILE, "there is no chain (method 'forward')");
}

static void the_number_of_methods_has_a_limit(void** state) {
  crafted c;
  (void)state;
  craft(&c);
  c.plans = times(&c, 4097, plan_of(&c, "forward"));
  expect(&c, ETX_OUT_OF_RANGE,
         "the program has 4097 methods, at most 4096 are possible");
  craft(&c);
  c.plans = times(&c, 4096, plan_of(&c, "forward"));
  expect(&c, ETX_BAD_FILE, "methods '0' and '1' have the same name");
}

// ---- lists that many tables share: 10^8 items in 120 kB ----

enum { MANY = 10000 };

static void assert_too_many_items(crafted* c) {
  expect(c, ETX_OUT_OF_RANGE,
         "the lists of the program have more than 10000000 items");
}

static void shared_lists_cannot_cause_endless_work(void** state) {
  static int64_t items[MANY];  // all name value 0, an Int
  crafted c;
  (void)state;
  craft(&c);
  const size_t refs = etx_fb_builder_reserve_refs(&c.b, MANY);
  const etx_fb_ref vector = etx_fb_builder_vector(&c.b, items, MANY, 8, 8);
  const etx_fb_ref value = member(&c, ETX_PTE_INT_LIST,
                                  row(&c, 1, 0, ETX_PTE_IntList_items, vector));
  etx_fb_builder_set_ref(&c.b, refs, 0, integer(&c));
  for (size_t i = 1; i < MANY; ++i) {
    etx_fb_builder_set_ref(&c.b, refs, i, value);
  }
  c.values = etx_fb_builder_table_vector(&c.b, refs, MANY);
  assert_too_many_items(&c);
}

static void shared_arguments_cannot_cause_endless_work(void** state) {
  static int32_t arguments[MANY];
  crafted c;
  (void)state;
  craft(&c);
  const etx_fb_ref list = etx_fb_builder_vector(&c.b, arguments, MANY, 4, 4);
  c.values = times(&c, 1, integer(&c));
  const etx_fb_ref name = etx_fb_builder_string(&c.b, etx_text_of("any"));
  c.operators = times(&c, 1, row(&c, 1, 0, ETX_PTE_Operator_name, name));
  c.chains = chain_of(&c, MANY,
                      member(&c, ETX_PTE_KERNEL_CALL,
                             row(&c, 0, 0, ETX_PTE_KernelCall_args, list)));
  assert_too_many_items(&c);
}

static void shared_arenas_cannot_cause_endless_work(void** state) {
  enum { METHODS = 1002 };
  static int64_t sizes[MANY];
  char name[8];
  crafted c;
  (void)state;
  craft(&c);
  c.arenas = etx_fb_builder_vector(&c.b, sizes, MANY, 8, 8);
  const size_t refs = etx_fb_builder_reserve_refs(&c.b, METHODS);
  for (size_t i = 0; i < METHODS; ++i) {
    etx_format_text(name, sizeof name, "m%z", i);
    etx_fb_builder_set_ref(&c.b, refs, i, plan_of(&c, name));
  }
  c.plans = etx_fb_builder_table_vector(&c.b, refs, METHODS);
  assert_too_many_items(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      unit_test_with(ETX_VERIFIER, a_value_has_content),
      unit_test_with(ETX_VERIFIER, the_kind_of_a_value_is_known),
      cmocka_unit_test(fields_of_an_absent_value_are_ignored),
      unit_test_with(ETX_VERIFIER, a_dim_order_has_an_entry_for_each_dimension),
      unit_test_with(ETX_VERIFIER, a_storage_offset_is_not_supported),
      unit_test_with(ETX_VERIFIER, constants_are_in_a_segment_that_exists),
      unit_test_with(ETX_VERIFIER, constants_are_in_one_place),
      cmocka_unit_test(a_constant_may_have_no_bytes),
      unit_test_with(ETX_VERIFIER, initial_data_is_in_a_segment_that_exists),
      cmocka_unit_test(data_of_a_delegate_may_be_in_a_segment),
      unit_test_with(ETX_VERIFIER, an_instruction_has_content),
      cmocka_unit_test(a_second_field_of_a_release_is_ignored),
      unit_test_with(ETX_VERIFIER, a_method_has_a_chain),
      unit_test_with(ETX_VERIFIER, the_number_of_methods_has_a_limit),
      unit_test_with(ETX_VERIFIER, shared_lists_cannot_cause_endless_work),
      unit_test_with(ETX_VERIFIER, shared_arguments_cannot_cause_endless_work),
      unit_test_with(ETX_VERIFIER, shared_arenas_cannot_cause_endless_work),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
