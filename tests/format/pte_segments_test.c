// The positions of constants, initial data and named data in a file, and the
// errors about them. Bytes of written files are changed in place.

#include "tests/format/fixtures/format_test.h"

#include "format/pte/pte_schema.h"
#include "format/pte/pte_segments.h"
#include "tests/format/fixtures/sample_program.h"
#include "tests/support/optional_parts.h"

typedef struct segments_fixture {
  etx_bytes_mut file;
  etx_pte pte;
  etx_fb_buffer fb;
} segments_fixture;

static int open_sample(void** state) {
  static segments_fixture f;
  f.file = sample_write(sample_content());
  assert_ok(etx_pte_open(&f.pte, sample_view(f.file), NULL, NULL));
  f.fb = f.pte.fb;
  *state = &f;
  return 0;
}

static int close_sample(void** state) {
  segments_fixture* f = *state;
  sample_release(f->file);
  return 0;
}

static etx_status reopen(segments_fixture* f, etx_diag* diag) {
  etx_pte pte;
  etx_diag_init(diag);
  return etx_pte_open(&pte, sample_view(f->file), NULL, diag);
}

static void put_u64(segments_fixture* f, uint32_t position, uint64_t value) {
  assert_int_not_equal(position, 0);
  memcpy(f->file.data + position, &value, sizeof value);
}

static uint32_t segment_row(const segments_fixture* f, uint32_t index) {
  return etx_fb_table_at(
      &f->fb, etx_fb_vector_in(&f->fb, f->pte.root, ETX_PTE_Program_segments),
      index);
}

static void segments_are_aligned_and_do_not_overlap(void** state) {
  const segments_fixture* f = *state;
  uint64_t end = 0;
  assert_int_equal(etx_pte_segment_count(&f->pte), 4);
  assert_int_equal(f->pte.segment_base % 256,
                   0);  // the alignment of the named data
  for (size_t i = 0; i < 4; ++i) {
    uint64_t offset = 0;
    uint64_t size = 0;
    etx_pte_segment_at(&f->pte, i, &offset, &size);
    assert_true(offset >= end);
    assert_int_equal(offset % 128, 0);
    assert_true(size > 0);
    end = offset + size;
  }
  assert_int_equal(end, f->pte.segment_bytes);
  assert_int_equal(f->pte.segment_base + end, f->file.size);
}

static void indices_out_of_range_are_not_found(void** state) {
  const segments_fixture* f = *state;
  etx_bytes data = {NULL, 77};
  assert_false(etx_pte_constant_find(&f->pte, 0, &data));
  assert_false(etx_pte_constant_find(&f->pte, 3, &data));
  assert_false(etx_pte_constant_find(&f->pte, UINT32_MAX, &data));
  assert_false(etx_pte_initial_data_find(&f->pte, 0, &data));
  assert_false(etx_pte_initial_data_find(&f->pte, 2, &data));
  assert_int_equal(data.size, 77);
}

static void a_segment_past_the_end_is_refused(void** state) {
  segments_fixture* f = *state;
  etx_diag diag;
  const uint32_t row = segment_row(f, 3);
  put_u64(f, etx_fb_field(&f->fb, row, ETX_PTE_DataSegment_size), 100000);
  assert_int_equal(reopen(f, &diag), ETX_BAD_FILE);
  assert_says(&diag, "segment '3' takes 100000 bytes");
}

static void a_segment_whose_end_overflows_is_refused(void** state) {
  segments_fixture* f = *state;
  etx_diag diag;
  const uint32_t row = segment_row(f, 3);
  put_u64(f, etx_fb_field(&f->fb, row, ETX_PTE_DataSegment_offset),
          UINT64_MAX - 7);
  assert_int_equal(reopen(f, &diag), ETX_BAD_FILE);
  assert_says(&diag, "segment '3' takes");
}

static void segments_without_a_header_are_refused(void** state) {
  segments_fixture* f = *state;
  etx_diag diag;
  f->file.data[8] = 'x';
  assert_int_equal(reopen(f, &diag), ETX_BAD_FILE);
  assert_says(&diag, "segment '0' has 48 bytes, but the file has no extended");
}

static void a_constant_that_starts_outside_is_refused(void** state) {
  segments_fixture* f = *state;
  etx_diag diag;
  const uint32_t table =
      etx_fb_table(&f->fb, f->pte.root, ETX_PTE_Program_constant_segment);
  const etx_fb_vector offsets =
      etx_fb_vector_in(&f->fb, table, ETX_PTE_SubsegmentOffsets_offsets);
  put_u64(f, offsets.position + 8, 49);
  assert_int_equal(reopen(f, &diag), ETX_BAD_FILE);
  assert_says(&diag, "constant '1' does not exist or starts outside");
  put_u64(f, offsets.position + 8, UINT64_MAX);
  assert_int_equal(reopen(f, &diag), ETX_BAD_FILE);
}

static void named_data_in_no_segment_is_refused(void** state) {
  segments_fixture* f = *state;
  etx_diag diag;
  const uint32_t row = etx_fb_table_at(
      &f->fb, etx_fb_vector_in(&f->fb, f->pte.root, ETX_PTE_Program_named_data),
      1);
  const uint32_t position =
      etx_fb_field(&f->fb, row, ETX_PTE_NamedData_segment_index);
  assert_int_not_equal(position, 0);
  f->file.data[position] = 4;
  assert_int_equal(reopen(f, &diag), ETX_BAD_FILE);
  assert_says(&diag, "named data 'etx.plan.v1' is in segment '4' of 4");
}

#define WITH_SAMPLE(test) \
  cmocka_unit_test_setup_teardown(test, open_sample, close_sample)
#define REFUSED(test)                                               \
  {                                                                 \
#test, ETX_VERIFIER ? (test) : test_skip_left_out, open_sample, \
        close_sample, NULL                                          \
  }

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_SAMPLE(segments_are_aligned_and_do_not_overlap),
      WITH_SAMPLE(indices_out_of_range_are_not_found),
      REFUSED(a_segment_past_the_end_is_refused),
      REFUSED(a_segment_whose_end_overflows_is_refused),
      REFUSED(segments_without_a_header_are_refused),
      REFUSED(a_constant_that_starts_outside_is_refused),
      REFUSED(named_data_in_no_segment_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
