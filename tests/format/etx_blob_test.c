// The blob is written into the sample and read back.

#include "tests/format/fixtures/format_test.h"

#include "format/pte/etx_blob.h"
#include "format/pte/pte_schema.h"
#include "format/pte/pte_segments.h"
#include "tests/format/fixtures/blob_variant.h"
#include "tests/format/fixtures/sample_program.h"
#include "tests/support/optional_parts.h"
#include "tests/support/assert_message.h"

static union {
  uint8_t bytes[4096];
  uint64_t alignment;
} work;

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

static void sizes_of_an_output_are_a_text(void** state) {
  blob_variant v;
  etx_pte pte;
  etx_blob blob;
  etx_diag diag;
  (void)state;
  blob_variant_init(&v);
  v.outputs[1].sizes = etx_text_of("s0, 2*s0 + 1");
  v.outputs[0].sizes = etx_text_of("8");
  etx_diag_init(&diag);
  const etx_bytes_mut file = sample_write_with_blob(&v.content);
  assert_ok(etx_pte_open(&pte, sample_view(file), NULL, NULL));
  assert_ok(etx_blob_open(&blob, &pte, &diag));
  assert_text(etx_blob_output_sizes(&blob, 0, 1), "s0, 2*s0 + 1");
  assert_text(etx_blob_output_sizes(&blob, 0, 0), "8");
  assert_text(etx_blob_output_sizes(&blob, 1, 0), "");
  sample_release(file);
}

static void assert_accepted(const blob_variant* v) {
  etx_pte pte;
  etx_blob blob;
  etx_diag diag;
  const etx_bytes_mut file = sample_write_with_blob(&v->content);
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
    blob_variant_init(&v);
    blob_variant_places(&v, 2);
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
    const etx_bytes_mut file = sample_write_with_blob(&v.content);
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
  blob_variant_init(&v);
  blob_variant_places(&v, 2 * ETX_BLOB_MOST_LAYOUTS);
  v.places[3].offset = v.places[1].bytes = (uint64_t)PTRDIFF_MAX / 2;
  blob_variant_describe_answer(&v);
  v.pairs[0] = (etx_blob_pair){0, 1};
  v.pairs[1] = (etx_blob_pair){0, 2};
  v.pairs[2] = (etx_blob_pair){1, 2};
  blob_variant_pairs(&v, 3);
  assert_accepted(&v);
}

// A cache of no positions has no bytes, and is a state all the same.
static void a_state_without_elements_is_accepted(void** state) {
  static const int32_t sizes[] = {3, 0};
  blob_variant v;
  (void)state;
  blob_variant_init(&v);
  v.states[0].sizes = sizes;
  v.states[0].rank = 2;
  assert_accepted(&v);
}

// An integer has no largest size that the plan would state.
static void a_described_integer_may_be_large(void** state) {
  blob_variant v;
  (void)state;
  blob_variant_init(&v);
  v.dims[1].factor = (INT64_MAX - 1) / 2;
  v.dims[1].offset = 1;
  assert_accepted(&v);
}

// As in a concatenation without copies: its parts are views of it.
static void a_view_may_contain_its_base(void** state) {
  blob_variant v;
  (void)state;
  blob_variant_init(&v);
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

// Fields that equal what an absent field stands for are not written.
static void rows_of_like_numbers_are_read_back(void** state) {
  static const int32_t no_sizes[1];
  (void)state;
  for (uint32_t n = 0; n < 3; ++n) {
    const etx_dtype dtype = (etx_dtype)n;
    const etx_blob_input input = {{"", 0}, n != 0};
    const etx_blob_output output = {
        {"", 0}, (etx_blob_lifetime)n, (int32_t)n - 1, {NULL, 0}};
    const etx_blob_symbol symbol = {{"", 0}, n, n};
    const etx_blob_input_dim dim = {n, (int32_t)n, n, n, n};
    const etx_blob_view view = {n, n, n};
    const etx_blob_place place = {n, n, n, n};
    const etx_blob_state kept = {{"", 0}, dtype, no_sizes, 0, n, n, n != 0};
    const etx_blob_method method = {{"m", 1}, &input, 1,    &output, 1,
                                    &symbol,  1,      &dim, 1,       &view,
                                    1,        &place, 1};
    etx_blob_content content;
    const etx_bytes_mut block = {work.bytes, sizeof work.bytes};
    etx_bytes out = {NULL, 0};
    memset(&content, 0, sizeof content);
    content.target = content.options = etx_text_of("");
    content.methods = &method;
    content.method_count = 1;
    content.states = &kept;
    content.state_count = 1;
    content.state_bytes = n;
    assert_ok(etx_blob_write(&content, block, &out, NULL));
    etx_blob blob = {{out.data, (uint32_t)out.size}, 0};
    blob.root = etx_fb_root(&blob.fb);
    assert_true(etx_blob_state_bytes(&blob) == n);
    assert_int_equal(etx_blob_input_at(&blob, 0, 0).is_mutable, n != 0);
    const etx_blob_output read = etx_blob_output_at(&blob, 0, 0);
    assert_true(read.lifetime == output.lifetime && read.name.size == 0);
    assert_int_equal(read.mutated_input, output.mutated_input);
    const etx_blob_symbol bounds = etx_blob_symbol_at(&blob, 0, 0);
    assert_true(bounds.minimum == n && bounds.maximum == n);
    const etx_blob_input_dim size = etx_blob_input_dim_at(&blob, 0, 0);
    assert_true(size.input == n && size.dim == (int32_t)n);
    assert_true(size.symbol == n && size.factor == n && size.offset == n);
    const etx_blob_view shown = etx_blob_view_at(&blob, 0, 0);
    assert_true(shown.value == n && shown.base == n && shown.offset == n);
    const etx_blob_place at = etx_blob_place_at(&blob, 0, 0);
    assert_true(at.value == n && at.layout == n);
    assert_true(at.offset == n && at.bytes == n);
    const etx_blob_state found = etx_blob_state_at(&blob, 0);
    assert_true(found.dtype == dtype && found.rank == 0 && found.offset == n);
    assert_int_equal(found.data_buffer_index, n);
    assert_int_equal(found.is_uniform, n != 0);
  }
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
      unit_test_with(ETX_DYNAMIC, rows_of_like_numbers_are_read_back),
      cmocka_unit_test(a_stock_file_has_no_blob),
      unit_test_with(ETX_DYNAMIC, sizes_of_an_output_are_a_text),
      cmocka_unit_test(small_numbers_are_read_back),
      cmocka_unit_test(layouts_and_pairs_in_order_are_accepted),
      cmocka_unit_test(a_state_without_elements_is_accepted),
      cmocka_unit_test(a_described_integer_may_be_large),
      cmocka_unit_test(a_view_may_contain_its_base),
      cmocka_unit_test(planned_views_lie_where_the_plan_has_them),
      cmocka_unit_test(planned_parts_lie_where_the_plan_has_them),
      cmocka_unit_test(
          the_stated_memory_is_enough_and_every_smaller_block_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
