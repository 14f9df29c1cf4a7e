// The bytes of written files: the offsets of their parts, the memory that
// writing needs, and that equal content gives equal bytes. pte_program_test.c
// reads the content back.

#include "tests/format/fixtures/format_test.h"

#include <stdlib.h>

#include "format/pte/pte_segments.h"
#include "tests/format/fixtures/sample_program.h"

static uint32_t read_u32(const uint8_t* bytes) {
  uint32_t value = 0;
  memcpy(&value, bytes, sizeof value);
  return value;
}

static void a_file_with_segments_has_the_long_header(void** state) {
  etx_pte pte;
  (void)state;
  const etx_bytes_mut file = sample_write(sample_content());
  assert_memory_equal(file.data + 4, "ET12eh00", 8);
  assert_int_equal(read_u32(file.data + 12), 32);
  assert_ok(etx_pte_open(&pte, sample_view(file), NULL, NULL));
  assert_int_equal(pte.fb.size % 16, 0);
  for (uint64_t i = pte.fb.size; i < pte.segment_base; ++i) {
    assert_int_equal(file.data[i], 0);
  }
  sample_release(file);
}

static void a_file_without_segments_has_no_header(void** state) {
  etx_pte pte;
  (void)state;
  etx_pte_content content = *sample_content();
  content.plans += 2;  // the constant method
  content.plan_count = 1;
  content.constant_count = 1;
  content.initial_data_count = 0;
  content.named_data_count = 0;
  const etx_bytes_mut file = sample_write(&content);
  assert_ok(etx_pte_open(&pte, sample_view(file), NULL, NULL));
  assert_false(pte.has_header);
  assert_int_equal(pte.fb.size, file.size);
  assert_int_equal(etx_pte_segment_count(&pte), 1);
  assert_int_equal(etx_pte_constant_count(&pte), 1);
  sample_release(file);
}

// Loaders treat an empty segment as a missing one.
static void the_constant_segment_is_never_empty_if_it_has_entries(
    void** state) {
  static const etx_bytes constants[] = {{NULL, 0}, {NULL, 0}};
  etx_pte pte;
  etx_bytes data = {NULL, 0};
  uint64_t offset = 0;
  uint64_t size = 0;
  (void)state;
  etx_pte_content content = *sample_content();
  content.plans += 2;
  content.plan_count = 1;
  content.constants = constants;
  content.constant_count = 2;
  content.initial_data_count = 0;
  content.named_data_count = 0;
  const etx_bytes_mut file = sample_write(&content);
  assert_ok(etx_pte_open(&pte, sample_view(file), NULL, NULL));
  etx_pte_segment_at(&pte, 0, &offset, &size);
  assert_int_equal(size, 1);
  assert_true(etx_pte_constant_find(&pte, 1, &data));
  sample_release(file);
}

static void constants_have_the_stated_alignment(void** state) {
  static const uint8_t bytes[100] = {1};
  static const etx_bytes constants[] = {{NULL, 0},   {bytes, 3},   {bytes, 0},
                                        {bytes, 17}, {bytes, 100}, {NULL, 0}};
  (void)state;
  for (uint32_t alignment = 16; alignment <= 4096; alignment *= 2) {
    etx_pte pte;
    etx_pte_content content = *sample_content();
    content.plans += 2;
    content.plan_count = 1;
    content.constants = constants;
    content.constant_count = COUNT(constants);
    content.constant_alignment = alignment;
    const etx_bytes_mut file = sample_write(&content);
    assert_ok(etx_pte_open(&pte, sample_view(file), NULL, NULL));
    for (uint32_t i = 1; i < COUNT(constants); ++i) {
      const etx_bytes data = etx_pte_constant(&pte, i);
      const size_t at = (size_t)(data.data - file.data);
      assert_int_equal(at % alignment, 0);
      // Constants of 64 bytes and more are aligned to a cache line.
      if (constants[i].size >= 64) assert_int_equal(at % 64, 0);
      assert_true(data.size >= constants[i].size);
      if (constants[i].size > 0) assert_int_equal(data.data[0], 1);
    }
    sample_release(file);
  }
}

// Entries 1 and 4 lie in entry 3, which takes its bytes once.
static void a_constant_may_be_a_slice_of_another(void** state) {
  static const uint8_t bytes[96] = {[32] = 7, [64] = 9};
  static const uint8_t other[5] = {5};
  static const etx_bytes constants[] = {
      {NULL, 0}, {bytes + 32, 16}, {other, 5}, {bytes, 96}, {bytes + 64, 32}};
  static const uint32_t bases[] = {0, 3, 0, 0, 3};
  etx_pte pte;
  uint64_t offset = 0;
  uint64_t size = 0;
  (void)state;
  etx_pte_content content = *sample_content();
  content.plans += 2;
  content.plan_count = 1;
  content.constants = constants;
  content.constant_count = COUNT(constants);
  content.constant_bases = bases;
  const etx_bytes_mut file = sample_write(&content);
  assert_ok(etx_pte_open(&pte, sample_view(file), NULL, NULL));
  etx_pte_segment_at(&pte, 0, &offset, &size);
  assert_int_equal(size, 64 + 96);  // entry 3 begins the next line
  const uint8_t* const whole = etx_pte_constant(&pte, 3).data;
  assert_memory_equal(whole, bytes, sizeof bytes);
  assert_ptr_equal(etx_pte_constant(&pte, 1).data, whole + 32);
  assert_ptr_equal(etx_pte_constant(&pte, 4).data, whole + 64);
  assert_memory_equal(etx_pte_constant(&pte, 2).data, other, sizeof other);
  sample_release(file);
}

static void the_same_content_gives_the_same_bytes(void** state) {
  (void)state;
  const etx_bytes_mut first = sample_write(sample_content());
  const etx_bytes_mut second = sample_write(sample_content());
  assert_int_equal(first.size, second.size);
  assert_memory_equal(first.data, second.data, first.size);
  sample_release(first);
  sample_release(second);
}

static etx_status count_bytes(void* context, etx_bytes bytes) {
  *(size_t*)context += bytes.size;
  return ETX_OK;
}

static void the_stated_memory_is_enough_and_little_more_than_needed(
    void** state) {
  const etx_pte_content* content = sample_content();
  size_t written = 0;
  size_t needed = 0;
  size_t least = 0;
  const etx_sink sink = {count_bytes, &written};
  (void)state;
  assert_ok(etx_pte_write_needed(content, &needed));
  uint8_t* block = malloc(needed);
  for (size_t size = 0; size <= needed; ++size) {
    etx_diag diag;
    etx_diag_init(&diag);
    const etx_bytes_mut work = {block, size};
    written = 0;
    const etx_status status = etx_pte_write(content, work, &sink, &diag);
    if (status == ETX_OK) {
      if (least == 0) least = size;
      continue;
    }
    assert_int_equal(status, ETX_OUT_OF_MEMORY);
    assert_int_equal(least, 0);  // a larger block never fails
    assert_int_equal(written, 0);
    assert_says(&diag, "bytes of working memory");
  }
  assert_true(least > 0);
  assert_true(needed <= least * 2);  // counted as if no vtable were shared
  free(block);
}

typedef struct failing {
  size_t calls_left;
} failing;

static etx_status fail_later(void* context, etx_bytes bytes) {
  failing* f = context;
  (void)bytes;
  if (f->calls_left == 0) return ETX_HOST_FAILED;
  --f->calls_left;
  return ETX_OK;
}

static void writing_ends_when_the_sink_fails(void** state) {
  const etx_pte_content* content = sample_content();
  size_t needed = 0;
  bool done = false;
  (void)state;
  assert_ok(etx_pte_write_needed(content, &needed));
  const etx_bytes_mut work = {malloc(needed), needed};
  for (size_t calls = 0; !done; ++calls) {
    failing context = {calls};
    const etx_sink sink = {fail_later, &context};
    etx_diag diag;
    etx_diag_init(&diag);
    const etx_status status = etx_pte_write(content, work, &sink, &diag);
    done = status == ETX_OK;
    if (done) {
      assert_true(calls > 5);
      break;
    }
    assert_int_equal(status, ETX_HOST_FAILED);
    assert_int_equal(context.calls_left, 0);
    assert_says(&diag, "could not be written");
  }
  free(work.data);
}

static void more_tables_than_readers_accept_are_not_written(void** state) {
  etx_pte_content content = *sample_content();
  size_t needed = 0, written = 0;
  const etx_sink sink = {count_bytes, &written};
  etx_diag diag;
  (void)state;
  assert_ok(etx_pte_write_needed(&content, &needed));
  const etx_bytes_mut work = {malloc(needed), needed};
  etx_status status = ETX_UNSUPPORTED;
  while (status != ETX_OK) {
    etx_diag_init(&diag);
    ++content.max_tables;
    status = etx_pte_write(&content, work, &sink, &diag);
    if (status == ETX_OK) continue;
    assert_int_equal(status, ETX_UNSUPPORTED);
    assert_says(&diag, "the stock verifier accepts at most");
    assert_int_equal(written, 0);
  }
  free(work.data);
  // The verifier counts as many.
  etx_pte pte;
  const etx_pte_limits enough = {.max_tables = content.max_tables};
  const etx_pte_limits fewer = {.max_tables = content.max_tables - 1};
  const etx_bytes_mut file = sample_write(&content);
  assert_ok(etx_pte_open(&pte, sample_view(file), &enough, &diag));
  assert_int_equal(etx_pte_open(&pte, sample_view(file), &fewer, &diag),
                   ETX_VERIFIER ? ETX_BAD_FILE : ETX_OK);
  sample_release(file);
}

static void offsets_of_more_than_32_bits_are_kept(void** state) {
  etx_pte_value value = {.kind = ETX_PTE_TENSOR};
  static const int32_t size[] = {0};
  static const uint8_t order[] = {0};
  const int64_t arenas[] = {0, INT64_C(0x500000010)};
  etx_pte pte;
  (void)state;
  value.as.tensor = (etx_pte_tensor){.dtype = ETX_DTYPE_FLOAT32,
                                     .rank = 1,
                                     .sizes = size,
                                     .dim_order = order,
                                     .has_allocation = true,
                                     .memory_id = 1,
                                     .memory_offset = 0x500000008};
  etx_pte_content content = *sample_content();
  etx_pte_plan_content plan = content.plans[2];
  plan.values = &value;
  plan.buffer_sizes = arenas;
  plan.buffer_size_count = 2;
  content.plans = &plan;
  content.plan_count = 1;
  content.named_data_count = 0;
  const etx_bytes_mut file = sample_write(&content);
  const etx_status status = etx_pte_open(&pte, sample_view(file), NULL, NULL);
  if (sizeof(size_t) == 4) {
    assert_int_equal(status, ETX_OUT_OF_RANGE);
  } else {
    assert_ok(status);
    const etx_pte_plan read = etx_pte_plan_at(&pte, 0);
    assert_true(etx_pte_value_at(&read, 0).as.tensor.memory_offset ==
                0x500000008);
  }
  sample_release(file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_file_with_segments_has_the_long_header),
      cmocka_unit_test(a_file_without_segments_has_no_header),
      cmocka_unit_test(the_constant_segment_is_never_empty_if_it_has_entries),
      cmocka_unit_test(constants_have_the_stated_alignment),
      cmocka_unit_test(a_constant_may_be_a_slice_of_another),
      cmocka_unit_test(the_same_content_gives_the_same_bytes),
      cmocka_unit_test(the_stated_memory_is_enough_and_little_more_than_needed),
      cmocka_unit_test(writing_ends_when_the_sink_fails),
      cmocka_unit_test(more_tables_than_readers_accept_are_not_written),
      cmocka_unit_test(offsets_of_more_than_32_bits_are_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
