// The blob of the sample is refused for each way in which it can disagree with
// its program.

#include "format/pte/etx_blob.h"
#include "format/pte/pte_schema.h"
#include "format/pte/pte_segments.h"
#include "tests/format/fixtures/blob_variant.h"
#include "tests/format/fixtures/format_test.h"
#include "tests/format/fixtures/sample_program.h"
#include "tests/support/optional_parts.h"

static void method_unknown(blob_variant* v) {
  v->methods[0].name = etx_text_of("backward");
}
static void method_twice(blob_variant* v) { v->methods[1] = v->methods[0]; }
static void more_methods_than_plans(blob_variant* v) {
  v->methods[2] = v->methods[3] = v->methods[1];
  v->content.method_count = 4;
}
static void input_missing(blob_variant* v) { v->methods[0].input_count = 1; }
static void output_missing(blob_variant* v) { v->methods[0].output_count = 1; }
static void lifetime_unknown(blob_variant* v) {
  v->outputs[0].lifetime = (etx_blob_lifetime)3;
}
static void shows_no_input(blob_variant* v) { v->outputs[1].mutated_input = 2; }
static void shows_less_than_none(blob_variant* v) {
  v->outputs[1].mutated_input = -2;
}
static void bounds_reversed(blob_variant* v) { v->symbols[0].minimum = 3; }
static void second_bounds_reversed(blob_variant* v) {
  v->methods[0].symbol_count = 2;
  v->symbols[1] = (etx_blob_symbol){etx_text_of("t"), 2, 1};
}
static void symbol_outside(blob_variant* v) { v->dims[0].symbol = 1; }
static void dim_outside(blob_variant* v) { v->dims[0].dim = 2; }
static void dim_of_integer(blob_variant* v) { v->dims[1].dim = 0; }
static void integer_of_tensor(blob_variant* v) { v->dims[0].dim = -1; }
static void input_outside(blob_variant* v) { v->dims[0].input = 2; }
static void factor_0(blob_variant* v) { v->dims[0].factor = 0; }
static void size_too_large(blob_variant* v) { v->dims[0].offset = 1; }
static void size_negative(blob_variant* v) { v->dims[0].offset = -2; }
static void size_overflows(blob_variant* v) { v->dims[0].factor = INT64_MAX; }
static void least_overflows(blob_variant* v) {
  v->symbols[0].minimum = 2;
  v->dims[0].factor = INT64_MAX;
}
static void least_with_offset_overflows(blob_variant* v) {
  v->dims[0].factor = INT64_MAX;
  v->dims[0].offset = 1;
}
static void most_with_offset_overflows(blob_variant* v) {
  v->dims[1].factor = INT64_MAX / 2;
  v->dims[1].offset = 2;
}
static void integer_of_no_symbol(blob_variant* v) { v->dims[1].symbol = 1; }
static void view_outside(blob_variant* v) { v->views[0].offset = 4; }
static void view_of_itself(blob_variant* v) {
  v->views[0].value = SAMPLE_INPUT;
}
static void view_of_integer(blob_variant* v) { v->views[0].base = SAMPLE_INT; }
static void view_of_nothing(blob_variant* v) { v->views[0].base = 99; }
static void view_is_nothing(blob_variant* v) { v->views[0].value = 99; }
static void view_of_another_arena(blob_variant* v) {
  v->views[0].value = SAMPLE_STATE;
}
static void view_elsewhere(blob_variant* v) {
  v->views[0].value = SAMPLE_TRAINED;  // planned at 64, the input at 32
}
static void second_view_outside(blob_variant* v) {
  v->methods[0].view_count = 2;
  v->views[1].offset = 4;
}
static void states_unsorted(blob_variant* v) {
  const etx_blob_state first = v->states[0];
  v->states[0] = v->states[1];
  v->states[1] = first;
}
static void state_twice(blob_variant* v) { v->states[0] = v->states[1]; }
static void state_past_the_end(blob_variant* v) { v->states[0].offset = 32; }
static void state_misaligned(blob_variant* v) { v->states[0].offset = 2; }
static void state_of_no_type(blob_variant* v) {
  v->states[0].dtype = (etx_dtype)99;
}
static void state_of_size(blob_variant* v, const int32_t* sizes, size_t rank) {
  v->states[0].sizes = sizes;
  v->states[0].rank = rank;
}
static void state_of_rank_17(blob_variant* v) {
  static const int32_t sizes[17] = {0};
  state_of_size(v, sizes, 17);
}
static void state_negative(blob_variant* v) {
  static const int32_t sizes[] = {0, -1};
  state_of_size(v, sizes, 2);
}
static void state_overflows(blob_variant* v) {
  static const int32_t sizes[] = {INT32_MAX, INT32_MAX, INT32_MAX};
  state_of_size(v, sizes, 3);
}
static void state_huge(blob_variant* v) {
  static const int32_t sizes[] = {INT32_MAX, INT32_MAX};
  v->content.state_bytes = UINT64_MAX;
  state_of_size(v, sizes, 2);
}
static void state_moved(blob_variant* v) { v->states[1].offset = 0; }
static void state_of_other_type(blob_variant* v) {
  v->states[1].dtype = ETX_DTYPE_FLOAT64;
}
static void state_of_other_size(blob_variant* v) {
  static const int32_t one[] = {1};
  v->states[1].sizes = one;
}
static void state_of_other_rank(blob_variant* v) {
  static const int32_t sizes[] = {2, 1};
  v->states[1].sizes = sizes;
  v->states[1].rank = 2;
}
static void state_gone(blob_variant* v) { v->content.state_count = 1; }
static void constant_missing(blob_variant* v) {
  v->states[0].data_buffer_index = 3;
}
static void constant_short(blob_variant* v) {
  static const int32_t seven[] = {7};
  v->states[0] = (etx_blob_state){
      etx_text_of("a"), ETX_DTYPE_INT32, seven, 1, 0, 2, false};
}
static void other_total(blob_variant* v) { v->content.state_bytes = 48; }
static void place_of_another_value(blob_variant* v) {
  blob_variant_places(v, 2);
  v->places[0].value = SAMPLE_TRAINED;
}
static void place_in_another_layout(blob_variant* v) {
  blob_variant_places(v, 4);
  v->places[2].layout = 2;
}
static void layouts_too_many(blob_variant* v) { blob_variant_places(v, 10); }
static void place_missing(blob_variant* v) { blob_variant_places(v, 3); }
static void place_far(blob_variant* v) {
  blob_variant_places(v, 4);
  v->places[3].offset = (uint64_t)PTRDIFF_MAX / 2 + 1;
}
static void place_large(blob_variant* v) {
  blob_variant_places(v, 4);
  v->places[1].bytes = (uint64_t)PTRDIFF_MAX / 2 + 1;
}
// Method 'second' has a single value, which is a state.
static void place_of_no_value(blob_variant* v) {
  v->places[0] = (etx_blob_place){1, 0, 32, 24};
  v->methods[1].places = v->places;
  v->methods[1].place_count = 1;
}
static void pair_outside(blob_variant* v) {
  v->pairs[0] = (etx_blob_pair){0, 2};
  blob_variant_pairs(v, 1);
}
static void pair_negative(blob_variant* v) {
  v->pairs[0] = (etx_blob_pair){UINT32_MAX, 1};
  blob_variant_pairs(v, 1);
}
static void pair_of_itself(blob_variant* v) {
  v->pairs[0] = (etx_blob_pair){1, 1};
  blob_variant_pairs(v, 1);
}
static void pair_twice(blob_variant* v) {
  v->pairs[0] = v->pairs[1] = (etx_blob_pair){0, 1};
  blob_variant_pairs(v, 2);
}

static void pairs_descend(blob_variant* v) {
  blob_variant_describe_answer(v);
  v->pairs[0] = (etx_blob_pair){0, 2};
  v->pairs[1] = (etx_blob_pair){0, 1};
  blob_variant_pairs(v, 2);
}
static void first_of_pairs_descends(blob_variant* v) {
  blob_variant_describe_answer(v);
  v->pairs[0] = (etx_blob_pair){1, 2};
  v->pairs[1] = (etx_blob_pair){0, 2};
  blob_variant_pairs(v, 2);
}

typedef struct disagreement {
  void (*change)(blob_variant* v);
  const char* message;
} disagreement;

static const disagreement disagreements[] = {
    {method_unknown, "describes method 'backward', which the program does not"},
    {method_twice,
     "describes method 'forward', which the program does not "
     "have, or describes it twice"},
    {more_methods_than_plans,
     "'etx.plan.v1' describes 4 methods, the program has 3"},
    {input_missing,
     "has 1 inputs and 2 outputs for method 'forward', the plan "
     "has 2 and 2"},
    {output_missing, "has 2 inputs and 1 outputs for method 'forward'"},
    {lifetime_unknown, "output 'cache' of method 'forward' has lifetime 3"},
    {shows_no_input, "mutated input 2 of 2"},
    {shows_less_than_none, "mutated input -2 of 2"},
    {view_outside, "value 10 does not lie at offset 4 of value 5"},
    {view_of_itself, "view '0' of method 'forward'"},
    {view_of_integer, "view '0' of method 'forward'"},
    {view_of_nothing, "view '0' of method 'forward'"},
    {view_is_nothing, "value 99 does not lie at offset 0 of value 5"},
    {view_of_another_arena, "value 7 does not lie at offset 0 of value 5"},
    {second_view_outside, "view '1' of method 'forward'"},
    {view_elsewhere, "value 8 does not lie at offset 0 of value 5"},
    {states_unsorted, "expected ascending names"},
    {state_twice, "expected ascending names"},
    {state_past_the_end, "state 'another' at offset 32 passes the end"},
    {state_misaligned, "state 'another' lies at offset 2"},
    {state_of_no_type, "state 'another' has invalid scalar type 99"},
    {state_of_rank_17, "scalar type 6 or rank 17"},
    {state_negative, "state 'another' at offset 0 passes the end"},
    {state_overflows, "state 'another' at offset 0 passes the end"},
    {state_huge, "state 'another' at offset 0 passes the end"},
    {state_of_other_rank, "is state 'layer.cache', but"},
    {state_moved, "value '7' of method 'forward' is state 'layer.cache', but"},
    {state_of_other_type, "is state 'layer.cache', but"},
    {state_of_other_size, "is state 'layer.cache', but"},
    {state_gone, "is state 'layer.cache', but"},
    {constant_missing, "initialised by constant '3', which does not exist"},
    {constant_short, "initialised by constant '2' of 16 bytes, expected 28"},
    {other_total, "has 32 bytes of state, 'etx.plan.v1' says 48"},
};

// Disagreements in rows that a build without ETX_DYNAMIC does not read.
static const disagreement unread_disagreements[] = {
    {bounds_reversed, "symbol 's0' of method 'forward' has bounds 3 to 2"},
    {second_bounds_reversed,
     "symbol 't' of method 'forward' has bounds 2 to 1"},
    {symbol_outside, "and symbol 1, which do not exist"},
    {dim_outside, "names dimension 2 of input 0"},
    {dim_of_integer, "names dimension 0 of input 1"},
    {integer_of_tensor, "names dimension -1 of input 0"},
    {input_outside, "names dimension 0 of input 2"},
    {factor_0, "size '0' of method 'forward'"},
    {size_too_large, "is outside the bounds of dimension 0 of input 0, 0 to 2"},
    {size_negative, "is outside the bounds of dimension 0 of input 0"},
    {size_overflows, "is outside the bounds of dimension 0 of input 0"},
    {least_overflows, "is outside the bounds of dimension 0 of input 0"},
    {least_with_offset_overflows,
     "is outside the bounds of dimension 0 of input 0"},
    {most_with_offset_overflows,
     "is outside the bounds of dimension -1 of input 1"},
    {integer_of_no_symbol, "names dimension -1 of input 1 and symbol 1"},
    {place_of_another_value,
     "place '0' of method 'forward' has value 8, layout 0 and offset 32"},
    {place_in_another_layout,
     "place '2' of method 'forward' has value 5, "
     "layout 2"},
    {layouts_too_many, "place '8' of method 'forward' has value 5, layout 4"},
    {place_missing, "place '2' of method 'forward' has value 5, layout 1"},
    {place_far, "place '3' of method 'forward' has value 8, layout 1"},
    {place_large, "place '1' of method 'forward' has value 8, layout 0"},
    {place_of_no_value,
     "place '0' of method 'second' has value 1, layout 0 and offset 32"},
    {pairs_descend, "concurrent pair '1' of 'etx.plan.v1' names methods 0"},
    {first_of_pairs_descends, "concurrent pair '1'"},
    {pair_outside,
     "concurrent pair '0' of 'etx.plan.v1' names methods 0 and 2"},
    {pair_negative, "names methods 4294967295 and 1 of 2, expected pairs"},
    {pair_of_itself, "concurrent pair '0'"},
    {pair_twice, "concurrent pair '1'"},
};

static void refuses_each(const disagreement* all, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    blob_variant v;
    etx_pte pte;
    etx_blob blob;
    etx_diag diag;
    blob_variant_init(&v);
    all[i].change(&v);
    const etx_bytes_mut file = sample_write_with_blob(&v.content);
    assert_ok(etx_pte_open(&pte, sample_view(file), NULL, NULL));
    etx_diag_init(&diag);
    if (etx_blob_open(&blob, &pte, &diag) != ETX_BAD_FILE) {
      fail_msg("disagreement %zu: '%s'", i, diag.text);
    }
    assert_says(&diag, all[i].message);
    sample_release(file);
  }
}

static void each_disagreement_with_the_program_is_refused(void** state) {
  (void)state;
  refuses_each(disagreements, COUNT(disagreements));
}

static void each_disagreement_about_dynamic_sizes_is_refused(void** state) {
  (void)state;
  refuses_each(unread_disagreements, COUNT(unread_disagreements));
}

// The first method has the state of the blob, the second one more.
static void a_later_method_with_more_state_is_refused(void** state) {
  static const int64_t arenas[] = {0, 0, 64};
  etx_pte_plan_content plans[3];
  etx_pte_content content = *sample_content();
  etx_pte pte;
  etx_blob blob;
  etx_diag diag;
  (void)state;
  assert_int_equal(content.plan_count, COUNT(plans));
  memcpy(plans, content.plans, sizeof plans);
  plans[1].buffer_sizes = arenas;
  content.plans = plans;
  const etx_bytes_mut file = sample_write(&content);
  assert_ok(etx_pte_open(&pte, sample_view(file), NULL, NULL));
  etx_diag_init(&diag);
  assert_int_equal(etx_blob_open(&blob, &pte, &diag), ETX_BAD_FILE);
  assert_says(&diag,
              "method 'second' has 64 bytes of state, 'etx.plan.v1' says "
              "32");
  sample_release(file);
}

// The blob has one pair of methods; its length in the bytes is changed from two
// numbers to one.
static void an_odd_number_of_concurrent_methods_is_refused(void** state) {
  static const uint32_t vector[] = {2, 0, 1};
  blob_variant v;
  etx_pte pte;
  etx_blob blob;
  etx_diag diag;
  (void)state;
  blob_variant_init(&v);
  v.pairs[0] = (etx_blob_pair){0, 1};
  blob_variant_pairs(&v, 1);
  etx_diag_init(&diag);
  const etx_bytes_mut file = sample_write_with_blob(&v.content);
  assert_ok(etx_pte_open(&pte, sample_view(file), NULL, NULL));
  assert_ok(etx_blob_open(&blob, &pte, &diag));
  assert_int_equal(etx_blob_concurrent_count(&blob), 1);
  assert_int_equal(etx_blob_concurrent_at(&blob, 0).first, 0);
  assert_int_equal(etx_blob_concurrent_at(&blob, 0).second, 1);
  size_t at = (size_t)(blob.fb.data - file.data);
  while (memcmp(file.data + at, vector, sizeof vector) != 0) at += 4;
  file.data[at] = 1;
  assert_ok(etx_pte_open(&pte, sample_view(file), NULL, NULL));
  assert_int_equal(etx_blob_open(&blob, &pte, &diag), ETX_BAD_FILE);
  assert_true(test_message_has(&diag, "1 concurrent methods, expected pairs"));
  sample_release(file);
}

// Changes where the sample's blob lies, which is its last segment.
static void move_blob(etx_bytes_mut file, const etx_pte* pte, uint64_t offset,
                      uint64_t size) {
  const etx_fb_buffer* fb = &pte->fb;
  const etx_fb_vector segments =
      etx_fb_vector_in(fb, pte->root, ETX_PTE_Program_segments);
  const uint32_t row = etx_fb_table_at(fb, segments, segments.count - 1);
  memcpy(file.data + etx_fb_field(fb, row, ETX_PTE_DataSegment_offset), &offset,
         sizeof offset);
  memcpy(file.data + etx_fb_field(fb, row, ETX_PTE_DataSegment_size), &size,
         sizeof size);
}

// A file that was cut or joined by another tool may move named data.
static void a_blob_that_is_not_aligned_is_refused(void** state) {
  etx_pte pte;
  etx_blob blob;
  etx_diag diag;
  uint64_t offset = 0, size = 0;
  (void)state;
  const etx_bytes_mut file = sample_write(sample_content());
  assert_ok(etx_pte_open(&pte, sample_view(file), NULL, NULL));
  etx_pte_segment_at(&pte, etx_pte_segment_count(&pte) - 1, &offset, &size);
  move_blob(file, &pte, offset + 8, size - 8);
  assert_ok(etx_pte_open(&pte, sample_view(file), NULL, NULL));
  etx_diag_init(&diag);
  assert_int_equal(etx_blob_open(&blob, &pte, &diag), ETX_BAD_FILE);
  assert_says(&diag, "of the file, expected a multiple of 16");
  sample_release(file);
}

// The numbers of such a file, of which only the program is there.
static void a_blob_of_more_than_2_gigabytes_is_refused(void** state) {
  etx_pte pte;
  etx_blob blob;
  etx_diag diag;
  uint64_t offset = 0, size = 0;
  (void)state;
  if (SIZE_MAX < UINT64_MAX) skip();
  const etx_bytes_mut file = sample_write(sample_content());
  assert_ok(etx_pte_open(&pte, sample_view(file), NULL, NULL));
  etx_pte_segment_at(&pte, etx_pte_segment_count(&pte) - 1, &offset, &size);
  size = (uint64_t)INT32_MAX + 1;
  move_blob(file, &pte, offset, size);
  const uint64_t all = offset + size;
  memcpy(file.data + 8 + 24, &all, sizeof all);  // of all segments
  const etx_bytes claimed = {file.data, (size_t)(pte.segment_base + all)};
  assert_ok(etx_pte_open(&pte, claimed, NULL, NULL));
  etx_diag_init(&diag);
  assert_int_equal(etx_blob_open(&blob, &pte, &diag), ETX_BAD_FILE);
  assert_says(&diag, "'etx.plan.v1' has 2147483648 bytes at byte");
  sample_release(file);
}

static void a_fingerprint_has_32_bytes(void** state) {
  static const uint8_t vector[] = {32, 0, 0, 0, 1, 2, 3, 0};
  etx_pte pte;
  etx_blob blob;
  etx_diag diag;
  (void)state;
  const etx_bytes_mut file = sample_write(sample_content());
  assert_ok(etx_pte_open(&pte, sample_view(file), NULL, NULL));
  assert_ok(etx_blob_open(&blob, &pte, NULL));
  size_t at = (size_t)(blob.fb.data - file.data);
  while (memcmp(file.data + at, vector, sizeof vector) != 0) at += 4;
  file.data[at] = 31;
  etx_diag_init(&diag);
  assert_int_equal(etx_blob_open(&blob, &pte, &diag), ETX_BAD_FILE);
  assert_says(&diag, "the fingerprint in 'etx.plan.v1' has 31 bytes");
  sample_release(file);
}

static void content_that_no_file_holds_is_refused(void** state) {
  blob_variant v;
  size_t needed = 77;
  (void)state;
  blob_variant_init(&v);
  v.content.options.size = INT32_MAX;
  assert_int_equal(etx_blob_write_needed(&v.content, &needed),
                   ETX_OUT_OF_RANGE);
  assert_int_equal(needed, 77);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      unit_test_with(ETX_VERIFIER,
                     each_disagreement_with_the_program_is_refused),
      unit_test_with(ETX_VERIFIER && ETX_DYNAMIC,
                     each_disagreement_about_dynamic_sizes_is_refused),
      unit_test_with(ETX_VERIFIER && ETX_DYNAMIC,
                     an_odd_number_of_concurrent_methods_is_refused),
      unit_test_with(ETX_VERIFIER, a_later_method_with_more_state_is_refused),
      unit_test_with(ETX_VERIFIER, a_blob_that_is_not_aligned_is_refused),
      unit_test_with(ETX_VERIFIER, a_blob_of_more_than_2_gigabytes_is_refused),
      unit_test_with(ETX_VERIFIER, a_fingerprint_has_32_bytes),
      cmocka_unit_test(content_that_no_file_holds_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
