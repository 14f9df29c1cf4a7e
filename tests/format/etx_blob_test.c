// The blob is written into the sample and read back. It is refused for each way
// in which it can disagree with its program.

#include "tests/format/fixtures/format_test.h"

#include "format/pte/etx_blob.h"
#include "format/pte/pte_schema.h"
#include "format/pte/pte_segments.h"
#include "tests/format/fixtures/sample_program.h"
#include "tests/support/optional_parts.h"
#include "tests/support/assert_message.h"

static union {
  uint8_t bytes[4096];
  uint64_t alignment;
} work;

// The sample with another blob in it.
static etx_bytes_mut write_with(const etx_blob_content* blob_content) {
  etx_pte_content content = *sample_content();
  etx_pte_named_data named[2];
  etx_bytes_mut block = {work.bytes, 0};
  memcpy(named, content.named_data, sizeof named);
  assert_ok(etx_blob_write_needed(blob_content, &block.size));
  assert_true(block.size <= sizeof work.bytes);
  assert_ok(etx_blob_write(blob_content, block, &named[1].data, NULL));
  content.named_data = named;
  return sample_write(&content);
}

static void everything_is_read_back(void** state) {
  uint8_t fingerprint[ETX_FINGERPRINT_BYTES];
  etx_pte pte;
  etx_blob blob;
  etx_diag diag;
  size_t method = 77;
  (void)state;
  etx_diag_init(&diag);
  const etx_bytes_mut file = sample_write(sample_content());
  assert_ok(etx_pte_open(&pte, sample_view(file), NULL, NULL));
  if (etx_blob_open(&blob, &pte, &diag) != ETX_OK) fail_msg("%s", diag.text);
  etx_blob_fingerprint(&blob, fingerprint);
  assert_memory_equal(fingerprint, sample_blob_content()->fingerprint,
                      sizeof fingerprint);
  assert_text(etx_blob_target(&blob), "etx");
  assert_text(etx_blob_options(&blob), "align=16");
  assert_int_equal(etx_blob_state_bytes(&blob), 32);

  assert_int_equal(etx_blob_state_count(&blob), 2);
  etx_blob_state kept = etx_blob_state_at(&blob, 0);
  assert_text(kept.name, "another");
  assert_true(kept.is_uniform);
  assert_int_equal(kept.rank, 0);
  kept = etx_blob_state_at(&blob, 1);
  assert_text(kept.name, "layer.cache");
  assert_int_equal(kept.dtype, ETX_DTYPE_INT64);
  assert_int_equal(kept.rank, 1);
  assert_int_equal(kept.sizes[0], 2);
  assert_int_equal(kept.offset, 16);
  assert_int_equal(kept.data_buffer_index, 2);
  assert_false(kept.is_uniform);

  assert_int_equal(etx_blob_method_count(&blob), 2);
  assert_false(etx_blob_method_find(&blob, etx_text_of("answer"), &method));
  assert_int_equal(method, 77);
  assert_true(etx_blob_method_find(&blob, etx_text_of("second"), &method));
  assert_int_equal(method, 1);
  assert_int_equal(etx_blob_input_count(&blob, 1), 0);
  assert_int_equal(etx_blob_output_count(&blob, 1), 1);

  assert_int_equal(etx_blob_input_count(&blob, 0), 2);
  assert_text(etx_blob_input_at(&blob, 0, 0).name, "x");
  assert_true(etx_blob_input_at(&blob, 0, 0).is_mutable);
  assert_false(etx_blob_input_at(&blob, 0, 1).is_mutable);
  assert_text(etx_blob_output_at(&blob, 0, 0).name, "cache");
  assert_int_equal(etx_blob_output_at(&blob, 0, 0).lifetime,
                   ETX_LIFETIME_STATE);
  assert_int_equal(etx_blob_output_at(&blob, 0, 0).mutated_input, -1);
  assert_int_equal(etx_blob_output_at(&blob, 0, 1).mutated_input, 0);
  assert_int_equal(etx_blob_symbol_count(&blob, 0), 1);
  assert_text(etx_blob_symbol_at(&blob, 0, 0).name, "s0");
  assert_int_equal(etx_blob_symbol_at(&blob, 0, 0).minimum, 1);
  assert_int_equal(etx_blob_symbol_at(&blob, 0, 0).maximum, 2);
  assert_int_equal(etx_blob_input_dim_count(&blob, 0), 2);
  const etx_blob_input_dim dim = etx_blob_input_dim_at(&blob, 0, 1);
  assert_int_equal(dim.input, 1);
  assert_int_equal(dim.dim, -1);
  assert_int_equal(dim.symbol, 0);
  assert_int_equal(dim.factor, 2);
  assert_int_equal(dim.offset, -7);
  assert_int_equal(etx_blob_view_count(&blob, 0), 1);
  assert_int_equal(etx_blob_view_at(&blob, 0, 0).value, SAMPLE_TURNED);
  assert_int_equal(etx_blob_view_at(&blob, 0, 0).base, SAMPLE_INPUT);
  sample_release(file);
}

static void a_stock_file_has_no_blob(void** state) {
  etx_pte pte;
  etx_blob blob;
  etx_diag diag;
  (void)state;
  etx_diag_init(&diag);
  const etx_bytes_mut file = sample_write(sample_runnable_content());
  assert_ok(etx_pte_open(&pte, sample_view(file), NULL, NULL));
  assert_int_equal(etx_blob_open(&blob, &pte, &diag), ETX_NOT_FOUND);
  // The missing blob leaves no message in the diag.
  assert_int_equal(diag.status, ETX_OK);
  sample_release(file);
}

// ---- disagreements ----

typedef struct blob_variant {
  etx_blob_content content;
  etx_blob_method methods[4];
  etx_blob_state states[2];
  etx_blob_input inputs[2];
  etx_blob_output outputs[2];
  etx_blob_symbol symbols[2];
  etx_blob_input_dim dims[2];
  etx_blob_view views[1];
  etx_blob_pair pairs[3];
  etx_blob_place places[12];
} blob_variant;

static void variant_init(blob_variant* v) {
  memset(v, 0, sizeof *v);
  v->content = *sample_blob_content();
  memcpy(v->methods, v->content.methods, 2 * sizeof *v->methods);
  memcpy(v->states, v->content.states, sizeof v->states);
  etx_blob_method* method = &v->methods[0];
  memcpy(v->inputs, method->inputs, sizeof v->inputs);
  memcpy(v->outputs, method->outputs, sizeof v->outputs);
  memcpy(v->symbols, method->symbols, sizeof *v->symbols);
  memcpy(v->dims, method->input_dims, sizeof v->dims);
  memcpy(v->views, method->views, sizeof v->views);
  method->inputs = v->inputs;
  method->outputs = v->outputs;
  method->symbols = v->symbols;
  method->input_dims = v->dims;
  method->views = v->views;
  v->content.methods = v->methods;
  v->content.states = v->states;
}

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
static void pairs_of(blob_variant* v, size_t count) {
  v->content.concurrent = v->pairs;
  v->content.concurrent_count = count;
}
// Layouts of the sample's two tensors in arena 1, which lies where the plan has
// them.
static void places_of(blob_variant* v, size_t count) {
  static const uint32_t values[] = {SAMPLE_INPUT, SAMPLE_TRAINED};
  for (uint32_t i = 0; i < count; ++i) {
    v->places[i] = (etx_blob_place){values[i % 2], i / 2, 32, 24};
  }
  v->methods[0].places = v->places;
  v->methods[0].place_count = count;
}
static void place_of_another_value(blob_variant* v) {
  places_of(v, 2);
  v->places[0].value = SAMPLE_TRAINED;
}
static void place_in_another_layout(blob_variant* v) {
  places_of(v, 4);
  v->places[2].layout = 2;
}
static void layouts_too_many(blob_variant* v) { places_of(v, 10); }
static void place_missing(blob_variant* v) { places_of(v, 3); }
static void place_far(blob_variant* v) {
  places_of(v, 4);
  v->places[3].offset = (uint64_t)PTRDIFF_MAX / 2 + 1;
}
static void place_large(blob_variant* v) {
  places_of(v, 4);
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
  pairs_of(v, 1);
}
static void pair_negative(blob_variant* v) {
  v->pairs[0] = (etx_blob_pair){UINT32_MAX, 1};
  pairs_of(v, 1);
}
static void pair_of_itself(blob_variant* v) {
  v->pairs[0] = (etx_blob_pair){1, 1};
  pairs_of(v, 1);
}
static void pair_twice(blob_variant* v) {
  v->pairs[0] = v->pairs[1] = (etx_blob_pair){0, 1};
  pairs_of(v, 2);
}

static void describe_answer(blob_variant* v) {
  v->methods[2] = v->methods[1];
  v->methods[2].name = etx_text_of("answer");
  v->content.method_count = 3;
}
static void pairs_descend(blob_variant* v) {
  describe_answer(v);
  v->pairs[0] = (etx_blob_pair){0, 2};
  v->pairs[1] = (etx_blob_pair){0, 1};
  pairs_of(v, 2);
}
static void first_of_pairs_descends(blob_variant* v) {
  describe_answer(v);
  v->pairs[0] = (etx_blob_pair){1, 2};
  v->pairs[1] = (etx_blob_pair){0, 2};
  pairs_of(v, 2);
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
    variant_init(&v);
    all[i].change(&v);
    const etx_bytes_mut file = write_with(&v.content);
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

static void sizes_of_an_output_are_a_text(void** state) {
  blob_variant v;
  etx_pte pte;
  etx_blob blob;
  etx_diag diag;
  (void)state;
  variant_init(&v);
  v.outputs[1].sizes = etx_text_of("s0, 2*s0 + 1");
  v.outputs[0].sizes = etx_text_of("8");
  etx_diag_init(&diag);
  const etx_bytes_mut file = write_with(&v.content);
  assert_ok(etx_pte_open(&pte, sample_view(file), NULL, NULL));
  assert_ok(etx_blob_open(&blob, &pte, &diag));
  assert_text(etx_blob_output_sizes(&blob, 0, 1), "s0, 2*s0 + 1");
  assert_text(etx_blob_output_sizes(&blob, 0, 0), "8");
  assert_text(etx_blob_output_sizes(&blob, 1, 0), "");
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
  variant_init(&v);
  v.pairs[0] = (etx_blob_pair){0, 1};
  pairs_of(&v, 1);
  etx_diag_init(&diag);
  const etx_bytes_mut file = write_with(&v.content);
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

static void assert_accepted(const blob_variant* v) {
  etx_pte pte;
  etx_blob blob;
  etx_diag diag;
  const etx_bytes_mut file = write_with(&v->content);
  assert_ok(etx_pte_open(&pte, sample_view(file), NULL, NULL));
  etx_diag_init(&diag);
  if (etx_blob_open(&blob, &pte, &diag) != ETX_OK) fail_msg("%s", diag.text);
  sample_release(file);
}

// Numbers that equal what an absent field stands for, and their neighbours.
static void small_numbers_are_read_back(void** state) {
  (void)state;
  for (uint32_t n = 0; n < 3; ++n) {
    blob_variant v;
    etx_pte pte;
    etx_blob blob;
    etx_blob opened;
    variant_init(&v);
    places_of(&v, 2);
    v.places[1].offset = v.places[1].bytes = n;
    v.symbols[0] = (etx_blob_symbol){etx_text_of("s"), 0, n};
    v.symbols[1] = (etx_blob_symbol){etx_text_of("t"), n, 7};
    v.methods[0].symbol_count = 2;
    v.dims[0] = (etx_blob_input_dim){0, 1, 0, 1, n != 0};
    v.views[0].offset = 0;
    v.outputs[0].lifetime = (etx_blob_lifetime)n;
    v.outputs[0].mutated_input = (int32_t)n - 1;
    v.outputs[1].mutated_input = -1;
    v.states[0].data_buffer_index = n;
    v.states[0].is_uniform = n != 0;
    const etx_bytes_mut file = write_with(&v.content);
    assert_ok(etx_pte_open(&pte, sample_view(file), NULL, NULL));
    assert_ok(etx_blob_open(&blob, &pte, NULL));
    opened = blob;
    const etx_blob_place place = etx_blob_place_at(&opened, 0, 1);
    assert_int_equal(etx_blob_place_count(&opened, 0), 2);
    assert_int_equal(place.value, SAMPLE_TRAINED);
    assert_int_equal(place.layout, 0);
    assert_int_equal(place.offset, n);
    assert_int_equal(place.bytes, n);
    assert_int_equal(etx_blob_symbol_at(&opened, 0, 0).minimum, 0);
    assert_int_equal(etx_blob_symbol_at(&opened, 0, 0).maximum, n);
    assert_text(etx_blob_symbol_at(&opened, 0, 1).name, "t");
    assert_int_equal(etx_blob_symbol_at(&opened, 0, 1).minimum, n);
    const etx_blob_input_dim dim = etx_blob_input_dim_at(&opened, 0, 0);
    assert_int_equal(dim.input, 0);
    assert_int_equal(dim.dim, 1);
    assert_int_equal(dim.symbol, 0);
    assert_int_equal(dim.factor, 1);
    assert_int_equal(dim.offset, n != 0);
    const etx_blob_output output = etx_blob_output_at(&opened, 0, 0);
    assert_int_equal(output.lifetime, n);
    assert_int_equal(output.mutated_input, (int32_t)n - 1);
    const etx_blob_state kept = etx_blob_state_at(&opened, 0);
    assert_int_equal(kept.data_buffer_index, n);
    assert_int_equal(kept.offset, 0);
    assert_int_equal(kept.is_uniform, n != 0);
    sample_release(file);
  }
}

static void layouts_and_pairs_in_order_are_accepted(void** state) {
  blob_variant v;
  (void)state;
  variant_init(&v);
  places_of(&v, 2 * ETX_BLOB_MOST_LAYOUTS);
  v.places[3].offset = v.places[1].bytes = (uint64_t)PTRDIFF_MAX / 2;
  describe_answer(&v);
  v.pairs[0] = (etx_blob_pair){0, 1};
  v.pairs[1] = (etx_blob_pair){0, 2};
  v.pairs[2] = (etx_blob_pair){1, 2};
  pairs_of(&v, 3);
  assert_accepted(&v);
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
  variant_init(&v);
  v.content.options.size = INT32_MAX;
  assert_int_equal(etx_blob_write_needed(&v.content, &needed),
                   ETX_OUT_OF_RANGE);
  assert_int_equal(needed, 77);
}

// As in a concatenation without copies: its parts are views of it.
static void a_view_may_contain_its_base(void** state) {
  blob_variant v;
  (void)state;
  variant_init(&v);
  v.views[0] = (etx_blob_view){SAMPLE_INPUT, SAMPLE_TURNED, 0};
  assert_accepted(&v);
  // Also if it is larger.
  v.views[0] = (etx_blob_view){SAMPLE_CONSTANT, SAMPLE_TRAINED, 20};
  assert_accepted(&v);
}

// Opens the blob of a runnable program that has this view.
static void assert_view(etx_pte_content content, const etx_blob_view* view,
                        bool is_right) {
  static const etx_blob_input inputs[] = {{{"x", 1}, false}};
  static const etx_blob_output outputs[] = {
      {{"y", 1}, ETX_LIFETIME_SCRATCH, -1, {NULL, 0}}};
  const etx_blob_method method = {.name = {"forward", 7},
                                  .inputs = inputs,
                                  .input_count = 1,
                                  .outputs = outputs,
                                  .output_count = 1,
                                  .views = view,
                                  .view_count = 1};
  const etx_blob_content described = {
      .methods = &method, .method_count = 1, .state_bytes = 32};
  etx_pte_named_data named = {etx_text_of(ETX_BLOB_KEY), {NULL, 0}, 16};
  const etx_bytes_mut block = {work.bytes, sizeof work.bytes};
  etx_pte pte;
  etx_blob blob;
  assert_ok(etx_blob_write(&described, block, &named.data, NULL));
  content.named_data = &named;
  content.named_data_count = 1;
  const etx_bytes_mut file = sample_write(&content);
  assert_ok(etx_pte_open(&pte, sample_view(file), NULL, NULL));
  assert_int_equal(etx_blob_open(&blob, &pte, NULL),
                   is_right || !ETX_VERIFIER ? ETX_OK : ETX_BAD_FILE);
  sample_release(file);
}

// The runnable sample, whose state has no name. Its input and its output have
// the same bytes of arena 1, the sum has others.
static void planned_views_lie_where_the_plan_has_them(void** state) {
  (void)state;
  for (uint32_t base = RUN_INPUT; base <= RUN_SUM; ++base) {
    const etx_blob_view view = {RUN_OUTPUT, base, 0};
    assert_view(*sample_runnable_content(), &view,
                base == RUN_INPUT || base == RUN_CONSTANT);
  }
}

// The second half of the input, and of the sum.
static void planned_parts_lie_where_the_plan_has_them(void** state) {
  static const int32_t three[] = {3};
  static const uint8_t order[] = {0};
  (void)state;
  for (uint64_t at = 0; at <= 44; at += 4) {
    const etx_blob_view view = {RUN_OUTPUT, at < 32 ? RUN_INPUT : RUN_SUM, 12};
    etx_pte_content content = *sample_runnable_content();
    etx_pte_plan_content plan = content.plans[0];
    etx_pte_value values[RUN_VALUE_COUNT];
    memcpy(values, plan.values, sizeof values);
    values[RUN_OUTPUT].as.tensor.rank = 1;
    values[RUN_OUTPUT].as.tensor.sizes = three;
    values[RUN_OUTPUT].as.tensor.dim_order = order;
    values[RUN_OUTPUT].as.tensor.memory_offset = at;
    plan.values = values;
    content.plans = &plan;
    assert_view(content, &view, at == 12 || at == 44);
  }
}

// Fields of such values are not written.
static void rows_of_zeros_are_read_back(void** state) {
  static const etx_blob_input inputs[] = {{{"", 0}, false}};
  static const etx_blob_output outputs[] = {
      {{"", 0}, ETX_LIFETIME_SCRATCH, -1, {NULL, 0}}};
  static const etx_blob_symbol symbols[] = {{{"", 0}, 0, 0}};
  static const etx_blob_input_dim dims[] = {{0, 0, 0, 0, 0}};
  static const etx_blob_view views[] = {{0, 0, 0}};
  static const etx_blob_place places[] = {{0, 0, 0, 0}};
  static const etx_blob_method method = {{"m", 1}, inputs, 1,    outputs, 1,
                                         symbols,  1,      dims, 1,       views,
                                         1,        places, 1};
  etx_blob_content content;
  const etx_bytes_mut block = {work.bytes, sizeof work.bytes};
  etx_bytes out = {NULL, 0};
  (void)state;
  memset(&content, 0, sizeof content);
  content.target = content.options = etx_text_of("");
  content.methods = &method;
  content.method_count = 1;
  assert_ok(etx_blob_write(&content, block, &out, NULL));
  etx_blob blob = {{out.data, (uint32_t)out.size}, 0};
  blob.root = etx_fb_root(&blob.fb);
  assert_true(etx_blob_state_bytes(&blob) == 0);
  assert_false(etx_blob_input_at(&blob, 0, 0).is_mutable);
  const etx_blob_output output = etx_blob_output_at(&blob, 0, 0);
  assert_true(output.lifetime == ETX_LIFETIME_SCRATCH && output.name.size == 0);
  assert_int_equal(output.mutated_input, -1);
  const etx_blob_symbol symbol = etx_blob_symbol_at(&blob, 0, 0);
  assert_true(symbol.minimum == 0 && symbol.maximum == 0);
  const etx_blob_input_dim dim = etx_blob_input_dim_at(&blob, 0, 0);
  assert_true((dim.input | dim.symbol) == 0 && dim.dim == 0);
  assert_true((dim.factor | dim.offset) == 0);
  const etx_blob_view view = etx_blob_view_at(&blob, 0, 0);
  assert_true((view.value | view.base | view.offset) == 0);
  const etx_blob_place place = etx_blob_place_at(&blob, 0, 0);
  assert_true((place.value | place.layout | place.offset | place.bytes) == 0);
}

static void the_stated_memory_is_enough_and_every_smaller_block_is_refused(
    void** state) {
  const etx_blob_content* content = sample_blob_content();
  size_t needed = 0;
  size_t least = 0;
  (void)state;
  assert_ok(etx_blob_write_needed(content, &needed));
  for (size_t size = 0; size <= needed; ++size) {
    const etx_bytes_mut block = {work.bytes, size};
    etx_bytes out = {NULL, 0};
    const etx_status status = etx_blob_write(content, block, &out, NULL);
    if (status == ETX_OK && least == 0) least = size;
    assert_int_equal(status, least == 0 ? ETX_OUT_OF_MEMORY : ETX_OK);
  }
  assert_true(least > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(everything_is_read_back),
      unit_test_with(ETX_DYNAMIC, rows_of_zeros_are_read_back),
      cmocka_unit_test(a_stock_file_has_no_blob),
      unit_test_with(ETX_VERIFIER,
                     each_disagreement_with_the_program_is_refused),
      unit_test_with(ETX_VERIFIER && ETX_DYNAMIC,
                     each_disagreement_about_dynamic_sizes_is_refused),
      unit_test_with(ETX_VERIFIER && ETX_DYNAMIC,
                     an_odd_number_of_concurrent_methods_is_refused),
      unit_test_with(ETX_DYNAMIC, sizes_of_an_output_are_a_text),
      cmocka_unit_test(small_numbers_are_read_back),
      cmocka_unit_test(layouts_and_pairs_in_order_are_accepted),
      unit_test_with(ETX_VERIFIER, a_blob_that_is_not_aligned_is_refused),
      unit_test_with(ETX_VERIFIER, a_blob_of_more_than_2_gigabytes_is_refused),
      unit_test_with(ETX_VERIFIER, a_fingerprint_has_32_bytes),
      cmocka_unit_test(content_that_no_file_holds_is_refused),
      cmocka_unit_test(a_view_may_contain_its_base),
      cmocka_unit_test(planned_views_lie_where_the_plan_has_them),
      cmocka_unit_test(planned_parts_lie_where_the_plan_has_them),
      cmocka_unit_test(
          the_stated_memory_is_enough_and_every_smaller_block_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
